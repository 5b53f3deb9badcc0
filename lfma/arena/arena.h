/* SPDX-License-Identifier: MIT */
/*
 * Room `arena`: zones over one reserved address range, and the public calls.
 *
 *     payload    | zone 0 | zone 1 | … | last zone (may be shorter) |   never touched
 *     metadata   | arena | owner slots 0 … threads_max - 1, the shared one | zone 0 | zone 1 | … |
 *
 * A1  Zones lie at multiples of a power of two from the payload's base, which is a multiple of the largest block.
 * A2  A thread uses the owner slot of its number (os/thread.h); without one, or while a call of its own is
 *     interrupted by a signal handler that calls, the shared slot.
 * A3  A thread starts to look in a home zone, given by its number, and falls back to the others in turn.
 *
 * The handle is of this process: it holds pointers. The zones hold none.
 */
#ifndef LFMA_ARENA_ARENA_H
#define LFMA_ARENA_ARENA_H

#include <lfma/lfma.h>

#include "os/os.h"
#include "zone/zone.h"

struct lfma_arena {
    /* Never changes after creation: shared read-only by all threads. */
    uintptr_t base;
    uint64_t bytes; /* whole pages */
    uint32_t page_shift;
    uint32_t zone_shift;
    uint32_t zone_count;
    uint32_t order_max;
    uint32_t threads_max;
    bool hardened;
    uint64_t zone_stride; /* bytes of metadata from one zone to the next */
    char *zones;
    lfma__owner *owners;
    uint64_t metadata_bytes;
    lfma_budget coalesce;
    lfma_clock_fn *clock;
    void *clock_context;

    _Alignas(LFMA_LINE_BYTES) lfma__a64 coalesce_zone; /* the zone where the next lfma_coalesce() goes on */
};

static inline lfma__zone *lfma__arena_zone(lfma_arena *arena, uint64_t index)
{
    return (lfma__zone *)(void *)(arena->zones + index * arena->zone_stride);
}

/* ------------------------------------------------------------------------------ who calls (owners.c) */

typedef struct lfma__caller {
    lfma__owner *owner;
    lfma__thread *thread; /* whose busy flag this call raised; NULL if none */
} lfma__caller;

lfma__caller lfma__arena_enter_slow(lfma_arena *arena, lfma__thread *thread);

static inline lfma__caller lfma__arena_enter(lfma_arena *arena)
{
    lfma__thread *const thread = &lfma__thread_self;
    /* E0: of this thread and its signal handlers alone; the signal fences keep it around the call. */
    if (LFMA_UNLIKELY(thread->index >= arena->threads_max || lfma__a8_load_relaxed(&thread->busy)))
        return lfma__arena_enter_slow(arena, thread);
    lfma__a8_store_relaxed(&thread->busy, 1); /* E0 */
    lfma__signal_fence();
    return (lfma__caller){ &arena->owners[thread->index], thread };
}

static inline void lfma__arena_leave(lfma__caller caller)
{
    if (LFMA_UNLIKELY(!caller.thread))
        return;
    lfma__signal_fence();
    lfma__a8_store_relaxed(&caller.thread->busy, 0); /* E0: as in lfma__arena_enter */
}

static inline uint32_t lfma__caller_home(lfma__caller caller)
{
    return caller.thread ? caller.thread->index : 0;
}

/* All owner words at one reading: equal sums mean that no word has changed. */
typedef struct lfma__owners_seen {
    uint64_t sum;
    bool in_flight;
} lfma__owners_seen;

lfma__owners_seen lfma__arena_read_owners(lfma_arena *arena);

/*
 * Is no aligned run of 2^order pages free? LFMA_E_NOMEM or LFMA_E_FRAGMENTED: so it was at one instant of the call.
 * LFMA_OK: a run is marked free. LFMA_E_AGAIN: blocks moved meanwhile.
 */
int lfma__arena_prove(lfma_arena *arena, unsigned order);

/* ------------------------------------------------------------------------------ addresses */

/* Which page of which zone an address is; the caller has checked that it lies in the arena. */
typedef struct lfma__place {
    lfma__zone *zone;
    uint64_t page;
} lfma__place;

static inline lfma__place lfma__arena_place(lfma_arena *arena, uint64_t offset)
{
    const uint64_t in_zone = offset & (((uint64_t)1 << arena->zone_shift) - 1);
    return (lfma__place){ lfma__arena_zone(arena, offset >> arena->zone_shift), in_zone >> arena->page_shift };
}

/* A pointer's offset; at least arena->bytes if it is outside. */
static inline uint64_t lfma__arena_offset(const lfma_arena *arena, const void *pointer)
{
    return (uint64_t)((uintptr_t)pointer - arena->base);
}

/* ------------------------------------------------------------------------------ coalesce (coalesce.c) */

/*
 * Coalesce until the meter is spent, all zones were walked whole (true), or a block of join->want was made and kept
 * (join->kept_page): then *ret_zone is its zone.
 */
bool lfma__arena_coalesce(lfma_arena *arena, lfma__join *join, uint64_t *ret_zone);

#endif
