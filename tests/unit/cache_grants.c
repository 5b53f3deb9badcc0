/* SPDX-License-Identifier: MIT */
/* How a cache divides its grant among the sizes in use, played by handles (the bounds of all together: cache.c). */
#include "arena/arena.h"
#include "cache/grant.h"
#include "support/arenas.h"
#include "support/unit.h"

#include <lfma/lfma.h>

#define PAGE ((size_t)64)
#define KEEP 4096u /* pages of all caches */

static lfma_cache *open_cache(uint32_t flags, lfma_arena **ret_arena)
{
    lfma_cache *cache;
    *ret_arena = ARENA(.pages = 1 << 16, .caches = true, .cache_pages = KEEP, .flags = flags);
    REQUIRE_CODE(lfma_cache_create(*ret_arena, &cache), LFMA_OK);
    return cache;
}

static void close_cache(lfma_arena *arena, lfma_cache *cache)
{
    REQUIRE(arena_is_sound(arena), "at the end");
    lfma_cache_destroy(cache);
    REQUIRE_CODE(lfma_arena_destroy(arena), LFMA_OK);
}

/* Blocks of an order, taken and then freed: each time of more than one slice, so that holds begin anew. */
static void use(lfma_cache *cache, unsigned order, unsigned times)
{
    enum { BLOCKS = 100 };
    void *blocks[BLOCKS];
    for (unsigned i = 0; i < times; i++) {
        for (unsigned n = 0; n < BLOCKS; n++)
            REQUIRE((blocks[n] = lfma_cache_alloc(cache, PAGE << order)) != NULL, "order %u", order);
        for (unsigned n = 0; n < BLOCKS; n++)
            REQUIRE_CODE(lfma_cache_free(cache, blocks[n]), LFMA_OK);
    }
}

/* What the hold of an order may keep, in blocks. */
static uint64_t reserved(const lfma_cache *cache, unsigned side, unsigned order)
{
    const lfma__hold *const hold = &((const lfma__slot *)(const void *)cache)->shelves[order].holds[side];
    return lfma__hold_room(hold) + (uint64_t)__builtin_popcountll(lfma__hold_all(hold));
}

static const struct lfma__grant *grant_of(const lfma_cache *cache, unsigned side)
{
    return &((const lfma__slot *)(const void *)cache)->grants[side];
}

/* How many blocks of each order one user may keep, when orders up to the largest are in use. */
static uint64_t even(const lfma_arena *arena, unsigned side, unsigned largest)
{
    const uint64_t blocks = arena->pool.pages_max[side] >> (largest + 1);
    return blocks < 64 ? blocks : 64;
}

/* Sizes in use get the same number of blocks, and all of them fit: none has its hold only when another has none. */
Test(cache_grants, sizes_in_use_share_evenly)
{
    lfma_arena *arena;
    lfma_cache *const cache = open_cache(0, &arena);
    lfma__slot *const slot = (lfma__slot *)(void *)cache;
    for (unsigned side = 0; side < LFMA__SIDES; side++) {
        for (unsigned largest = 0; largest <= 8; largest++) {
            for (unsigned round = 0; round < 2; round++) {
                for (unsigned order = largest + 1; order-- > 0;) {
                    const unsigned blocks = lfma__cache_reserve(&arena->pool, slot, side, order);
                    REQUIRE(blocks == even(arena, side, largest), "side %u, order %u of %u: %u", side, order, largest,
                            blocks);
                    REQUIRE(reserved(cache, side, order) == blocks, "%" PRIu64, reserved(cache, side, order));
                }
            }
            for (unsigned order = 0; order <= largest; order++) /* none was drained to make room */
                REQUIRE(reserved(cache, side, order) == even(arena, side, largest), "order %u of %u", order, largest);
        }
        REQUIRE(lfma__cache_reserve(&arena->pool, slot, side, 10) == 0, "more than is kept of one block");
    }
    REQUIRE(lfma__cache_drain(&arena->pool, slot) == 0, "nothing was kept");
    close_cache(arena, cache);
}

/* The share of a size that nobody asks for any more goes to the others; nor does a rare one take it for good. */
Test(cache_grants, a_size_out_of_use_gives_way)
{
    lfma_arena *arena;
    lfma_cache *const cache = open_cache(0, &arena);
    for (unsigned change = 0; change < 3; change++) {
        for (unsigned round = 0; round < 20; round++) {
            use(cache, 2, 1);
            use(cache, 7, 1);
        }
        REQUIRE(reserved(cache, LFMA__TAKE, 2) == even(arena, LFMA__TAKE, 7), "beside a larger one: %" PRIu64,
                reserved(cache, LFMA__TAKE, 2));
        use(cache, 2, 100);
        REQUIRE(reserved(cache, LFMA__TAKE, 2) == 64, "alone: %" PRIu64, reserved(cache, LFMA__TAKE, 2));
        use(cache, 2, 1);
    }
    close_cache(arena, cache);
}

/* Small sizes that have reserved all do not keep a larger one out. */
Test(cache_grants, a_larger_size_finds_room)
{
    for (uint32_t flags = 0; flags <= LFMA_HARDENED; flags += LFMA_HARDENED) {
        lfma_arena *arena;
        lfma_cache *const cache = open_cache(flags, &arena);
        for (unsigned order = 0; order <= 6; order++)
            use(cache, order, 4);
        const struct lfma__grant *const take = grant_of(cache, LFMA__TAKE);
        const uint64_t small = take->reserved;
        REQUIRE(small + (even(arena, LFMA__TAKE, 8) << 8) > take->pages, "%" PRIu64 " of %" PRIu64, small,
                take->pages);
        use(cache, 8, 4);
        REQUIRE(reserved(cache, LFMA__TAKE, 8) == even(arena, LFMA__TAKE, 8), "%" PRIu64,
                reserved(cache, LFMA__TAKE, 8));
        REQUIRE(take->reserved <= take->pages, "%" PRIu64 " of %" PRIu64, take->reserved, take->pages);
        close_cache(arena, cache);
    }
}

/* Of a size of which a grant has room for a few only, nothing is kept. */
Test(cache_grants, too_large_a_size_is_not_kept)
{
    lfma_arena *arena;
    lfma_cache *const cache = open_cache(0, &arena);
    use(cache, 8, 4);
    REQUIRE(arena_stats(arena).cached_bytes > 0, "twelve fit");
    REQUIRE_CODE(lfma_cache_flush(arena, cache), LFMA_OK);
    void *const block = lfma_cache_alloc(cache, PAGE << 9);
    REQUIRE(block && arena_stats(arena).cached_bytes == 0, "six do not");
    REQUIRE_CODE(lfma_cache_free(cache, block), LFMA_OK);
    close_cache(arena, cache);
}

/* Who keeps nothing any more leaves its grant to the others. */
Test(cache_grants, a_flush_gives_the_grant_back)
{
    lfma_arena *arena;
    lfma_cache *const first = open_cache(0, &arena), *second;
    REQUIRE_CODE(lfma_cache_create(arena, &second), LFMA_OK);
    use(first, 0, 2);
    use(second, 0, 2);
    use(first, 0, 2);
    use(second, 0, 2); /* of two users each has a half */
    for (unsigned side = 0; side < LFMA__SIDES; side++)
        REQUIRE(grant_of(first, side)->pages == arena->pool.pages_max[side] / 2 &&
                    grant_of(second, side)->pages == arena->pool.pages_max[side] / 2,
                "side %u: %" PRIu64, side, grant_of(first, side)->pages);
    REQUIRE_CODE(lfma_cache_flush(arena, second), LFMA_OK);
    use(first, 3, 2);
    for (unsigned side = 0; side < LFMA__SIDES; side++) {
        REQUIRE(grant_of(second, side)->pages == 0 && !grant_of(second, side)->is_user, "side %u", side);
        REQUIRE(grant_of(first, side)->pages == arena->pool.pages_max[side], "side %u: %" PRIu64, side,
                grant_of(first, side)->pages);
    }
    lfma_cache_destroy(second);
    close_cache(arena, first);
}

/* Calls are counted where they end, by holds or not; however they end, the sums are exact. */
Test(cache_grants, every_call_is_counted_once)
{
    enum { LIVE = 500 };
    static void *blocks[LIVE];
    static unsigned orders[LIVE];
    for (uint32_t flags = 0; flags <= LFMA_HARDENED; flags += LFMA_HARDENED) {
        lfma_arena *arena;
        lfma_cache *const cache = open_cache(flags, &arena);
        rng random = { test_seed(0xc0a7) };
        uint64_t allocs[LFMA_ORDERS] = { 0 }, frees = 0, bad = 0, requested = 0;
        for (unsigned n = 0; n < 40000; n++) {
            const size_t i = rng_below(&random, LIVE);
            if (n % 10000 == 9999)
                lfma__cache_press(&arena->pool);
            if (n % 10000 == 2000)
                lfma__cache_ease(&arena->pool);
            if (rng_below(&random, 1000) == 0)
                REQUIRE_CODE(lfma_cache_flush(arena, n % 2 ? cache : NULL), LFMA_OK);
            if (blocks[i]) {
                REQUIRE_CODE(n % 2 ? lfma_cache_free(cache, blocks[i]) : lfma_free(arena, blocks[i]), LFMA_OK);
                frees++;
                REQUIRE(lfma_free(arena, blocks[i]) != LFMA_OK, "twice"); /* kept, or published */
                REQUIRE(lfma_free(arena, (char *)arena->base + 1) != LFMA_OK, "inside");
                bad += 2;
                blocks[i] = NULL;
                continue;
            }
            orders[i] = (unsigned)rng_below(&random, 6);
            blocks[i] = n % 2 ? lfma_cache_alloc(cache, PAGE << orders[i]) : lfma_alloc(arena, PAGE << orders[i]);
            REQUIRE(blocks[i] != NULL, "%u", n);
            allocs[orders[i]]++;
            requested += PAGE << orders[i];
        }
        const lfma_arena_stats_t stats = arena_stats(arena);
        for (unsigned order = 0; order < LFMA_ORDERS; order++)
            REQUIRE(stats.allocs_of_order[order] == allocs[order],
                    "order %u: %" PRIu64 " for %" PRIu64 ", seed 0x%" PRIx64, order, stats.allocs_of_order[order],
                    allocs[order], test_seed(0xc0a7));
        REQUIRE(stats.frees == frees && stats.bytes_requested == requested && stats.bad_frees == bad,
                "frees %" PRIu64 " for %" PRIu64 ", bytes %" PRIu64 " for %" PRIu64 ", bad %" PRIu64 " for %" PRIu64,
                stats.frees, frees, stats.bytes_requested, requested, stats.bad_frees, bad);
        for (size_t i = 0; i < LIVE; i++) {
            REQUIRE_CODE(lfma_free(arena, blocks[i]), LFMA_OK);
            blocks[i] = NULL;
        }
        close_cache(arena, cache);
    }
}
