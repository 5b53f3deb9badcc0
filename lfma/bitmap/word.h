/* SPDX-License-Identifier: MIT */
/* Pure functions on one 64-bit word: masks, runs, and the view of a coarse bitmap through a finer one. */
#ifndef LFMA_BITMAP_WORD_H
#define LFMA_BITMAP_WORD_H

#include <stdint.h>

#define LFMA__WORD_BITS 64u
#define LFMA__WORD_LOG2 6u
#define LFMA__WORD_FULL UINT64_MAX

/* Bits start … start + count - 1; count is 1 … 64 and the run fits the word. */
static inline uint64_t lfma__word_mask(unsigned start, unsigned count)
{
    return (LFMA__WORD_FULL >> (LFMA__WORD_BITS - count)) << start;
}

/* Words that hold `bits` bits. */
static inline uint64_t lfma__words_for(uint64_t bits)
{
    return bits / LFMA__WORD_BITS + (bits % LFMA__WORD_BITS != 0);
}

/*
 * The first bits of all aligned runs of 2^log2_run ones in `w`: bit i is set iff i is a multiple of 2^log2_run and
 * bits i … i + 2^log2_run - 1 are all 1. log2_run is 0 … 6.
 */
static inline uint64_t lfma__word_runs(uint64_t w, unsigned log2_run)
{
    /* Bits whose index is a multiple of 2, 4, 8, 16, 32, 64. */
    static const uint64_t starts[LFMA__WORD_LOG2] = { 0x5555555555555555u, 0x1111111111111111u, 0x0101010101010101u,
                                                      0x0001000100010001u, 0x0000000100000001u, 0x0000000000000001u };
    for (unsigned i = 0; i < log2_run; i++)
        w &= (w >> (1u << i)) & starts[i];
    return w;
}

/* The even bits of `w`, packed: bit 2i goes to bit i. */
static inline uint64_t lfma__word_halve(uint64_t w)
{
    w &= 0x5555555555555555u;
    w = (w | w >> 1) & 0x3333333333333333u;
    w = (w | w >> 2) & 0x0F0F0F0F0F0F0F0Fu;
    w = (w | w >> 4) & 0x00FF00FF00FF00FFu;
    w = (w | w >> 8) & 0x0000FFFF0000FFFFu;
    return (w | w >> 16) & 0x00000000FFFFFFFFu;
}

/*
 * Each bit of `w` widened to a run of 2^log2_width bits: bit i goes to bits i * 2^log2_width onward. What does
 * not fit 64 bits must be 0. log2_width is 0 … 6.
 */
static inline uint64_t lfma__word_widen(uint64_t w, unsigned log2_width)
{
    for (unsigned i = 0; i < log2_width; i++) {
        w = (w | w << 16) & 0x0000FFFF0000FFFFu;
        w = (w | w << 8) & 0x00FF00FF00FF00FFu;
        w = (w | w << 4) & 0x0F0F0F0F0F0F0F0Fu;
        w = (w | w << 2) & 0x3333333333333333u;
        w = (w | w << 1) & 0x5555555555555555u;
        w |= w << 1;
    }
    return w;
}

#endif
