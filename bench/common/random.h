/* SPDX-License-Identifier: MIT */
/** @file random.h  A small seeded generator (splitmix64) and the sizes drawn from it: the same everywhere, always. */
#ifndef BENCH_COMMON_RANDOM_H
#define BENCH_COMMON_RANDOM_H

#include <stddef.h>
#include <stdint.h>

struct random {
    uint64_t state;
};

static inline uint64_t random_next(struct random *r)
{
    uint64_t z = (r->state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/** Uniform in 0 … n − 1, n below 2^32; the bias is below 2^-32 and does not matter here. */
static inline uint32_t random_below(struct random *r, uint32_t n)
{
    return (uint32_t)(((random_next(r) >> 32) * n) >> 32);
}

/** Uniform in min … max bytes; max − min below 2^32. */
static inline size_t random_size(struct random *r, size_t min, size_t max)
{
    return min + random_below(r, (uint32_t)(max - min + 1));
}

/** The seed of stream `stream` of `seed`, so that threads draw different numbers. */
static inline struct random random_stream(uint64_t seed, uint64_t stream)
{
    struct random r = { seed ^ (stream * 0xd1342543de82ef95u) };
    r.state = random_next(&r);
    return r;
}

#endif
