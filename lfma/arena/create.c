/* SPDX-License-Identifier: MIT */
/* Create and destroy: from a configuration to a geometry, from a geometry to memory. */
#include "arena/arena.h"

#define PAGE_BYTES_MIN ((uint64_t)64)
#define PAGE_BYTES_MAX ((uint64_t)1 << 30)
#define PAGE_BYTES_DEFAULT ((uint64_t)4096)
#define ARENA_BYTES_MAX ((uint64_t)1 << 45) /* aligned to a block as large as itself it still fits 2^47 */
#define ZONES_DEFAULT 16u                   /* when the largest block leaves room for several zones */
#define THREADS_DEFAULT 256u
#define CACHE_PART 8u /* of the arena, where nothing else is said */
#define GIVE_PART 4u  /* of the caches: for frees that are gathered; the rest is for blocks taken ahead */
#define FLAGS_KNOWN ((uint32_t)LFMA_HARDENED | (uint32_t)LFMA_NO_CACHE)

struct geometry {
    uint64_t bytes;
    uint32_t page_shift;
    uint32_t zone_shift;
    uint32_t order_max;
    uint32_t threads_max;
    uint64_t zone_count;
    uint64_t cache_pages;
};

static bool is_power_of_two(uint64_t x)
{
    return x != 0 && (x & (x - 1)) == 0;
}

/* The largest block: as configured, or the largest that fits the arena and, where it is configured, a zone. */
static bool choose_block(const lfma_arena_config *config, struct geometry *g)
{
    const uint64_t pages = g->bytes >> g->page_shift;
    const unsigned order_fits = lfma__log2_floor(pages < LFMA__ZONE_PAGES_MAX ? pages : LFMA__ZONE_PAGES_MAX);
    g->order_max = order_fits;
    if (config->block_bytes_max == 0) {
        const unsigned zone_shift = config->zone_bytes ? lfma__log2_ceil(config->zone_bytes) : 63;
        if (zone_shift < g->page_shift)
            return false;
        if (zone_shift - g->page_shift < g->order_max)
            g->order_max = zone_shift - g->page_shift;
        return true;
    }
    if (config->block_bytes_max > g->bytes)
        return false;
    const uint64_t block_pages = ((config->block_bytes_max - 1) >> g->page_shift) + 1;
    g->order_max = lfma__log2_ceil(block_pages);
    return g->order_max <= order_fits;
}

/* The zones: as configured; else one, or sixteen when the largest block leaves room for them. */
static bool choose_zones(const lfma_arena_config *config, struct geometry *g)
{
    const unsigned block_shift = g->order_max + g->page_shift;
    const unsigned zone_shift_max = lfma__log2_floor(LFMA__ZONE_PAGES_MAX) + g->page_shift;
    const unsigned whole_shift = lfma__log2_ceil(g->bytes);
    uint64_t shift = whole_shift;
    if (config->zone_bytes != 0) {
        shift = lfma__log2_ceil(config->zone_bytes);
        if (shift < block_shift || shift > zone_shift_max)
            return false;
        if (shift > whole_shift)
            shift = whole_shift;
    } else if (config->block_bytes_max != 0) {
        const unsigned share_shift = lfma__log2_ceil((g->bytes - 1) / ZONES_DEFAULT + 1);
        const unsigned least_shift = block_shift + lfma__log2_ceil(ZONES_DEFAULT);
        shift = share_shift > least_shift ? share_shift : least_shift;
    }
    if (shift > zone_shift_max)
        shift = zone_shift_max;
    g->zone_shift = (uint32_t)shift;
    g->zone_count = ((g->bytes - 1) >> g->zone_shift) + 1;
    return g->zone_count <= UINT32_MAX;
}

static bool choose_geometry(const lfma_arena_config *config, struct geometry *g)
{
    const uint64_t page_bytes = config->page_bytes ? config->page_bytes : PAGE_BYTES_DEFAULT;
    if (!is_power_of_two(page_bytes) || page_bytes < PAGE_BYTES_MIN || page_bytes > PAGE_BYTES_MAX)
        return false;
    if (config->bytes == 0 || config->bytes > ARENA_BYTES_MAX)
        return false;
    if ((config->flags & ~FLAGS_KNOWN) != 0 || config->threads_max > LFMA__THREADS_MAX)
        return false;
    g->page_shift = lfma__log2_floor(page_bytes);
    g->bytes = lfma__round_up(config->bytes, page_bytes);
    g->threads_max = config->threads_max ? config->threads_max : THREADS_DEFAULT;
    if (config->cache_bytes > config->bytes || (config->cache_bytes && config->flags & LFMA_NO_CACHE))
        return false;
    const uint64_t cache_bytes = config->cache_bytes ? config->cache_bytes : g->bytes / CACHE_PART;
    g->cache_pages = config->flags & LFMA_NO_CACHE ? 0 : cache_bytes >> g->page_shift;
    return choose_block(config, g) && choose_zones(config, g);
}

/* The layouts of a full zone and of the last one, which may be shorter. */
static void choose_layouts(const struct geometry *g, lfma__zone *full, lfma__zone *last)
{
    const uint64_t zone_bytes = (uint64_t)1 << g->zone_shift;
    const uint64_t last_bytes = g->bytes - (g->zone_count - 1) * zone_bytes;
    lfma__zone_layout(last, last_bytes >> g->page_shift, g->order_max);
    if (g->zone_count > 1)
        lfma__zone_layout(full, zone_bytes >> g->page_shift, g->order_max);
    else
        *full = *last;
}

/* The states of all zones lie together, behind the zones. */
static void make_zone(const lfma__row *row, uint64_t index, const lfma__zone *layout)
{
    char *const zone = (char *)lfma__row_zone(row, index);
    lfma__zone here = *layout;
    here.states_offset = (uint64_t)((char *)(row->states + (index << row->pages_log2)) - zone);
    lfma__zone_init((lfma__zone *)(void *)zone, &here);
}

/* Names, and the tickets that they share, in turn (os/thread.h). */
static uint64_t new_name(void)
{
    static lfma__a64 names;
    const uint64_t n = lfma__a64_add_relaxed(&names, 1) + 1; /* E0: each is another */
    return n << 6 | n % LFMA__TICKETS << 4;
}

static lfma_arena *make_arena(const lfma_arena_config *config, const struct geometry *g)
{
    lfma__zone full, last;
    choose_layouts(g, &full, &last);
    const uint64_t slots_offset = lfma__round_up(sizeof(lfma_arena), LFMA_LINE_BYTES);
    const uint64_t zones_offset = slots_offset + (g->threads_max + (uint64_t)1) * sizeof(lfma__slot);
    const uint64_t states_offset = zones_offset + (g->zone_count - 1) * full.states_offset + last.states_offset;
    const uint64_t metadata_bytes = states_offset + (g->bytes >> g->page_shift);

    char *const metadata = lfma__os_reserve(metadata_bytes, LFMA_LINE_BYTES);
    if (!metadata)
        return NULL;
    void *const payload = lfma__os_reserve(g->bytes, (uint64_t)1 << (g->order_max + g->page_shift));
    if (!payload) {
        lfma__os_release(metadata, metadata_bytes);
        return NULL;
    }

    lfma_arena *const arena = (lfma_arena *)(void *)metadata;
    *arena = (lfma_arena){ .base = (uintptr_t)payload,
                           .bytes = g->bytes,
                           .pages = g->bytes >> g->page_shift,
                           .page_shift = g->page_shift,
                           .order_max = g->order_max,
                           .threads_max = g->threads_max,
                           .pool = { .row = { .zones = metadata + zones_offset,
                                              .stride = full.states_offset,
                                              .states = (lfma__a8 *)(void *)(metadata + states_offset),
                                              .count = (uint32_t)g->zone_count,
                                              .pages_log2 = g->zone_shift - g->page_shift },
                                     .name = new_name(),
                                     .hardened = (config->flags & LFMA_HARDENED) != 0,
                                     .pages_max = { g->cache_pages - g->cache_pages / GIVE_PART,
                                                    g->cache_pages / GIVE_PART } },
                           .slots = (lfma__slot *)(void *)(metadata + slots_offset),
                           .metadata_bytes = metadata_bytes,
                           .coalesce = config->coalesce,
                           .clock = config->clock ? config->clock : lfma__os_clock,
                           .clock_context = config->clock_context };
    arena->slots[g->threads_max].owner.shared = 1;
    lfma__cache_ease(&arena->pool);
    for (unsigned side = 0; side < LFMA__SIDES; side++)
        lfma__a64_store_relaxed(&arena->pool.purses[side].left, arena->pool.pages_max[side]); /* E0: not shared yet */
    for (uint64_t i = 0; i < g->zone_count; i++)
        make_zone(&arena->pool.row, i, i + 1 < g->zone_count ? &full : &last);
    return arena;
}

int lfma_arena_create(const lfma_arena_config *config, lfma_arena **ret_arena)
{
    struct geometry geometry = { 0 };
    if (!config || !ret_arena || config->size != sizeof *config || !choose_geometry(config, &geometry))
        return LFMA_E_INVALID;
    lfma__arena_prepare();
    lfma_arena *const arena = make_arena(config, &geometry);
    if (!arena)
        return LFMA_E_OS;
    lfma__arena_register(arena);
    *ret_arena = arena;
    return LFMA_OK;
}

/* Pages that are free or kept. Under the lock: a thread that ends meanwhile moves what it has kept. */
static uint64_t count_pages_back(lfma_arena *arena)
{
    lfma__survey survey = { .count_all = true };
    lfma__thread_lock();
    for (uint64_t i = 0; i < arena->pool.row.count; i++)
        lfma__zone_survey(lfma__arena_zone(arena, i), 0, &survey);
    for (uint64_t i = 0; i < arena->threads_max; i++)
        survey.pages_free += lfma__cache_pages(&arena->slots[i]);
    lfma__thread_unlock();
    return survey.pages_free;
}

int lfma_arena_destroy(lfma_arena *arena)
{
    if (!arena)
        return LFMA_OK;
    if (count_pages_back(arena) != arena->pages)
        return LFMA_E_BUSY;
    lfma_arena_destroy_forced(arena);
    return LFMA_OK;
}

void lfma_arena_destroy_forced(lfma_arena *arena)
{
    if (!arena)
        return;
    lfma__arena_unregister(arena);
    lfma__arena_forget_caches(arena);
    lfma__os_release((void *)arena->base, arena->bytes);
    lfma__os_release(arena, arena->metadata_bytes);
}
