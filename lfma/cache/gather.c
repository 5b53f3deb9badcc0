/* SPDX-License-Identifier: MIT */
/* From a cache to the tables. */
#include "cache/grant.h"

#define STATES_A_LINE_LOG2 6u /* blocks below this order share a line of states */

/* Is a block among those of a hold? */
static bool holds(const lfma__hold *hold, unsigned order, uint64_t page)
{
    const uint64_t from = page - lfma__cache_get(&hold->first); /* huge if it lies before */
    const uint64_t block = from >> order;
    return block < LFMA__WORD_BITS && block << order == from && lfma__hold_all(hold) >> block & 1;
}

/* Publish what a hold has, and `more` of its slice besides. Returns what of it was free already. */
static uint64_t publish(lfma__pool *pool, lfma__slot *slot, unsigned order, unsigned side, uint64_t more)
{
    lfma__hold *const hold = &slot->shelves[order].holds[side];
    const uint64_t bits = lfma__hold_all(hold);
    const uint64_t first = lfma__cache_get(&hold->first);
    if ((bits | more) == 0)
        return 0;
    lfma__cache_set_states(pool, order, first, bits | more); /* the line is still this thread's */
    lfma__cache_set(&hold->bits, 0);
    lfma__cache_set(&hold->back, 0);
    hold->limit += lfma__popcount64(bits);
    const lfma__slice slice = lfma__row_slice(&pool->row, order, first);
    const uint64_t twice = lfma__zone_publish_bits(slice.zone, &slot->owner, order, slice.index, bits | more);
    if (LFMA_UNLIKELY(twice & bits)) /* of frees that raced; their callers were told that all is well */
        lfma__owner_count(&slot->owner, LFMA__BAD_FREES, lfma__popcount64(twice & bits));
    return twice;
}

void lfma__cache_drain_side(lfma__pool *pool, lfma__slot *slot, unsigned side)
{
    for (uint64_t orders = lfma__cache_get(&slot->grants[side].orders); orders; orders &= orders - 1) {
        (void)publish(pool, slot, lfma__ctz64(orders), side, 0);
        lfma__cache_release(slot, side, lfma__ctz64(orders));
    }
}

/*
 * To keep a block means to clear its state, which its next owner then reads from this thread's cache: worth it if the
 * states of several blocks share a line, or if that owner may well be this thread.
 */
static bool is_worth_keeping(const lfma__slot *slot, unsigned order)
{
    return order < STATES_A_LINE_LOG2 || slot->grants[LFMA__TAKE].is_user;
}

int lfma__cache_gather(lfma__pool *pool, lfma__slot *slot, unsigned order, uint64_t page)
{
    const lfma__slice slice = lfma__row_slice(&pool->row, order, page);
    const uint64_t in_zone = (slice.index * LFMA__WORD_BITS + slice.block) << order;
    if (!is_worth_keeping(slot, order))
        return lfma__zone_publish(slice.zone, &slot->owner, in_zone, order);
    lfma__shelf *const shelf = &slot->shelves[order];
    lfma__hold *const give = &shelf->holds[LFMA__GIVE];
    const uint64_t bit = (uint64_t)1 << slice.block;
    if (LFMA_UNLIKELY(holds(&shelf->holds[LFMA__TAKE], order, page) || holds(give, order, page)))
        return LFMA_E_DOUBLE_FREE; /* of frees that raced this one came second */
    if (lfma__cache_get(&give->first) == slice.first && lfma__hold_all(give)) /* held, without room */
        return publish(pool, slot, order, LFMA__GIVE, bit) & bit ? LFMA_E_DOUBLE_FREE : LFMA_OK;

    if (lfma__cache_sits_out(give))
        return lfma__zone_publish(slice.zone, &slot->owner, in_zone, order);
    if (lfma__hold_all(give))
        lfma__cache_served(give, lfma__popcount64(lfma__hold_all(give)), LFMA__GIVE_PAYS);
    (void)publish(pool, slot, order, LFMA__GIVE, 0);
    if (lfma__cache_reserve(pool, slot, LFMA__GIVE, order) == 0)
        return lfma__zone_publish(slice.zone, &slot->owner, in_zone, order);
    if (lfma__zone_is_free(slice.zone, in_zone, order))
        return LFMA_E_DOUBLE_FREE;
    if (!pool->hardened)
        lfma__state_clear(pool->row.states, page);
    lfma__cache_begin(give, order, slice);
    lfma__cache_set(&give->back, bit);
    give->limit--;
    return LFMA_OK;
}

uint64_t lfma__cache_drain(lfma__pool *pool, lfma__slot *slot)
{
    const uint64_t pages = lfma__cache_pages(slot);
    for (unsigned side = 0; side < LFMA__SIDES; side++) {
        lfma__cache_drain_side(pool, slot, side);
        lfma__cache_resign(pool, slot, side);
    }
    return pages;
}

uint64_t lfma__cache_pages(const lfma__slot *slot)
{
    uint64_t pages = 0;
    for (unsigned side = 0; side < LFMA__SIDES; side++) {
        for (uint64_t orders = lfma__cache_get(&slot->grants[side].orders); orders; orders &= orders - 1) {
            const unsigned order = lfma__ctz64(orders);
            pages += (uint64_t)lfma__popcount64(lfma__hold_all(&slot->shelves[order].holds[side])) << order;
        }
    }
    return pages;
}

int lfma__cache_order_at(const lfma__slot *slot, uint64_t page)
{
    for (unsigned side = 0; side < LFMA__SIDES; side++) {
        for (uint64_t orders = lfma__cache_get(&slot->grants[side].orders); orders; orders &= orders - 1) {
            if (holds(&slot->shelves[lfma__ctz64(orders)].holds[side], lfma__ctz64(orders), page))
                return (int)lfma__ctz64(orders);
        }
    }
    return -1;
}

uint64_t lfma__cache_popped(const lfma__slot *slot, unsigned order)
{
    return lfma__cache_get(&slot->shelves[order].holds[LFMA__TAKE].popped);
}

uint64_t lfma__cache_pushed(const lfma__slot *slot)
{
    uint64_t pushed = 0;
    for (unsigned side = 0; side < LFMA__SIDES; side++) {
        for (uint64_t orders = lfma__cache_get(&slot->grants[side].ever); orders; orders &= orders - 1)
            pushed += lfma__cache_get(&slot->shelves[lfma__ctz64(orders)].holds[side].pushed);
    }
    return pushed;
}
