/* SPDX-License-Identifier: MIT */
/*
 * A free table: the free blocks of one order, as a block bitmap, a search bitmap over its slices, and, in tables of
 * more than 64 slices, a summary of the search bitmap.
 *
 *     summary  1 bit a search word    1 0 …                     1 = the search word may be non-zero (a hint)
 *                                     |
 *     search   1 bit a slice         [0 0 1 0 …] [0 0 …]        1 = the slice may hold a free block (a hint)
 *                                         |
 *     slices   1 bit a block       [ ] [ ] [..1.1..] …          1 = this block is free (the truth)
 *
 * T1  A block belongs to the thread whose atomic instruction turned its bit from 1 to 0; nothing else grants it.
 * T2  A hint may be 1 over an empty word. It may be 0 over a non-empty word only while a thread is between two steps
 *     of the double check and bound to repair it:
 *         publish: F1 set the block's bit    F2 read the search bit, and set it if it is 0
 *         retire:  C2 clear the search bit   C3 read the slice again   C4 if it is not empty, undo C2
 *     F1, F2, C2 and C3 are in one total order (edge E2): either C3 sees F1's block or F2 sees C2's zero. The summary
 *     stands to the search bitmap as that does to the slices: whoever has made sure of a search bit makes sure of the
 *     summary bit (F3), and whoever clears the last bit of a search word retires its summary bit.
 * T3  A claim that empties a slice leaves its hint: the next search that finds the slice empty retires it. A slice
 *     that is emptied and filled in turns, as by one producer, so keeps its hint and costs no shared write.
 *
 * Does not know pages, zones or owners. Tables are views: the words lie in the zone's metadata.
 */
#ifndef LFMA_BITMAP_TABLE_H
#define LFMA_BITMAP_TABLE_H

#include "base/base.h"
#include "bitmap/word.h"

#define LFMA__NONE UINT64_MAX

typedef struct lfma__table {
    lfma__a64 *search;
    lfma__a64 *slices;
    uint64_t slice_count;
    lfma__a64 *summary; /* NULL: none, all search words are visited */
} lfma__table;

/* Make sure that a hint is 1. Returns whether it had to be set. */
static inline bool lfma__hint_ensure(lfma__a64 *hints, uint64_t index)
{
    lfma__a64 *const word = &hints[index / LFMA__WORD_BITS];
    const uint64_t bit = (uint64_t)1 << index % LFMA__WORD_BITS;
    /* E2.sc (F2, F3): after F1 in the total order; a load, so that the common case shares the line. */
    if (LFMA_LIKELY(lfma__a64_load_sc(word) & bit))
        return false;
    (void)lfma__a64_or_sc(word, bit); /* E2.sc (F2, F3): seen by any later C2 */
    return true;
}

/*
 * F2, F3: make sure that a slice is hinted. By every publisher: the one before may be stopped between two steps.
 * Returns whether a hint had to be set.
 */
static inline bool lfma__table_hint(lfma__table t, uint64_t slice)
{
    bool set = lfma__hint_ensure(t.search, slice);
    if (t.summary)
        set |= lfma__hint_ensure(t.summary, slice / LFMA__WORD_BITS);
    return set;
}

/* Publish one block. Returns whether it was free already: then nothing has changed. */
static inline bool lfma__table_publish(lfma__table t, uint64_t block)
{
    const uint64_t slice = block / LFMA__WORD_BITS;
    LFMA_ASSERT(slice < t.slice_count);
    /* E1.release: what the last owner did with the block comes before the next claim. E2.sc (F1). */
    const bool was_free = lfma__a64_set_bit_sc(&t.slices[slice], (unsigned)(block % LFMA__WORD_BITS));
    (void)lfma__table_hint(t, slice);
    return was_free;
}

/* Publish blocks of one slice; returns what was free before. */
static inline uint64_t lfma__table_publish_bits(lfma__table t, uint64_t slice, uint64_t bits)
{
    const uint64_t before = lfma__a64_or_sc(&t.slices[slice], bits); /* E1.release, E2.sc (F1) */
    (void)lfma__table_hint(t, slice);
    return before;
}

/* Claim what is free of `bits` of one slice; returns what was claimed. */
static inline uint64_t lfma__table_claim_bits(lfma__table t, uint64_t slice, uint64_t bits)
{
    /* E1.acquire: all that the last owner did. E4.release: marks made before reach whoever sees these zeros. */
    return lfma__a64_and_acqrel(&t.slices[slice], ~bits) & bits;
}

/* Try once to claim the lowest free block of a slice: its bit, or LFMA__NONE if it is empty or the race lost. */
static inline uint64_t lfma__slice_try_claim(lfma__a64 *slice)
{
    const uint64_t free = lfma__a64_load_relaxed(slice); /* E0: only picks a bit to try, the claim decides */
    if (LFMA_UNLIKELY(free == 0))
        return LFMA__NONE;
    const unsigned bit = lfma__ctz64(free);
    /* E1.acquire, E4.release: as in claim_bits. A failure means that another thread succeeded. */
    return LFMA_LIKELY(lfma__a64_clear_bit_acqrel(slice, bit)) ? bit : LFMA__NONE;
}

/* The whole of lfma__table_claim(), for when its first step did not succeed. */
uint64_t lfma__table_claim_around(lfma__table t, uint64_t start);

/*
 * Claim a block: the lowest of the first slice, from `start` on and around, whose hint is right. LFMA__NONE if no
 * hint led to one, which proves nothing (T2).
 */
static inline uint64_t lfma__table_claim(lfma__table t, uint64_t start)
{
    /* E0: hints */
    const uint64_t hints = lfma__a64_load_relaxed(&t.search[start / LFMA__WORD_BITS]) >> start % LFMA__WORD_BITS;
    if (LFMA_LIKELY(hints)) {
        const uint64_t slice = start + lfma__ctz64(hints);
        const uint64_t bit = lfma__slice_try_claim(&t.slices[slice]);
        if (LFMA_LIKELY(bit != LFMA__NONE))
            return slice * LFMA__WORD_BITS + bit;
    }
    return lfma__table_claim_around(t, start);
}

/* Claim up to `count` blocks of one slice, the lowest, by one atomic; returns what was claimed. */
static inline uint64_t lfma__slice_claim_some(lfma__table t, uint64_t slice, unsigned count)
{
    const uint64_t seen = lfma__a64_load_relaxed(&t.slices[slice]); /* E0: only picks bits, the claim decides */
    uint64_t left = seen;
    for (unsigned i = 0; i < count; i++)
        left &= left - 1;
    return seen & ~left ? lfma__table_claim_bits(t, slice, seen & ~left) : 0;
}

/*
 * Claim up to `count` blocks of one slice: the lowest of the first one, from `start` on and around, whose hint is
 * right. Returns their bits, and *ret_slice; 0 if no hint led to one, which proves nothing (T2).
 */
uint64_t lfma__table_claim_some(lfma__table t, uint64_t start, unsigned count, uint64_t *ret_slice);

/* Does any hint lead somewhere? No proves nothing (T2). */
bool lfma__table_has_hint(lfma__table t);

/* The first slice that is not empty, whatever the hints say; slice_count if each was empty when it was read. */
uint64_t lfma__table_find(lfma__table t);

/*
 * Claim a block by reading every slice from `start` on, whatever the hints say, and set the hints that are missing on
 * the way. LFMA__NONE if every slice was empty when it was read. Adds the hints set to *repaired.
 */
uint64_t lfma__table_claim_scan(lfma__table t, uint64_t start, uint64_t *repaired);

/* If a slice is empty but hinted, retire the hint: work that the next search then need not do. */
void lfma__table_tidy(lfma__table t, uint64_t slice);

/* Set bits of free blocks, before anybody else can see the table. */
void lfma__table_fill(lfma__table t, uint64_t first_block, uint64_t count);

#endif
