/* SPDX-License-Identifier: MIT */
/*
 * The door to <stdatomic.h>: every atomic of the library goes through here, and its name bears its order.
 *
 * Another implementation of the same operations (a scheduler that explores interleavings) can stand in for this one:
 * build with -DLFMA_ATOMIC_DOOR='"file.h"'.
 *
 * Only what is used exists. Words are 64 bits, block states 8 bits, never mixed on one location. Operations that
 * return the old value use it, so that aarch64 compilers keep the acquiring form (an atomic whose result goes to the
 * zero register may lose its acquire). No fences: race detectors do not see them.
 *
 * Constant operands of and and or are opaque: of `and 0`, its result unused, clang 14 makes a plain store, and of
 * `or 0` a load (llvm issues 60418, 56450). A store ends what earlier releases on the word have begun; the proofs in
 * docs/ORDERING.md count on bitmap words being written by read-modify-writes alone.
 */
#ifndef LFMA_BASE_ATOMIC_H
#define LFMA_BASE_ATOMIC_H

/* Before any #include, so that it is the first thing that a compiler complains of. */
#if __SIZEOF_POINTER__ != 8
#error "LFMA needs a 64-bit target (docs/decisions/0008-64-bit-only.md)"
#endif

#ifdef LFMA_ATOMIC_DOOR
#include LFMA_ATOMIC_DOOR
#else

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "LFMA needs lock-free 64-bit atomics on this target");
_Static_assert(ATOMIC_CHAR_LOCK_FREE == 2, "LFMA needs lock-free 8-bit atomics on this target");

typedef struct lfma__a64 {
    _Atomic(uint64_t) value;
} lfma__a64;

typedef struct lfma__a8 {
    _Atomic(uint8_t) value;
} lfma__a8;

_Static_assert(sizeof(lfma__a64) == 8 && sizeof(lfma__a8) == 1, "an atomic word has no hidden lock");

static inline uint64_t lfma__a64_load_relaxed(const lfma__a64 *a)
{
    return atomic_load_explicit(&a->value, memory_order_relaxed);
}

static inline uint64_t lfma__a64_load_acquire(const lfma__a64 *a)
{
    return atomic_load_explicit(&a->value, memory_order_acquire);
}

static inline uint64_t lfma__a64_load_sc(const lfma__a64 *a)
{
    return atomic_load_explicit(&a->value, memory_order_seq_cst);
}

static inline void lfma__a64_store_relaxed(lfma__a64 *a, uint64_t value)
{
    atomic_store_explicit(&a->value, value, memory_order_relaxed);
}

static inline void lfma__a64_store_release(lfma__a64 *a, uint64_t value)
{
    atomic_store_explicit(&a->value, value, memory_order_release);
}

static inline uint64_t lfma__a64_add_relaxed(lfma__a64 *a, uint64_t value)
{
    return atomic_fetch_add_explicit(&a->value, value, memory_order_relaxed);
}

static inline uint64_t lfma__a64_add_release(lfma__a64 *a, uint64_t value)
{
    return atomic_fetch_add_explicit(&a->value, value, memory_order_release);
}

static inline uint64_t lfma__a64_or_relaxed(lfma__a64 *a, uint64_t bits)
{
    return atomic_fetch_or_explicit(&a->value, lfma__opaque(bits), memory_order_relaxed);
}

static inline uint64_t lfma__a64_or_sc(lfma__a64 *a, uint64_t bits)
{
    return atomic_fetch_or_explicit(&a->value, lfma__opaque(bits), memory_order_seq_cst);
}

static inline uint64_t lfma__a64_and_release(lfma__a64 *a, uint64_t bits)
{
    return atomic_fetch_and_explicit(&a->value, lfma__opaque(bits), memory_order_release);
}

static inline uint64_t lfma__a64_and_acqrel(lfma__a64 *a, uint64_t bits)
{
    return atomic_fetch_and_explicit(&a->value, lfma__opaque(bits), memory_order_acq_rel);
}

static inline uint64_t lfma__a64_and_sc(lfma__a64 *a, uint64_t bits)
{
    return atomic_fetch_and_explicit(&a->value, lfma__opaque(bits), memory_order_seq_cst);
}

/* Set bit n; returns whether it was set before. Written so that x86 compilers make it one `lock bts`. */
static inline bool lfma__a64_set_bit_sc(lfma__a64 *a, unsigned n)
{
    const uint64_t bit = (uint64_t)1 << n;
    return (atomic_fetch_or_explicit(&a->value, bit, memory_order_seq_cst) & bit) != 0;
}

static inline bool lfma__a64_set_bit_acquire(lfma__a64 *a, unsigned n)
{
    const uint64_t bit = (uint64_t)1 << n;
    return (atomic_fetch_or_explicit(&a->value, bit, memory_order_acquire) & bit) != 0;
}

/* Clear bit n; returns whether it was set before: one `lock btr`. */
static inline bool lfma__a64_clear_bit_acqrel(lfma__a64 *a, unsigned n)
{
    const uint64_t bit = (uint64_t)1 << n;
    return (atomic_fetch_and_explicit(&a->value, ~bit, memory_order_acq_rel) & bit) != 0;
}

static inline bool lfma__a64_cas_relaxed(lfma__a64 *a, uint64_t *expected, uint64_t desired)
{
    return atomic_compare_exchange_strong_explicit(&a->value, expected, desired, memory_order_relaxed,
                                                   memory_order_relaxed);
}

/* May fail though *expected is there: for loops. */
static inline bool lfma__a64_cas_weak_relaxed(lfma__a64 *a, uint64_t *expected, uint64_t desired)
{
    return atomic_compare_exchange_weak_explicit(&a->value, expected, desired, memory_order_relaxed,
                                                 memory_order_relaxed);
}

/*
 * Add, or, for a word that one thread alone writes and others may read at any time: a relaxed load and a relaxed
 * store.
 * On x86 one instruction, not locked, which compilers do not make of the two.
 */
static inline void lfma__a64_own_add_relaxed(lfma__a64 *a, uint64_t value)
{
#if defined(__x86_64__)
    __asm__("addq %1, %0" : "+m"(a->value) : "er"(value) : "cc");
#else
    lfma__a64_store_relaxed(a, lfma__a64_load_relaxed(a) + value);
#endif
}

static inline void lfma__a64_own_or_relaxed(lfma__a64 *a, uint64_t bits)
{
#if defined(__x86_64__)
    __asm__("orq %1, %0" : "+m"(a->value) : "er"(bits) : "cc");
#else
    lfma__a64_store_relaxed(a, lfma__a64_load_relaxed(a) | bits);
#endif
}

static inline uint8_t lfma__a8_load_relaxed(const lfma__a8 *a)
{
    return atomic_load_explicit(&a->value, memory_order_relaxed);
}

static inline void lfma__a8_store_relaxed(lfma__a8 *a, uint8_t value)
{
    atomic_store_explicit(&a->value, value, memory_order_relaxed);
}

static inline uint8_t lfma__a8_exchange_relaxed(lfma__a8 *a, uint8_t value)
{
    return atomic_exchange_explicit(&a->value, value, memory_order_relaxed);
}

/* Keeps the compiler from moving accesses across it, for a signal handler of the same thread; no instruction. */
static inline void lfma__signal_fence(void)
{
    atomic_signal_fence(memory_order_seq_cst);
}

#endif
#endif
