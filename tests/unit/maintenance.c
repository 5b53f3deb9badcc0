/* SPDX-License-Identifier: MIT */
/* Coalescing of whole arenas in small pieces: over zones, by tiny budgets, by several at once, by strange clocks. */
#include "arena/arena.h"
#include "support/arenas.h"
#include "support/clock.h"
#include "support/unit.h"

#include <lfma/lfma.h>

#define PAGE ((size_t)64)
#define ROUNDS 10000u

/* Every page free, and none joined. */
static lfma_arena *open_shredded(arena_plan plan)
{
    lfma_arena *const arena = arena_open(&plan);
    char *const base = arena_stats(arena).base;
    for (size_t page = 0; page < plan.pages; page++)
        REQUIRE(lfma_alloc(arena, 1) != NULL, "page %zu", page);
    for (size_t page = 0; page < plan.pages; page++)
        REQUIRE_CODE(lfma_free(arena, base + page * PAGE), LFMA_OK);
    return arena;
}

static void close_fresh(lfma_arena *arena, const char *how)
{
    REQUIRE(arena_is_sound(arena) && arena_is_fresh(arena), "%s: every pair was visited", how);
    REQUIRE_CODE(lfma_arena_destroy(arena), LFMA_OK);
}

static const arena_plan plans[] = {
    { .pages = 8192 },                                              /* one zone */
    { .pages = 4 * 4096, .block_pages = 4096, .zone_pages = 4096 }, /* zones of more steps than a budget has */
    { .pages = 9 * 128 + 70, .block_pages = 64, .zone_pages = 128 },
    { .pages = 3000, .block_pages = 64, .zone_pages = 64 }, /* zones of one step */
    { .pages = 300, .block_pages = 1, .zone_pages = 64 },   /* nothing to join */
};
#define PLANS (sizeof plans / sizeof plans[0])

/* Where the next call goes on lies inside the arena. A09 */
static void require_cursors_inside(lfma_arena *arena)
{
    const uint64_t next = lfma__a64_load_relaxed(&arena->coalesce_zone);
    REQUIRE(next < arena->pool.row.count, "zone %" PRIu64, next);
    for (uint64_t i = 0; i < arena->pool.row.count; i++) {
        lfma__zone *const zone = lfma__arena_zone(arena, i);
        const uint64_t cursor = lfma__a64_load_relaxed(&zone->cursor);
        REQUIRE(cursor >> 3 < zone->page_words && (cursor & 7) < (zone->levels ? zone->levels : 1),
                "zone %" PRIu64 ": word %" PRIu64 ", level %" PRIu64, i, cursor >> 3, cursor & 7);
    }
}

/* Rounds of one budget each until all is joined; each of them gets on. */
static void check_tiny(const arena_plan *plan, lfma_budget budget)
{
    fake_clock clock = { .mode = CLOCK_TICKING, .tick_ns = 20000 };
    arena_plan own = *plan;
    own.clock = fake_clock_read;
    own.clock_context = &clock;
    lfma_arena *const arena = open_shredded(own);
    uint64_t steps = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        lfma_coalesce_result result = LFMA_COALESCE_RESULT_INIT;
        REQUIRE_CODE(lfma_coalesce(arena, &budget, &result), LFMA_OK);
        REQUIRE(plan->block_pages == 1 || result.steps > 0, "round %u: no progress", round);
        REQUIRE(result.steps <= 2 * LFMA__STEPS_PER_READ + budget.steps % 1000, "round %u: %" PRIu64 " steps", round,
                result.steps);
        steps += result.steps;
        require_cursors_inside(arena);
    }
    REQUIRE(plan->block_pages == 1 || steps >= ROUNDS, "%" PRIu64 " steps", steps);
    close_fresh(arena, "tiny budgets");
}

/* J02, J07: 10^4 rounds of one step each come round the whole arena, also where a zone is more than one round. */
Test(maintenance, one_step_a_round)
{
    for (size_t i = 0; i < PLANS; i++)
        check_tiny(&plans[i], (lfma_budget){ LFMA_UNLIMITED, 1 });
}

/* J02, J07: budgets that end in the middle of zones, wherever that is. */
Test(maintenance, few_steps_a_round)
{
    for (size_t i = 0; i < PLANS; i++) {
        for (uint64_t steps = 2; steps < 130; steps = steps * 2 + 1)
            check_tiny(&plans[i], (lfma_budget){ LFMA_UNLIMITED, steps });
    }
}

/* J02, J05: a clock of 20 us a read is past any such budget at its first read, and still all comes round. */
Test(maintenance, a_slow_clock)
{
    for (size_t i = 0; i < PLANS; i++) {
        check_tiny(&plans[i], (lfma_budget){ 1, LFMA_UNLIMITED });
        check_tiny(&plans[i], (lfma_budget){ 20000, LFMA_UNLIMITED });
    }
}

/*
 * J02: an allocation whose budget is far below a zone's walk: the run that only a pass joins lies in any one zone,
 * and each call gets nearer to it. BUDGET for ever would be a lie.
 */
Test(maintenance, an_allocation_gets_to_the_run_in_any_zone)
{
    for (size_t zone = 0; zone < 4; zone++) {
        lfma_arena *const arena = ARENA(.pages = 4 * 4096, .block_pages = 4096, .zone_pages = 4096,
                                        .budget = LFMA_BUDGET_STEPS(5));
        char *const base = arena_stats(arena).base;
        for (size_t page = 0; page < (size_t)4 * 4096; page++)
            REQUIRE(lfma_alloc(arena, 1) != NULL, "page %zu", page);
        for (size_t page = 0; page < 1024; page++)
            REQUIRE_CODE(lfma_free(arena, base + (zone * 4096 + 2048 + page) * PAGE), LFMA_OK);
        void *block = NULL;
        unsigned calls = 0;
        int code;
        while ((code = lfma_try_alloc(arena, 1024 * PAGE, 0, &block)) == LFMA_E_BUDGET)
            REQUIRE(++calls < ROUNDS, "zone %zu: BUDGET for ever", zone);
        REQUIRE_CODE(code, LFMA_OK);
        REQUIRE(block == base + (zone * 4096 + 2048) * PAGE, "zone %zu", zone);
        lfma_arena_destroy_forced(arena);
    }
}

/* ------------------------------------------------------------------------------- several passes at once */

struct second {
    lfma_arena *arena;
    lfma_budget budget;
    uint64_t at; /* the read of the first pass's clock at which the second pass runs; 0: at each */
    uint64_t passes;
    unsigned depth;
    lfma_coalesce_result result;
};

/* The clock of the first pass calls the second one, as a thread does that overtakes a stopped one. */
static void pass_within(void *argument, uint64_t read)
{
    struct second *const s = argument;
    if (s->depth > 0 || (s->at != 0 && read != s->at))
        return;
    s->depth++;
    s->result = (lfma_coalesce_result)LFMA_COALESCE_RESULT_INIT;
    REQUIRE_CODE(lfma_coalesce(s->arena, &s->budget, &s->result), LFMA_OK);
    s->passes++;
    s->depth--;
}

/* J08: a pass that meets another one in the middle is not skipped: it says complete, and it is. */
Test(maintenance, a_whole_pass_within_a_pass)
{
    for (size_t i = 0; i < PLANS; i++) {
        for (uint64_t at = 1; at < 60; at++) {
            fake_clock clock = { .mode = CLOCK_FROZEN, .on_read = pass_within };
            arena_plan own = plans[i];
            own.clock = fake_clock_read;
            own.clock_context = &clock;
            struct second second = { .budget = LFMA_BUDGET_ALL, .at = at };
            clock.argument = &second;
            second.arena = open_shredded(own);
            clock.reads = 0;
            const lfma_budget long_enough = LFMA_BUDGET_NS((uint64_t)1 << 40);
            lfma_coalesce_result result = LFMA_COALESCE_RESULT_INIT;
            REQUIRE_CODE(lfma_coalesce(second.arena, &long_enough, &result), LFMA_OK);
            REQUIRE(second.passes <= 1 && (second.passes == 0 || second.result.complete), "the second, at %" PRIu64,
                    at);
            REQUIRE(result.complete, "the first, interrupted at %" PRIu64, at);
            close_fresh(second.arena, "a pass within a pass");
        }
    }
}

/* J07: two coalescers with small budgets, one running at each read of the other's clock: all pairs are visited. */
Test(maintenance, two_coalescers_by_turns)
{
    for (size_t i = 0; i < PLANS; i++) {
        for (uint64_t steps = 1; steps < 100; steps = steps * 3 + 1) {
            fake_clock clock = { .mode = CLOCK_FROZEN, .on_read = pass_within };
            arena_plan own = plans[i];
            own.clock = fake_clock_read;
            own.clock_context = &clock;
            struct second second = { .budget = { LFMA_UNLIMITED, steps } };
            clock.argument = &second;
            second.arena = open_shredded(own);
            const lfma_budget first = { (uint64_t)1 << 40, 40 };
            for (unsigned round = 0; round < 2000; round++) {
                REQUIRE_CODE(lfma_coalesce(second.arena, &first, NULL), LFMA_OK);
                require_cursors_inside(second.arena);
            }
            REQUIRE(second.passes >= 2000, "%" PRIu64 " passes", second.passes);
            /* Without a limit that ends it the first is whole, wherever the second one leaves the cursors. */
            const lfma_budget all = LFMA_BUDGET_NS((uint64_t)1 << 40);
            for (unsigned round = 0; round < 50; round++) {
                lfma_coalesce_result result = LFMA_COALESCE_RESULT_INIT;
                REQUIRE_CODE(lfma_coalesce(second.arena, &all, &result), LFMA_OK);
                REQUIRE(result.complete, "plan %zu, %" PRIu64 " steps, round %u", i, steps, round);
            }
            close_fresh(second.arena, "two by turns");
        }
    }
}

/* ------------------------------------------------------------------------------------- a long life */

/* J09: at a steady fill the largest free block does not dwindle, and emptied and joined the arena is as new. */
Test(maintenance, a_long_life_leaves_no_trace)
{
    enum { PAGES = 16384, LIVE = 3000, SAMPLES = 40 };
    lfma_arena *const arena = ARENA(.pages = PAGES);
    const uint64_t seed = test_seed(0x10e6);
    rng random = { seed };
    static void *blocks[LIVE];
    const uint64_t operations = test_scaled(2000000) / SAMPLES;
    uint64_t early = 0, late = 0;
    for (unsigned sample = 0; sample < SAMPLES; sample++) {
        for (uint64_t n = 0; n < operations; n++) {
            void **const slot = &blocks[rng_below(&random, LIVE)];
            if (*slot)
                REQUIRE_CODE(lfma_free(arena, *slot), LFMA_OK);
            *slot = *slot ? NULL : lfma_alloc(arena, PAGE << rng_below(&random, rng_below(&random, 6) + 1));
        }
        REQUIRE(arena_join_all(arena), "joined");
        *(sample < SAMPLES / 2 ? &early : &late) += arena_stats(arena).largest_free_bytes;
    }
    REQUIRE(late * 2 >= early, "seed 0x%" PRIx64 ": the largest free blocks went from %" PRIu64 " to %" PRIu64, seed,
            early, late);
    for (unsigned i = 0; i < LIVE; i++)
        REQUIRE_CODE(lfma_free(arena, blocks[i]), LFMA_OK);
    REQUIRE(arena_join_all(arena), "joined");
    close_fresh(arena, "a long life");
}
