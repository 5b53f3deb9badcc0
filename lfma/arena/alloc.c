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
    lfma__owner *owner;
    uint32_t home;
    unsigned order;
    unsigned flags;
};

struct found {
    uint64_t zone;
    uint64_t page; /* LFMA__NONE: not found */
};

static const struct found not_found = { 0, LFMA__NONE };

static inline uint32_t home_zone(const lfma_arena *arena, uint32_t home)
{
    return home < arena->zone_count ? home : home % arena->zone_count;
}

/* Threads that share a home zone start at different slices of it, the first of them at the lowest. */
static inline uint32_t home_in_zone(const lfma_arena *arena, uint32_t home)
{
    return home < arena->zone_count ? 0 : home / arena->zone_count;
}

static inline uint32_t next_zone(const lfma_arena *arena, uint32_t zone)
{
    return zone + 1 < arena->zone_count ? zone + 1 : 0;
}

static struct found find_by_hints(const struct request *r)
{
    uint32_t zone = home_zone(r->arena, r->home);
    const uint32_t home = home_in_zone(r->arena, r->home);
    for (uint32_t i = 0; i < r->arena->zone_count; i++, zone = next_zone(r->arena, zone)) {
        const uint64_t page = lfma__zone_alloc(lfma__arena_zone(r->arena, zone), r->owner, r->order, home);
        if (page != LFMA__NONE)
            return (struct found){ zone, page };
    }
    return not_found;
}

static struct found find_by_scan(const struct request *r)
{
    uint32_t zone = home_zone(r->arena, r->home);
    for (uint32_t i = 0; i < r->arena->zone_count; i++, zone = next_zone(r->arena, zone)) {
        const uint64_t page = lfma__zone_alloc_scan(lfma__arena_zone(r->arena, zone), r->owner, r->order);
        if (page != LFMA__NONE)
            return (struct found){ zone, page };
    }
    return not_found;
}

/* Join blocks until one is large enough. */
static struct found find_by_joining(const struct request *r, lfma__meter *meter)
{
    lfma__join join = { .meter = meter, .owner = r->owner, .want = r->order };
    uint64_t zone = 0;
    (void)lfma__arena_coalesce(r->arena, &join, &zone);
    if (join.kept_page == LFMA__NONE)
        return not_found;
    lfma__zone_hand_out(lfma__arena_zone(r->arena, zone), r->owner, join.kept_page, join.kept_order, r->order);
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
            (void)lfma__meter_spend(&meter, arena->bytes >> arena->page_shift >> LFMA__WORD_LOG2);
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

/* The zone tried first had nothing: look everywhere, then work for it. Counts a failure. */
static LFMA_NOINLINE int alloc_elsewhere(const struct request *r, struct found *found)
{
    int code = LFMA_OK;
    if (r->order > r->arena->order_max) {
        code = LFMA_E_NEVER;
    } else {
        *found = find_by_hints(r);
        if (found->page == LFMA__NONE)
            code = alloc_slowly(r, found);
    }
    if (code == LFMA_OK)
        lfma__a64_store_relaxed(&r->owner->zone, found->zone + 1); /* E0: only where to look first */
    else
        lfma__owner_count(r->owner, counter_of(code), 1);
    return code;
}

/* bytes >= 1; at least 2^order_least pages. */
static inline int alloc_order(lfma_arena *arena, size_t bytes, unsigned order_least, unsigned flags, void **ret_block)
{
    const uint64_t last_page = (uint64_t)(bytes - 1) >> arena->page_shift;
    unsigned order = last_page == 0 ? 0 : lfma__log2_floor(last_page) + 1;
    if (order < order_least)
        order = order_least;

    const lfma__caller caller = lfma__arena_enter(arena);
    const uint32_t home = lfma__caller_home(caller);
    const uint64_t last = lfma__a64_load_relaxed(&caller.owner->zone); /* E0: only where to look first */
    uint64_t zone = last ? last - 1 : home_zone(arena, home);
    uint64_t page = lfma__zone_alloc(lfma__arena_zone(arena, zone), caller.owner, order, home_in_zone(arena, home));
    if (LFMA_UNLIKELY(page == LFMA__NONE)) {
        const struct request request = { arena, caller.owner, home, order, flags };
        struct found found;
        const int code = alloc_elsewhere(&request, &found);
        if (code != LFMA_OK) {
            lfma__arena_leave(caller);
            return code;
        }
        zone = found.zone;
        page = found.page;
    }
    *ret_block = (void *)(arena->base + (zone << arena->zone_shift) + (page << arena->page_shift));
    lfma__owner_count(caller.owner, LFMA__BYTES_REQUESTED, bytes);
    lfma__owner_count(caller.owner, LFMA__ALLOCS_OF_ORDER + order, 1);
    lfma__arena_leave(caller);
    return LFMA_OK;
}

int lfma_try_alloc(lfma_arena *arena, size_t bytes, unsigned flags, void **ret_block)
{
    if (LFMA_UNLIKELY(!arena || !ret_block || bytes == 0 || (flags & ~FLAGS_KNOWN) != 0))
        return LFMA_E_INVALID;
    return alloc_order(arena, bytes, 0, flags, ret_block);
}

void *lfma_alloc(lfma_arena *arena, size_t bytes)
{
    void *block = NULL;
    return lfma_try_alloc(arena, bytes, 0, &block) == LFMA_OK ? block : NULL;
}

int lfma_try_alloc_aligned(lfma_arena *arena, size_t bytes, size_t alignment, unsigned flags, void **ret_block)
{
    if (!arena || !ret_block || bytes == 0 || (flags & ~FLAGS_KNOWN) != 0 || (alignment & (alignment - 1)) != 0)
        return LFMA_E_INVALID;
    /* A block is aligned to its size (A1), so an alignment is a least order; 0 means the natural one. */
    const unsigned shift = alignment ? lfma__log2_floor(alignment) : 0;
    const unsigned order_least = shift > arena->page_shift ? shift - arena->page_shift : 0;
    return alloc_order(arena, bytes, order_least, flags, ret_block);
}

void *lfma_alloc_aligned(lfma_arena *arena, size_t bytes, size_t alignment)
{
    void *block = NULL;
    return lfma_try_alloc_aligned(arena, bytes, alignment, 0, &block) == LFMA_OK ? block : NULL;
}
