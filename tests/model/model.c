/* SPDX-License-Identifier: MIT */
/*
 * Random operations against the naive model, everything validated after each of them, until an arena of each geometry
 * was exhausted 1,000 times (the largest: 100). A failure names its seed and prints the shortest history found that
 * still fails.
 */
#include "support/history.h"
#include "support/unit.h"

#include <lfma/lfma.h>

#define OPERATIONS_MAX 100000u
#define EXHAUSTIONS 1000u
#define EXHAUSTIONS_A_ROUND 20u /* then all is freed, compared with a fresh arena, and begun anew */

struct round {
    world world;
    rng random;
    bool filling;
    uint64_t drain_to; /* pages allocated */
    unsigned exhaustions;
    size_t count;
    operation ops[OPERATIONS_MAX];
};

static struct round round_state;

/* Mostly small orders, now and then any, at times beyond the largest. */
static unsigned random_order(struct round *r)
{
    const unsigned any = (unsigned)rng_below(&r->random, r->world.order_max + 2u);
    return rng_below(&r->random, 3) ? (unsigned)rng_below(&r->random, any + 1u) : any;
}

static operation random_operation(struct round *r)
{
    const uint64_t any = rng_next(&r->random) >> 8;
    const uint64_t dice = rng_below(&r->random, 100);
    const uint64_t allocs = r->filling ? 70 : 25;
    if (dice < 4)
        return (operation){ OP_BAD_FREE, 0,
                            rng_below(&r->random, 2) ? any : any / r->world.page_bytes * r->world.page_bytes };
    if (dice < 7)
        return (operation){ OP_COALESCE, 0, rng_below(&r->random, 5) ? 1 + any % 200 : 0 };
    if (dice < 12)
        return (operation){ OP_ALLOC_ALIGNED, random_order(r), any };
    if (dice < 16)
        return (operation){ OP_ALLOC_NO_JOIN, random_order(r), any };
    if (dice < 16 + allocs)
        return (operation){ OP_ALLOC, random_order(r), any };
    return (operation){ OP_FREE, 0, any };
}

/* When a page is asked for and there is none, the arena is exhausted: drain it to some level, then fill it again. */
static operation next_operation(struct round *r)
{
    const uint64_t allocated = r->world.model.pages - r->world.model.pages_free;
    if (r->filling && r->world.model.pages_free == 0) {
        r->exhaustions++;
        r->filling = false;
        r->drain_to = rng_below(&r->random, r->world.model.pages);
        return (operation){ OP_ALLOC, 0, 0 };
    }
    if (!r->filling && allocated <= r->drain_to)
        r->filling = true;
    /* The last pages go one by one: random orders would not hit them. */
    if (r->filling && r->world.model.pages_free < 1 + r->world.model.pages / 8 && rng_below(&r->random, 2))
        return (operation){ OP_ALLOC, 0, 0 };
    return random_operation(r);
}

static void fail(struct round *r, uint64_t seed, const arena_plan *plan)
{
    char first[sizeof r->world.why];
    memcpy(first, r->world.why, sizeof first);
    const size_t all = r->count;
    r->count = history_shrink(r->ops, r->count, plan, &r->world);
    static char history[3000];
    history_print(r->ops, r->count, history, sizeof history);
    cr_assert_fail("LFMA_TEST_SEED=0x%" PRIx64 ", after %zu operations: %s; shrunk to %zu: %s; these: %s", seed, all,
                   first, r->count, r->world.why, history);
}

/* One fresh arena, exhausted some times. */
static unsigned play_round(struct round *r, uint64_t seed, const arena_plan *plan)
{
    world_open(&r->world, plan);
    r->random = (rng){ seed };
    r->filling = true;
    r->exhaustions = 0;
    r->count = 0;
    while (r->exhaustions < EXHAUSTIONS_A_ROUND && r->count < OPERATIONS_MAX) {
        const operation op = next_operation(r);
        r->ops[r->count++] = op;
        if (!world_apply(&r->world, op)) {
            world_close(&r->world);
            fail(r, seed, plan);
        }
    }
    if (!world_end(&r->world)) {
        world_close(&r->world);
        fail(r, seed, plan);
    }
    world_close(&r->world);
    return r->exhaustions;
}

static void play(const arena_plan *plan)
{
    const uint64_t seed = test_seed(0x1f3a + plan->pages * 131 + plan->zone_pages);
    /* Each operation costs O(pages): the largest geometry gets fewer rounds. */
    const uint64_t goal = test_scaled(plan->pages > 1000 ? EXHAUSTIONS / 10 : EXHAUSTIONS);
    unsigned rounds = 0;
    for (uint64_t exhausted = 0; exhausted < goal; rounds++) {
        const unsigned n = play_round(&round_state, seed + rounds, plan);
        REQUIRE(n > 0, "the arena is never exhausted: seed 0x%" PRIx64, seed + rounds);
        exhausted += n;
    }
}

#define GEOMETRY(name, ...)                                                                                          \
    Test(model, name)                                                                                                \
    {                                                                                                                \
        play(&(const arena_plan){ __VA_ARGS__ });                                                                    \
    }

/* E17: aligned allocations are among the operations; no two live blocks share a page. */
GEOMETRY(one_page, .pages = 1)
GEOMETRY(two_pages, .pages = 2)
GEOMETRY(three_pages, .pages = 3)
GEOMETRY(seven_pages, .pages = 7)
GEOMETRY(sixteen_pages_hardened, .pages = 16, .flags = LFMA_HARDENED)
GEOMETRY(one_word_less_one, .pages = 63)
GEOMETRY(one_word, .pages = 64)
GEOMETRY(one_word_and_one, .pages = 65)
GEOMETRY(two_words_and_two, .pages = 130)
GEOMETRY(five_words, .pages = 320, .page_bytes = 4096)
GEOMETRY(four_zones_of_a_word, .pages = 256, .block_pages = 64, .zone_pages = 64)
GEOMETRY(odd_zones_small_blocks, .pages = 147, .block_pages = 8, .zone_pages = 16, .flags = LFMA_HARDENED)
GEOMETRY(single_pages_only, .pages = 100, .block_pages = 1, .zone_pages = 32)
GEOMETRY(unlimited_budget, .pages = 96, .budget = { LFMA_UNLIMITED, LFMA_UNLIMITED }, .no_budget = true)
GEOMETRY(a_level_and_more, .pages = 4096 + 64 + 3)
