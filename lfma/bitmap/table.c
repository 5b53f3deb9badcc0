/* SPDX-License-Identifier: MIT */
#include "bitmap/bitmap.h"

/* C2–C4: clear the search bit of a slice that was seen empty. Returns whether the slice is not empty after all. */
static bool retire(lfma__a64 *hints, uint64_t hint, const lfma__a64 *slice)
{
    (void)lfma__a64_and_sc(hints, ~hint); /* E2.sc (C2) */
    if (lfma__a64_load_sc(slice) == 0)    /* E2.sc (C3): a publisher that missed C2 is seen here */
        return false;
    (void)lfma__a64_or_sc(hints, hint); /* E2.sc (C4) */
    return true;
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
    } while (retire(&t.search[slice / LFMA__WORD_BITS], (uint64_t)1 << slice % LFMA__WORD_BITS, word));
    return LFMA__NONE;
}

uint64_t lfma__table_claim_around(lfma__table t, uint64_t start)
{
    /* Each search word once, the first one in two halves: from `start` up, and at the end what lies below it. */
    const uint64_t words = lfma__words_for(t.slice_count);
    const uint64_t from_start = LFMA__WORD_FULL << start % LFMA__WORD_BITS;
    uint64_t word = start / LFMA__WORD_BITS;
    uint64_t half = from_start;
    for (uint64_t visit = 0; visit <= words; visit++) {
        uint64_t hints = lfma__a64_load_relaxed(&t.search[word]) & half; /* E0: hints */
        for (; hints; hints &= hints - 1) {
            const uint64_t block = claim_in(t, word * LFMA__WORD_BITS + lfma__ctz64(hints));
            if (block != LFMA__NONE)
                return block;
        }
        word = word + 1 < words ? word + 1 : 0;
        half = visit + 1 < words ? LFMA__WORD_FULL : ~from_start;
    }
    return LFMA__NONE;
}

uint64_t lfma__table_claim_scan(lfma__table t, uint64_t *repaired)
{
    for (uint64_t slice = 0; slice < t.slice_count; slice++) {
        if (lfma__a64_load_relaxed(&t.slices[slice]) == 0) /* E0: the survey proves emptiness, not this */
            continue;
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
    lfma__a64 *const hints = &t.search[slice / LFMA__WORD_BITS];
    const uint64_t hint = (uint64_t)1 << slice % LFMA__WORD_BITS;
    /* E0, both: only reasons to try; retiring checks twice. */
    if (lfma__a64_load_relaxed(&t.slices[slice]) == 0 && (lfma__a64_load_relaxed(hints) & hint))
        (void)retire(hints, hint, &t.slices[slice]);
}

void lfma__table_fill(lfma__table t, uint64_t first_block, uint64_t count)
{
    while (count > 0) {
        const uint64_t slice = first_block / LFMA__WORD_BITS;
        const unsigned bit = (unsigned)(first_block % LFMA__WORD_BITS);
        const unsigned room = LFMA__WORD_BITS - bit;
        const unsigned n = count < room ? (unsigned)count : room;
        lfma__table_publish_bits(t, slice, lfma__word_mask(bit, n));
        first_block += n;
        count -= n;
    }
}
