/* SPDX-License-Identifier: MIT */
/** @file stats.h  What an arena holds, what it has done, and whether its invariants hold. Included by lfma.h. */
#ifndef LFMA_STATS_H
#define LFMA_STATS_H

#include "lfma.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Orders a zone can have: blocks of 2^0 … 2^(LFMA_ORDERS - 1) pages. */
#define LFMA_ORDERS 32

/**
 * A look at an arena. Start from LFMA_ARENA_STATS_INIT.
 *
 * Counts are sums of counters that other threads go on raising: each is exact, but they are not of one instant.
 */
typedef struct lfma_arena_stats_t {
    size_t size; /**< sizeof(lfma_arena_stats_t) */

    void *base;             /**< first byte of the address range */
    size_t bytes;           /**< payload, in whole pages */
    size_t page_bytes;      /**< bytes a page */
    size_t block_bytes_max; /**< largest block */
    size_t zone_bytes;      /**< bytes from one zone to the next */
    size_t zones;           /**< zones */
    size_t metadata_bytes;  /**< mapped for metadata, apart from the payload */

    size_t free_bytes;                 /**< in free blocks */
    size_t cached_bytes;               /**< kept by threads' caches: neither free to others nor allocated */
    size_t cached_bytes_max;           /**< what they may keep, all together */
    size_t allocated_bytes;            /**< in allocated blocks: bytes − free_bytes − cached_bytes */
    size_t largest_free_bytes;         /**< the largest free block; coalescing may make a larger one */
    uint64_t free_blocks[LFMA_ORDERS]; /**< free blocks of each order */

    uint64_t allocs_of_order[LFMA_ORDERS]; /**< successful allocations of each order */

    uint64_t allocs;          /**< successful allocations */
    uint64_t frees;           /**< successful frees */
    uint64_t bytes_requested; /**< asked for by the successful allocations */
    uint64_t bytes_reserved;  /**< handed out for them: the difference is the rounding */
    uint64_t splits;          /**< allocations for which a larger block was split */

    uint64_t failed_nomem;      /**< LFMA_E_NOMEM returned */
    uint64_t failed_fragmented; /**< LFMA_E_FRAGMENTED returned */
    uint64_t failed_budget;     /**< LFMA_E_BUDGET returned */
    uint64_t failed_again;      /**< LFMA_E_AGAIN returned */
    uint64_t failed_never;      /**< LFMA_E_NEVER returned */
    uint64_t bad_frees;         /**< frees refused: foreign, unaligned, inner or double */

    uint64_t coalesce_runs;  /**< coalescing runs, inside allocations and called for */
    uint64_t blocks_joined;  /**< blocks that coalescing made */
    uint64_t join_conflicts; /**< joins given up because another thread took a part */
    uint64_t hints_repaired; /**< search bits set again by the slow path */
} lfma_arena_stats_t;

/* clang-format off */
#define LFMA_ARENA_STATS_INIT                                                                   \
    { sizeof(lfma_arena_stats_t), NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, { 0 }, { 0 },               \
      0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
/* clang-format on */

/**
 * Read an arena's state and counters. O(pages / 64). Wait-free.
 * @return 0 · LFMA_E_INVALID. @since 0.1
 */
LFMA_API int lfma_arena_stats(lfma_arena *arena, lfma_arena_stats_t *ret_stats);

/** What lfma_arena_validate() found. Start from LFMA_REPORT_INIT. */
typedef struct lfma_report {
    size_t size;             /**< sizeof(lfma_report) */
    const char *invariant;   /**< the first invariant broken ("I1" … "I7", docs/INVARIANTS), or NULL; static */
    const char *text;        /**< what it says, or NULL; static */
    size_t zone;             /**< where: zone, */
    size_t page;             /**< page in that zone, */
    unsigned order;          /**< and order */
    size_t pages_free;       /**< pages in free blocks */
    size_t pages_allocated;  /**< pages in allocated blocks */
    size_t blocks_free;      /**< free blocks */
    size_t blocks_allocated; /**< allocated blocks */
    size_t pages_cached;     /**< pages that threads' caches keep */
    size_t blocks_cached;    /**< blocks that threads' caches keep */
} lfma_report;

/* clang-format off */
#define LFMA_REPORT_INIT { sizeof(lfma_report), NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
/* clang-format on */

/**
 * Prove an arena's invariants by walking everything. Reads only.
 *
 * Exact at rest (no call in flight). While others run it ends, but what it reports may be a state in passing.
 * @param ret_report may be NULL; filled also when an invariant is broken
 * @return 0 · LFMA_E_BROKEN · LFMA_E_INVALID. O(pages). @since 0.1
 */
LFMA_API LFMA_MUST_CHECK int lfma_arena_validate(lfma_arena *arena, lfma_report *ret_report);

#ifdef __cplusplus
}
#endif

#endif
