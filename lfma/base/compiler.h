/* SPDX-License-Identifier: MIT */
/* Compiler facts: attributes and the few builtins that bit work needs. */
#ifndef LFMA_BASE_COMPILER_H
#define LFMA_BASE_COMPILER_H

#include <stddef.h>
#include <stdint.h>

#define LFMA_LIKELY(x) __builtin_expect(!!(x), 1)
#define LFMA_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define LFMA_COLD __attribute__((cold, noinline))
#define LFMA_NOINLINE __attribute__((noinline))

/* Two lines: the adjacent-line prefetcher of x86 pairs them, and some aarch64 cores have lines of 128 bytes. */
#define LFMA_LINE_BYTES 128u

/* Index of the lowest set bit; x must not be 0 (the builtin leaves the result undefined). */
static inline unsigned lfma__ctz64(uint64_t x)
{
    return (unsigned)__builtin_ctzll(x);
}

/* Index of the highest set bit; x must not be 0. */
static inline unsigned lfma__log2_floor(uint64_t x)
{
    return 63u ^ (unsigned)__builtin_clzll(x); /* as x86 has it in one instruction */
}

/* Smallest k with 2^k >= x; x must not be 0. */
static inline unsigned lfma__log2_ceil(uint64_t x)
{
    return x <= 1 ? 0u : lfma__log2_floor(x - 1) + 1u;
}

static inline unsigned lfma__popcount64(uint64_t x)
{
    return (unsigned)__builtin_popcountll(x);
}

/* x; if it is a constant, the compiler is made to forget that. */
static inline uint64_t lfma__opaque(uint64_t x)
{
    if (__builtin_constant_p(x))
        __asm__("" : "+r"(x));
    return x;
}

/* p; the compiler is made to keep it in a register instead of computing it anew for each use. */
static inline void *lfma__computed_once(void *p)
{
    __asm__("" : "+r"(p));
    return p;
}

/* x turned by n bits, n < 64: of a multiple of 2^n a quotient, of all else more than 2^(64 - n) - 1. */
static inline uint64_t lfma__rotate_right(uint64_t x, unsigned n)
{
    return x >> n | x << (-n & 63);
}

/* x rounded up to a multiple of unit, a power of two; the caller has made sure that it fits. */
static inline uint64_t lfma__round_up(uint64_t x, uint64_t unit)
{
    return (x + unit - 1) & ~(unit - 1);
}

#endif
