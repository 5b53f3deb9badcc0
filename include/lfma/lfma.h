/* SPDX-License-Identifier: MIT */
/**
 * @file lfma.h  LFMA, a lock-free bitmap buddy allocator: arenas and the everyday calls.
 *
 * An arena hands out blocks of 2^k pages from one reserved address range. Any thread may allocate and any
 * thread may free; nothing takes a lock. The memory that is handed out is never read or written by the library.
 *
 * Unless a comment says otherwise, every call
 *  - may run in any thread at the same time as any other call on the same arena;
 *  - is lock-free: a thread that is stopped anywhere never keeps another one from finishing;
 *  - makes no system call and takes no lock, except create and destroy (and a thread, once, when it ends: what its
 *    caches keep is given back under a lock that nothing else takes), and never prints, aborts, or touches errno;
 *  - may run in a signal handler, also one that interrupts a call on the same arena, once its thread has made one
 *    successful call (the first call of a thread registers it with the C library, which is not signal-safe);
 *  - on failure returns a code (error.h) and leaves all state, and every output parameter, as it was.
 *
 * After fork() a child may use an arena of its parent only if no other thread was inside a call at that moment. What
 * the caches of the parent's other threads kept is given back in the child when memory runs short.
 */
#ifndef LFMA_LFMA_H
#define LFMA_LFMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "version.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define LFMA_API __attribute__((visibility("default")))
#define LFMA_MUST_CHECK __attribute__((warn_unused_result))
#else
#define LFMA_API
#define LFMA_MUST_CHECK
#endif

/** An arena: zones over one reserved address range. Opaque. */
typedef struct lfma_arena lfma_arena;

/* ------------------------------------------------------------------------------------------------ budgets */

/**
 * How much coalescing one call may do: it stops at whichever limit is reached first.
 *
 * A step is one 64-bit map word visited; joining one block counts as 16 steps. The clock is read after each joined
 * block and after 16 words without one, so at most once in 16 steps. 0 in either member means "do nothing".
 * With `steps` unlimited a step cap still applies, of one step a nanosecond, so that a clock that stands still ends.
 */
typedef struct lfma_budget {
    uint64_t ns;    /**< nanoseconds; LFMA_UNLIMITED: no limit */
    uint64_t steps; /**< steps; LFMA_UNLIMITED: no limit of its own */
} lfma_budget;

#define LFMA_UNLIMITED UINT64_MAX

/* clang-format off */
/** Initialisers: `lfma_budget b = LFMA_BUDGET_NS(10000);` */
#define LFMA_BUDGET_NS(n)    { (n), LFMA_UNLIMITED }
#define LFMA_BUDGET_STEPS(n) { LFMA_UNLIMITED, (n) }
#define LFMA_BUDGET_ALL      { LFMA_UNLIMITED, LFMA_UNLIMITED }
#define LFMA_BUDGET_NONE     { 0, 0 }
/* clang-format on */

/* ------------------------------------------------------------------------------------------ configuration */

/** A clock in nanoseconds; may be called from any thread. It bounds coalescing and is used for nothing else. */
typedef uint64_t lfma_clock_fn(void *context);

/** Flags of an arena. */
enum lfma_arena_flag {
    /**
     * Exact detection of racing frees: of several threads that free one block at the same instant one succeeds and
     * the others get LFMA_E_DOUBLE_FREE, also while the block is split or joined. (Not if it has been handed out
     * again between two steps of the slower free: then that one frees the new owner's block, as any late second
     * free does; only generations could tell.) Without this flag a double free is caught too, unless the block is
     * claimed, split or joined at the very instant of the second free, or another thread's cache has taken it ahead:
     * then it counts as allocated.
     * Costs an atomic exchange at each free, and a line that both threads write.
     */
    LFMA_HARDENED = 1u << 0,
    /** No per-thread caches (cache.h): each call works on the shared bitmaps. Then `cache_bytes` must be 0. */
    LFMA_NO_CACHE = 1u << 1
};

/**
 * What an arena is made of. Start from LFMA_ARENA_CONFIG_INIT and set `bytes`; 0 elsewhere means the default.
 */
typedef struct lfma_arena_config {
    size_t size;            /**< sizeof(lfma_arena_config) */
    size_t bytes;           /**< payload; rounded up to whole pages; from one page to 2^45 bytes */
    size_t page_bytes;      /**< the unit: a power of two from 64 B to 1 GiB; default 4096. Not the OS page. */
    size_t block_bytes_max; /**< largest block; rounded up to a power of two of pages, at most as many as fit the
                                 arena and a zone; default: the largest power of two that does */
    size_t zone_bytes;      /**< a zone; rounded up to a power of two, not below block_bytes_max, at most 2^31 pages.
                                 Default: one zone if block_bytes_max is a default too, else a sixteenth of
                                 the arena and at least 16 of the largest blocks */
    lfma_budget coalesce;   /**< bounds the coalescing passes inside one allocation; default 100 ms (16 GiB of
                                 single free pages are joined in less); LFMA_BUDGET_NONE: no passes */
    size_t cache_bytes;     /**< what the caches of all threads together may keep, at most; default: an eighth of
                                 the arena. LFMA_NO_CACHE: nothing. */
    uint32_t flags;         /**< enum lfma_arena_flag */
    uint32_t threads_max; /**< threads with an owner slot of their own, 1 … 1024; default 256. Further threads work
                                 too, over a slot that they share (one atomic add a call more). */
    lfma_clock_fn *clock; /**< default: CLOCK_MONOTONIC, through the vDSO */
    void *clock_context;
} lfma_arena_config;

/* clang-format off */
#define LFMA_ARENA_CONFIG_INIT                                                                      \
    { sizeof(lfma_arena_config), 0, 0, 0, 0, { 100000000u, LFMA_UNLIMITED }, 0, 0, 0, NULL, NULL }
/* clang-format on */

/* ------------------------------------------------------------------------------------ create and destroy */

/**
 * Create an arena; the caller owns it until lfma_arena_destroy().
 *
 * Reserves the address range (not committed: pages of the OS come at first touch) and its metadata, 11.1 bits a
 * page and 4.5 KiB a thread slot (touched as it is used), apart from it. The range starts at a multiple of
 * block_bytes_max, so blocks are aligned to their size.
 * @return 0 · LFMA_E_INVALID (a member is out of range, or they contradict each other) · LFMA_E_OS
 * Makes system calls; O(bytes / block_bytes_max). Not for signal handlers. @since 0.1
 */
LFMA_API LFMA_MUST_CHECK int lfma_arena_create(const lfma_arena_config *config, lfma_arena **ret_arena);

/**
 * Destroy an arena and unmap its memory. No other call on the arena may be running or follow. NULL is allowed.
 * @return 0 · LFMA_E_BUSY: blocks are still allocated (what caches keep is not); nothing is destroyed.
 * Makes system calls; O(pages / 64). Not for signal handlers. @since 0.1
 */
LFMA_API LFMA_MUST_CHECK int lfma_arena_destroy(lfma_arena *arena);

/** As lfma_arena_destroy(), also when blocks are still allocated: they become invalid. @since 0.1 */
LFMA_API void lfma_arena_destroy_forced(lfma_arena *arena);

/* ---------------------------------------------------------------------------------------- allocate and free */

/** Flags of one allocation. */
enum lfma_alloc_flag {
    /** No coalescing pass in this call: where one would have served it, LFMA_E_BUDGET is returned. */
    LFMA_ALLOC_NO_COALESCE = 1u << 0
};

/**
 * Allocate a block of at least `bytes` bytes; the caller owns it until lfma_free().
 *
 * As lfma_try_alloc() with no flags, but without the reason: fails and returns NULL iff that call returns a code.
 * The block is not zeroed; it is aligned to its usable size. @since 0.1
 */
LFMA_API LFMA_MUST_CHECK void *lfma_alloc(lfma_arena *arena, size_t bytes);

/**
 * Allocate a block of at least `bytes` bytes: 2^k pages, the smallest that fit.
 *
 * @param bytes 1 … block_bytes_max
 * @param flags enum lfma_alloc_flag
 * @return 0: `*ret_block` is the block, not zeroed, aligned to its usable size.
 *   LFMA_E_INVALID: NULL argument, bytes is 0, unknown flag.
 *   LFMA_E_NEVER: larger than the largest block.
 *   LFMA_E_NOMEM: at some instant of the call fewer pages were free than the block has.
 *   LFMA_E_FRAGMENTED: at some instant of the call no aligned run of the size was free (though as many pages were).
 *   (An instant in an order of events that agrees with all that the program itself orders: a free that nothing orders
 *   before another thread's allocation may count as coming after it. What other threads' caches keep counts as
 *   taken: at most cache_bytes, and by default only of sizes of which the arena has 128 blocks or more; they give it
 *   back at their next call. What this thread's own cache kept has been given back.)
 *   LFMA_E_BUDGET: an aligned run of the size was free, or could not be ruled out, but the coalescing budget ran out
 *     before it was joined; what was joined stays joined; call again.
 *   LFMA_E_AGAIN: other threads moved blocks throughout a bounded number of looks; nothing was proved; call again.
 * Lock-free. O(search words) while a block of the size or larger is found; else coalesces within the arena's budget
 * and, before it fails, reads the page map, at most 32 times, as a rule once: O(pages / 64). @since 0.1
 */
LFMA_API LFMA_MUST_CHECK int lfma_try_alloc(lfma_arena *arena, size_t bytes, unsigned flags, void **ret_block);

/**
 * Allocate a block of at least `bytes` bytes at a multiple of `alignment`: a power of two, or 0 for the natural one.
 * An alignment above the block's size is served by a larger block. Fails and returns NULL iff
 * lfma_try_alloc_aligned() with no flags returns a code. @since 0.1
 */
LFMA_API LFMA_MUST_CHECK void *lfma_alloc_aligned(lfma_arena *arena, size_t bytes, size_t alignment);

/**
 * As lfma_alloc_aligned(), with flags and the reason of a failure: the codes of lfma_try_alloc();
 * LFMA_E_INVALID also if `alignment` is no power of two, LFMA_E_NEVER if it is above block_bytes_max. @since 0.1
 */
LFMA_API LFMA_MUST_CHECK int lfma_try_alloc_aligned(lfma_arena *arena, size_t bytes, size_t alignment, unsigned flags,
                                                    void **ret_block);

/**
 * Free a block, from any thread. NULL is allowed and does nothing.
 *
 * @return 0: the block is free and what the caller wrote to it happens before its next owner gets it.
 *   LFMA_E_INVALID: arena is NULL. LFMA_E_FOREIGN: outside the arena. LFMA_E_UNALIGNED: not at the start of a page.
 *   LFMA_E_INNER: inside an allocated block. LFMA_E_DOUBLE_FREE: nothing is allocated there.
 *   After each of these nothing has changed but a counter (lfma_arena_stats()).
 * Wait-free: O(1) when the pointer is right. Never merges. @since 0.1
 */
LFMA_API int lfma_free(lfma_arena *arena, void *block);

/**
 * The bytes that the owner of `block` may use: the size asked for, rounded up to a power of two of pages.
 * @return 0 if `block` is not the start of an allocated block of `arena`. What a cache has taken ahead counts as
 *   allocated, except in hardened arenas. Wait-free, O(1). @since 0.1
 */
LFMA_API size_t lfma_usable_size(lfma_arena *arena, const void *block);

/**
 * The start of the allocated block that contains the byte at `inner`, which its caller must own.
 * @return NULL if no allocated block of `arena` contains it. Wait-free, O(log block_bytes_max). @since 0.1
 */
LFMA_API void *lfma_block_of(lfma_arena *arena, const void *inner);

/* ------------------------------------------------------------------------------------------------ coalesce */

/** What one lfma_coalesce() did. Start from LFMA_COALESCE_RESULT_INIT. */
typedef struct lfma_coalesce_result {
    size_t size;            /**< sizeof(lfma_coalesce_result) */
    uint64_t steps;         /**< steps spent */
    uint64_t ns;            /**< time spent, by the arena's clock */
    uint64_t blocks_joined; /**< blocks made, each of two or more free ones */
    uint64_t conflicts;     /**< joins given up because another thread took a part */
    size_t bytes_max;       /**< the largest block made */
    bool complete;          /**< the whole arena was walked by this call: every aligned free run that nobody else
                                 touched meanwhile is now one block */
} lfma_coalesce_result;

/* clang-format off */
#define LFMA_COALESCE_RESULT_INIT { sizeof(lfma_coalesce_result), 0, 0, 0, 0, 0, false }
/* clang-format on */

/**
 * Join free buddies into the largest aligned blocks, within a budget; go on where the last call left off.
 *
 * Safe while others allocate, free and coalesce; worth calling from an idle thread. A call goes on at the cursor;
 * if it gets to the end within its budget it walks the whole arena once more from the start, and stops: it always
 * ends.
 * It passes its time budget by no more than the join of one block (or 16 words) and one read of the clock.
 * @param budget NULL: the arena's own. LFMA_BUDGET_NONE does nothing.
 * @param ret_result may be NULL
 * @return 0 · LFMA_E_INVALID. Lock-free; paper: section "incremental coalescing". @since 0.1
 */
LFMA_API int lfma_coalesce(lfma_arena *arena, const lfma_budget *budget, lfma_coalesce_result *ret_result);

/* -------------------------------------------------------------------------------------------------- texts */

/** One line of English for a code, never NULL, static; also for numbers that are no code. @since 0.1 */
LFMA_API const char *lfma_strerror(int code);

/** The code's name, such as "LFMA_E_NOMEM"; "LFMA_E_?" for numbers that are no code. @since 0.1 */
LFMA_API const char *lfma_error_name(int code);

/** LFMA_VERSION_STRING of the library that is linked. @since 0.1 */
LFMA_API const char *lfma_version(void);

#ifdef __cplusplus
}
#endif

#include "cache.h"
#include "stats.h"

#endif
