/* SPDX-License-Identifier: MIT */
/*
 * Every public call interrupted before each of its atomics by every other one, from states at an edge, with all
 * checked at rest: no block lost, had twice or refused, no false NOMEM. The library is built over support/hook.h.
 */
#include "support/steps.h"
#include "arena/arena.h"
#include "support/arenas.h"
#include "support/clock.h"
#include "support/unit.h"

#include <lfma/lfma.h>
#include <stdlib.h>
#include <string.h>

#define PAGE ((size_t)64)
#define PAGES 128u
#define EDGE 72u /* what is free at the start: in the second word of the map */
#define OUTER 16u
#define INNER 17u /* the pages that the two calls hold: buddies */

/* --------------------------------------------------------------------------------- the model: who holds a page */

static struct world {
    lfma_arena *arena;
    char *base;
    bool two_zones;
    void *snapshot;
    bool held[PAGES], held_at_start[PAGES];
    uint64_t allocs_at_start, frees_at_start;
} world;

static bool run_is_free(const bool *held, unsigned order)
{
    const unsigned pages = 1u << order;
    for (unsigned first = 0; first + pages <= PAGES; first += pages) {
        unsigned free_pages = 0;
        for (unsigned page = first; page < first + pages; page++)
            free_pages += !held[page];
        if (free_pages == pages && (!world.two_zones || pages <= PAGES / 2))
            return true;
    }
    return false;
}

static unsigned count_free(void)
{
    unsigned free_pages = 0;
    for (unsigned page = 0; page < PAGES; page++)
        free_pages += !world.held[page];
    return free_pages;
}

static void hold(unsigned page, unsigned order, const char *who)
{
    for (unsigned p = page; p < page + (1u << order); p++) {
        REQUIRE(!world.held[p], "%s got page %u, which is held", who, p);
        world.held[p] = true;
    }
}

/* -------------------------------------------------------------------------------------------------- operations */

enum op { ALLOC_0, ALLOC_1, ALLOC_2, ALLOC_1_NO_PASS, FREE, MOVE, COALESCE, COALESCE_STEP, STATS, VALIDATE, OPS };

static const char *const op_names[OPS] = { "alloc 0",  "alloc 1",       "alloc 2", "alloc 1, no pass", "free", "move",
                                           "coalesce", "coalesce step", "stats",   "validate" };

static struct play {
    const char *state;
    enum op outer, inner;
    uint64_t at;
    bool running; /* the inner one */
    bool outer_runs;
    int outer_order;        /* of the allocation that the outer call is in; -1: none */
    bool outer_was_without; /* at some instant of it no run of its order was free */
    uint64_t allocs, frees; /* that succeeded */
} play;

#define DEMAND(condition, what)                                                                                      \
    REQUIRE(condition, "%s: %s, interrupted at step %" PRIu64 " by %s: %s", play.state, op_names[play.outer],        \
            play.at, op_names[play.inner], what)

static void observe(void)
{
    if (play.outer_order >= 0 && !run_is_free(world.held, (unsigned)play.outer_order))
        play.outer_was_without = true;
}

/* May the inner call say that there is none? The outer one may have taken what the model calls free. */
static bool inner_may_be_without(unsigned order)
{
    if (play.outer_order >= 0)
        return order > 0 || count_free() <= 1u << play.outer_order;
    bool held[PAGES];
    memcpy(held, world.held, sizeof held);
    held[OUTER] = true; /* being freed perhaps */
    return !run_is_free(held, order);
}

static void allocate(unsigned order, unsigned flags)
{
    void *block = NULL;
    if (!play.running) {
        play.outer_order = (int)order;
        play.outer_was_without = false;
        observe();
    }
    const int code = lfma_try_alloc(world.arena, PAGE << order, flags, &block);
    const bool without = play.running ? inner_may_be_without(order) : play.outer_was_without;
    if (!play.running)
        play.outer_order = -1;
    if (code == LFMA_OK) {
        play.allocs++;
        hold((unsigned)(((char *)block - world.base) / (ptrdiff_t)PAGE), order,
             play.running ? "the inner" : "the outer");
        DEMAND(lfma_usable_size(world.arena, block) == PAGE << order, "a block of another size");
    } else if (code == LFMA_E_NOMEM || code == LFMA_E_FRAGMENTED) {
        DEMAND(without, "a false NOMEM or FRAGMENTED");
    } else if (code == LFMA_E_BUDGET) {
        DEMAND(flags & LFMA_ALLOC_NO_COALESCE, "BUDGET without need");
    } else {
        DEMAND(code == LFMA_E_AGAIN, lfma_error_name(code));
        DEMAND(play.running, "AGAIN, although the other has long ended");
    }
    observe();
}

static void release(void)
{
    const unsigned page = play.running ? INNER : OUTER;
    world.held[page] = false; /* the other one may get it before the call returns */
    DEMAND(lfma_free(world.arena, world.base + page * PAGE) == LFMA_OK, "a right free was refused");
    play.frees++;
    observe();
}

static void coalesce(uint64_t steps)
{
    const lfma_budget budget = { LFMA_UNLIMITED, steps };
    lfma_coalesce_result result = LFMA_COALESCE_RESULT_INIT;
    DEMAND(lfma_coalesce(world.arena, &budget, &result) == LFMA_OK, "coalesce");
    DEMAND(steps != LFMA_UNLIMITED || result.complete, "an unlimited pass is not complete");
}

static void look(bool validate)
{
    lfma_arena_stats_t stats = LFMA_ARENA_STATS_INIT;
    DEMAND(lfma_arena_stats(world.arena, &stats) == LFMA_OK && stats.free_bytes <= stats.bytes, "stats");
    if (validate) { /* in passing it may be broken, but it ends */
        const int code = lfma_arena_validate(world.arena, NULL);
        DEMAND(code == LFMA_OK || code == LFMA_E_BROKEN, "validate");
    }
}

static void perform(enum op op)
{
    switch (op) {
    case ALLOC_0:
    case ALLOC_1:
    case ALLOC_2:
        allocate((unsigned)op - ALLOC_0, 0);
        break;
    case ALLOC_1_NO_PASS:
        allocate(1, LFMA_ALLOC_NO_COALESCE);
        break;
    case FREE:
        release();
        break;
    case MOVE:
        release();
        allocate(0, 0);
        break;
    case COALESCE:
    case COALESCE_STEP:
        coalesce(op == COALESCE ? LFMA_UNLIMITED : 1);
        break;
    case STATS:
    case VALIDATE:
        look(op == VALIDATE);
        break;
    case OPS:
        break;
    }
}

static void interrupt(void *argument)
{
    (void)argument;
    play.running = true;
    perform(play.inner);
    play.running = false;
}

/* ------------------------------------------------------------------------------------------------------ states */

struct state {
    const char *name;
    unsigned first, count; /* pages free; all others are held, singly */
    bool joined;           /* and joined */
};

static const struct state states[] = {
    { "full", 0, 0, false },
    { "one page", EDGE + 1, 1, false },
    { "two buddies", EDGE, 2, false },
    { "four pages", EDGE, 4, false },
    { "a block of four", EDGE, 4, true },
    { "a page in the first zone", 3, 1, false },
    { "a word free, in pages", 64, 64, false },
    { "a word free, in a block", 64, 64, true },
};

static fake_clock still;

static void open_state(const struct state *s, bool two_zones, uint32_t flags)
{
    still = (fake_clock){ .mode = CLOCK_FROZEN };
    world.two_zones = two_zones;
    world.arena = ARENA(.pages = PAGES, .flags = flags, .threads_max = 2, .zone_pages = two_zones ? 64 : 0,
                        .block_pages = two_zones ? 64 : 0, .clock = fake_clock_read, .clock_context = &still);
    world.base = arena_stats(world.arena).base;
    for (unsigned page = 0; page < PAGES; page++)
        REQUIRE(lfma_alloc(world.arena, PAGE) != NULL, "page %u", page);
    memset(world.held_at_start, true, sizeof world.held_at_start);
    for (unsigned page = s->first; page < s->first + s->count; page++) {
        REQUIRE_CODE(lfma_free(world.arena, world.base + page * PAGE), LFMA_OK);
        world.held_at_start[page] = false;
    }
    REQUIRE(!s->joined || arena_join_all(world.arena), "joined");
    world.allocs_at_start = arena_stats(world.arena).allocs;
    world.frees_at_start = arena_stats(world.arena).frees;
    world.snapshot = malloc((size_t)world.arena->metadata_bytes);
    REQUIRE(world.snapshot != NULL, "memory");
    memcpy(world.snapshot, world.arena, (size_t)world.arena->metadata_bytes);
}

static void close_state(void)
{
    free(world.snapshot);
    lfma_arena_destroy_forced(world.arena);
}

/* At rest: sound, and what is not held is free; given back and joined, the arena is as new. */
static void check_rest(void)
{
    DEMAND(arena_is_sound(world.arena), "not sound at rest");
    lfma_report report = LFMA_REPORT_INIT;
    DEMAND(lfma_arena_validate(world.arena, &report) == LFMA_OK, "an invariant is broken");
    DEMAND(report.pages_free == count_free(), "a block is lost");
    const lfma_arena_stats_t stats = arena_stats(world.arena);
    DEMAND(stats.allocs == play.allocs && stats.frees == play.frees, "a count is lost");
    for (unsigned page = 0; page < PAGES;) {
        char *const block = world.base + page * PAGE;
        const size_t size = lfma_usable_size(world.arena, block);
        DEMAND((size > 0) == world.held[page], "held and not allocated, or the other way round");
        page += size ? (unsigned)(size / PAGE) : 1;
        if (size)
            DEMAND(lfma_free(world.arena, block) == LFMA_OK, "a right free was refused at the end");
    }
    DEMAND(arena_join_all(world.arena) && arena_is_fresh(world.arena), "not as new at the end");
}

/* Interrupt the outer call before each of its steps, one after the other. */
static uint64_t check_pair(void)
{
    for (play.at = 1;; play.at++) {
        memcpy(world.arena, world.snapshot, (size_t)world.arena->metadata_bytes);
        memcpy(world.held, world.held_at_start, sizeof world.held);
        play.outer_order = -1;
        play.allocs = world.allocs_at_start;
        play.frees = world.frees_at_start;
        steps_begin(play.at, interrupt, NULL);
        perform(play.outer);
        const uint64_t taken = steps_end();
        if (taken < play.at)
            return taken;
        check_rest();
    }
}

static void check_all(bool two_zones, uint32_t flags)
{
    uint64_t points = 0;
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        open_state(&states[i], two_zones, flags);
        play.state = states[i].name;
        for (unsigned pair = 0; pair < OPS * OPS; pair++) {
            play.outer = (enum op)(pair / OPS);
            play.inner = (enum op)(pair % OPS);
            points += check_pair();
        }
        close_state();
    }
    REQUIRE(points > 10000, "%" PRIu64 " points", points);
}

/* A05, A12, A15, A21, A23, B01, B09, B10, D02, I09 */
Test(steps, each_call_interrupted_at_each_step)
{
    check_all(false, 0);
}

/* A18: the winner of a race owns the block's state, whatever the loser does afterwards. */
Test(steps, each_call_interrupted_hardened)
{
    check_all(false, LFMA_HARDENED);
}

/* A07, A19: a race lost in one zone takes nothing along to the next. */
Test(steps, each_call_interrupted_in_two_zones)
{
    check_all(true, 0);
}

/* --------------------------------------------------------------------------------- two frees of one block */

#define NOT_CALLED (-1000)

static struct twin {
    char *block;
    int code;
} twin;

static void free_again(void *argument)
{
    (void)argument;
    twin.code = lfma_free(world.arena, twin.block);
}

/* D02, K10: freed by two at once, at whatever step the second one comes: one of them is right, nothing is lost. */
Test(steps, two_frees_of_one_block)
{
    for (unsigned order = 0; order <= 7; order++) {
        for (uint32_t flags = 0; flags <= LFMA_HARDENED; flags++) {
            uint64_t taken = UINT64_MAX;
            for (uint64_t at = 1; at <= taken; at++) {
                world.arena = ARENA(.pages = PAGES, .flags = flags, .threads_max = 2);
                twin = (struct twin){ lfma_alloc(world.arena, PAGE << order), NOT_CALLED };
                steps_begin(at, free_again, NULL);
                const int code = lfma_free(world.arena, twin.block);
                taken = steps_end();
                const bool one_is_right = twin.code == NOT_CALLED || code + twin.code == LFMA_E_DOUBLE_FREE;
                REQUIRE(one_is_right, "step %" PRIu64 ": %s and %s", at, lfma_error_name(code),
                        lfma_error_name(twin.code));
                REQUIRE(arena_is_sound(world.arena), "order %u, step %" PRIu64, order, at);
                REQUIRE(arena_join_all(world.arena) && arena_is_fresh(world.arena), "as new");
                REQUIRE_CODE(lfma_arena_destroy(world.arena), LFMA_OK);
            }
        }
    }
}
