/* SPDX-License-Identifier: MIT */
/*
 * Survey: what the page map says, read whole. Between two readings of the owner words that agree it is the proof
 * behind NOMEM and FRAGMENTED (docs/ORDERING.md, E3 and E4).
 */
#include "zone/zone.h"

/* Is the group of 64^level words inside one free block of an order above base + 5? */
static bool covered(lfma__zone *zone, uint64_t first_page, unsigned above)
{
    for (unsigned order = above; order <= zone->order_max; order++) {
        const uint64_t block = first_page >> order;
        if (block >= zone->pages >> order)
            break; /* beyond the last whole block; so for all larger orders */
        const lfma__table table = lfma__zone_table(zone, order);
        /* E4.acquire */
        if (lfma__a64_load_acquire(&table.slices[block / LFMA__WORD_BITS]) >> block % LFMA__WORD_BITS & 1)
            return true;
    }
    return false;
}

struct run_finder {
    uint64_t words;   /* length of a run wanted, in words; 0: runs within one word */
    uint64_t full;    /* full words since the last aligned start, or NONE after one that is not full */
    unsigned in_word; /* log2 of the run wanted within one word */
    bool found;
};

static void find_run(struct run_finder *finder, uint64_t index, uint64_t word)
{
    if (finder->words <= 1) {
        finder->found = finder->found || lfma__word_runs(word, finder->in_word) != 0;
        return;
    }
    if (index % finder->words == 0)
        finder->full = 0;
    if (word != LFMA__WORD_FULL)
        finder->full = LFMA__NONE;
    else if (finder->full != LFMA__NONE && ++finder->full == finder->words)
        finder->found = true;
}

/*
 * The words of the page map in a group of 64, from the tables of orders 0–5; a word's bit in `covered` says that a
 * larger block covers it. Each slice is read once, and most are empty when somebody asks why nothing was found.
 */
static void read_words(lfma__zone *zone, uint64_t group, uint64_t covered, uint64_t words[LFMA__WORD_BITS])
{
    for (unsigned i = 0; i < LFMA__WORD_BITS; i++)
        words[i] = covered >> i & 1 ? LFMA__WORD_FULL : 0;
    for (unsigned order = 0; order < LFMA__WORD_LOG2 && order <= zone->order_max; order++) {
        const lfma__table table = lfma__zone_table(zone, order);
        const unsigned blocks = LFMA__WORD_BITS >> order; /* a word, and slices a group */
        const uint64_t first = group * blocks;
        for (unsigned s = 0; s < blocks && first + s < table.slice_count; s++) {
            const uint64_t slice = lfma__a64_load_acquire(&table.slices[first + s]); /* E4.acquire */
            if (slice == 0)
                continue;
            for (unsigned i = 0; i < 1u << order; i++)
                words[(s << order) + i] |= lfma__word_widen(slice >> i * blocks & lfma__word_mask(0, blocks), order);
        }
    }
}

void lfma__zone_survey(lfma__zone *zone, unsigned order, lfma__survey *survey)
{
    struct run_finder finder = { .in_word = order, .words = 0 };
    if (order > LFMA__WORD_LOG2) {
        finder.words = (uint64_t)1 << (order - LFMA__WORD_LOG2);
        finder.in_word = LFMA__WORD_LOG2;
    }
    const uint64_t groups = lfma__words_for(zone->page_words);
    for (uint64_t group = 0; group < groups; group++) {
        if (finder.found && !survey->count_all)
            break;
        const uint64_t first_word = group * LFMA__WORD_BITS;
        const uint64_t left = zone->page_words - first_word;
        const uint64_t count = left < LFMA__WORD_BITS ? left : LFMA__WORD_BITS;
        lfma__group larger = { .units = LFMA__WORD_FULL };
        if (!covered(zone, first_word * LFMA__WORD_BITS, 2 * LFMA__WORD_LOG2))
            lfma__zone_read_group(zone, LFMA__WORD_LOG2, group, &larger);
        uint64_t words[LFMA__WORD_BITS];
        read_words(zone, group, larger.units, words);
        for (uint64_t i = 0; i < count; i++) {
            survey->pages_free += lfma__popcount64(words[i]);
            find_run(&finder, first_word + i, words[i]);
        }
    }
    survey->has_run = survey->has_run || finder.found;
}

uint64_t lfma__zone_count_free(lfma__zone *zone, unsigned order)
{
    uint64_t count = 0;
    if (order > zone->order_max)
        return 0;
    const lfma__table table = lfma__zone_table(zone, order);
    for (uint64_t i = 0; i < table.slice_count; i++)
        count += lfma__popcount64(lfma__a64_load_relaxed(&table.slices[i])); /* E0: a figure in passing */
    return count;
}
