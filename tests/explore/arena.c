/* SPDX-License-Identifier: MIT */
/*
 * Scenarios over a whole arena of 128 pages, two words of the map: all pairs, and triples with a second free, of the
 * public operations, from states at an edge. Oracles: at rest the arena validates, no owner is in flight, and as many
 * pages are allocated as the threads hold; a valid free never fails; NOMEM and FRAGMENTED only if at some instant of
 * the call no run was free; a new owner sees what the last one wrote.
 */
#include <stdlib.h>
#include <string.h>

#include "arena/arena.h"
#include "explore/scenarios.h"

#define PAGES 128u
#define OWN 16u  /* the threads' own pages: in the first word of the map */
#define EDGE 72u /* what is free at the start: in the second */
#define PAGE 64u

static struct world {
    lfma_arena *arena;
    char *snapshot;
    size_t snapshot_bytes;
    void *own[EXPLORE_THREADS]; /* a block of one page that each thread holds at the start, side by side */
    size_t pages_at_start;
} world;

static struct call {
    bool running;
    bool takes; /* and does not only look */
    unsigned order;
    bool was_without; /* at some instant no run of the order was free */
} calls[EXPLORE_THREADS];

static size_t pages_held; /* by callers, as their calls returned */

/* What owners write to a block's first page, with nothing but the allocator to order it (edge E1). */
static lfma__a64 payload[PAGES];

/* ---------------------------------------------------------------------------------------------------- states */

static uint64_t still_clock(void *context)
{
    (void)context;
    return 1;
}

static void *page_address(unsigned page)
{
    return (void *)(world.arena->base + (uintptr_t)page * PAGE);
}

static void free_pages(unsigned first, unsigned count)
{
    for (unsigned i = first; i < first + count; i++) {
        if (lfma_free(world.arena, page_address(i)) != LFMA_OK)
            abort();
        world.pages_at_start--;
    }
}

static void join_all(void)
{
    const lfma_budget all = LFMA_BUDGET_ALL;
    if (lfma_coalesce(world.arena, &all, NULL) != LFMA_OK)
        abort();
}

static void state_full(void) /* hints over nothing */
{
}

static void state_one(void)
{
    free_pages(EDGE + 1, 1);
}

static void state_buddies(void)
{
    free_pages(EDGE, 2);
}

static void state_four(void)
{
    free_pages(EDGE, 4);
}

static void state_block(void) /* one block of order 2 */
{
    free_pages(EDGE, 4);
    join_all();
}

static void state_beside(void) /* all but the threads' own pages are free; freed, they are the last to join */
{
    free_pages(0, OWN);
    free_pages(OWN + EXPLORE_THREADS, PAGES - OWN - EXPLORE_THREADS);
    join_all();
}

static const explore_state states[] = {
    { "full", state_full }, { "one", state_one },     { "buddies", state_buddies },
    { "four", state_four }, { "block", state_block }, { "beside", state_beside },
};

/* ------------------------------------------------------------------------------------------------ operations */

/* Is a run of the order in the bitmaps? */
static bool run_is_free(unsigned order)
{
    lfma__zone *const zone = lfma__arena_zone(world.arena, 0);
    for (unsigned word = 0; word < PAGES / 64; word++) {
        uint64_t pages = 0;
        for (unsigned o = 0; o < 6; o++) {
            const uint64_t slice = lfma__zone_table(zone, o).slices[word >> o].value;
            const unsigned bits = 64u >> o;
            pages |= lfma__word_widen(slice >> (word % (1u << o)) * bits & lfma__word_mask(0, bits), o);
        }
        for (unsigned o = 6; o <= zone->order_max; o++)
            pages |= lfma__zone_table(zone, o).slices[0].value >> (word >> (o - 6)) & 1 ? UINT64_MAX : 0;
        if (lfma__word_runs(pages, order) != 0)
            return true;
    }
    return false;
}

/*
 * Is there surely a run of the order that no caller holds? For single pages: more than callers hold, with what
 * running allocations may have taken already, and frees not yet given back; blocks in flight count as free. For
 * larger orders: one in the bitmaps.
 */
static bool has_run(unsigned order)
{
    size_t taken = pages_held;
    for (unsigned i = 0; i < EXPLORE_THREADS; i++)
        taken += calls[i].running && calls[i].takes ? (size_t)1 << calls[i].order : 0;
    return order == 0 ? taken < PAGES : run_is_free(order);
}

/* As has_run(), for a call that itself has taken nothing. */
static bool without_me(unsigned thread)
{
    const bool takes = calls[thread].takes;
    calls[thread].takes = false;
    const bool has = has_run(calls[thread].order);
    calls[thread].takes = takes;
    return has;
}

static void observe(void)
{
    for (unsigned i = 0; i < EXPLORE_THREADS; i++) {
        if (calls[i].running && !calls[i].was_without && !without_me(i))
            calls[i].was_without = true;
    }
}

static struct call *begin_call(unsigned order, bool takes)
{
    struct call *const call = &calls[explore_self()];
    *call = (struct call){ .running = true, .takes = takes, .order = order };
    observe();
    return call;
}

static void end_call(struct call *call, int code)
{
    call->running = false;
    if ((code == LFMA_E_NOMEM || code == LFMA_E_FRAGMENTED) && !call->was_without)
        explore_fail("false NOMEM or FRAGMENTED: a run was free throughout the call");
    if (code != LFMA_OK && code != LFMA_E_NOMEM && code != LFMA_E_FRAGMENTED && code != LFMA_E_AGAIN)
        explore_fail(lfma_error_name(code));
}

static void allocate(unsigned order)
{
    struct call *const call = begin_call(order, true);
    void *block = NULL;
    const int code = lfma_try_alloc(world.arena, (size_t)PAGE << order, 0, &block);
    if (code == LFMA_OK) {
        pages_held += (size_t)1 << order;
        const size_t page = ((uintptr_t)block - world.arena->base) / PAGE;
        if (lfma__a64_load_relaxed(&payload[page]) != payload[page].value)
            explore_fail("E1: a new owner does not see what the last one wrote");
    }
    end_call(call, code);
}

static void op_prove(void)
{
    struct call *const call = begin_call(0, false);
    end_call(call, lfma__arena_prove(world.arena, 0));
}

static void op_alloc_0(void)
{
    allocate(0);
}

static void op_alloc_1(void)
{
    allocate(1);
}

static void op_alloc_2(void)
{
    allocate(2);
}

static void op_free(void)
{
    lfma__a64_store_relaxed(&payload[OWN + explore_self()], 1 + explore_self());
    if (lfma_free(world.arena, world.own[explore_self()]) != LFMA_OK)
        explore_fail("a valid free failed");
    pages_held--;
}

static void op_move(void) /* give one back, take another: with T blocks for T threads this always succeeds */
{
    op_free();
    allocate(0);
}

static void op_coalesce(void)
{
    join_all();
}

static void op_step(void)
{
    const lfma_budget step = LFMA_BUDGET_STEPS(1);
    if (lfma_coalesce(world.arena, &step, NULL) != LFMA_OK)
        explore_fail("coalesce failed");
}

static void op_stats(void)
{
    lfma_arena_stats_t stats = LFMA_ARENA_STATS_INIT;
    if (lfma_arena_stats(world.arena, &stats) != LFMA_OK || stats.free_bytes > stats.bytes)
        explore_fail("stats failed");
}

static void op_survey(void)
{
    lfma__survey survey = { .count_all = true };
    lfma__zone_survey(lfma__arena_zone(world.arena, 0), 0, &survey);
    if (survey.pages_free > PAGES)
        explore_fail("survey failed");
}

static const explore_op ops[] = {
    { "alloc0", op_alloc_0 }, { "alloc1", op_alloc_1 },    { "alloc2", op_alloc_2 }, { "free", op_free },
    { "move", op_move },      { "coalesce", op_coalesce }, { "step", op_step },      { "stats", op_stats },
    { "survey", op_survey },  { "prove", op_prove },
};

/* -------------------------------------------------------------------------------------------------- scenarios */

static void setup(void)
{
    explore_quiet_none();
    if (world.arena)
        lfma_arena_destroy_forced(world.arena);
    lfma_arena_config config = LFMA_ARENA_CONFIG_INIT;
    config.bytes = PAGES * PAGE;
    config.page_bytes = PAGE;
    config.threads_max = EXPLORE_THREADS;
    config.clock = still_clock;
    if (lfma_arena_create(&config, &world.arena) != LFMA_OK)
        abort();
    for (unsigned i = 0; i < PAGES; i++) {
        if (lfma_alloc(world.arena, PAGE) == NULL)
            abort();
    }
    world.pages_at_start = PAGES;
    for (unsigned i = 0; i < EXPLORE_THREADS; i++) {
        world.own[i] = page_address(OWN + i);
        explore_quiet(&world.arena->owners[i].zone, sizeof(lfma__owner) - offsetof(lfma__owner, zone));
    }
    explore_quiet(&lfma__thread_self, sizeof lfma__thread_self);
    states[explore_now.state].make();
    free(world.snapshot);
    world.snapshot_bytes = (size_t)world.arena->metadata_bytes;
    world.snapshot = malloc(world.snapshot_bytes);
    if (world.snapshot == NULL)
        abort();
    memcpy(world.snapshot, world.arena, world.snapshot_bytes);
}

static void reset(void)
{
    memcpy(world.arena, world.snapshot, world.snapshot_bytes);
    memset(calls, 0, sizeof calls);
    memset(payload, 0, sizeof payload);
    pages_held = world.pages_at_start;
}

static const char *check(void)
{
    lfma_report report = LFMA_REPORT_INIT;
    if (lfma_arena_validate(world.arena, &report) != LFMA_OK)
        return report.text;
    if (report.pages_allocated != pages_held)
        return "I1: other pages are allocated than the threads hold";
    for (unsigned i = 0; i <= EXPLORE_THREADS; i++) {
        if (world.arena->owners[i].word.value & LFMA__IN_FLIGHT_MASK)
            return "an owner is in flight at rest";
    }
    return NULL;
}

const explore_family arena_family = {
    .name = "arena",
    .states = states,
    .state_count = EXPLORE_COUNT(states),
    .ops = ops,
    .op_count = EXPLORE_COUNT(ops),
    .third = 3, /* free */
    .scenario = { .setup = setup, .reset = reset, .step = observe, .check = check },
};
