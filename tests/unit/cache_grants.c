/* SPDX-License-Identifier: MIT */
/* How a cache divides its grant among the sizes in use, played by handles (the bounds of all together: cache.c). */
#include "arena/arena.h"
#include "cache/grant.h"
#include "support/arenas.h"
#include "support/unit.h"

#include <lfma/lfma.h>
#include <string.h>

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
    arena_grow_grants(arena, cache);
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

/* In a fresh arena each cache cuts blocks of its own, whose states share no line with another cache's. */
Test(cache_grants, a_large_block_is_cut_for_one_cache)
{
    for (uint32_t flags = 0; flags <= LFMA_HARDENED; flags += LFMA_HARDENED) {
        for (unsigned order = 0; order <= 5; order++) {
            enum { BLOCKS = 16, PAGES_A_LINE = 64 };
            lfma_arena *arena;
            lfma_cache *caches[2] = { open_cache(flags, &arena) };
            REQUIRE_CODE(lfma_cache_create(arena, &caches[1]), LFMA_OK);
            for (unsigned n = 0; n < 4; n++)
                arena_grow_grants(arena, caches[n % 2]);
            char *blocks[2 * BLOCKS];
            static unsigned char lines[(1 << 16) / PAGES_A_LINE];
            memset(lines, 0, sizeof lines);
            for (unsigned n = 0; n < 2 * BLOCKS; n++) {
                REQUIRE((blocks[n] = lfma_cache_alloc(caches[n % 2], PAGE << order)) != NULL, "%u", n);
                const size_t page = (size_t)(blocks[n] - (char *)arena->base) / PAGE;
                lines[page / PAGES_A_LINE] |= (unsigned char)(1 << n % 2);
                REQUIRE(lines[page / PAGES_A_LINE] != 3, "order %u: page %zu is the other's neighbour", order, page);
            }
            REQUIRE(arena_is_sound(arena), "order %u", order);
            REQUIRE(arena_stats(arena).splits == 2, "order %u: %" PRIu64 " splits", order, arena_stats(arena).splits);
            for (unsigned n = 0; n < 2 * BLOCKS; n++)
                REQUIRE_CODE(lfma_cache_free(caches[n % 2], blocks[n]), LFMA_OK);
            lfma_cache_destroy(caches[1]);
            lfma_cache_destroy(caches[0]);
            REQUIRE(arena_is_sound(arena) && arena_join_all(arena) && arena_is_fresh(arena), "order %u", order);
            REQUIRE_CODE(lfma_arena_destroy(arena), LFMA_OK);
        }
    }
}

/* When large blocks are scarce nobody takes more of one than it asks for. */
Test(cache_grants, a_scarce_block_is_not_cut_ahead)
{
    lfma_arena *arena;
    lfma_cache *const cache = open_cache(0, &arena);
    arena_grow_grants(arena, cache);
    while (lfma_alloc_aligned(arena, PAGE << 10, 0) != NULL)
        ;
    char *const last = (char *)arena->base;
    REQUIRE_CODE(lfma_free(arena, last), LFMA_OK);
    lfma__cache_ease(&arena->pool);
    REQUIRE(lfma_cache_alloc(cache, PAGE) == last, "the first page of the last block");
    const lfma_arena_stats_t stats = arena_stats(arena);
    REQUIRE(stats.cached_bytes == 0 && stats.free_bytes == (PAGE << 10) - PAGE, "%" PRIu64 " are kept",
            (uint64_t)stats.cached_bytes);
    lfma_arena_destroy_forced(arena);
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
    for (unsigned round = 0; round < 20; round++) { /* of two users each has a half */
        use(first, 0, 1);
        use(second, 0, 1);
    }
    for (unsigned side = 0; side < LFMA__SIDES; side++)
        REQUIRE(grant_of(first, side)->pages == arena->pool.pages_max[side] / 2 &&
                    grant_of(second, side)->pages == arena->pool.pages_max[side] / 2,
                "side %u: %" PRIu64, side, grant_of(first, side)->pages);
    REQUIRE_CODE(lfma_cache_flush(arena, second), LFMA_OK);
    use(first, 3, 20);
    for (unsigned side = 0; side < LFMA__SIDES; side++) {
        REQUIRE(grant_of(second, side)->pages == 0 && !grant_of(second, side)->is_user, "side %u", side);
        REQUIRE(grant_of(first, side)->pages == arena->pool.pages_max[side], "side %u: %" PRIu64, side,
                grant_of(first, side)->pages);
    }
    lfma_cache_destroy(second);
    close_cache(arena, first);
}

/* A pair of calls that keeps a cache steady: no hold begins anew. */
static void tick(lfma_cache *cache)
{
    REQUIRE_CODE(lfma_cache_free(cache, lfma_cache_alloc(cache, PAGE)), LFMA_OK);
}

static bool has_half(const lfma_arena *arena, const lfma_cache *cache)
{
    return grant_of(cache, LFMA__TAKE)->pages == arena->pool.pages_max[LFMA__TAKE] / 2;
}

/* Who comes late gets its share of one that has all and never begins anew, if that one calls at all. */
Test(cache_grants, a_late_cache_gets_its_share_of_a_steady_one)
{
    for (uint32_t flags = 0; flags <= LFMA_HARDENED; flags += LFMA_HARDENED) {
        lfma_arena *arena;
        lfma_cache *const steady = open_cache(flags, &arena), *late;
        REQUIRE_CODE(lfma_cache_create(arena, &late), LFMA_OK);
        for (unsigned n = 0; n < 20; n++) {
            for (unsigned order = 0; order < 6; order++)
                use(steady, order, 1);
        }
        REQUIRE(grant_of(steady, LFMA__TAKE)->pages == arena->pool.pages_max[LFMA__TAKE], "all of it");
        REQUIRE(grant_of(steady, LFMA__TAKE)->reserved > arena->pool.pages_max[LFMA__TAKE] / 2, "and uses it");
        for (unsigned n = 0; n < 100; n++)
            tick(steady);
        unsigned turns = 0;
        while (!has_half(arena, late) && turns++ < 40) {
            use(late, 0, 1);
            tick(steady);
        }
        REQUIRE(has_half(arena, late) && has_half(arena, steady), "after %u turns: %" PRIu64 " and %" PRIu64, turns,
                grant_of(late, LFMA__TAKE)->pages, grant_of(steady, LFMA__TAKE)->pages);
        for (unsigned n = 0; n < 200; n++) /* and nobody is asked any more */
            tick(n % 2 ? steady : late);
        REQUIRE(lfma__cache_way(&arena->pool) == lfma__cache_way_of(&arena->pool), "still uneven");
        lfma_cache_destroy(late);
        close_cache(arena, steady);
    }
}

/* An idle one does not answer: it is asked ever more seldom, while the late one does without. */
Test(cache_grants, an_idle_cache_is_asked_ever_more_seldom)
{
    lfma_arena *arena;
    lfma_cache *const idle = open_cache(0, &arena), *late;
    REQUIRE_CODE(lfma_cache_create(arena, &late), LFMA_OK);
    use(idle, 0, 20);
    unsigned asked = 0, when = 0;
    bool is_uneven = false;
    for (unsigned n = 1; n <= 100000; n++) {
        tick(late);
        const bool was_uneven = is_uneven;
        is_uneven = (lfma__cache_way(&arena->pool) & LFMA__WAY_UNEVEN) != 0;
        if (is_uneven && !was_uneven) {
            REQUIRE(n > when + when / 2, "asked after %u and %u pairs", when, n);
            when = n;
            asked++;
        }
    }
    REQUIRE(asked >= 8 && asked <= 20, "%u times", asked);
    REQUIRE(grant_of(late, LFMA__TAKE)->pages == 0, "from whom?");
    for (unsigned n = 0; n < 300000 && !has_half(arena, late); n++) { /* it is back: the next time it answers */
        tick(late);
        tick(idle);
    }
    REQUIRE(has_half(arena, late), "%" PRIu64, grant_of(late, LFMA__TAKE)->pages);
    lfma_cache_destroy(late);
    close_cache(arena, idle);
}

/* Who needs little has little: the rest is for others, though it never calls again. */
Test(cache_grants, a_grant_grows_in_steps)
{
    lfma_arena *arena;
    lfma_cache *const once = open_cache(0, &arena), *other;
    REQUIRE_CODE(lfma_cache_create(arena, &other), LFMA_OK);
    tick(once);
    const uint64_t most = arena->pool.pages_max[LFMA__TAKE];
    REQUIRE(grant_of(once, LFMA__TAKE)->pages < most / 8, "%" PRIu64 " of %" PRIu64,
            grant_of(once, LFMA__TAKE)->pages, most);
    use(other, 0, 30);
    REQUIRE(has_half(arena, other), "%" PRIu64, grant_of(other, LFMA__TAKE)->pages);
    lfma_cache_destroy(other);
    close_cache(arena, once);
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
