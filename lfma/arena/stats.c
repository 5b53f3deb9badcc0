/* SPDX-License-Identifier: MIT */
/* What an arena holds and has done; the proof of its invariants. */
#include "arena/arena.h"

static uint64_t sum_counter(const lfma_arena *arena, unsigned counter)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i <= arena->threads_max; i++)
        sum += lfma__a64_load_relaxed(&arena->slots[i].owner.counters[counter]); /* E0: figures */
    return sum;
}

static uint64_t sum_allocs(const lfma_arena *arena, unsigned order)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i <= arena->threads_max; i++) {
        const lfma__slot *const slot = &arena->slots[i];
        sum += lfma__a64_load_relaxed(&slot->allocs[order]) + lfma__cache_popped(slot, order); /* E0: figures */
    }
    return sum;
}

static uint64_t sum_pushed(const lfma_arena *arena)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i <= arena->threads_max; i++)
        sum += lfma__cache_pushed(&arena->slots[i]);
    return sum;
}

static void count_free_blocks(lfma_arena *arena, lfma_arena_stats_t *stats)
{
    for (unsigned order = 0; order <= arena->order_max; order++) {
        uint64_t blocks = 0;
        for (uint64_t i = 0; i < arena->pool.row.count; i++)
            blocks += lfma__zone_count_free(lfma__arena_zone(arena, i), order);
        const size_t block_bytes = (size_t)1 << (order + arena->page_shift);
        stats->free_blocks[order] = blocks;
        stats->free_bytes += (size_t)blocks * block_bytes;
        if (blocks)
            stats->largest_free_bytes = block_bytes;
    }
    uint64_t cached = 0;
    for (uint32_t i = 0; i < arena->threads_max; i++)
        cached += lfma__cache_pages(&arena->slots[i]);
    stats->cached_bytes = (size_t)(cached << arena->page_shift);
    /* While blocks move one may be counted twice. */
    if (stats->free_bytes > stats->bytes)
        stats->free_bytes = stats->bytes;
    if (stats->cached_bytes > stats->bytes - stats->free_bytes)
        stats->cached_bytes = stats->bytes - stats->free_bytes;
    stats->allocated_bytes = stats->bytes - stats->free_bytes - stats->cached_bytes;
}

int lfma_arena_stats(lfma_arena *arena, lfma_arena_stats_t *ret_stats)
{
    if (!arena || !ret_stats || ret_stats->size != sizeof *ret_stats)
        return LFMA_E_INVALID;
    lfma_arena_stats_t stats = { .size = sizeof stats,
                                 .base = (void *)arena->base,
                                 .bytes = (size_t)arena->bytes,
                                 .page_bytes = (size_t)1 << arena->page_shift,
                                 .block_bytes_max = (size_t)1 << (arena->order_max + arena->page_shift),
                                 .zone_bytes = (size_t)1 << (arena->pool.row.pages_log2 + arena->page_shift),
                                 .zones = arena->pool.row.count,
                                 .metadata_bytes = (size_t)arena->metadata_bytes,
                                 .cached_bytes_max = lfma__cache_pages_max(&arena->pool) << arena->page_shift };
    count_free_blocks(arena, &stats);

    for (unsigned order = 0; order <= arena->order_max; order++) {
        stats.allocs_of_order[order] = sum_allocs(arena, order);
        stats.allocs += stats.allocs_of_order[order];
        stats.bytes_reserved += stats.allocs_of_order[order] << (order + arena->page_shift);
    }
    stats.frees = sum_counter(arena, LFMA__FREES) + sum_pushed(arena);
    stats.bytes_requested = sum_counter(arena, LFMA__BYTES_REQUESTED);
    stats.splits = sum_counter(arena, LFMA__SPLITS);
    stats.failed_nomem = sum_counter(arena, LFMA__FAILED_NOMEM);
    stats.failed_fragmented = sum_counter(arena, LFMA__FAILED_FRAGMENTED);
    stats.failed_budget = sum_counter(arena, LFMA__FAILED_BUDGET);
    stats.failed_again = sum_counter(arena, LFMA__FAILED_AGAIN);
    stats.failed_never = sum_counter(arena, LFMA__FAILED_NEVER);
    stats.bad_frees = sum_counter(arena, LFMA__BAD_FREES);
    stats.coalesce_runs = sum_counter(arena, LFMA__COALESCE_RUNS);
    stats.blocks_joined = sum_counter(arena, LFMA__BLOCKS_JOINED);
    stats.join_conflicts = sum_counter(arena, LFMA__JOIN_CONFLICTS);
    stats.hints_repaired = sum_counter(arena, LFMA__HINTS_REPAIRED);
    *ret_stats = stats;
    return LFMA_OK;
}

/* The caches, as a zone sees them. */
struct kept {
    const lfma_arena *arena;
    uint64_t first_page;
};

static int kept_order_at(const void *context, uint64_t page)
{
    const struct kept *const kept = context;
    for (uint32_t i = 0; i < kept->arena->threads_max; i++) {
        const int order = lfma__cache_order_at(&kept->arena->slots[i], kept->first_page + page);
        if (order >= 0)
            return order;
    }
    return -1;
}

int lfma_arena_validate(lfma_arena *arena, lfma_report *ret_report)
{
    if (!arena || (ret_report && ret_report->size != sizeof *ret_report))
        return LFMA_E_INVALID;
    lfma_report report = LFMA_REPORT_INIT;
    bool sound = true;
    for (uint64_t i = 0; i < arena->pool.row.count && sound; i++) {
        const struct kept kept = { arena, i << arena->pool.row.pages_log2 };
        const lfma__keepers keepers = { kept_order_at, &kept };
        report.zone = (size_t)i;
        sound = lfma__zone_validate(lfma__arena_zone(arena, i), &keepers, &report);
    }
    if (ret_report)
        *ret_report = report;
    return sound ? LFMA_OK : LFMA_E_BROKEN;
}
