/* SPDX-License-Identifier: MIT */
#include "bitmap/bitmap.h"

bool lfma__table_retire(lfma__table t, uint64_t slice)
{
    lfma__a64 *word = &t.search[slice / LFMA__WORD_BITS];
    const uint64_t bit = (uint64_t)1 << slice % LFMA__WORD_BITS;
    (void)lfma__a64_and_sc(word, ~bit);                   /* E2.sc (C2) */
    if (lfma__a64_load_sc(&t.slices[slice]) == 0)         /* E2.sc (C3): a publisher that missed C2 is seen here */
        return false;
    (void)lfma__a64_or_sc(word, bit); /* E2.sc (C4) */
    return true;
}

uint64_t lfma__table_claim_scan(lfma__table t, uint64_t *repaired)
{
    for (uint64_t slice = 0; slice < t.slice_count; slice++) {
        if (lfma__a64_load_relaxed(&t.slices[slice]) == 0) /* E0: the survey proves emptiness, not this */
            continue;
        if (lfma__table_hint(t, slice))
            ++*repaired;
        const uint64_t block = lfma__table_claim_in(t, slice);
        if (block != LFMA__NONE)
            return block;
    }
    return LFMA__NONE;
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
