/* SPDX-License-Identifier: MIT */
/*
 * The second implementation of the door to atomics (lfma/base/atomic.h): every operation is a
 * scheduling point of the explorer, and loads may see older values in weak memory. The library is
 * built against it from the same sources (-DLFMA_ATOMIC_DOOR).
 */
#ifndef LFMA_TESTS_EXPLORE_DOOR_H
#define LFMA_TESTS_EXPLORE_DOOR_H

#include <stdbool.h>
#include <stdint.h>

enum explore_order { EXPLORE_RELAXED, EXPLORE_ACQUIRE, EXPLORE_RELEASE, EXPLORE_ACQREL, EXPLORE_SC };
enum explore_rmw { EXPLORE_ADD, EXPLORE_OR, EXPLORE_AND, EXPLORE_EXCHANGE };

typedef struct lfma__a64 {
    uint64_t value; /* the newest in modification order */
} lfma__a64;

typedef struct lfma__a8 {
    uint8_t value;
} lfma__a8;

/* `size` is 8 or 1: the width of the cell at `cell`. */
uint64_t explore_load(const void *cell, unsigned size, enum explore_order order);
void explore_store(void *cell, unsigned size, uint64_t value, enum explore_order order);
uint64_t explore_rmw(void *cell, unsigned size, enum explore_rmw kind, uint64_t argument, enum explore_order order);
bool explore_cas(void *cell, unsigned size, uint64_t *expected, uint64_t desired, enum explore_order order);

#define EXPLORE_LOAD(name, order)                                                                                    \
    static inline uint64_t lfma__a64_load_##name(const lfma__a64 *a)                                                 \
    {                                                                                                                \
        return explore_load(a, 8, order);                                                                            \
    }
#define EXPLORE_STORE(name, order)                                                                                   \
    static inline void lfma__a64_store_##name(lfma__a64 *a, uint64_t value)                                          \
    {                                                                                                                \
        explore_store(a, 8, value, order);                                                                           \
    }
#define EXPLORE_RMW(name, kind, order)                                                                               \
    static inline uint64_t lfma__a64_##name(lfma__a64 *a, uint64_t argument)                                         \
    {                                                                                                                \
        return explore_rmw(a, 8, kind, argument, order);                                                             \
    }

/* What the library uses, and the same one step weaker, for mutants. */
EXPLORE_LOAD(relaxed, EXPLORE_RELAXED)
EXPLORE_LOAD(acquire, EXPLORE_ACQUIRE)
EXPLORE_LOAD(sc, EXPLORE_SC)
EXPLORE_STORE(relaxed, EXPLORE_RELAXED)
EXPLORE_STORE(release, EXPLORE_RELEASE)
EXPLORE_RMW(add_relaxed, EXPLORE_ADD, EXPLORE_RELAXED)
EXPLORE_RMW(add_release, EXPLORE_ADD, EXPLORE_RELEASE)
EXPLORE_RMW(or_relaxed, EXPLORE_OR, EXPLORE_RELAXED)
EXPLORE_RMW(or_sc, EXPLORE_OR, EXPLORE_SC)
EXPLORE_RMW(and_release, EXPLORE_AND, EXPLORE_RELEASE)
EXPLORE_RMW(and_acqrel, EXPLORE_AND, EXPLORE_ACQREL)
EXPLORE_RMW(and_sc, EXPLORE_AND, EXPLORE_SC)
EXPLORE_RMW(or_acqrel, EXPLORE_OR, EXPLORE_ACQREL)
EXPLORE_RMW(and_acquire, EXPLORE_AND, EXPLORE_ACQUIRE)
EXPLORE_RMW(and_relaxed, EXPLORE_AND, EXPLORE_RELAXED)

#define EXPLORE_SET_BIT(name, order)                                                                                 \
    static inline bool lfma__a64_set_bit_##name(lfma__a64 *a, unsigned n)                                            \
    {                                                                                                                \
        return explore_rmw(a, 8, EXPLORE_OR, (uint64_t)1 << n, order) >> n & 1;                                      \
    }
#define EXPLORE_CLEAR_BIT(name, order)                                                                               \
    static inline bool lfma__a64_clear_bit_##name(lfma__a64 *a, unsigned n)                                          \
    {                                                                                                                \
        return explore_rmw(a, 8, EXPLORE_AND, ~((uint64_t)1 << n), order) >> n & 1;                                  \
    }

EXPLORE_SET_BIT(sc, EXPLORE_SC)
EXPLORE_SET_BIT(acqrel, EXPLORE_ACQREL)
EXPLORE_CLEAR_BIT(acqrel, EXPLORE_ACQREL)
EXPLORE_CLEAR_BIT(acquire, EXPLORE_ACQUIRE)
EXPLORE_CLEAR_BIT(release, EXPLORE_RELEASE)

static inline bool lfma__a64_cas_relaxed(lfma__a64 *a, uint64_t *expected, uint64_t desired)
{
    return explore_cas(a, 8, expected, desired, EXPLORE_RELAXED);
}

static inline uint8_t lfma__a8_load_relaxed(const lfma__a8 *a)
{
    return (uint8_t)explore_load(a, 1, EXPLORE_RELAXED);
}

static inline void lfma__a8_store_relaxed(lfma__a8 *a, uint8_t value)
{
    explore_store(a, 1, value, EXPLORE_RELAXED);
}

static inline uint8_t lfma__a8_exchange_relaxed(lfma__a8 *a, uint8_t value)
{
    return (uint8_t)explore_rmw(a, 1, EXPLORE_EXCHANGE, value, EXPLORE_RELAXED);
}

static inline void lfma__signal_fence(void)
{
}

#endif
