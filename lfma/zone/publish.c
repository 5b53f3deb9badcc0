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

LFMA_COLD int lfma__zone_why_not(lfma__zone *zone, uint64_t page)
{
    return lfma__zone_block_of(zone, page) != LFMA__NONE ? LFMA_E_INNER : LFMA_E_DOUBLE_FREE;
}

/* Mark the pages of blocks of one slice, of an order below 6, word by word. */
static void mark_free(lfma__zone *zone, unsigned order, uint64_t slice, uint64_t bits)
{
    lfma__a64 *const words = &lfma__zone_page_map(zone)[slice << order];
    const unsigned blocks = LFMA__WORD_BITS >> order; /* a word */
    for (unsigned i = 0; bits; i++, bits = blocks < LFMA__WORD_BITS ? bits >> blocks : 0) {
        const uint64_t mask = lfma__word_widen(bits & lfma__word_mask(0, blocks), order);
        if (mask)
            (void)lfma__a64_or_relaxed(&words[i], mask); /* E0: as in lfma__zone_publish */
    }
}

uint64_t lfma__zone_publish_bits(lfma__zone *zone, lfma__owner *owner, unsigned order, uint64_t slice, uint64_t bits)
{
    if (order < LFMA__ORDER_IMPLIED)
        mark_free(zone, order, slice, bits);
    const uint64_t before = lfma__table_publish_bits(lfma__zone_table(zone, order), slice, bits);
    lfma__owner_raise(owner);
    return before & bits;
}

int lfma__zone_publish(lfma__zone *zone, lfma__owner *owner, uint64_t page, unsigned order)
{
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
