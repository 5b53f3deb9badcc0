/* SPDX-License-Identifier: MIT */
#include "support/arenas.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena/arena.h"
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
        return true;
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
