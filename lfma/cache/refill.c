/* SPDX-License-Identifier: MIT */
/* From the tables into a cache, and out of it. */
#include "cache/grant.h"

/* What was gathered serves as well as what would be claimed, and costs no atomic. */
static bool reuse_gathered(lfma__pool *pool, lfma__slot *slot, unsigned order)
{
    lfma__hold *const take = &slot->shelves[order].holds[LFMA__TAKE];
    lfma__hold *const give = &slot->shelves[order].holds[LFMA__GIVE];
    const struct lfma__grant *const grant = &slot->grants[LFMA__TAKE];
    const uint64_t back = lfma__cache_get(&give->back);
    const unsigned blocks = lfma__popcount64(back);
    if (blocks == 0)
        return false;
    const unsigned fair = lfma__cache_fair_count(pool, slot, LFMA__TAKE, order);
    lfma__cache_release(slot, LFMA__TAKE, order);
    const uint64_t left = grant->pages > grant->reserved ? (grant->pages - grant->reserved) >> order : 0;
    if (left < blocks)
        return false;
    const unsigned taken = blocks < fair && fair <= left ? fair : blocks;
    lfma__cache_reserve_blocks(slot, LFMA__TAKE, order, taken);
    take->limit -= blocks;
    lfma__cache_set(&take->back, back);
    lfma__cache_set(&take->first, lfma__cache_get(&give->first));
    take->slice = give->slice;
    take->blocks = give->blocks;
    lfma__cache_set(&give->back, 0);
    give->limit += blocks;
    lfma__cache_release(slot, LFMA__GIVE, order);
    return true;
}

/*
 * No block of the order is free. While large ones are plenty, allocate one of several times the size and cut it up:
 * its parts lie side by side, so that two threads' blocks seldom share a line of states, and need not be published.
 * Returns their bits, and *ret_slice; 0 if it is not to be.
 */
static uint64_t cut(lfma__pool *pool, lfma__slot *slot, lfma__zone *zone, unsigned order, uint32_t home,
                    unsigned room, uint64_t *ret_slice)
{
    const uint64_t splits = lfma__owner_figure(&slot->owner, LFMA__SPLITS);
    if (room < 2 || order >= zone->order_max || !lfma__zone_is_plenty(zone, splits))
        return 0;
    const unsigned most = zone->order_max - order, fits = lfma__log2_floor(room);
    const unsigned parts_log2 = fits < most ? fits : most;
    const uint64_t page = lfma__zone_alloc(zone, &slot->owner, order + parts_log2, home);
    if (page == LFMA__NONE)
        return 0;
    if (lfma__owner_figure(&slot->owner, LFMA__SPLITS) == splits)
        lfma__owner_count(&slot->owner, LFMA__SPLITS, 1);
    if (pool->hardened)
        lfma__state_clear(lfma__zone_states(zone), page);
    *ret_slice = (page >> order) / LFMA__WORD_BITS;
    return lfma__word_mask((page >> order) % LFMA__WORD_BITS, 1u << parts_log2);
}

static bool refill(lfma__pool *pool, lfma__slot *slot, uint64_t zone, unsigned order, uint32_t home)
{
    lfma__hold *const take = &slot->shelves[order].holds[LFMA__TAKE];
    if (lfma__cache_sits_out(take))
        return false;
    const unsigned room = lfma__cache_reserve(pool, slot, LFMA__TAKE, order);
    uint64_t index;
    if (room == 0)
        return false;
    lfma__zone *const from = lfma__row_zone(&pool->row, zone);
    uint64_t bits = lfma__zone_claim_bits(from, order, home, room, &index);
    if (bits == 0)
        bits = cut(pool, slot, from, order, home, room, &index);
    if (bits == 0)
        return false;
    const uint64_t first = (zone << pool->row.pages_log2) + (index * LFMA__WORD_BITS << order);
    lfma__cache_set_states(pool, order, first, bits); /* so that handing them out is a matter of this thread alone */
    lfma__cache_served(take, lfma__popcount64(bits), LFMA__TAKE_PAYS);
    lfma__cache_begin(take, order, lfma__row_slice(&pool->row, order, first));
    lfma__cache_set(pool->hardened ? &take->back : &take->bits, bits); /* there, a state is a caller's */
    take->limit -= lfma__popcount64(bits);
    return true;
}

uint64_t lfma__cache_take(lfma__pool *pool, lfma__slot *slot, uint64_t zone, unsigned order, uint32_t home)
{
    lfma__hold *const take = &slot->shelves[order].holds[LFMA__TAKE];
    uint64_t page;
    if (lfma__hold_pop(pool, take, order, &page))
        return page;
    if (!reuse_gathered(pool, slot, order) && !refill(pool, slot, zone, order, home))
        return LFMA__NONE;
    return lfma__hold_pop(pool, take, order, &page) ? page : LFMA__NONE;
}
