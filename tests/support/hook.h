/* SPDX-License-Identifier: MIT */
/*
 * A door to atomics for tests (lfma/base/atomic.h): the real one, and a hook before each operation. The library is
 * built against it from the same sources (-DLFMA_ATOMIC_DOOR). What stands behind the hook is linked in:
 *
 *     hook.c         before a chosen operation on a chosen word another thread acts: the one way through a race
 *     steps.c        counts operations, and interrupts a call at each of them in turn
 *     hook_yield.c   threads give way now and then
 */
#ifndef LFMA_TESTS_SUPPORT_HOOK_H
#define LFMA_TESTS_SUPPORT_HOOK_H

/* The real door: its guard has just been set by the header that includes this one. */
#undef LFMA_ATOMIC_DOOR
#undef LFMA_BASE_ATOMIC_H
#include "base/atomic.h"
#define LFMA_ATOMIC_DOOR "support/hook.h"

enum hook_kind {
    HOOK_LOAD,
    HOOK_STORE,
    HOOK_CHANGE /* read-modify-write */,
    HOOK_EXCHANGE /* compare-exchange */,
    HOOK_ANY
};

/* Returns whether a compare-exchange is to fail although its word is as expected. */
bool hook_before(const void *cell, enum hook_kind kind);

/* ---------------------------------------------------------------------------------------- for tests with hook.c */

typedef void hook_act(void *argument);

/*
 * Before the nth operation (from 1) of this kind that this thread makes on the cell from now on, act(argument) runs,
 * once. What it does itself is not counted and meets no hook. Several may wait. Cell NULL: any.
 */
void hook_set(const void *cell, enum hook_kind kind, unsigned nth, hook_act *act, void *argument);

/* Those that have not run. */
unsigned hook_waiting(void);
void hook_clear(void);

/* -------------------------------------------------------------------------------------------- the library's side */

/*
 * Functions, not macros with a comma: a line of the library then has as many calls as over the real door, and what
 * gcov counts of both can be added up.
 */
#define HOOK_LOAD_(word, type, name)                                                                                 \
    static inline type hooked_##word##_##name(const lfma__##word *a)                                                 \
    {                                                                                                                \
        (void)hook_before(a, HOOK_LOAD);                                                                             \
        return lfma__##word##_##name(a);                                                                             \
    }
#define HOOK_STORE_(word, type, name)                                                                                \
    static inline void hooked_##word##_##name(lfma__##word *a, type value)                                           \
    {                                                                                                                \
        (void)hook_before(a, HOOK_STORE);                                                                            \
        lfma__##word##_##name(a, value);                                                                             \
    }
#define HOOK_CHANGE_(word, type, name, operand)                                                                      \
    static inline type hooked_##word##_##name(lfma__##word *a, operand value)                                        \
    {                                                                                                                \
        (void)hook_before(a, HOOK_CHANGE);                                                                           \
        return lfma__##word##_##name(a, value);                                                                      \
    }
#define HOOK_EXCHANGE_(word, type, name)                                                                             \
    static inline type hooked_##word##_##name(lfma__##word *a, uint64_t *expected, uint64_t desired)                 \
    {                                                                                                                \
        return !hook_before(a, HOOK_EXCHANGE) && lfma__##word##_##name(a, expected, desired);                        \
    }

HOOK_LOAD_(a64, uint64_t, load_relaxed)
HOOK_LOAD_(a64, uint64_t, load_acquire)
HOOK_LOAD_(a64, uint64_t, load_sc)
HOOK_STORE_(a64, uint64_t, store_relaxed)
HOOK_STORE_(a64, uint64_t, store_release)
HOOK_CHANGE_(a64, uint64_t, add_relaxed, uint64_t)
HOOK_CHANGE_(a64, uint64_t, add_release, uint64_t)
HOOK_CHANGE_(a64, uint64_t, or_relaxed, uint64_t)
HOOK_CHANGE_(a64, uint64_t, or_sc, uint64_t)
HOOK_CHANGE_(a64, uint64_t, and_release, uint64_t)
HOOK_CHANGE_(a64, uint64_t, and_acqrel, uint64_t)
HOOK_CHANGE_(a64, uint64_t, and_sc, uint64_t)
HOOK_CHANGE_(a64, bool, set_bit_sc, unsigned)
HOOK_CHANGE_(a64, bool, set_bit_acquire, unsigned)
HOOK_CHANGE_(a64, bool, clear_bit_acqrel, unsigned)
HOOK_EXCHANGE_(a64, bool, cas_relaxed)
HOOK_EXCHANGE_(a64, bool, cas_weak_relaxed)
HOOK_LOAD_(a8, uint8_t, load_relaxed)
HOOK_STORE_(a8, uint8_t, store_relaxed)
HOOK_CHANGE_(a8, uint8_t, exchange_relaxed, uint8_t)

/* As on targets that have no one instruction for it. */
static inline void hooked_a64_own_add_relaxed(lfma__a64 *a, uint64_t value)
{
    hooked_a64_store_relaxed(a, hooked_a64_load_relaxed(a) + value);
}

static inline void hooked_a64_own_or_relaxed(lfma__a64 *a, uint64_t bits)
{
    hooked_a64_store_relaxed(a, hooked_a64_load_relaxed(a) | bits);
}

#define lfma__a64_own_add_relaxed hooked_a64_own_add_relaxed
#define lfma__a64_own_or_relaxed hooked_a64_own_or_relaxed
#define lfma__a64_load_relaxed hooked_a64_load_relaxed
#define lfma__a64_load_acquire hooked_a64_load_acquire
#define lfma__a64_load_sc hooked_a64_load_sc
#define lfma__a64_store_relaxed hooked_a64_store_relaxed
#define lfma__a64_store_release hooked_a64_store_release
#define lfma__a64_add_relaxed hooked_a64_add_relaxed
#define lfma__a64_add_release hooked_a64_add_release
#define lfma__a64_or_relaxed hooked_a64_or_relaxed
#define lfma__a64_or_sc hooked_a64_or_sc
#define lfma__a64_and_release hooked_a64_and_release
#define lfma__a64_and_acqrel hooked_a64_and_acqrel
#define lfma__a64_and_sc hooked_a64_and_sc
#define lfma__a64_set_bit_sc hooked_a64_set_bit_sc
#define lfma__a64_set_bit_acquire hooked_a64_set_bit_acquire
#define lfma__a64_clear_bit_acqrel hooked_a64_clear_bit_acqrel
#define lfma__a64_cas_relaxed hooked_a64_cas_relaxed
#define lfma__a64_cas_weak_relaxed hooked_a64_cas_weak_relaxed
#define lfma__a8_load_relaxed hooked_a8_load_relaxed
#define lfma__a8_store_relaxed hooked_a8_store_relaxed
#define lfma__a8_exchange_relaxed hooked_a8_exchange_relaxed

#endif
