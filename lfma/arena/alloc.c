/* SPDX-License-Identifier: MIT */
/* Allocate: the short way through the zones, and the long way that coalesces and proves why it failed. */
#include "arena/arena.h"

/* Looks at a moving arena before LFMA_E_AGAIN; each reads the page map once. (The explorer builds with fewer.) */
#ifndef LFMA_LOOKS_MAX
#define LFMA_LOOKS_MAX 32u
#endif
#define FLAGS_KNOWN ((unsigned)LFMA_ALLOC_NO_COALESCE)

struct request {
    lfma_arena *arena;
    lfma__slot *slot;
    uint32_t home;
    unsigned order;
    unsigned flags;
};

struct found {
    uint64_t zone;
    uint64_t page; /* in the zone; LFMA__NONE: not found */
};

static const struct found not_found = { 0, LFMA__NONE };

static inline uint32_t home_zone(const lfma_arena *arena, uint32_t home)
{
    return home < arena->pool.row.count ? home : home % arena->pool.row.count;
}

/* Threads that share a home zone start at different slices of it, the first of them at the lowest. */
static inline uint32_t home_in_zone(const lfma_arena *arena, uint32_t home)
{
    return home < arena->pool.row.count ? 0 : home / arena->pool.row.count;
}

static inline uint32_t next_zone(const lfma_arena *arena, uint32_t zone)
{
    return zone + 1 < arena->pool.row.count ? zone + 1 : 0;
}

static struct found find_by_hints(const struct request *r)
{
    uint32_t zone = home_zone(r->arena, r->home);
    const uint32_t home = home_in_zone(r->arena, r->home);
    for (uint32_t i = 0; i < r->arena->pool.row.count; i++, zone = next_zone(r->arena, zone)) {
        const uint64_t page = lfma__zone_alloc(lfma__arena_zone(r->arena, zone), &r->slot->owner, r->order, home);
        if (page != LFMA__NONE)
            return (struct found){ zone, page };
    }
    return not_found;
}

static struct found find_by_scan(const struct request *r)
{
    uint32_t zone = home_zone(r->arena, r->home);
    for (uint32_t i = 0; i < r->arena->pool.row.count; i++, zone = next_zone(r->arena, zone)) {
        const uint64_t page = lfma__zone_alloc_scan(lfma__arena_zone(r->arena, zone), &r->slot->owner, r->order);
        if (page != LFMA__NONE)
            return (struct found){ zone, page };
    }
    return not_found;
}

/* Join blocks until one is large enough. */
static struct found find_by_joining(const struct request *r, lfma__meter *meter)
{
    lfma__join join = { .meter = meter, .owner = &r->slot->owner, .want = r->order };
    uint64_t zone = 0;
    (void)lfma__arena_coalesce(r->arena, &join, &zone);
    if (join.kept_page == LFMA__NONE)
        return not_found;
    lfma__zone_hand_out(lfma__arena_zone(r->arena, zone), &r->slot->owner, join.kept_page, join.kept_order, r->order);
    return (struct found){ zone, join.kept_page };
}

/*
 * No hint led to a block. Join, within the budget; when that does not help either, prove that no
 * aligned run of the size is free, or find out where it is: unhinted (its freer was stopped), not
 * joined (another coalescer was at it), or free since. A bounded number of times. LFMA_E_BUDGET is
 * said only of a run that is there, or that moving blocks kept from being ruled out.
 */
static LFMA_COLD int alloc_slowly(const struct request *r, struct found *found)
{
    lfma_arena *const arena = r->arena;
    const bool may_join = !(r->flags & LFMA_ALLOC_NO_COALESCE);
    lfma__meter meter;
    lfma__meter_start(&meter, may_join ? arena->coalesce : (lfma_budget)LFMA_BUDGET_NONE, arena->clock,
                      arena->clock_context);
    const bool had_budget = !meter.spent;

    for (unsigned look = 0; look < LFMA_LOOKS_MAX; look++) {
        if (r->order > 0 && !meter.spent) {
            *found = find_by_joining(r, &meter);
            if (found->page != LFMA__NONE)
                return LFMA_OK;
        }
        const int proof = lfma__arena_prove(arena, r->order);
        if (proof == LFMA_E_NOMEM || proof == LFMA_E_FRAGMENTED)
            return proof;
        *found = find_by_scan(r);
        if (found->page != LFMA__NONE)
            return LFMA_OK;
        if (r->order > 0 && meter.spent && (proof == LFMA_OK || had_budget))
            return LFMA_E_BUDGET;
        if (r->order > 0 && !meter.spent) /* a look takes time too */
            (void)lfma__meter_spend(&meter, arena->pages >> LFMA__WORD_LOG2);
    }
    return LFMA_E_AGAIN;
}

static enum lfma__counter counter_of(int code)
{
    switch (code) {
    case LFMA_E_NOMEM:
        return LFMA__FAILED_NOMEM;
    case LFMA_E_FRAGMENTED:
        return LFMA__FAILED_FRAGMENTED;
    case LFMA_E_BUDGET:
        return LFMA__FAILED_BUDGET;
    case LFMA_E_AGAIN:
        return LFMA__FAILED_AGAIN;
    default:
        LFMA_ASSERT(code == LFMA_E_NEVER);
        return LFMA__FAILED_NEVER;
    }
}

/* The zone tried first had nothing: look everywhere, then work for it. */
static LFMA_NOINLINE int alloc_elsewhere(const struct request *r, struct found *found)
{
    *found = find_by_hints(r);
    if (found->page == LFMA__NONE) {
        lfma__cache_press(&r->arena->pool);
        if (lfma__cache_drain(&r->arena->pool, r->slot) + lfma__arena_drain_orphans(r->arena) > 0)
            *found = find_by_hints(r);
    }
    const int code = found->page == LFMA__NONE ? alloc_slowly(r, found) : LFMA_OK;
    if (code == LFMA_OK)
        lfma__a64_store_relaxed(&r->slot->owner.zone, found->zone + 1); /* E0: only where to look first */
    return code;
}

/*
 * From the cache; if it has nothing: fill it, or allocate from the tables. Raises the pressure when a block had to
 * be cut though large ones are scarce, and ends it when they are plenty again.
 */
static inline int alloc_from_tables(const struct request *r, uint64_t *ret_page)
{
    lfma_arena *const arena = r->arena;
    lfma__owner *const owner = &r->slot->owner;
    lfma__pool *const pool = &arena->pool;
    const uint64_t last = lfma__a64_load_relaxed(&owner->zone); /* E0: only where to look first */
    struct found found = { .zone = last ? last - 1 : home_zone(arena, r->home) };
    lfma__zone *const zone = lfma__arena_zone(arena, found.zone);
    const uint32_t home = home_in_zone(arena, r->home);
    lfma__cache_mind_way(pool, r->slot);
    if (lfma__cache_may_keep(pool, r->slot, LFMA__TAKE, r->order)) {
        *ret_page = lfma__cache_take(pool, r->slot, found.zone, r->order, home);
        if (*ret_page != LFMA__NONE)
            return LFMA_OK;
    }
    const uint64_t splits = lfma__owner_figure(owner, LFMA__SPLITS);
    found.page = lfma__zone_alloc(zone, owner, r->order, home);
    if (LFMA_UNLIKELY(found.page == LFMA__NONE)) {
        const int code = alloc_elsewhere(r, &found);
        if (code != LFMA_OK)
            return code;
    }
    if (lfma__cache_pages_max(pool))
        lfma__cache_mind_pressure(pool, r->slot, zone, lfma__owner_figure(owner, LFMA__SPLITS) != splits);
    lfma__owner_add(owner, &r->slot->allocs[r->order], 1);
    *ret_page = (found.zone << pool->row.pages_log2) + found.page;
    return LFMA_OK;
}

/* The smallest order whose blocks hold so many bytes; above all orders for 0. */
static inline unsigned order_for(const lfma_arena *arena, size_t bytes)
{
    const uint64_t last_page = (uint64_t)(bytes - 1) >> arena->page_shift;
    return lfma__log2_floor(2 * last_page + 1);
}

bool lfma__arena_order(const lfma_arena *arena, size_t bytes, size_t alignment, unsigned flags, unsigned *ret_order)
{
    if (bytes == 0 || (flags & ~FLAGS_KNOWN) != 0 || (alignment & (alignment - 1)) != 0)
        return false;
    /* A block is aligned to its size (A1), so an alignment is a least order; 0 means the natural one. */
    const unsigned shift = alignment ? lfma__log2_floor(alignment) : 0;
    const unsigned order_least = shift > arena->page_shift ? shift - arena->page_shift : 0;
    const unsigned order = order_for(arena, bytes);
    *ret_order = order > order_least ? order : order_least;
    return true;
}

int lfma__arena_alloc(lfma_arena *arena, lfma__slot *slot, uint32_t home, size_t bytes, unsigned order,
                      unsigned flags, void **ret_block)
{
    const struct request request = { arena, slot, home, order, flags };
    uint64_t page;
    const int code = order > arena->order_max ? LFMA_E_NEVER : alloc_from_tables(&request, &page);
    if (LFMA_LIKELY(code == LFMA_OK)) {
        *ret_block = (void *)(arena->base + (page << arena->page_shift));
        lfma__owner_count(&slot->owner, LFMA__BYTES_REQUESTED, bytes);
    } else {
        lfma__owner_count(&slot->owner, counter_of(code), 1);
    }
    return code;
}

/* The whole way; the request is well-formed. */
static LFMA_NOINLINE int alloc_fully(lfma_arena *arena, size_t bytes, unsigned order, unsigned flags,
                                     void **ret_block)
{
    const lfma__caller caller = lfma__arena_enter(arena);
    const int code = lfma__arena_alloc(arena, caller.slot, lfma__caller_home(caller), bytes, order, flags, ret_block);
    lfma__arena_leave(arena, caller);
    return code;
}

static LFMA_NOINLINE void *alloc_or_null(lfma_arena *arena, size_t bytes)
{
    void *block = NULL;
    if (bytes == 0 || alloc_fully(arena, bytes, order_for(arena, bytes), 0, &block) != LFMA_OK)
        return NULL;
    return block;
}

/*
 * The short way first: a block that was taken ahead. Of other threads' words it reads one that seldom changes, and
 * the block's state; it makes no call but at its end, so that it needs no stack.
 */
void *lfma_alloc(lfma_arena *arena, size_t bytes)
{
    if (LFMA_UNLIKELY(!arena))
        return NULL;
    const unsigned order = order_for(arena, bytes);
    const uint64_t name = lfma__cache_way(&arena->pool);
    lfma__ticket *const ticket = lfma__thread_ticket(&lfma__thread_self, name);
    if (LFMA_UNLIKELY(lfma__ticket_name(ticket) != name || order > arena->order_max))
        return alloc_or_null(arena, bytes);
    lfma__slot *const slot = lfma__arena_slot(arena, ticket);
    uint64_t page;
    lfma__ticket_enter(ticket);
    if (LFMA_UNLIKELY(!lfma__hold_pop(&arena->pool, lfma__slot_hold(slot, order, LFMA__TAKE), order, &page))) {
        lfma__arena_leave_short(arena, ticket);
        return alloc_or_null(arena, bytes);
    }
    lfma__a64_own_add_relaxed(&slot->owner.counters[LFMA__BYTES_REQUESTED], bytes); /* E0: a figure */
    lfma__arena_leave_short(arena, ticket);
    return (void *)(arena->base + (page << arena->page_shift));
}

int lfma_try_alloc_aligned(lfma_arena *arena, size_t bytes, size_t alignment, unsigned flags, void **ret_block)
{
    unsigned order;
    if (!arena || !ret_block || !lfma__arena_order(arena, bytes, alignment, flags, &order))
        return LFMA_E_INVALID;
    return alloc_fully(arena, bytes, order, flags, ret_block);
}

int lfma_try_alloc(lfma_arena *arena, size_t bytes, unsigned flags, void **ret_block)
{
    if (LFMA_UNLIKELY(!arena || !ret_block || bytes == 0 || (flags & ~FLAGS_KNOWN) != 0))
        return LFMA_E_INVALID;
    return alloc_fully(arena, bytes, order_for(arena, bytes), flags, ret_block);
}

void *lfma_alloc_aligned(lfma_arena *arena, size_t bytes, size_t alignment)
{
    void *block = NULL;
    return lfma_try_alloc_aligned(arena, bytes, alignment, 0, &block) == LFMA_OK ? block : NULL;
}
