/* SPDX-License-Identifier: MIT */
/*
 * Room `arena`: zones over one reserved address range, and the public calls.
 *
 *     payload    | zone 0 | zone 1 | … | last zone (may be shorter) |   never touched
 *     metadata   | arena | slots 0 … threads_max - 1, the shared one | zone 0 | zone 1 | … |
 *
 * A1  Zones lie at multiples of a power of two from the payload's base, which is a multiple of the largest block.
 * A2  A thread uses the slot of its number (os/thread.h); without one, or while a call of its own is
 *     interrupted by a signal handler that calls, the shared slot.
 * A3  A thread starts to look in a home zone, given by its number, and falls back to the others in turn.
 *
 * The handle is of this process: it holds pointers. The zones hold none.
 */
#ifndef LFMA_ARENA_ARENA_H
#define LFMA_ARENA_ARENA_H

#include <lfma/lfma.h>

#include "cache/cache.h"
#include "os/os.h"

struct lfma_arena {
    /* Never changes after creation: shared read-only by all threads. */
    uintptr_t base;
    uint64_t bytes; /* whole pages */
    uint64_t pages;
    uint32_t page_shift;
    uint32_t order_max;
    uint32_t threads_max;
    lfma__slot *slots;
    uint64_t metadata_bytes;
    lfma_budget coalesce;
    lfma_clock_fn *clock;
    void *clock_context;

    lfma__pool pool;         /* begins with words that change seldom, shared as the ones above */
    lfma_arena *next, *last; /* in the registry */
    _Alignas(LFMA_LINE_BYTES) lfma__a64 coalesce_zone; /* the zone where the next lfma_coalesce() goes on */
};

static inline lfma__zone *lfma__arena_zone(const lfma_arena *arena, uint64_t index)
{
    return lfma__row_zone(&arena->pool.row, index);
}

/* ------------------------------------------------------------------------------ who calls (owners.c) */

typedef struct lfma__caller {
    lfma__slot *slot;
    lfma__ticket *ticket; /* that this call made busy; NULL if the slot is the shared one */
    uint32_t index;       /* of the thread, where it has one */
} lfma__caller;

/* The slot of the ticket's thread in an arena whose name the ticket bears, or has borne. */
static inline lfma__slot *lfma__arena_slot(const lfma_arena *arena, const lfma__ticket *ticket)
{
    return (lfma__slot *)(void *)((char *)arena->slots + ticket->mine);
}

/* A call that found that name in its ticket is over. */
static inline void lfma__arena_leave_short(const lfma_arena *arena, lfma__ticket *ticket)
{
    lfma__ticket_leave(ticket, arena->pool.name);
}

lfma__caller lfma__arena_enter_first(lfma_arena *arena, lfma__thread *thread);

/* A call that goes the whole way. */
static inline lfma__caller lfma__arena_enter(lfma_arena *arena)
{
    lfma__thread *const thread = &lfma__thread_self;
    lfma__ticket *const ticket = lfma__thread_ticket(thread, arena->pool.name);
    if (LFMA_UNLIKELY(lfma__ticket_name(ticket) != arena->pool.name))
        return lfma__arena_enter_first(arena, thread);
    lfma__ticket_enter(ticket);
    return (lfma__caller){ lfma__arena_slot(arena, ticket), ticket, thread->index };
}

static inline void lfma__arena_leave(const lfma_arena *arena, lfma__caller caller)
{
    if (LFMA_LIKELY(caller.ticket))
        lfma__ticket_leave(caller.ticket, arena->pool.name);
}

static inline uint32_t lfma__caller_home(lfma__caller caller)
{
    return caller.ticket ? caller.index : 0;
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

/* ------------------------------------------------------------------------------ the process (registry.c) */

/* Before the first arena is made; idempotent. */
void lfma__arena_prepare(void);

/* From now on, until it is unregistered, threads that end give back what they have kept in the arena. */
void lfma__arena_register(lfma_arena *arena);
void lfma__arena_unregister(lfma_arena *arena);

/* ------------------------------------------------------------------------------ allocate and free, by any slot */

/* The whole way, by a slot that the caller alone uses, or the shared one. The order may be above the arena's. */
int lfma__arena_alloc(lfma_arena *arena, lfma__slot *slot, uint32_t home, size_t bytes, unsigned order,
                      unsigned flags, void **ret_block);
int lfma__arena_free(lfma_arena *arena, lfma__slot *slot, const void *block);

/* The order that so many bytes at such an alignment need, above all orders if there is none; false: not a request. */
bool lfma__arena_order(const lfma_arena *arena, size_t bytes, size_t alignment, unsigned flags, unsigned *ret_order);

/* ------------------------------------------------------------------------------ caches (caches.c) */

/* Give back what was kept by who is no more: after fork(), in the child. Returns how many pages. */
uint64_t lfma__arena_drain_orphans(lfma_arena *arena);

/* Caches that are not destroyed before the arena give back their numbers. */
void lfma__arena_forget_caches(lfma_arena *arena);

/* After fork(), in the child: caches that are no thread's are there as before, and have their numbers. */
void lfma__arena_remember_caches(lfma_arena *arena);

/* ------------------------------------------------------------------------------ addresses */

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
