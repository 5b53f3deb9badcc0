/* SPDX-License-Identifier: MIT */
#include "support/arenas.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena/arena.h"
#include "cache/grant.h"
#include "support/zones.h"

lfma_arena_config arena_config(const arena_plan *plan)
{
    const size_t page_bytes = plan->page_bytes ? plan->page_bytes : 64;
    lfma_arena_config config = LFMA_ARENA_CONFIG_INIT;
    config.bytes = plan->pages * page_bytes;
    config.page_bytes = page_bytes;
    config.block_bytes_max = plan->block_pages * page_bytes;
    config.zone_bytes = plan->zone_pages * page_bytes;
    config.flags = plan->flags | (plan->caches ? 0 : LFMA_NO_CACHE);
    config.cache_bytes = plan->cache_pages * page_bytes;
    config.threads_max = plan->threads_max;
    config.clock = plan->clock;
    config.clock_context = plan->clock_context;
    if (plan->no_budget || plan->budget.ns != 0 || plan->budget.steps != 0)
        config.coalesce = plan->budget;
    return config;
}

lfma_arena *arena_open(const arena_plan *plan)
{
    const lfma_arena_config config = arena_config(plan);
    lfma_arena *arena = NULL;
    const int code = lfma_arena_create(&config, &arena);
    if (code != LFMA_OK) {
        fprintf(stderr, "arena_open(%zu pages): %s\n", plan->pages, lfma_error_name(code));
        abort();
    }
    return arena;
}

lfma_arena_stats_t arena_stats(lfma_arena *arena)
{
    lfma_arena_stats_t stats = LFMA_ARENA_STATS_INIT;
    if (lfma_arena_stats(arena, &stats) != LFMA_OK)
        abort();
    return stats;
}

static bool wrong(const char *what, uint32_t slot, unsigned side)
{
    fprintf(stderr, "caches: %s (slot %u, side %u)\n", what, slot, side);
    return false;
}

/* One side of one cache: what it keeps and has room for is what it has reserved, within its grant. */
static bool side_is_right(const lfma__slot *slot, uint32_t index, unsigned side)
{
    const struct lfma__grant *const grant = &slot->grants[side];
    const uint64_t orders = lfma__a64_load_relaxed(&grant->orders);
    uint64_t reserved = 0;
    for (unsigned order = 0; order < LFMA_ORDERS; order++) {
        const lfma__hold *const hold = &slot->shelves[order].holds[side];
        const uint64_t all = lfma__hold_all(hold);
        reserved += ((uint64_t)lfma__popcount64(all) + lfma__hold_room(hold)) << order;
        if (lfma__a64_load_relaxed(&hold->bits) & lfma__a64_load_relaxed(&hold->back))
            return wrong("a block is in a hold twice", index, side);
        if (!(orders >> order & 1) && (all || lfma__hold_room(hold)))
            return wrong("a hold keeps or has room for something without a word", index, side);
        if (all && hold->blocks < LFMA__WORD_BITS && all >> hold->blocks)
            return wrong("a hold keeps what its slice has not", index, side);
    }
    if (reserved != grant->reserved || reserved > grant->pages)
        return wrong("the reservations do not add up", index, side);
    return grant->is_user || grant->pages == 0 || wrong("a grant without a user", index, side);
}

/* No block is kept twice; the grants and what is left are the purse. */
static bool caches_are_right(const lfma_arena *arena)
{
    for (unsigned side = 0; side < LFMA__SIDES; side++) {
        uint64_t granted = lfma__a64_load_relaxed(&arena->pool.purses[side].left), users = 0;
        for (uint32_t i = 0; i <= arena->threads_max; i++) {
            if (!side_is_right(&arena->slots[i], i, side))
                return false;
            granted += arena->slots[i].grants[side].pages;
            users += arena->slots[i].grants[side].is_user;
        }
        if (granted != arena->pool.pages_max[side])
            return wrong("grants and purse are not what there is", 0, side);
        if (users != lfma__a64_load_relaxed(&arena->pool.purses[side].users))
            return wrong("users were not counted", 0, side);
    }
    return true;
}

/* What the statistics say is kept is what a walk over all pages finds, and not too much. */
static bool figures_are_right(lfma_arena *arena, const lfma_report *report)
{
    const lfma_arena_stats_t s = arena_stats(arena);
    return (s.cached_bytes == report->pages_cached * s.page_bytes && s.cached_bytes <= s.cached_bytes_max &&
            s.allocated_bytes == report->pages_allocated * s.page_bytes) ||
           wrong("the statistics are wrong, or the bound is passed", 0, 0);
}

void arena_grow_grants(lfma_arena *arena, lfma_cache *cache)
{
    for (unsigned step = 0; step < 32; step++) {
        for (unsigned side = 0; side < LFMA__SIDES; side++)
            (void)lfma__cache_fair_count(&arena->pool, (lfma__slot *)(void *)cache, side, 0);
    }
}

bool arena_is_sound(lfma_arena *arena)
{
    for (uint32_t i = 0; i <= arena->threads_max; i++) {
        if (lfma__a64_load_acquire(&arena->slots[i].owner.word) & LFMA__IN_FLIGHT_MASK) {
            fprintf(stderr, "owner %u of %u: in flight at rest\n", i, arena->threads_max);
            return false;
        }
    }
    lfma_report report = LFMA_REPORT_INIT;
    if (lfma_arena_validate(arena, &report) == LFMA_OK)
        return caches_are_right(arena) && figures_are_right(arena, &report);
    fprintf(stderr, "%s: %s: zone %zu, page %zu, order %u\n", report.invariant, report.text, report.zone, report.page,
            report.order);
    return false;
}

bool arena_join_all(lfma_arena *arena)
{
    const lfma_budget all = LFMA_BUDGET_ALL;
    lfma_coalesce_result result = LFMA_COALESCE_RESULT_INIT;
    return lfma_coalesce(arena, &all, &result) == LFMA_OK && result.complete;
}

bool arena_is_fresh(lfma_arena *arena)
{
    for (uint64_t i = 0; i < arena->pool.row.count; i++) {
        const char *what;
        if (!zone_is_fresh(lfma__arena_zone(arena, i), &what)) {
            fprintf(stderr, "zone %llu: the %s is not as fresh\n", (unsigned long long)i, what);
            return false;
        }
    }
    return true;
}

size_t arena_copy_bytes(lfma_arena *arena)
{
    return (size_t)(arena->metadata_bytes - (uint64_t)(arena->pool.row.zones - (char *)arena));
}

void arena_copy_to(lfma_arena *arena, void *copy)
{
    memcpy(copy, arena->pool.row.zones, arena_copy_bytes(arena));
}

void *arena_copy(lfma_arena *arena)
{
    void *const copy = malloc(arena_copy_bytes(arena));
    if (!copy)
        abort();
    arena_copy_to(arena, copy);
    return copy;
}

bool arena_is_copy(lfma_arena *arena, const void *copy)
{
    return memcmp(arena->pool.row.zones, copy, arena_copy_bytes(arena)) == 0;
}
