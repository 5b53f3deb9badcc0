/* SPDX-License-Identifier: MIT */
/* What a run of the tests is told from outside: the seed and the scale; and random numbers from that seed. */
#ifndef LFMA_TESTS_SUPPORT_ENV_H
#define LFMA_TESTS_SUPPORT_ENV_H

#include <stdbool.h>
#include <stdint.h>

/* LFMA_TEST_SEED (any base), or `fixed` when it is not set. */
uint64_t test_seed(uint64_t fixed);

/*
 * `full` scaled by LFMA_TEST_SCALE, a percentage (default 100; 25 when built with a sanitizer); at least 1. How much
 * random work is done, never which cases an exhaustive test visits.
 */
uint64_t test_scaled(uint64_t full);

/* True in builds with ASan or TSan: exhaustive tests sample there. */
bool test_is_sanitized(void);

/* True when meson runs the test by an emulator. qemu-user keeps notes on every page that is mapped: not for TiBs. */
bool test_is_emulated(void);

/* splitmix64: every seed is a good one. */
typedef struct rng {
    uint64_t state;
} rng;

static inline uint64_t rng_next(rng *r)
{
    uint64_t z = (r->state += 0x9E3779B97F4A7C15u);
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* 0 … bound - 1; bound is not 0 and far below 2^64, so that the bias does not matter. */
static inline uint64_t rng_below(rng *r, uint64_t bound)
{
    return rng_next(r) % bound;
}

#endif
