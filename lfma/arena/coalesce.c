/* SPDX-License-Identifier: MIT */
/* Coalescing over all zones: each has its own cursor, the arena remembers which one is next. */
#include "arena/arena.h"

bool lfma__arena_coalesce(lfma_arena *arena, lfma__join *join, uint64_t *ret_zone)
{
    uint64_t seen = lfma__a64_load_relaxed(&arena->coalesce_zone); /* E0: any zone is a good one */
    uint64_t zone = seen;
    /*
     * A walk that gets to its zone's end goes on in the next zone, wherever it began: a budget smaller than a zone
     * comes round all of them. Whole is an arena whose zones were walked whole, one after the other.
     */
    uint32_t whole_zones = 0;
    for (uint64_t visit = 0; whole_zones < arena->zone_count && visit < 2 * (uint64_t)arena->zone_count; visit++) {
        bool whole;
        if (!lfma__zone_walk(lfma__arena_zone(arena, zone), join, visit >= arena->zone_count, &whole)) {
            *ret_zone = zone;
            break;
        }
        whole_zones = whole ? whole_zones + 1 : 0;
        zone = zone + 1 < arena->zone_count ? zone + 1 : 0;
    }
    (void)lfma__a64_cas_relaxed(&arena->coalesce_zone, &seen, zone); /* E0: as the zone's cursor */
    lfma__owner_count(join->owner, LFMA__COALESCE_RUNS, 1);
    lfma__owner_count(join->owner, LFMA__BLOCKS_JOINED, join->joined);
    lfma__owner_count(join->owner, LFMA__JOIN_CONFLICTS, join->conflicts);
    return whole_zones == arena->zone_count;
}

int lfma_coalesce(lfma_arena *arena, const lfma_budget *budget, lfma_coalesce_result *ret_result)
{
    if (!arena || (ret_result && ret_result->size != sizeof *ret_result))
        return LFMA_E_INVALID;
    const lfma__caller caller = lfma__arena_enter(arena);
    lfma__meter meter;
    lfma__meter_start(&meter, budget ? *budget : arena->coalesce, arena->clock, arena->clock_context);
    lfma__join join = { .meter = &meter, .owner = caller.owner, .want = LFMA__WANT_NOTHING };
    bool complete = false;
    if (!meter.spent) {
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
    lfma__arena_leave(caller);
    return LFMA_OK;
}
