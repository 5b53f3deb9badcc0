/* SPDX-License-Identifier: MIT */
/* The edges of memory: what lies between tables, blocks far beyond 4 GiB, numbers that wrap. */
#include "arena/arena.h"
#include "support/arenas.h"
#include "support/unit.h"
#include "support/zones.h"

#include <lfma/lfma.h>
#include <stdlib.h>
#include <string.h>

#define CANARY 0xC9

/* ---------------------------------------------------------------------------------- canaries between the tables */

/* 1 for each byte of a zone that belongs to its header or to a table. */
static void mark_used(const lfma__zone *z, unsigned char *used)
{
    memset(used, 0, (size_t)z->bytes);
    memset(used, 1, sizeof *z);
    memset(used + z->states_offset, 1, (size_t)z->pages);
    for (unsigned order = 0; order <= z->order_max; order++) {
        const size_t slices = (size_t)lfma__words_for(z->pages >> order);
        const size_t search = (size_t)lfma__words_for(slices);
        memset(used + z->slices_offset[order], 1, slices * 8);
        memset(used + z->search_offset[order], 1, search * 8);
        if (z->summary_offset[order])
            memset(used + z->summary_offset[order], 1, (size_t)lfma__words_for(search) * 8);
    }
}

/* Fill it, empty it, join it, split it: by every path that writes tables, up to the last page. */
static void exercise(const zone_box *box)
{
    const uint64_t pages = box->zone->pages;
    REQUIRE(box_alloc_all(box) == pages, "%" PRIu64 " pages", pages);
    for (uint64_t page = 0; page < pages; page++)
        REQUIRE(box_free(box, page) == LFMA_OK, "page %" PRIu64 " of %" PRIu64, page, pages);
    (void)zone_join_all(box->zone, box->owner);
    for (unsigned order = box->zone->order_max + 1; order-- > 0;) {
        const uint64_t page = box_alloc(box, order);
        REQUIRE(page != LFMA__NONE && box_free(box, page) == LFMA_OK, "order %u of %" PRIu64, order, pages);
    }
    REQUIRE(lfma__zone_alloc_scan(box->zone, box->owner, 0) != LFMA__NONE, "%" PRIu64 " pages", pages);
    REQUIRE(zone_broken(box->zone) == NULL, "%" PRIu64 " pages: %s", pages, zone_broken(box->zone));
}

static void check_canaries(uint64_t pages, unsigned order_max)
{
    zone_box box = zone_box_open(pages, order_max);
    unsigned char *const bytes = (unsigned char *)box.zone;
    unsigned char *const used = malloc((size_t)box.zone->bytes);
    REQUIRE(used != NULL, "memory");
    mark_used(box.zone, used);
    for (uint64_t i = 0; i < box.zone->bytes; i++) {
        if (!used[i])
            bytes[i] = CANARY;
    }
    exercise(&box);
    for (uint64_t i = 0; i < box.zone->bytes; i++)
        REQUIRE(used[i] || bytes[i] == CANARY, "%" PRIu64 " pages, orders to %u: byte %" PRIu64, pages, order_max, i);
    free(used);
    zone_box_close(&box);
}

/*
 * F01, F02, F06, F10: every size up to 4200 pages (in slow builds, above 200 a part of them): nothing is written
 * between the tables or behind the last.
 */
Test(geometry, canaries_between_all_tables)
{
#if defined(__OPTIMIZE__)
    const uint64_t stride = test_is_sanitized() ? 37 : 1;
#else
    const uint64_t stride = 37;
#endif
    for (uint64_t pages = 1; pages <= 4200; pages += pages < 200 ? 1 : stride)
        check_canaries(pages, 31);
    const unsigned orders[] = { 0, 1, 5, 6, 7, 11, 12 };
    for (unsigned i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        for (uint64_t pages = 1; pages <= 4200; pages = pages * 2 + (pages & 1))
            check_canaries(pages, orders[i]);
        check_canaries(32, orders[i]);
        check_canaries(64, orders[i]);
        check_canaries(4096, orders[i]);
    }
}

/* ------------------------------------------------------------------------------------------- far in an arena */

static void check_far_block(lfma_arena *arena, char *block, size_t bytes)
{
    const lfma_arena_stats_t s = arena_stats(arena);
    REQUIRE(block >= (char *)s.base && block + bytes <= (char *)s.base + s.bytes, "inside");
    REQUIRE((uintptr_t)block % bytes == 0, "%zu bytes at %p", bytes, (void *)block);
    REQUIRE(lfma_usable_size(arena, block) == bytes, "usable size of %p", (void *)block);
    REQUIRE((char *)lfma_block_of(arena, block + bytes - 1) == block, "last byte of %p", (void *)block);
    REQUIRE(bytes == s.page_bytes || lfma_free(arena, block + s.page_bytes) == LFMA_E_INNER, "inner");
    REQUIRE_CODE(lfma_free(arena, block + 1), LFMA_E_UNALIGNED);
}

/*
 * E12, E13: 64 GiB in blocks of 1 GiB, each far beyond what 32 bits count, in one zone and in sixteen; each freed
 * alone, had again, had in single pages, joined again.
 */
static void check_far(size_t zone_bytes)
{
    enum { BLOCKS = 64 };
    const size_t gib = (size_t)1 << 30, page = 65536;
    lfma_arena_config config = LFMA_ARENA_CONFIG_INIT;
    config.bytes = BLOCKS * gib;
    config.page_bytes = page;
    config.block_bytes_max = gib;
    config.zone_bytes = zone_bytes;
    lfma_arena *arena = NULL;
    REQUIRE_CODE(lfma_arena_create(&config, &arena), LFMA_OK);
    char *const base = arena_stats(arena).base;
    bool seen[BLOCKS] = { false };
    for (size_t n = 0; n < BLOCKS; n++) {
        char *const block = lfma_alloc(arena, gib);
        REQUIRE(block != NULL, "block %zu", n);
        check_far_block(arena, block, gib);
        const size_t at = (size_t)(block - base) / gib;
        REQUIRE(!seen[at], "block %zu twice", at);
        seen[at] = true;
    }
    for (size_t n = 0; n < BLOCKS; n++) {
        char *const block = base + n * gib;
        REQUIRE_CODE(lfma_free(arena, block), LFMA_OK);
        REQUIRE_CODE(lfma_free(arena, block), LFMA_E_DOUBLE_FREE);
        char *const first = lfma_alloc(arena, page);
        REQUIRE(first >= block && first < block + gib, "a page of the only free GiB, number %zu", n);
        check_far_block(arena, first, page);
        REQUIRE_CODE(lfma_free(arena, first), LFMA_OK);
        REQUIRE(arena_join_all(arena) && lfma_alloc(arena, gib) == block, "joined: GiB %zu", n);
    }
    REQUIRE(arena_is_sound(arena), "sound");
    lfma_arena_destroy_forced(arena);
}

Test(geometry, far_blocks)
{
    check_far(0);
    check_far((size_t)1 << 30);
    check_far((size_t)64 << 30);
}

/* --------------------------------------------------------------------------------------------- wrapping numbers */

/* D05, D11: versions and counters pass 2^64: sums still tell a change, figures are right modulo 2^64. */
Test(geometry, versions_and_counters_that_wrap)
{
    for (uint64_t before = 0; before < 12; before++) {
        lfma_arena *const arena = ARENA(.pages = 64, .threads_max = 2);
        for (unsigned i = 0; i <= 2; i++) {
            lfma__a64_store_relaxed(&arena->slots[i].owner.word, 0 - before * LFMA__VERSION_ONE);
            for (unsigned c = 0; c < LFMA__COUNTERS; c++)
                lfma__a64_store_relaxed(&arena->slots[i].owner.counters[c], i ? 0 : UINT64_MAX - before);
        }
        const lfma_arena_stats_t was = arena_stats(arena);
        void *blocks[64];
        for (unsigned n = 0; n < 64; n++)
            REQUIRE((blocks[n] = lfma_alloc(arena, 1)) != NULL, "block %u", n);
        void *none = NULL;
        REQUIRE_CODE(lfma_try_alloc(arena, 1, 0, &none), LFMA_E_NOMEM);
        const lfma__owners_seen seen = lfma__arena_read_owners(arena);
        REQUIRE_CODE(lfma_free(arena, blocks[7]), LFMA_OK);
        REQUIRE(lfma__arena_read_owners(arena).sum != seen.sum, "a free is seen");
        REQUIRE_CODE(lfma_try_alloc(arena, 128, 0, &none), LFMA_E_NOMEM);
        REQUIRE_CODE(lfma_try_alloc(arena, 1, 0, &none), LFMA_OK);
        for (unsigned n = 0; n < 64; n++)
            REQUIRE_CODE(lfma_free(arena, blocks[n]), LFMA_OK);
        const lfma__owners_seen freed = lfma__arena_read_owners(arena);
        REQUIRE(arena_join_all(arena), "joined");
        REQUIRE(lfma__arena_read_owners(arena).sum != freed.sum, "a batch that is joined is seen");
        const lfma_arena_stats_t now = arena_stats(arena);
        REQUIRE(now.allocs - was.allocs == 65 && now.frees - was.frees == 65, "differences");
        REQUIRE(now.failed_nomem - was.failed_nomem == 2, "differences");
        REQUIRE(arena_is_sound(arena) && arena_is_fresh(arena), "as new");
        REQUIRE_CODE(lfma_arena_destroy(arena), LFMA_OK);
    }
}
