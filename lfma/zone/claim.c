/* SPDX-License-Identifier: MIT */
/* Allocate: claim a block of the order, or split a larger one. Paper: section "allocation". */
#include "zone/zone.h"

/* Where a thread starts to look in a table: thread 0 at the lowest slice, the others spread over the table. */
static uint64_t start_slice(lfma__table table, uint32_t home)
{
    if (LFMA_LIKELY(home == 0) || table.slice_count == 1)
        return 0;
    /* Fractions home × golden ratio, mod 1: any few of them lie far apart. */
    const uint64_t fraction = (uint32_t)(home * 2654435769u);
    return (fraction * table.slice_count) >> 32;
}

static inline void mark_allocated(lfma__zone *zone, uint64_t page, unsigned order)
{
    LFMA_ASSERT(page + ((uint64_t)1 << order) <= zone->pages);
    lfma__state_set(lfma__zone_states(zone), page, order);
}

void lfma__zone_hand_out(lfma__zone *zone, lfma__owner *owner, uint64_t page, unsigned from, unsigned order)
{
    LFMA_ASSERT(from >= order && page % ((uint64_t)1 << from) == 0);
    for (unsigned half = from; half-- > order;)
        (void)lfma__table_publish(lfma__zone_table(zone, half), (page >> half) + 1);
    lfma__owner_end(owner);
    mark_allocated(zone, page, order);
    if (from > order)
        lfma__owner_count(owner, LFMA__SPLITS, 1);
}

static inline uint64_t claim_exact(lfma__zone *zone, unsigned order, uint32_t home)
{
    const lfma__table table = lfma__zone_table(zone, order);
    const uint64_t block = lfma__table_claim(table, start_slice(table, home));
    if (LFMA_UNLIKELY(block == LFMA__NONE))
        return LFMA__NONE;
    const uint64_t page = block << order;
    mark_allocated(zone, page, order);
    return page;
}

uint64_t lfma__zone_claim_bits(lfma__zone *zone, unsigned order, uint32_t home, unsigned count, uint64_t *ret_slice)
{
    if (LFMA_UNLIKELY(order > zone->order_max)) /* the last zone may be smaller */
        return 0;
    const lfma__table table = lfma__zone_table(zone, order);
    return lfma__table_claim_some(table, start_slice(table, home), count, ret_slice);
}

/* No block of the order was found: make one by joining smaller ones, or split a larger one. */
static LFMA_NOINLINE uint64_t alloc_by_split(lfma__zone *zone, lfma__owner *owner, unsigned order, uint32_t home)
{
    if (lfma__zone_join_pairs(zone, owner, order) > 0) {
        const uint64_t page = claim_exact(zone, order, home);
        if (page != LFMA__NONE)
            return page;
    }
    for (unsigned from = order + 1; from <= zone->order_max; from++) {
        const lfma__table table = lfma__zone_table(zone, from);
        if (!lfma__table_has_hint(table))
            continue; /* without a word to the others: a failure that goes in flight makes theirs LFMA_E_AGAIN */
        lfma__owner_begin(owner);
        const uint64_t block = lfma__table_claim(table, start_slice(table, home));
        if (block != LFMA__NONE) {
            lfma__zone_hand_out(zone, owner, block << from, from, order);
            return block << from;
        }
        lfma__owner_end(owner);
    }
    return LFMA__NONE;
}

uint64_t lfma__zone_alloc(lfma__zone *zone, lfma__owner *owner, unsigned order, uint32_t home)
{
    if (LFMA_UNLIKELY(order > zone->order_max))
        return LFMA__NONE;
    const uint64_t page = claim_exact(zone, order, home);
    return LFMA_LIKELY(page != LFMA__NONE) ? page : alloc_by_split(zone, owner, order, home);
}

LFMA_COLD uint64_t lfma__zone_alloc_scan(lfma__zone *zone, lfma__owner *owner, unsigned order)
{
    uint64_t repaired = 0;
    uint64_t page = LFMA__NONE;
    for (unsigned from = order; from <= zone->order_max && page == LFMA__NONE; from++) {
        const lfma__table table = lfma__zone_table(zone, from);
        const uint64_t first = lfma__table_find(table);
        if (first == table.slice_count)
            continue; /* as in alloc_by_split() */
        lfma__owner_begin(owner);
        const uint64_t block = lfma__table_claim_scan(table, first, &repaired);
        if (block == LFMA__NONE) {
            lfma__owner_end(owner);
        } else {
            page = block << from;
            lfma__zone_hand_out(zone, owner, page, from, order);
        }
    }
    lfma__owner_count(owner, LFMA__HINTS_REPAIRED, repaired);
    return page;
}
