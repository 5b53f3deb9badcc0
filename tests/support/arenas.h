/* SPDX-License-Identifier: MIT */
/* Arenas in one line, and what is to be true of them at rest. */
#ifndef LFMA_TESTS_SUPPORT_ARENAS_H
#define LFMA_TESTS_SUPPORT_ARENAS_H

#include <lfma/lfma.h>
#include <stdbool.h>

/* In pages, 0 = the default; page_bytes 0 = 64. */
typedef struct arena_plan {
    size_t pages;
    size_t page_bytes;
    size_t block_pages;
    size_t zone_pages;
    uint32_t flags;
    uint32_t threads_max;
    bool caches; /* false: LFMA_NO_CACHE, and every call shows in the bitmaps */
    size_t cache_pages;
    lfma_budget budget; /* { 0, 0 } and !no_budget: the default */
    bool no_budget;
    lfma_clock_fn *clock;
    void *clock_context;
} arena_plan;

lfma_arena_config arena_config(const arena_plan *plan);

/* Aborts the process if the arena cannot be had: that a valid plan works is tested in unit/arena.c. */
lfma_arena *arena_open(const arena_plan *plan);

#define ARENA(...) arena_open(&(const arena_plan){ __VA_ARGS__ })

lfma_arena_stats_t arena_stats(lfma_arena *arena);

/* At rest: all zones sound, no owner word in flight, the caches within their bounds and as the statistics say. Prints
 * what is broken to stderr. */
bool arena_is_sound(lfma_arena *arena);

/* Let a cache's grants grow in all their steps, as many refills would: to its even share, or what is left of it. */
void arena_grow_grants(lfma_arena *arena, lfma_cache *cache);

/* Coalesce whole, without limits; true if the call says it was complete. */
bool arena_join_all(lfma_arena *arena);

/* After a complete pass over an empty arena: is every zone bit for bit a fresh one? Prints the difference. */
bool arena_is_fresh(lfma_arena *arena);

/* All zones' metadata, bit for bit (not the owner slots: calls count there): a copy, to be freed; a comparison. */
void *arena_copy(lfma_arena *arena);
bool arena_is_copy(lfma_arena *arena, const void *copy);

/* How long such a copy is, and the same into memory that is there. */
size_t arena_copy_bytes(lfma_arena *arena);
void arena_copy_to(lfma_arena *arena, void *copy);

#endif
