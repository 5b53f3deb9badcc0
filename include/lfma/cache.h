/* SPDX-License-Identifier: MIT */
/**
 * @file cache.h  What threads keep between the arena's bitmaps and their callers. Included by lfma.h.
 *
 * Each thread keeps a cache in each arena, without asking: blocks that it has taken ahead, several by one atomic, and
 * blocks that it has freed and not yet given back. Most calls then touch nothing that another thread writes. All
 * caches of an arena together keep at most lfma_arena_config.cache_bytes, whoever is idle; what they keep can be read
 * in the statistics. A thread's cache is given back when the thread ends, at lfma_cache_flush(), and, when memory
 * runs short anywhere in the arena, at the thread's next call on it.
 *
 * Code that wants no thread-local look-up, or a cache for something that is no thread, makes a cache of its own: a
 * handle, which one thread at a time may use.
 */
#ifndef LFMA_CACHE_H
#define LFMA_CACHE_H

#include "lfma.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A cache of an arena that is no thread's. Opaque. */
typedef struct lfma_cache lfma_cache;

/**
 * Make a cache; the caller owns it until lfma_cache_destroy(), or until the arena is destroyed. It takes one of the
 * arena's slots (lfma_arena_config.threads_max).
 * @return 0 · LFMA_E_INVALID · LFMA_E_LIMIT: no slot is left. Lock-free. @since 0.1
 */
LFMA_API LFMA_MUST_CHECK int lfma_cache_create(lfma_arena *arena, lfma_cache **ret_cache);

/** Give back all that a cache keeps, and its slot. NULL is allowed. Wait-free, O(orders). @since 0.1 */
LFMA_API void lfma_cache_destroy(lfma_cache *cache);

/**
 * As lfma_try_alloc_aligned() on the cache's arena, by way of this cache. One thread at a time, also as far as signal
 * handlers go. @since 0.1
 */
LFMA_API LFMA_MUST_CHECK int lfma_cache_try_alloc(lfma_cache *cache, size_t bytes, size_t alignment, unsigned flags,
                                                  void **ret_block);

/** As lfma_alloc(), by way of this cache. @since 0.1 */
LFMA_API LFMA_MUST_CHECK void *lfma_cache_alloc(lfma_cache *cache, size_t bytes);

/** As lfma_free(), by way of this cache: of any block of the arena, wherever it was allocated. @since 0.1 */
LFMA_API int lfma_cache_free(lfma_cache *cache, void *block);

/**
 * Give back all that a cache keeps, now: before a pause, say. It fills again when it is used.
 * @param cache NULL: the calling thread's own
 * @return 0 · LFMA_E_INVALID: arena is NULL, or the cache is of another arena. Wait-free, O(orders). @since 0.1
 */
LFMA_API int lfma_cache_flush(lfma_arena *arena, lfma_cache *cache);

#ifdef __cplusplus
}
#endif

#endif
