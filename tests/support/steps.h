/* SPDX-License-Identifier: MIT */
/*
 * A second implementation of the door to atomics (LFMA_ATOMIC_DOOR): the same operations, each of which first counts
 * a step, and at the step that a test has chosen calls back. So one call is counted, or interrupted at each of its
 * atomics by another one, as by a signal handler or by a thread that overtakes a stopped one. One thread only.
 */
#ifndef LFMA_TESTS_SUPPORT_STEPS_H
#define LFMA_TESTS_SUPPORT_STEPS_H

/* The real one, which then stands behind the macros below. */
#undef LFMA_ATOMIC_DOOR
#undef LFMA_BASE_ATOMIC_H
#include "base/atomic.h"
#define LFMA_ATOMIC_DOOR "support/steps.h"

/* Count from 0, and before step `at` (from 1; 0: never) call `interrupt`, whose own steps are not counted. */
void steps_begin(uint64_t at, void (*interrupt)(void *argument), void *argument);

/* The steps since then; no more interruptions. */
uint64_t steps_end(void);

/* From now on every second compare-exchange fails although its word is as expected. */
void steps_fail_exchanges(bool on);

void steps_take(void);
bool steps_exchange_fails(void);

#define STEPS_LOAD(word, type, name)                                                                                 \
    static inline type steps_##word##_##name(const lfma__##word *a)                                                  \
    {                                                                                                                \
        steps_take();                                                                                                \
        return lfma__##word##_##name(a);                                                                             \
    }
#define STEPS_STORE(word, type, name)                                                                                \
    static inline void steps_##word##_##name(lfma__##word *a, type value)                                            \
    {                                                                                                                \
        steps_take();                                                                                                \
        lfma__##word##_##name(a, value);                                                                             \
    }
#define STEPS_CHANGE(word, type, name, operand)                                                                      \
    static inline type steps_##word##_##name(lfma__##word *a, operand value)                                         \
    {                                                                                                                \
        steps_take();                                                                                                \
        return lfma__##word##_##name(a, value);                                                                      \
    }

STEPS_LOAD(a64, uint64_t, load_relaxed)
STEPS_LOAD(a64, uint64_t, load_acquire)
STEPS_LOAD(a64, uint64_t, load_sc)
STEPS_STORE(a64, uint64_t, store_relaxed)
STEPS_STORE(a64, uint64_t, store_release)
STEPS_CHANGE(a64, uint64_t, add_relaxed, uint64_t)
STEPS_CHANGE(a64, uint64_t, add_release, uint64_t)
STEPS_CHANGE(a64, uint64_t, or_relaxed, uint64_t)
STEPS_CHANGE(a64, uint64_t, or_sc, uint64_t)
STEPS_CHANGE(a64, uint64_t, and_release, uint64_t)
STEPS_CHANGE(a64, uint64_t, and_acqrel, uint64_t)
STEPS_CHANGE(a64, uint64_t, and_sc, uint64_t)
STEPS_CHANGE(a64, bool, set_bit_sc, unsigned)
STEPS_CHANGE(a64, bool, clear_bit_acqrel, unsigned)
STEPS_LOAD(a8, uint8_t, load_relaxed)
STEPS_STORE(a8, uint8_t, store_relaxed)
STEPS_CHANGE(a8, uint8_t, exchange_relaxed, uint8_t)

static inline bool steps_a64_cas_relaxed(lfma__a64 *a, uint64_t *expected, uint64_t desired)
{
    steps_take();
    return !steps_exchange_fails() && lfma__a64_cas_relaxed(a, expected, desired);
}

#define lfma__a64_load_relaxed steps_a64_load_relaxed
#define lfma__a64_load_acquire steps_a64_load_acquire
#define lfma__a64_load_sc steps_a64_load_sc
#define lfma__a64_store_relaxed steps_a64_store_relaxed
#define lfma__a64_store_release steps_a64_store_release
#define lfma__a64_add_relaxed steps_a64_add_relaxed
#define lfma__a64_add_release steps_a64_add_release
#define lfma__a64_or_relaxed steps_a64_or_relaxed
#define lfma__a64_or_sc steps_a64_or_sc
#define lfma__a64_and_release steps_a64_and_release
#define lfma__a64_and_acqrel steps_a64_and_acqrel
#define lfma__a64_and_sc steps_a64_and_sc
#define lfma__a64_set_bit_sc steps_a64_set_bit_sc
#define lfma__a64_clear_bit_acqrel steps_a64_clear_bit_acqrel
#define lfma__a64_cas_relaxed steps_a64_cas_relaxed
#define lfma__a8_load_relaxed steps_a8_load_relaxed
#define lfma__a8_store_relaxed steps_a8_store_relaxed
#define lfma__a8_exchange_relaxed steps_a8_exchange_relaxed

#endif
