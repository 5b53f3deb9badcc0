/* SPDX-License-Identifier: MIT */
/*
 * Calls by their number of atomics, which no machine's speed changes: what is promised to be constant is, what is
 * promised to end does, and a search does not get longer with time. The library is built over support/hook.h.
 */
#include "arena/arena.h"
#include "support/arenas.h"
#include "support/clock.h"
#include "support/steps.h"
#include "support/unit.h"

#include <lfma/lfma.h>

#define PAGE ((size_t)64)
#define PAGES_MAX 300000u

/* Measured, with some room: a search that visits what it need not passes them at once. */
#define FREE_MOST 24u        /* atomics of any free */
#define FILL_MEAN_MOST 64u   /* mean of an allocation while an arena fills, in each tenth of it */
#define STEADY_MEAN_MOST 32u /* mean at a steady fill */
#define FAILURE_MOST 300u    /* of a failure, and for each word of the page map … */
#define WALK_WORD_MOST 6u    /* … in a walk, of which there are two if an earlier one was cut short, */
#define SURVEY_WORD_MOST 3u  /* and in the survey */

static void *blocks[PAGES_MAX];

static const arena_plan plans[] = {
    { .pages = 64 },
    { .pages = 8192 },
    { .pages = PAGES_MAX },
    { .pages = 8192, .flags = LFMA_HARDENED },
    { .pages = 8192, .threads_max = 1 },
};
#define PLANS (sizeof plans / sizeof plans[0])

static fake_clock clock = { .mode = CLOCK_FROZEN, .tick_ns = 1000001 };

/* By a clock that stands still, so that what a call does is not the machine's affair. */
static lfma_arena *open_plan(size_t i)
{
    arena_plan plan = plans[i];
    plan.clock = fake_clock_read;
    plan.clock_context = &clock;
    lfma_arena *const arena = arena_open(&plan);
    REQUIRE(lfma_alloc(arena, 0) == NULL, "the first call of a thread registers it");
    return arena;
}

static uint64_t cost_of_alloc(lfma_arena *arena, size_t pages, int code, void **ret_block)
{
    steps_begin(0, NULL, NULL);
    const int got = lfma_try_alloc(arena, pages * PAGE, 0, ret_block);
    const uint64_t taken = steps_end();
    REQUIRE(got == code, "%zu pages: %s", pages, lfma_error_name(got));
    return taken;
}

static uint64_t cost_of_free(lfma_arena *arena, void *block)
{
    steps_begin(0, NULL, NULL);
    REQUIRE_CODE(lfma_free(arena, block), LFMA_OK);
    return steps_end();
}

/* Every block of every order, at every fill: a free takes the same few atomics. */
Test(cost, a_free_is_constant)
{
    const size_t zones[] = { 0, 64 };
    for (size_t i = 0; i < PLANS; i++) {
        for (size_t z = 0; z < (plans[i].pages > 10000 ? 1 : 2); z++) {
            arena_plan plan = plans[i];
            plan.zone_pages = zones[z];
            lfma_arena *const arena = arena_open(&plan);
            for (size_t pages = 1; pages <= (z ? 64 : plan.pages); pages *= 4) {
                size_t count = 0;
                while (count < PAGES_MAX && (blocks[count] = lfma_alloc(arena, pages * PAGE)) != NULL)
                    count++;
                for (size_t n = 0; n < count; n++) {
                    const uint64_t taken = cost_of_free(arena, blocks[n]);
                    REQUIRE(taken <= FREE_MOST, "%zu pages: %" PRIu64 " atomics", pages, taken);
                }
            }
            REQUIRE_CODE(lfma_arena_destroy(arena), LFMA_OK);
        }
    }
}

/* A06: no allocation gets dearer because the arena is fuller: the mean of each tenth of the filling is bounded. */
Test(cost, filling_does_not_slow_down)
{
    for (size_t i = 0; i < PLANS; i++) {
        lfma_arena *const arena = open_plan(i);
        uint64_t tenths[10] = { 0 };
        for (size_t n = 0; n < plans[i].pages; n++)
            tenths[n * 10 / plans[i].pages] += cost_of_alloc(arena, 1, LFMA_OK, &blocks[n]);
        for (size_t t = 0; t < 10; t++)
            REQUIRE(tenths[t] <= FILL_MEAN_MOST * (plans[i].pages / 10 + 1), "%zu pages, tenth %zu: %" PRIu64,
                    plans[i].pages, t, tenths[t]);
        lfma_arena_destroy_forced(arena);
    }
}

/* A06: and at a steady fill the search has no drift: the mean of the last thousands is that of the first. */
Test(cost, a_steady_search_does_not_drift)
{
    for (size_t i = 0; i < PLANS; i++) {
        lfma_arena *const arena = open_plan(i);
        const size_t pages = plans[i].pages;
        for (size_t n = 0; n < pages; n++)
            (void)cost_of_alloc(arena, 1, LFMA_OK, &blocks[n]);
        for (size_t n = 1; n < pages; n += 2)
            (void)cost_of_free(arena, blocks[n]);
        rng random = { test_seed(0xc057) };
        uint64_t sums[10] = { 0 };
        for (unsigned n = 0; n < 50000; n++) {
            void **const slot = &blocks[rng_below(&random, pages / 2) * 2];
            (void)cost_of_free(arena, *slot);
            sums[n / 5000] += cost_of_alloc(arena, 1, LFMA_OK, slot);
        }
        for (unsigned t = 0; t < 10; t++)
            REQUIRE(sums[t] <= STEADY_MEAN_MOST * 5000, "%zu pages, tenth %u: %" PRIu64 ", seed 0x%" PRIx64, pages, t,
                    sums[t], test_seed(0xc057));
        lfma_arena_destroy_forced(arena);
    }
}

/* Failures with time enough, each second one after a failure whose walk the clock cut short, if it is to. */
static void check_failures(lfma_arena *arena, size_t pages, bool cut_short)
{
    const unsigned walks = cut_short ? 2 : 1;
    const uint64_t most = FAILURE_MOST + (walks * WALK_WORD_MOST + SURVEY_WORD_MOST) * (pages / 64);
    for (unsigned n = 0; n < 1000; n++) {
        void *none = NULL;
        clock.mode = cut_short && n % 2 == 0 ? CLOCK_TICKING : CLOCK_FROZEN;
        const uint64_t taken = cost_of_alloc(arena, 2, LFMA_E_FRAGMENTED, &none);
        REQUIRE(taken <= most, "%zu pages, %u walks, call %u: %" PRIu64 " atomics", pages, walks, n, taken);
    }
    clock.mode = CLOCK_FROZEN;
}

/*
 * A22: no room, or room for no run: every failure ends after one look at each word, the thousandth like the first;
 * and after two, if its budget may end on the way, so that the next call finds the cursor there.
 */
Test(cost, a_failure_is_bounded)
{
    for (size_t i = 0; i < PLANS; i++) {
        lfma_arena *const arena = open_plan(i);
        const size_t pages = plans[i].pages;
        const uint64_t most = FAILURE_MOST + (WALK_WORD_MOST + SURVEY_WORD_MOST) * (pages / 64);
        void *none = NULL;
        for (size_t n = 0; n < pages; n++)
            (void)cost_of_alloc(arena, 1, LFMA_OK, &blocks[n]);
        for (unsigned n = 0; n < 100; n++) {
            for (size_t size = 1; size <= 64; size *= 2)
                REQUIRE(cost_of_alloc(arena, size, LFMA_E_NOMEM, &none) <= most, "%zu of %zu pages", size, pages);
        }
        for (size_t n = 1; n < pages; n += 2)
            (void)cost_of_free(arena, blocks[n]);
        check_failures(arena, pages, false);
        check_failures(arena, pages, true);
        lfma_arena_destroy_forced(arena);
    }
}

/*
 * B06, D01: every second compare-exchange fails, as on machines that let them. A cursor that is not moved costs a
 * repeated walk, never a block; a retry starts from what it has read anew.
 */
Test(cost, exchanges_that_fail)
{
    fake_clock still = { .mode = CLOCK_FROZEN };
    const arena_plan plan = {
        .pages = 3000, .block_pages = 64, .zone_pages = 64, .clock = fake_clock_read, .clock_context = &still
    };
    lfma_arena *const arena = arena_open(&plan);
    rng random = { test_seed(0xfa11) };
    const size_t live = 600;
    steps_fail_exchanges(true);
    for (unsigned n = 0; n < 100000; n++) {
        void **const slot = &blocks[rng_below(&random, live)];
        if (*slot)
            REQUIRE_CODE(lfma_free(arena, *slot), LFMA_OK);
        *slot = *slot ? NULL : lfma_alloc(arena, PAGE << rng_below(&random, 5));
        if (n % 50 == 0) {
            const lfma_budget budget = { LFMA_UNLIMITED, 1 + rng_below(&random, 200) };
            REQUIRE_CODE(lfma_coalesce(arena, &budget, NULL), LFMA_OK);
        }
        REQUIRE(n % 1000 != 0 || arena_is_sound(arena), "seed 0x%" PRIx64, test_seed(0xfa11));
    }
    for (size_t i = 0; i < live; i++)
        REQUIRE_CODE(lfma_free(arena, blocks[i]), LFMA_OK);
    for (unsigned n = 0; n < 20000; n++) {
        const lfma_budget step = LFMA_BUDGET_STEPS(1);
        REQUIRE_CODE(lfma_coalesce(arena, &step, NULL), LFMA_OK);
    }
    steps_fail_exchanges(false);
    REQUIRE(arena_is_sound(arena) && arena_is_fresh(arena), "seed 0x%" PRIx64, test_seed(0xfa11));
    REQUIRE_CODE(lfma_arena_destroy(arena), LFMA_OK);
}
