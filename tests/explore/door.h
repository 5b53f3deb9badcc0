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

/* Where in the sources the operation is that comes next: for traces. */
extern const char *explore_file;
extern unsigned explore_line;

/* `size` is 8 or 1: the width of the cell at `cell`. */
uint64_t explore_load(const void *cell, unsigned size, enum explore_order order);
void explore_store(void *cell, unsigned size, uint64_t value, enum explore_order order);
uint64_t explore_rmw(void *cell, unsigned size, enum explore_rmw kind, uint64_t argument, enum explore_order order);
/* A weak one may fail for no reason. */
bool explore_cas(void *cell, unsigned size, uint64_t *expected, uint64_t desired, enum explore_order order,
                 bool may_fail);

/* What the library uses, and the same weaker, for mutants: each operation says where it is, and does it. */
#define EXPLORE_HERE (explore_file = __FILE__, explore_line = __LINE__)
#define EXPLORE_LOAD(a, order) (EXPLORE_HERE, explore_load(&(a)->value, sizeof((a)->value), order))
#define EXPLORE_STORE(a, value_, order) (EXPLORE_HERE, explore_store(&(a)->value, sizeof((a)->value), value_, order))
#define EXPLORE_RMW(a, kind, argument, order)                                                                        \
    (EXPLORE_HERE, explore_rmw(&(a)->value, sizeof((a)->value), kind, argument, order))
#define EXPLORE_SET_BIT(a, n, order) (EXPLORE_HERE, explore_set_bit(&(a)->value, n, order))
#define EXPLORE_CLEAR_BIT(a, n, order) (EXPLORE_HERE, explore_clear_bit(&(a)->value, n, order))
#define EXPLORE_CAS(a, expected, desired, order, may_fail)                                                           \
    (EXPLORE_HERE, explore_cas(&(a)->value, sizeof((a)->value), expected, desired, order, may_fail))

static inline bool explore_set_bit(void *cell, unsigned n, enum explore_order order)
{
    return explore_rmw(cell, 8, EXPLORE_OR, (uint64_t)1 << n, order) >> n & 1;
}

static inline bool explore_clear_bit(void *cell, unsigned n, enum explore_order order)
{
    return explore_rmw(cell, 8, EXPLORE_AND, ~((uint64_t)1 << n), order) >> n & 1;
}

#define lfma__a64_load_relaxed(a) EXPLORE_LOAD(a, EXPLORE_RELAXED)
#define lfma__a64_load_acquire(a) EXPLORE_LOAD(a, EXPLORE_ACQUIRE)
#define lfma__a64_load_sc(a) EXPLORE_LOAD(a, EXPLORE_SC)
#define lfma__a64_store_relaxed(a, value_) EXPLORE_STORE(a, value_, EXPLORE_RELAXED)
#define lfma__a64_store_release(a, value_) EXPLORE_STORE(a, value_, EXPLORE_RELEASE)
#define lfma__a64_add_relaxed(a, value_) EXPLORE_RMW(a, EXPLORE_ADD, value_, EXPLORE_RELAXED)
#define lfma__a64_add_release(a, value_) EXPLORE_RMW(a, EXPLORE_ADD, value_, EXPLORE_RELEASE)
#define lfma__a64_or_relaxed(a, bits) EXPLORE_RMW(a, EXPLORE_OR, bits, EXPLORE_RELAXED)
#define lfma__a64_or_acquire(a, bits) EXPLORE_RMW(a, EXPLORE_OR, bits, EXPLORE_ACQUIRE)
#define lfma__a64_or_release(a, bits) EXPLORE_RMW(a, EXPLORE_OR, bits, EXPLORE_RELEASE)
#define lfma__a64_or_acqrel(a, bits) EXPLORE_RMW(a, EXPLORE_OR, bits, EXPLORE_ACQREL)
#define lfma__a64_or_sc(a, bits) EXPLORE_RMW(a, EXPLORE_OR, bits, EXPLORE_SC)
#define lfma__a64_and_relaxed(a, bits) EXPLORE_RMW(a, EXPLORE_AND, bits, EXPLORE_RELAXED)
#define lfma__a64_and_acquire(a, bits) EXPLORE_RMW(a, EXPLORE_AND, bits, EXPLORE_ACQUIRE)
#define lfma__a64_and_release(a, bits) EXPLORE_RMW(a, EXPLORE_AND, bits, EXPLORE_RELEASE)
#define lfma__a64_and_acqrel(a, bits) EXPLORE_RMW(a, EXPLORE_AND, bits, EXPLORE_ACQREL)
#define lfma__a64_and_sc(a, bits) EXPLORE_RMW(a, EXPLORE_AND, bits, EXPLORE_SC)
#define lfma__a64_set_bit_relaxed(a, n) EXPLORE_SET_BIT(a, n, EXPLORE_RELAXED)
#define lfma__a64_set_bit_acquire(a, n) EXPLORE_SET_BIT(a, n, EXPLORE_ACQUIRE)
#define lfma__a64_set_bit_release(a, n) EXPLORE_SET_BIT(a, n, EXPLORE_RELEASE)
#define lfma__a64_set_bit_acqrel(a, n) EXPLORE_SET_BIT(a, n, EXPLORE_ACQREL)
#define lfma__a64_set_bit_sc(a, n) EXPLORE_SET_BIT(a, n, EXPLORE_SC)
#define lfma__a64_clear_bit_relaxed(a, n) EXPLORE_CLEAR_BIT(a, n, EXPLORE_RELAXED)
#define lfma__a64_clear_bit_acquire(a, n) EXPLORE_CLEAR_BIT(a, n, EXPLORE_ACQUIRE)
#define lfma__a64_clear_bit_release(a, n) EXPLORE_CLEAR_BIT(a, n, EXPLORE_RELEASE)
#define lfma__a64_clear_bit_acqrel(a, n) EXPLORE_CLEAR_BIT(a, n, EXPLORE_ACQREL)
#define lfma__a64_clear_bit_sc(a, n) EXPLORE_CLEAR_BIT(a, n, EXPLORE_SC)
#define lfma__a64_cas_relaxed(a, expected, desired) EXPLORE_CAS(a, expected, desired, EXPLORE_RELAXED, false)
#define lfma__a64_cas_weak_relaxed(a, expected, desired) EXPLORE_CAS(a, expected, desired, EXPLORE_RELAXED, true)
#define lfma__a64_own_add_relaxed(a, value_) lfma__a64_store_relaxed(a, lfma__a64_load_relaxed(a) + (value_))
#define lfma__a64_own_or_relaxed(a, bits) lfma__a64_store_relaxed(a, lfma__a64_load_relaxed(a) | (bits))
#define lfma__a8_load_relaxed(a) (uint8_t) EXPLORE_LOAD(a, EXPLORE_RELAXED)
#define lfma__a8_store_relaxed(a, value_) EXPLORE_STORE(a, value_, EXPLORE_RELAXED)
#define lfma__a8_exchange_relaxed(a, value_) (uint8_t) EXPLORE_RMW(a, EXPLORE_EXCHANGE, value_, EXPLORE_RELAXED)

/* Where a signal handler may come in between, though no location that is shared is touched. */
void explore_fence(void);

static inline void lfma__signal_fence(void)
{
    explore_fence();
}

#endif
