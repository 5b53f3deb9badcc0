/* SPDX-License-Identifier: MIT */
/* Free: what a block's state says, and how it is published. Never merges, never waits. Paper: section "free". */
#include "zone/zone.h"

int lfma__zone_order_at(lfma__zone *zone, uint64_t page)
{
    LFMA_ASSERT(page < zone->pages);
    /* E0: written by the owner's own allocation, which whoever holds the block has seen by other means. */
    const uint8_t state = lfma__a8_load_relaxed(&lfma__zone_states(zone)[page]);
    if (!(state & LFMA__STATE_ALLOCATED))
        return -1;
    const unsigned order = state & LFMA__STATE_ORDER;
    return lfma__zone_is_free(zone, page, order) ? -1 : (int)order;
}

uint64_t lfma__zone_block_of(lfma__zone *zone, uint64_t page)
{
    for (unsigned order = 0; order <= zone->order_max; order++) {
        const uint64_t start = page >> order << order;
        const int found = lfma__zone_order_at(zone, start);
        if (found >= 0 && start + ((uint64_t)1 << found) > page)
            return start;
    }
    return LFMA__NONE;
}

unsigned lfma__state_take(lfma__a8 *states, uint64_t page)
{
    return lfma__a8_exchange_relaxed(&states[page], 0); /* E0: the winner's publish (E1) orders the rest */
}

LFMA_COLD int lfma__zone_why_not(lfma__zone *zone, uint64_t page)
{
    return lfma__zone_block_of(zone, page) != LFMA__NONE ? LFMA_E_INNER : LFMA_E_DOUBLE_FREE;
}

uint64_t lfma__zone_publish_bits(lfma__zone *zone, lfma__owner *owner, unsigned order, uint64_t slice, uint64_t bits)
{
    const uint64_t before = lfma__table_publish_bits(lfma__zone_table(zone, order), slice, bits);
    lfma__owner_raise(owner);
    return before & bits;
}

int lfma__zone_publish(lfma__zone *zone, lfma__owner *owner, uint64_t page, unsigned order)
{
    if (LFMA_UNLIKELY(lfma__table_publish(lfma__zone_table(zone, order), page >> order)))
        return LFMA_E_DOUBLE_FREE; /* it was free; of racing frees this one came second */
    lfma__owner_raise(owner);
    return LFMA_OK;
}
