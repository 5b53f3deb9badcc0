/* SPDX-License-Identifier: MIT */
/*
 * Before a split: join what lies side by side.
 *
 * When an order has run out, a larger block is about to be cut. Whether that is one of the last large ones decides,
 * at high fill, what can be served later; so free buddies are joined first, in the tables around the order, a slice
 * at a time: all pairs of a slice are claimed by one atomic and published by another as up to 32 blocks of the
 * order above. The work is bounded by one search word of each order; tables with more words take their turn, one at
 * each split. The figures are in docs/decisions/0004-coalescing.md.
 */
#include "zone/zone.h"

#define PLENTY_LOG2 5u            /* 1/32 of the zone */
#define PAIRS 0x5555555555555555u /* the lower buddies of a slice */
#define ORDERS_BELOW 6u           /* smaller orders than that rarely help the one that ran out */

/*
 * Are large blocks plenty? Then cutting one costs nothing, and joining would only undo what the sizes in use have
 * set up. Plenty is a thirty-second of the zone in blocks of a thirty-second or more, or of the largest order;
 * tables of more than one search word are sampled, a word at a time.
 */
bool lfma__zone_is_plenty(lfma__zone *zone, uint64_t turn)
{
    const unsigned whole = lfma__log2_floor(zone->pages);
    const unsigned large = whole > PLENTY_LOG2 ? whole - PLENTY_LOG2 : 0;
    for (unsigned o = large < zone->order_max ? large : zone->order_max; o <= zone->order_max; o++) {
        const lfma__table table = lfma__zone_table(zone, o);
        const uint64_t words = lfma__words_for(table.slice_count);
        const uint64_t word = turn % words;
        uint64_t blocks = 0;
        uint64_t hints = lfma__a64_load_relaxed(&table.search[word]); /* E0: a sample */
        for (; hints; hints &= hints - 1) {
            const uint64_t slice = word * LFMA__WORD_BITS + lfma__ctz64(hints);
            blocks += lfma__popcount64(lfma__a64_load_relaxed(&table.slices[slice])); /* E0: a sample */
        }
        const uint64_t sampled = words > 1 ? LFMA__WORD_BITS * LFMA__WORD_BITS << o : zone->pages;
        if (blocks << o >= sampled >> PLENTY_LOG2)
            return true;
    }
    return false;
}

/* Join all pairs of free buddies in one slice; returns how many. */
static unsigned join_slice(lfma__zone *zone, lfma__owner *owner, unsigned order, uint64_t slice)
{
    const lfma__table table = lfma__zone_table(zone, order);
    const uint64_t seen = lfma__a64_load_relaxed(&table.slices[slice]); /* E0: the claim decides */
    const uint64_t lower = seen & seen >> 1 & PAIRS;
    if (lower == 0)
        return 0;

    lfma__owner_begin(owner);
    const uint64_t got = lfma__table_claim_bits(table, slice, lower | lower << 1);
    const uint64_t joined = got & got >> 1 & PAIRS;
    const uint64_t single = got & ~(joined | joined << 1);
    if (single) { /* another thread took the buddy */
        (void)lfma__table_publish_bits(table, slice, single);
        lfma__owner_count(owner, LFMA__JOIN_CONFLICTS, lfma__popcount64(single));
    }
    if (joined) {
        lfma__zone_clear_states(zone, order, slice, joined | joined << 1);
        (void)lfma__table_publish_bits(lfma__zone_table(zone, order + 1), slice / 2,
                                       lfma__word_halve(joined) << slice % 2 * (LFMA__WORD_BITS / 2));
    }
    lfma__owner_end(owner);
    return lfma__popcount64(joined);
}

uint64_t lfma__zone_join_pairs(lfma__zone *zone, lfma__owner *owner, unsigned order)
{
    /* Each thread takes the words of large tables in turn by its count of splits: no shared cursor. E0: a counter. */
    const uint64_t turn = lfma__a64_load_relaxed(&owner->counters[LFMA__SPLITS]);
    uint64_t joined = 0;
    if (lfma__zone_is_plenty(zone, turn))
        return 0;
    for (unsigned o = order > ORDERS_BELOW ? order - ORDERS_BELOW : 0; o < zone->order_max; o++) {
        const lfma__table table = lfma__zone_table(zone, o);
        const uint64_t word = turn % lfma__words_for(table.slice_count);
        uint64_t hints = lfma__a64_load_relaxed(&table.search[word]); /* E0: hints */
        for (; hints; hints &= hints - 1)
            joined += join_slice(zone, owner, o, word * LFMA__WORD_BITS + lfma__ctz64(hints));
    }
    lfma__owner_count(owner, LFMA__BLOCKS_JOINED, joined);
    return joined;
}
