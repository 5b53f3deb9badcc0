/* SPDX-License-Identifier: MIT */
/* Coalescing over all zones: each has its own cursor, the arena remembers which one is next. */
#include "arena/arena.h"

bool lfma__arena_coalesce(lfma_arena *arena, lfma__join *join, uint64_t *ret_zone)
{
    uint64_t seen = lfma__a64_load_relaxed(&arena->coalesce_zone); /* E0: any zone is a good one */
    uint64_t zone = seen;
    bool whole = true;
    for (uint32_t walked = 0; walked < arena->pool.row.count && whole; walked++) {
        whole = lfma__zone_coalesce(lfma__arena_zone(arena, zone), join);
        if (join->kept_page != LFMA__NONE) {
            *ret_zone = zone;
            whole = false;
            break;
        }
        /* Past its end it is the next zone's turn, also when the budget was too small to walk the zone whole. */
        if (whole || join->passed_end)
            zone = zone + 1 < arena->pool.row.count ? zone + 1 : 0;
    }
    (void)lfma__a64_cas_relaxed(&arena->coalesce_zone, &seen, zone); /* E0: as the zone's cursor */
    lfma__owner_count(join->owner, LFMA__COALESCE_RUNS, 1);
    lfma__owner_count(join->owner, LFMA__BLOCKS_JOINED, join->joined);
    lfma__owner_count(join->owner, LFMA__JOIN_CONFLICTS, join->conflicts);
    return whole;
}

int lfma_coalesce(lfma_arena *arena, const lfma_budget *budget, lfma_coalesce_result *ret_result)
{
    if (!arena || (ret_result && ret_result->size != sizeof *ret_result))
        return LFMA_E_INVALID;
    const lfma__caller caller = lfma__arena_enter(arena);
    lfma__meter meter;
    lfma__meter_start(&meter, budget ? *budget : arena->coalesce, arena->clock, arena->clock_context);
    lfma__join join = { .meter = &meter, .owner = &caller.slot->owner, .want = LFMA__WANT_NOTHING };
    bool complete = false;
    if (!meter.spent) {
        (void)lfma__cache_drain(&arena->pool, caller.slot);
        uint64_t zone;
        complete = lfma__arena_coalesce(arena, &join, &zone);
    }
    if (ret_result) {
        ret_result->steps = meter.steps;
        ret_result->ns = lfma__meter_elapsed(&meter);
        ret_result->blocks_joined = join.joined;
        ret_result->conflicts = join.conflicts;
        ret_result->bytes_max = join.joined ? (size_t)1 << (join.order_max + arena->page_shift) : 0;
        ret_result->complete = complete;
    }
    lfma__arena_leave(arena, caller);
    return LFMA_OK;
}
