/* SPDX-License-Identifier: MIT */
/*
 * What threads keep, played by handles in turns: the bounds, and when it is given back. Random calls: cache_model.c;
 * frees that are wrong: cache_frees.c; threads: cache_threads.c.
 */
#include "arena/arena.h"
#include "support/arenas.h"
#include "support/unit.h"

#include <lfma/lfma.h>

#define PAGE ((size_t)64)

static size_t kept(lfma_arena *arena)
{
    return arena_stats(arena).cached_bytes / PAGE;
}

static void flush_all(lfma_arena *arena, lfma_cache **caches, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        REQUIRE_CODE(lfma_cache_flush(arena, caches[i]), LFMA_OK);
}

static void close_fresh(lfma_arena *arena)
{
    REQUIRE(arena_is_sound(arena) && kept(arena) == 0 && arena_join_all(arena) && arena_is_fresh(arena), "not fresh");
    REQUIRE_CODE(lfma_arena_destroy(arena), LFMA_OK);
}

/* The arena's blocks of one page by a cache (NULL: the thread's own): all, or `count` of them. */
static size_t take_pages(lfma_arena *arena, lfma_cache *cache, char **blocks, size_t count)
{
    size_t n = 0;
    while (n < count && (blocks[n] = cache ? lfma_cache_alloc(cache, PAGE) : lfma_alloc(arena, PAGE)) != NULL)
        n++;
    return n;
}

static void free_pages(lfma_arena *arena, lfma_cache *cache, char **blocks, size_t from, size_t to)
{
    for (size_t n = from; n < to; n++)
        REQUIRE_CODE(cache ? lfma_cache_free(cache, blocks[n]) : lfma_free(arena, blocks[n]), LFMA_OK);
}

/* ---------------------------------------------------------------------------------------------------- the bounds */

/* However many caches come and go, each filled as far as it goes: together they never keep more than is said. */
Test(cache, all_together_keep_no_more_than_is_said)
{
    static char *blocks[4096];
    for (unsigned order = 0; order <= 4; order++) {
        lfma_arena *const arena = ARENA(.pages = 4096, .caches = true, .cache_pages = 512, .threads_max = 64);
        const size_t most = arena_stats(arena).cached_bytes_max;
        lfma_cache *caches[32];
        REQUIRE(most == 512 * PAGE, "%zu", most);
        for (unsigned n = 0; n < 32; n++) {
            REQUIRE_CODE(lfma_cache_create(arena, &caches[n]), LFMA_OK);
            for (unsigned i = 0; i <= n; i++) { /* all of them, again */
                for (unsigned k = 0; k < 100; k++)
                    blocks[k] = lfma_cache_alloc(caches[i], PAGE << order);
                for (unsigned k = 0; k < 100; k++)
                    REQUIRE(!blocks[k] || lfma_cache_free(caches[i], blocks[k]) == LFMA_OK, "%u", k);
            }
            REQUIRE(arena_is_sound(arena), "%u caches, order %u", n + 1, order);
            REQUIRE(arena_stats(arena).cached_bytes <= most, "%u caches, order %u", n + 1, order);
        }
        for (unsigned n = 0; n < 32; n += 2)
            lfma_cache_destroy(caches[n]);
        REQUIRE(arena_is_sound(arena), "half of them");
        for (unsigned n = 1; n < 32; n += 2)
            lfma_cache_destroy(caches[n]);
        close_fresh(arena);
    }
}

static uint64_t granted(const lfma_cache *cache, unsigned side)
{
    return ((const lfma__slot *)(const void *)cache)->grants[side].pages;
}

/* K3: a grant is an even share, also for who comes late, once the others have filled anew; and it grows again. */
Test(cache, shares_are_even)
{
    static char *blocks[200];
    lfma_arena *const arena = ARENA(.pages = 1 << 14, .caches = true, .cache_pages = 4096);
    lfma_cache *caches[8];
    for (unsigned n = 0; n < 16; n++) {
        const unsigned live = n < 8 ? n + 1 : 16 - n; /* they come, and leave again */
        if (n < 8)
            REQUIRE_CODE(lfma_cache_create(arena, &caches[n]), LFMA_OK);
        for (unsigned round = 0; round < 8; round++) { /* it grows in steps, one at each refill */
            for (unsigned i = 0; i < live; i++) {
                REQUIRE(take_pages(arena, caches[i], blocks, 200) == 200, "memory");
                free_pages(arena, caches[(i + round) % live], blocks, 0, 200);
            }
        }
        for (unsigned i = 0; i < live; i++) {
            const uint64_t share = arena->pool.pages_max[LFMA__TAKE] / live;
            REQUIRE(granted(caches[i], LFMA__TAKE) == share, "%u of %u: %" PRIu64 " of %" PRIu64, i, live,
                    granted(caches[i], LFMA__TAKE), share);
        }
        REQUIRE(arena_is_sound(arena), "%u caches", live);
        if (n >= 8)
            lfma_cache_destroy(caches[live - 1]);
    }
    close_fresh(arena);
}

/* K03: what different threads write at each call is on lines of its own. */
Test(cache, lines_of_their_own)
{
    cr_assert_eq(sizeof(lfma__slot) % LFMA_LINE_BYTES, 0);
    cr_assert_eq(_Alignof(lfma__slot), LFMA_LINE_BYTES);
    cr_assert_eq(sizeof(struct lfma__purse), LFMA_LINE_BYTES);
    for (unsigned side = 0; side < LFMA__SIDES; side++)
        cr_assert_eq((offsetof(lfma_arena, pool) + offsetof(lfma__pool, purses[side])) % LFMA_LINE_BYTES, 0);
    cr_assert_geq(offsetof(lfma_arena, pool) + offsetof(lfma__pool, purses[0]),
                  offsetof(lfma_arena, pool) + offsetof(lfma__pool, way) + sizeof(lfma__a64));
    cr_assert_eq(offsetof(lfma_arena, coalesce_zone) % LFMA_LINE_BYTES, 0);
    lfma_arena *const arena = ARENA(.pages = 10, .caches = true);
    cr_assert_eq((uintptr_t)arena->slots % LFMA_LINE_BYTES, 0);
    REQUIRE_CODE(lfma_arena_destroy(arena), LFMA_OK);
}

/* -------------------------------------------------------------------------------------------------- giving back */

/* A16: the largest block is had when everything is free: what the own cache kept at once, others' after a flush. */
Test(cache, the_largest_block_after_everything_is_freed)
{
    static char *blocks[1024];
    for (unsigned flags = 0; flags <= LFMA_HARDENED; flags += LFMA_HARDENED) {
        for (unsigned way = 0; way < 4; way++) { /* own, own handle, others by flush, others by destroy */
            lfma_arena *const arena = ARENA(.pages = 1024, .caches = true, .flags = flags);
            lfma_cache *cache = NULL;
            if (way > 0)
                REQUIRE_CODE(lfma_cache_create(arena, &cache), LFMA_OK);
            free_pages(arena, cache, blocks, 0, take_pages(arena, cache, blocks, 700));
            if (way > 1)
                REQUIRE(kept(arena) > 0, "nothing is kept");
            void *all = NULL;
            if (way == 2)
                REQUIRE_CODE(lfma_cache_flush(arena, cache), LFMA_OK);
            else if (way == 3)
                lfma_cache_destroy(cache);
            REQUIRE(way < 2 || kept(arena) == 0, "%zu pages are kept", kept(arena));
            REQUIRE_CODE(way == 1 ? lfma_cache_try_alloc(cache, 1024 * PAGE, 0, 0, &all)
                                  : lfma_try_alloc(arena, 1024 * PAGE, 0, &all),
                         LFMA_OK);
            REQUIRE_CODE(lfma_free(arena, all), LFMA_OK);
            if (way != 3)
                lfma_cache_destroy(cache);
            REQUIRE_CODE(lfma_cache_flush(arena, NULL), LFMA_OK);
            close_fresh(arena);
        }
    }
}

/* A16: what finds nothing makes the others give back at their next call, whichever it is; then it is found. */
Test(cache, pressure_empties_the_others_at_their_next_call)
{
    static char *blocks[1024];
    for (unsigned way = 0; way < 2; way++) {
        lfma_arena *const arena = ARENA(.pages = 1024, .caches = true);
        lfma_cache *caches[2];
        char *mine[2] = { NULL, NULL };
        void *all = NULL;
        for (unsigned i = 0; i < 2; i++)
            REQUIRE_CODE(lfma_cache_create(arena, &caches[i]), LFMA_OK);
        const size_t taken = take_pages(arena, caches[0], blocks, 1000);
        lfma__cache_ease(&arena->pool); /* memory was scarce, and is plenty again */
        free_pages(arena, caches[0], blocks, 1, taken);
        mine[0] = blocks[0];
        REQUIRE(kept(arena) > 0, "nothing is kept");
        const int code = lfma_cache_try_alloc(caches[1], 512 * PAGE, 0, 0, &all);
        REQUIRE(code == LFMA_OK || code == LFMA_E_FRAGMENTED || code == LFMA_E_NOMEM, "%s", lfma_error_name(code));
        lfma__cache_press(&arena->pool);
        if (way == 0) { /* its next call is a free */
            REQUIRE_CODE(lfma_cache_free(caches[0], mine[0]), LFMA_OK);
        } else {
            mine[1] = lfma_cache_alloc(caches[0], PAGE);
            REQUIRE(mine[1] != NULL && lfma_free(arena, mine[1]) == LFMA_OK, "an allocation");
            REQUIRE_CODE(lfma_free(arena, mine[0]), LFMA_OK);
        }
        REQUIRE(kept(arena) == 0, "%zu pages are kept", kept(arena));
        if (code != LFMA_OK)
            REQUIRE_CODE(lfma_cache_try_alloc(caches[1], 512 * PAGE, 0, 0, &all), LFMA_OK);
        REQUIRE_CODE(lfma_free(arena, all), LFMA_OK);
        flush_all(arena, caches, 2);
        close_fresh(arena);
    }
}

/* And it ends: with large blocks plenty again, 64 allocations later, calls go the short way. */
Test(cache, pressure_ends)
{
    static char *blocks[1024];
    for (unsigned own = 0; own < 2; own++) {
        lfma_arena *const arena = ARENA(.pages = 1024, .caches = true);
        lfma_cache *cache = NULL;
        if (!own)
            REQUIRE_CODE(lfma_cache_create(arena, &cache), LFMA_OK);
        void *none = NULL;
        REQUIRE(take_pages(arena, cache, blocks, 1024) == 1024, "the whole arena");
        REQUIRE_CODE(own ? lfma_try_alloc(arena, 1, 0, &none) : lfma_cache_try_alloc(cache, 1, 0, 0, &none),
                     LFMA_E_NOMEM);
        REQUIRE(lfma__cache_is_pressed(&arena->pool), "no pressure");
        REQUIRE(lfma__cache_way(&arena->pool) != arena->pool.name, "the short way is open");
        free_pages(arena, cache, blocks, 0, 1024);
        REQUIRE(kept(arena) == 0, "kept under pressure");
        REQUIRE(arena_join_all(arena), "joined");
        for (unsigned n = 0; n < 2 * 64; n++)
            free_pages(arena, cache, blocks, 0, take_pages(arena, cache, blocks, 1));
        REQUIRE(!lfma__cache_is_pressed(&arena->pool), "pressure for ever");
        REQUIRE(lfma__cache_way(&arena->pool) == arena->pool.name, "the short way is closed");
        free_pages(arena, cache, blocks, 0, take_pages(arena, cache, blocks, 100));
        REQUIRE(kept(arena) > 0, "nothing is kept again");
        REQUIRE_CODE(lfma_cache_flush(arena, cache), LFMA_OK);
        close_fresh(arena);
    }
}

/* Also where nothing but pages is used: then large blocks stay scarce, but nobody asks for them. */
Test(cache, pressure_ends_among_pages)
{
    static char *blocks[1024];
    lfma_arena *const arena = ARENA(.pages = 1024, .caches = true);
    void *none = NULL;
    REQUIRE(take_pages(arena, NULL, blocks, 1024) == 1024, "the whole arena");
    REQUIRE_CODE(lfma_try_alloc(arena, 1, 0, &none), LFMA_E_NOMEM);
    free_pages(arena, NULL, blocks, 0, 1024);
    REQUIRE(lfma__cache_is_pressed(&arena->pool), "no pressure");
    for (unsigned n = 0; n < 1100; n++)
        free_pages(arena, NULL, blocks, 0, take_pages(arena, NULL, blocks, 1));
    REQUIRE(!lfma__cache_is_pressed(&arena->pool), "pressure for ever");
    REQUIRE_CODE(lfma_cache_flush(arena, NULL), LFMA_OK);
    close_fresh(arena);
}

/* NOMEM is said after the own cache has given back, of blocks of any order that it kept. */
Test(cache, no_refusal_while_the_own_cache_could_serve)
{
    static char *blocks[257]; /* and the refusal */
    for (unsigned order = 0; order <= 4; order++) {
        lfma_arena *const arena = ARENA(.pages = 256, .caches = true, .cache_pages = 256);
        lfma_cache *cache = NULL;
        REQUIRE_CODE(lfma_cache_create(arena, &cache), LFMA_OK);
        for (unsigned round = 0; round < 20; round++) {
            const size_t taken = take_pages(arena, cache, blocks, 256);
            REQUIRE(taken == 256, "round %u: %zu of 256 pages", round, taken);
            free_pages(arena, cache, blocks, 0, 256);
            lfma__cache_ease(&arena->pool);
            size_t large = 0;
            while ((blocks[large] = lfma_cache_alloc(cache, PAGE << order)) != NULL)
                large++;
            REQUIRE(large == (size_t)256 >> order, "round %u: %zu blocks of order %u", round, large, order);
            free_pages(arena, cache, blocks, 0, large);
            lfma__cache_ease(&arena->pool);
        }
        lfma_cache_destroy(cache);
        close_fresh(arena);
    }
}

/* ------------------------------------------------------------------------------------------------------- handles */

Test(cache, handles_take_slots_and_give_them_back)
{
    lfma_arena *const arena = ARENA(.pages = 64, .caches = true, .threads_max = 4);
    lfma_arena *const other = ARENA(.pages = 64, .caches = true);
    lfma_cache *caches[4] = { NULL };
    REQUIRE_CODE(lfma_free(arena, caches), LFMA_E_FOREIGN); /* this thread's number is one of the four */
    for (unsigned round = 0; round < 100; round++) {
        unsigned count = 0;
        while (count < 4 && lfma_cache_create(arena, &caches[count]) == LFMA_OK)
            count++;
        REQUIRE(count == 3, "round %u: %u", round, count);
        lfma_cache *none = NULL;
        REQUIRE_CODE(lfma_cache_create(arena, &none), LFMA_E_LIMIT);
        REQUIRE(none == NULL, "an output was written");
        REQUIRE_CODE(lfma_cache_flush(other, caches[0]), LFMA_E_INVALID);
        for (unsigned i = 0; i < 3; i++)
            lfma_cache_destroy(caches[(i + round) % 3]);
        lfma_cache_destroy(NULL);
    }
    /* All numbers there are. */
    lfma_arena *const wide = ARENA(.pages = 64, .caches = true, .threads_max = 1024);
    for (unsigned round = 0; round < 3; round++) {
        lfma_cache *cache = NULL;
        unsigned count = 0;
        while (lfma_cache_create(wide, &cache) == LFMA_OK)
            count++;
        REQUIRE(count == LFMA__THREADS_MAX - 1, "%u", count);
        REQUIRE_CODE(lfma_cache_create(other, &cache), LFMA_E_LIMIT);
        /* An arena gives back the numbers of its caches that live. */
        lfma_arena *const again = ARENA(.pages = 64, .caches = true, .threads_max = 1024);
        lfma_arena_destroy_forced(again);
        for (uint32_t i = 1; i < LFMA__THREADS_MAX; i++)
            lfma_cache_destroy((lfma_cache *)(void *)&wide->slots[i]);
    }
    for (unsigned round = 0; round < 3; round++) {
        lfma_arena *const brief = ARENA(.pages = 64, .caches = true, .threads_max = 1024);
        lfma_cache *cache = NULL;
        unsigned count = 0;
        while (lfma_cache_create(brief, &cache) == LFMA_OK)
            count++;
        REQUIRE(count == LFMA__THREADS_MAX - 1, "round %u: %u", round, count);
        REQUIRE_CODE(lfma_arena_destroy(brief), LFMA_OK);
    }
    REQUIRE_CODE(lfma_arena_destroy(wide), LFMA_OK);
    REQUIRE_CODE(lfma_arena_destroy(other), LFMA_OK);
    REQUIRE_CODE(lfma_arena_destroy(arena), LFMA_OK);
}
