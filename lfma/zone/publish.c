/* SPDX-License-Identifier: MIT */
/* Free: what the block's state says, then publish the block. Never merges, never waits. Paper: section "free". */
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

static LFMA_COLD int why_not(lfma__zone *zone, uint64_t page)
{
    return lfma__zone_block_of(zone, page) != LFMA__NONE ? LFMA_E_INNER : LFMA_E_DOUBLE_FREE;
}

int lfma__zone_free(lfma__zone *zone, lfma__owner *owner, uint64_t page, bool hardened)
{
    lfma__a8 *const state = &lfma__zone_states(zone)[page];
    uint8_t seen = lfma__a8_load_relaxed(state); /* E0: as in lfma__zone_order_at */
    if (LFMA_UNLIKELY(!(seen & LFMA__STATE_ALLOCATED)))
        return why_not(zone, page);
    if (hardened) {
        /* E0: of racing frees one gets the entry; the winner's publish (E1) orders the rest. */
        seen = lfma__a8_exchange_relaxed(state, 0);
        if (LFMA_UNLIKELY(!(seen & LFMA__STATE_ALLOCATED)))
            return LFMA_E_DOUBLE_FREE;
    }

    const unsigned order = seen & LFMA__STATE_ORDER;
    if (order < LFMA__ORDER_IMPLIED) {
        const uint64_t mask = lfma__word_mask((unsigned)(page % LFMA__WORD_BITS), 1u << order);
        /* E0: a mark ahead of its block harms nobody; lfma__owner_raise (E3) carries it. */
        (void)lfma__a64_or_relaxed(&lfma__zone_page_map(zone)[page / LFMA__WORD_BITS], mask);
    }
    if (LFMA_UNLIKELY(lfma__table_publish(lfma__zone_table(zone, order), page >> order)))
        return LFMA_E_DOUBLE_FREE; /* it was free; of racing frees this one came second */
    lfma__owner_raise(owner);
    return LFMA_OK;
}
