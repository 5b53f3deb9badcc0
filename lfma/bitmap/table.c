/* SPDX-License-Identifier: MIT */
#include "bitmap/bitmap.h"

/* C2–C4: clear the hint of a word that was seen empty. Returns the word's hints that are left; *ret_undone: C4. */
static uint64_t retire(lfma__a64 *hints, uint64_t index, const lfma__a64 *word, bool *ret_undone)
{
    lfma__a64 *const hint_word = &hints[index / LFMA__WORD_BITS];
    const uint64_t bit = (uint64_t)1 << index % LFMA__WORD_BITS;
    const uint64_t left = lfma__a64_and_sc(hint_word, ~bit) & ~bit; /* E2.sc (C2) */
    *ret_undone = lfma__a64_load_sc(word) != 0; /* E2.sc (C3): a publisher that missed C2 is seen here */
    if (*ret_undone)
        (void)lfma__a64_or_sc(hint_word, bit); /* E2.sc (C4) */
    return left;
}

static void retire_search_word(lfma__table t, uint64_t search_word)
{
    bool undone;
    (void)retire(t.summary, search_word, &t.search[search_word], &undone);
}

/* Retire the hint of a slice that was seen empty. Returns whether the slice is not empty after all. */
static bool retire_slice(lfma__table t, uint64_t slice)
{
    bool undone;
    const uint64_t left = retire(t.search, slice, &t.slices[slice], &undone);
    if (t.summary) {
        if (undone)
            (void)lfma__hint_ensure(t.summary, slice / LFMA__WORD_BITS); /* C4 set a search bit: F3 */
        else if (left == 0)
            retire_search_word(t, slice / LFMA__WORD_BITS);
    }
    return undone;
}

/* Claim the lowest free block of one slice; LFMA__NONE, and its hint is retired, when it is empty. */
static uint64_t claim_in(lfma__table t, uint64_t slice)
{
    lfma__a64 *const word = &t.slices[slice];
    do {
        while (lfma__a64_load_relaxed(word) != 0) { /* E0: as in lfma__slice_try_claim */
            const uint64_t bit = lfma__slice_try_claim(word);
            if (bit != LFMA__NONE)
                return slice * LFMA__WORD_BITS + bit;
        }
    } while (retire_slice(t, slice));
    return LFMA__NONE;
}

/* Claim the lowest block that the hints in `mask` of one search word lead to. */
static uint64_t claim_hinted(lfma__table t, uint64_t search_word, uint64_t mask)
{
    const uint64_t all = lfma__a64_load_relaxed(&t.search[search_word]); /* E0: hints */
    if (all == 0 && t.summary)
        retire_search_word(t, search_word);
    for (uint64_t hints = all & mask; hints; hints &= hints - 1) {
        const uint64_t block = claim_in(t, search_word * LFMA__WORD_BITS + lfma__ctz64(hints));
        if (block != LFMA__NONE)
            return block;
    }
    return LFMA__NONE;
}

/* The same for the search words from … to - 1 that the summary leads to. */
static uint64_t claim_summed(lfma__table t, uint64_t from, uint64_t to)
{
    for (uint64_t base = from / LFMA__WORD_BITS * LFMA__WORD_BITS; base < to; base += LFMA__WORD_BITS) {
        uint64_t hints = LFMA__WORD_FULL;
        if (t.summary)
            hints = lfma__a64_load_relaxed(&t.summary[base / LFMA__WORD_BITS]); /* E0: hints */
        if (base < from)
            hints &= LFMA__WORD_FULL << (from - base);
        if (to - base < LFMA__WORD_BITS)
            hints &= lfma__word_mask(0, (unsigned)(to - base));
        for (; hints; hints &= hints - 1) {
            const uint64_t block = claim_hinted(t, base + lfma__ctz64(hints), LFMA__WORD_FULL);
            if (block != LFMA__NONE)
                return block;
        }
    }
    return LFMA__NONE;
}

uint64_t lfma__table_claim_around(lfma__table t, uint64_t start)
{
    /* Each search word once, the one of `start` in two halves: from `start` up, and last what lies below it. */
    const uint64_t words = lfma__words_for(t.slice_count);
    const uint64_t first = start / LFMA__WORD_BITS;
    const uint64_t from_start = LFMA__WORD_FULL << start % LFMA__WORD_BITS;
    uint64_t block = claim_hinted(t, first, from_start);
    if (block == LFMA__NONE)
        block = claim_summed(t, first + 1, words);
    if (block == LFMA__NONE)
        block = claim_summed(t, 0, first);
    if (block == LFMA__NONE && ~from_start)
        block = claim_hinted(t, first, ~from_start);
    return block;
}

uint64_t lfma__table_claim_some(lfma__table t, uint64_t start, unsigned count, uint64_t *ret_slice)
{
    /* E0: hints */
    const uint64_t hints = lfma__a64_load_relaxed(&t.search[start / LFMA__WORD_BITS]) >> start % LFMA__WORD_BITS;
    if (LFMA_LIKELY(hints)) {
        *ret_slice = start + lfma__ctz64(hints);
        const uint64_t bits = lfma__slice_claim_some(t, *ret_slice, count);
        if (LFMA_LIKELY(bits))
            return bits;
    }
    const uint64_t block = lfma__table_claim_around(t, start);
    if (block == LFMA__NONE)
        return 0;
    *ret_slice = block / LFMA__WORD_BITS;
    return (uint64_t)1 << block % LFMA__WORD_BITS | lfma__slice_claim_some(t, *ret_slice, count - 1);
}

/* The first word that is not 0; `count` if there is none. */
static uint64_t first_of(const lfma__a64 *words, uint64_t from, uint64_t count)
{
    while (from < count && lfma__a64_load_relaxed(&words[from]) == 0) /* E0: a reason to try; the claim decides */
        from++;
    return from;
}

bool lfma__table_has_hint(lfma__table t)
{
    const lfma__a64 *const hints = t.summary ? t.summary : t.search;
    const uint64_t search_words = lfma__words_for(t.slice_count);
    const uint64_t words = t.summary ? lfma__words_for(search_words) : search_words;
    return first_of(hints, 0, words) < words;
}

uint64_t lfma__table_find(lfma__table t)
{
    return first_of(t.slices, 0, t.slice_count);
}

uint64_t lfma__table_claim_scan(lfma__table t, uint64_t start, uint64_t *repaired)
{
    /* The survey proves emptiness, not this. */
    for (uint64_t slice = first_of(t.slices, start, t.slice_count); slice < t.slice_count;
         slice = first_of(t.slices, slice + 1, t.slice_count)) {
        if (lfma__table_hint(t, slice))
            ++*repaired;
        const uint64_t block = claim_in(t, slice);
        if (block != LFMA__NONE)
            return block;
    }
    return LFMA__NONE;
}

void lfma__table_tidy(lfma__table t, uint64_t slice)
{
    /* E0, all: only reasons to try; retiring checks twice. The hint first: 64 slices share its word. */
    const uint64_t hints = lfma__a64_load_relaxed(&t.search[slice / LFMA__WORD_BITS]);
    if ((hints >> slice % LFMA__WORD_BITS & 1) && lfma__a64_load_relaxed(&t.slices[slice]) == 0)
        (void)retire_slice(t, slice);
    if (hints == 0 && t.summary && slice % LFMA__WORD_BITS == 0) {
        const uint64_t word = slice / LFMA__WORD_BITS; /* E0: as above */
        if (lfma__a64_load_relaxed(&t.summary[word / LFMA__WORD_BITS]) >> word % LFMA__WORD_BITS & 1)
            retire_search_word(t, word);
    }
}

void lfma__table_fill(lfma__table t, uint64_t first_block, uint64_t count)
{
    while (count > 0) {
        const uint64_t slice = first_block / LFMA__WORD_BITS;
        const unsigned bit = (unsigned)(first_block % LFMA__WORD_BITS);
        const unsigned room = LFMA__WORD_BITS - bit;
        const unsigned n = count < room ? (unsigned)count : room;
        (void)lfma__table_publish_bits(t, slice, lfma__word_mask(bit, n));
        first_block += n;
        count -= n;
    }
}
