/* SPDX-License-Identifier: MIT */
/* Calls through caches by their number of atomics, of which read-modify-writes are the dear ones (unit/cost.c). */
#include "arena/arena.h"
#include "support/arenas.h"
#include "support/steps.h"
#include "support/unit.h"

#include <lfma/lfma.h>

#define PAGE ((size_t)64)
#define BLOCKS_MAX 4096u

/* Measured, with little room. */
#define SHORT_MOST 16u /* atomics, all of them plain loads and stores, of a call that goes the short way */
#define FILL_MOST 8u   /* read-modify-writes of a call that takes or gives back several blocks */

static char *blocks[BLOCKS_MAX];

/* An arena whose blocks of the order were all cut and are free singly. */
static lfma_arena *open_cut(unsigned order, uint32_t flags)
{
    lfma_arena *const arena = ARENA(.pages = 1 << 14, .caches = true, .flags = flags);
    const unsigned count = 512u >> (order > 3 ? order - 3 : 0);
    for (unsigned n = 0; n < count; n++)
        REQUIRE((blocks[n] = lfma_alloc(arena, PAGE << order)) != NULL, "%u", n);
    for (unsigned n = 0; n < count; n++)
        REQUIRE_CODE(lfma_free(arena, blocks[n]), LFMA_OK);
    REQUIRE_CODE(lfma_cache_flush(arena, NULL), LFMA_OK);
    lfma__cache_ease(&arena->pool);
    for (unsigned n = 0; n < 200; n++) /* while blocks were cut one by one a cache did not pay */
        REQUIRE_CODE(lfma_free(arena, lfma_alloc(arena, PAGE << order)), LFMA_OK);
    REQUIRE_CODE(lfma_cache_flush(arena, NULL), LFMA_OK);
    return arena;
}

struct costs {
    uint64_t steps, changes, calls;
    uint64_t changes_most;
};

static void add(struct costs *c)
{
    const uint64_t steps = steps_end(), changes = steps_changes();
    c->steps += steps;
    c->changes += changes;
    c->calls++;
    if (changes > c->changes_most)
        c->changes_most = changes;
}

static void alloc_counted(lfma_arena *arena, unsigned order, char **ret_block, struct costs *costs)
{
    steps_begin(0, NULL, NULL);
    *ret_block = lfma_alloc(arena, PAGE << order);
    add(costs);
    REQUIRE(*ret_block != NULL, "order %u", order);
}

static void free_counted(lfma_arena *arena, char *block, struct costs *costs)
{
    steps_begin(0, NULL, NULL);
    const int code = lfma_free(arena, block);
    add(costs);
    REQUIRE_CODE(code, LFMA_OK);
}

/* Pairs of one thread, at once or in batches: when its grant has grown, no word is shared. */
Test(cache_cost, a_steady_thread_changes_no_word_by_an_atomic)
{
    for (unsigned order = 0; order <= 6; order++) {
        for (unsigned batch = 1; batch <= 32; batch *= 2) {
            lfma_arena *const arena = open_cut(order, 0);
            struct costs costs = { 0 };
            for (unsigned round = 0; round < 40; round++) {
                if (round == 20)
                    costs = (struct costs){ 0 };
                for (unsigned n = 0; n < batch; n++)
                    alloc_counted(arena, order, &blocks[n], &costs);
                for (unsigned n = 0; n < batch; n++)
                    free_counted(arena, blocks[n], &costs);
            }
            const bool fits = (uint64_t)batch << order <= arena->pool.pages_max[LFMA__TAKE] / 6;
            REQUIRE(!fits || costs.changes == 0, "order %u, %u at a time: %" PRIu64 " in %" PRIu64 " calls", order,
                    batch, costs.changes, costs.calls);
            REQUIRE(!fits || costs.steps <= SHORT_MOST * costs.calls, "order %u, %u at a time: %" PRIu64 " steps",
                    order, batch, costs.steps);
            REQUIRE_CODE(lfma_arena_destroy(arena), LFMA_OK);
        }
    }
}

/* One claim fills the cache with many blocks: the mean of taking a slice's worth is far below one atomic a block. */
Test(cache_cost, a_refill_takes_several_by_one_atomic)
{
    for (uint32_t flags = 0; flags <= LFMA_HARDENED; flags += LFMA_HARDENED) {
        for (unsigned order = 0; order <= 4; order++) {
            lfma_arena *const arena = open_cut(order, flags);
            const unsigned count = 128u >> (order > 3 ? order - 3 : 0);
            struct costs takes, gives;
            for (unsigned round = 0; round < 20; round++) { /* the grant grows, but for the last one */
                takes = gives = (struct costs){ 0 };
                for (unsigned n = 0; n < count; n++)
                    alloc_counted(arena, order, &blocks[n], &takes);
                for (unsigned n = 0; n < count; n++)
                    free_counted(arena, blocks[n], &gives);
            }
            const uint64_t most = FILL_MOST;
            const uint64_t states = flags ? count : 0; /* a hardened free takes the state by an exchange */
            REQUIRE(takes.changes_most <= most && gives.changes_most <= most, "order %u: %" PRIu64 ", %" PRIu64,
                    order, takes.changes_most, gives.changes_most);
            REQUIRE(takes.changes <= count / 16 * most / 2, "order %u: %" PRIu64 " for %u", order, takes.changes,
                    count);
            REQUIRE(gives.changes <= states + count / 16 * most / 2, "order %u: %" PRIu64 " for %u", order,
                    gives.changes, count);
            REQUIRE_CODE(lfma_arena_destroy(arena), LFMA_OK);
        }
    }
}

/* A cache that is given back publishes each slice that it holds by one atomic. */
Test(cache_cost, a_flush_is_bounded_by_the_orders)
{
    lfma_arena *const arena = ARENA(.pages = 1 << 14, .caches = true);
    rng random = { test_seed(0xf105) };
    for (unsigned round = 0; round < 100; round++) {
        unsigned count = 0;
        while (count < 200)
            blocks[count++] = lfma_alloc(arena, PAGE << rng_below(&random, 7));
        while (count > 0)
            REQUIRE_CODE(lfma_free(arena, blocks[--count]), LFMA_OK);
        steps_begin(0, NULL, NULL);
        REQUIRE_CODE(lfma_cache_flush(arena, NULL), LFMA_OK);
        (void)steps_end();
        /* Two holds of each of seven orders: the slice, its hint, the owner word; two purses. */
        REQUIRE(steps_changes() <= 2 * 7 * 3 + 4, "round %u: %" PRIu64, round, steps_changes());
        REQUIRE(arena_stats(arena).cached_bytes == 0, "kept");
    }
    REQUIRE_CODE(lfma_arena_destroy(arena), LFMA_OK);
}
