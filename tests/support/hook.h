/* SPDX-License-Identifier: MIT */
/*
 * A third door to atomics (lfma/base/atomic.h): the real one, and a hook before each operation. A test says before
 * which operation on which word another thread is to act, and so takes the one way through a race that it is about.
 * The library is built against it from the same sources (-DLFMA_ATOMIC_DOOR).
 */
#ifndef LFMA_TESTS_SUPPORT_HOOK_H
#define LFMA_TESTS_SUPPORT_HOOK_H

/* The real door: its guard has just been set by the header that includes this one. */
#undef LFMA_ATOMIC_DOOR
#undef LFMA_BASE_ATOMIC_H
#include "base/atomic.h"

enum hook_kind { HOOK_LOAD, HOOK_STORE, HOOK_CHANGE /* read-modify-write */, HOOK_ANY };

typedef void hook_act(void *argument);

/*
 * Before the nth operation (from 1) of this kind that this thread makes on the cell from now on, act(argument) runs,
 * once. What it does itself is not counted and meets no hook. Several may wait. Cell NULL: any.
 */
void hook_set(const void *cell, enum hook_kind kind, unsigned nth, hook_act *act, void *argument);

/* Those that have not run. */
unsigned hook_waiting(void);
void hook_clear(void);

/* The library's side. */
void hook_before(const void *cell, enum hook_kind kind);

#define HOOK_LOADS(type, size, name)                                                                                 \
    static inline type hooked_##size##_##name(const lfma__##size *a)                                                 \
    {                                                                                                                \
        hook_before(a, HOOK_LOAD);                                                                                   \
        return lfma__##size##_##name(a);                                                                             \
    }
#define HOOK_STORES(type, size, name)                                                                                \
    static inline void hooked_##size##_##name(lfma__##size *a, type value)                                           \
    {                                                                                                                \
        hook_before(a, HOOK_STORE);                                                                                  \
        lfma__##size##_##name(a, value);                                                                             \
    }
#define HOOK_CHANGES(type, size, name)                                                                               \
    static inline type hooked_##size##_##name(lfma__##size *a, type argument)                                        \
    {                                                                                                                \
        hook_before(a, HOOK_CHANGE);                                                                                 \
        return lfma__##size##_##name(a, argument);                                                                   \
    }
#define HOOK_BITS(name)                                                                                              \
    static inline bool hooked_a64_##name(lfma__a64 *a, unsigned n)                                                   \
    {                                                                                                                \
        hook_before(a, HOOK_CHANGE);                                                                                 \
        return lfma__a64_##name(a, n);                                                                               \
    }

HOOK_LOADS(uint64_t, a64, load_relaxed)
HOOK_LOADS(uint64_t, a64, load_acquire)
HOOK_LOADS(uint64_t, a64, load_sc)
HOOK_LOADS(uint8_t, a8, load_relaxed)
HOOK_STORES(uint64_t, a64, store_relaxed)
HOOK_STORES(uint64_t, a64, store_release)
HOOK_STORES(uint8_t, a8, store_relaxed)
HOOK_CHANGES(uint64_t, a64, add_relaxed)
HOOK_CHANGES(uint64_t, a64, add_release)
HOOK_CHANGES(uint64_t, a64, or_relaxed)
HOOK_CHANGES(uint64_t, a64, or_sc)
HOOK_CHANGES(uint64_t, a64, and_release)
HOOK_CHANGES(uint64_t, a64, and_acqrel)
HOOK_CHANGES(uint64_t, a64, and_sc)
HOOK_CHANGES(uint8_t, a8, exchange_relaxed)
HOOK_BITS(set_bit_sc)
HOOK_BITS(clear_bit_acqrel)

static inline bool hooked_a64_cas_relaxed(lfma__a64 *a, uint64_t *expected, uint64_t desired)
{
    hook_before(a, HOOK_CHANGE);
    return lfma__a64_cas_relaxed(a, expected, desired);
}

#define lfma__a64_load_relaxed hooked_a64_load_relaxed
#define lfma__a64_load_acquire hooked_a64_load_acquire
#define lfma__a64_load_sc hooked_a64_load_sc
#define lfma__a8_load_relaxed hooked_a8_load_relaxed
#define lfma__a64_store_relaxed hooked_a64_store_relaxed
#define lfma__a64_store_release hooked_a64_store_release
#define lfma__a8_store_relaxed hooked_a8_store_relaxed
#define lfma__a64_add_relaxed hooked_a64_add_relaxed
#define lfma__a64_add_release hooked_a64_add_release
#define lfma__a64_or_relaxed hooked_a64_or_relaxed
#define lfma__a64_or_sc hooked_a64_or_sc
#define lfma__a64_and_release hooked_a64_and_release
#define lfma__a64_and_acqrel hooked_a64_and_acqrel
#define lfma__a64_and_sc hooked_a64_and_sc
#define lfma__a8_exchange_relaxed hooked_a8_exchange_relaxed
#define lfma__a64_set_bit_sc hooked_a64_set_bit_sc
#define lfma__a64_clear_bit_acqrel hooked_a64_clear_bit_acqrel
#define lfma__a64_cas_relaxed hooked_a64_cas_relaxed

#endif
