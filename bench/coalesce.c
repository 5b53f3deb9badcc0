/* SPDX-License-Identifier: MIT */
/**
 * @file coalesce.c  Whether coalescing keeps to its budget, what it does in it, and what merging at once costs.
 *
 * All pages of the arena are allocated one by one and freed in a random order (coalesce-most: but for 1 in 64). Then:
 *  - LFMA: lfma_coalesce() with --budget ns, again and again until nothing is left to join. Overrun is the time of a
 *    call above its budget, by this benchmark's clock. A second arena, fragmented in the same way, is joined
 *    one block a call: the time of such a call is what an overrun may be, preemption apart.
 *  - An immediately merging allocator has done its work in the frees: their time is the comparison.
 * The row's ns_per_pair is (all frees + all coalescing) / pages, without the time of the allocations.
 */
#include <inttypes.h>
#include <lfma/lfma.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/die.h"
#include "common/pin.h"
#include "common/random.h"
#include "common/row.h"
#include "common/timer.h"
#include "options.h"

#define KEEP_ONE_IN 64u
#define STEPS_OF_ONE_JOIN 16u

/* Map words of all orders are fewer than this: a walk of so many steps without a join has seen them all. */
#define STEPS_TO_BE_SURE (PEER_PAGES / 64 * 8)

struct coalesce {
    const struct options *options;
    void *self;
    bool keep_some;
    size_t freed;
    uint64_t free_ns;
    struct histogram free_ticks;    /* of each free, in a latency run */
    struct histogram overrun_ticks; /* of each call that its budget ended */
    struct histogram join_ticks;    /* of each call that joined exactly one block */
    uint64_t calls;
    uint64_t coalesce_ns; /* in calls, up to the last one that joined something */
    uint64_t blocks_joined;
    uint64_t conflicts;
    uint64_t pages_joined;  /* single free pages that became part of a larger block */
    uint64_t largest_bytes; /* free block at the end */
    uint64_t unexplained;   /* overruns above the longest join */
    uint64_t hiccup_ticks;  /* the longest pause of a loop that does nothing, for as long as the coalescing took */
    struct usage usage;
    void *blocks[PEER_PAGES];
};

static void allocate_all(struct coalesce *c)
{
    const struct peer *peer = c->options->peer;
    for (size_t i = 0; i < PEER_PAGES; i++) {
        c->blocks[i] = peer->alloc(c->self, PEER_PAGE_BYTES);
        if (c->blocks[i] == NULL)
            die("%s: page %zu of %zu could not be allocated", peer->name, i, PEER_PAGES);
    }
    struct random random = random_stream(c->options->seed, c->options->round);
    for (size_t i = PEER_PAGES - 1; i > 0; i--) {
        const size_t j = random_below(&random, (uint32_t)i + 1);
        void *block = c->blocks[i];
        c->blocks[i] = c->blocks[j];
        c->blocks[j] = block;
    }
}

static void free_most(struct coalesce *c)
{
    const struct peer *peer = c->options->peer;
    const uint64_t begin = now_ns();
    c->freed = c->keep_some ? PEER_PAGES - PEER_PAGES / KEEP_ONE_IN : PEER_PAGES;
    if (!c->options->latency) {
        for (size_t i = 0; i < c->freed; i++)
            peer->free(c->self, c->blocks[i]);
    } else {
        for (size_t i = 0; i < c->freed; i++) {
            const uint64_t call = ticks_now();
            peer->free(c->self, c->blocks[i]);
            histogram_record(&c->free_ticks, ticks_now() - call);
        }
    }
    c->free_ns = now_ns() - begin;
}

static void free_rest(struct coalesce *c)
{
    for (size_t i = c->freed; i < PEER_PAGES; i++)
        c->options->peer->free(c->self, c->blocks[i]);
}

static lfma_arena_stats_t read_stats(struct coalesce *c)
{
    lfma_arena_stats_t stats = LFMA_ARENA_STATS_INIT;
    const int code = lfma_arena_stats(c->self, &stats);
    if (code != LFMA_OK)
        die("lfma_arena_stats: %s", lfma_strerror(code));
    return stats;
}

static lfma_coalesce_result coalesce_once(struct coalesce *c, const lfma_budget *budget, uint64_t *ret_ticks)
{
    lfma_coalesce_result result = LFMA_COALESCE_RESULT_INIT;
    const uint64_t begin = ticks_now();
    const int code = lfma_coalesce(c->self, budget, &result);
    *ret_ticks = ticks_now() - begin;
    if (code != LFMA_OK)
        die("lfma_coalesce: %s", lfma_strerror(code));
    return result;
}

/* Calls with one budget until one is complete or a whole walk has joined nothing. */
static void coalesce_in_budgets(struct coalesce *c)
{
    const lfma_budget budget = LFMA_BUDGET_NS(c->options->budget_ns);
    const uint64_t budget_ticks = ns_to_ticks(c->options->budget_ns);
    const uint64_t singles = read_stats(c).free_blocks[0];
    uint64_t ticks_total = 0, ticks_working = 0, steps_idle = 0;

    const struct usage before = usage_now();
    while (steps_idle < STEPS_TO_BE_SURE) {
        uint64_t ticks;
        const lfma_coalesce_result result = coalesce_once(c, &budget, &ticks);
        c->calls++;
        c->blocks_joined += result.blocks_joined;
        c->conflicts += result.conflicts;
        ticks_total += ticks;
        if (!result.complete || ticks > budget_ticks)
            histogram_record(&c->overrun_ticks, ticks > budget_ticks ? ticks - budget_ticks : 0);
        if (result.blocks_joined > 0) {
            ticks_working = ticks_total;
            steps_idle = 0;
        }
        steps_idle += result.blocks_joined > 0 ? 0 : result.steps + 1;
        if (result.complete)
            break;
    }
    const struct usage after = usage_now();
    c->usage = usage_between(&before, &after);
    c->coalesce_ns = ticks_to_ns(ticks_working);

    const lfma_arena_stats_t stats = read_stats(c);
    c->pages_joined = singles - stats.free_blocks[0];
    c->largest_bytes = stats.largest_free_bytes;
}

/* The same work, one block a call: a step budget that ends with the first join. */
static void time_single_joins(struct coalesce *c)
{
    const lfma_budget budget = LFMA_BUDGET_STEPS(STEPS_OF_ONE_JOIN);
    uint64_t steps_idle = 0;
    while (steps_idle < STEPS_TO_BE_SURE) {
        uint64_t ticks;
        const lfma_coalesce_result result = coalesce_once(c, &budget, &ticks);
        if (result.blocks_joined == 1)
            histogram_record(&c->join_ticks, ticks);
        steps_idle = result.blocks_joined > 0 ? 0 : steps_idle + result.steps + 1;
        if (result.complete)
            break;
    }
}

/*
 * What the machine itself adds: interrupts and a hypervisor stop a call without a context switch to be counted.
 * The longest distance of two clock readings in an idle loop says how long such stops are at this time.
 */
static void find_hiccup(struct coalesce *c)
{
    const uint64_t begin = ticks_now(), length = ns_to_ticks(c->coalesce_ns > 1000000 ? c->coalesce_ns : 1000000);
    uint64_t last = begin;
    while (last - begin < length) {
        const uint64_t now = ticks_now();
        if (now - last > c->hiccup_ticks)
            c->hiccup_ticks = now - last;
        last = now;
    }
}

static void count_unexplained(struct coalesce *c)
{
    for (unsigned i = histogram_bucket(c->join_ticks.max) + 1; i < HISTOGRAM_BUCKETS; i++)
        c->unexplained += c->overrun_ticks.buckets[i];
}

static uint64_t percentile_ns(const struct histogram *h, double fraction)
{
    return ticks_to_ns(histogram_percentile(h, fraction));
}

static void print_table(const struct coalesce *c)
{
    const struct options *o = c->options;
    puts("#coalesce-header,workload,allocator,budget_ns,round,pages_freed,free_ns_per_page,calls,"
         "overrun_p50,overrun_p999,overrun_max,join_p50,join_p999,join_max,overruns_above_join_max,hiccup_max,"
         "blocks_joined,pages_joined,coalesce_ns,pages_joined_per_us,largest_free_bytes,conflicts,"
         "switches_voluntary,switches_involuntary");
    printf("#coalesce,%s,%s,", o->workload->name, o->label);
    if (o->peer->try_alloc == NULL) { /* no budgets: all was done in the frees */
        printf(",%u,%zu,%.3f,,,,,,,,,,,,,,,,,\n", o->round, c->freed, (double)c->free_ns / (double)c->freed);
        return;
    }
    printf("%" PRIu64 ",%u,%zu,%.3f,%" PRIu64 ",", o->budget_ns, o->round, c->freed,
           (double)c->free_ns / (double)c->freed, c->calls);
    if (c->overrun_ticks.count == 0)
        printf(",,,"); /* each call did all there was to do within its budget */
    else
        printf("%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", percentile_ns(&c->overrun_ticks, 0.5),
               percentile_ns(&c->overrun_ticks, 0.999), ticks_to_ns(c->overrun_ticks.max));
    printf("%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", percentile_ns(&c->join_ticks, 0.5),
           percentile_ns(&c->join_ticks, 0.999), ticks_to_ns(c->join_ticks.max), c->unexplained,
           ticks_to_ns(c->hiccup_ticks));
    printf("%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.3f,", c->blocks_joined, c->pages_joined, c->coalesce_ns,
           c->coalesce_ns == 0 ? 0.0 : 1e3 * (double)c->pages_joined / (double)c->coalesce_ns);
    printf("%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", c->largest_bytes, c->conflicts,
           c->usage.switches_voluntary, c->usage.switches_involuntary);
}

/* A fragmented arena of its own for each measurement. */
static void fragment(struct coalesce *c)
{
    c->self = c->options->peer->init();
    allocate_all(c);
    free_most(c);
}

static void unfragment(struct coalesce *c)
{
    free_rest(c);
    c->options->peer->fini(c->self);
}

static void run(const struct options *o, bool keep_some)
{
    if (o->peer->base == NULL)
        die("%s needs an allocator with an arena, and %s has none", o->workload->name, o->peer->name);
    struct coalesce *c = calloc(1, sizeof *c);
    if (c == NULL)
        die("out of memory");
    c->options = o;
    c->keep_some = keep_some;
    pin_producer();

    if (o->peer->try_alloc != NULL) { /* only LFMA has it */
        fragment(c);
        time_single_joins(c);
        unfragment(c);
    }
    c->free_ticks = (struct histogram){ 0 };
    const struct usage before = usage_now();
    fragment(c);
    if (o->peer->try_alloc != NULL)
        coalesce_in_budgets(c);
    const struct usage after = usage_now();
    find_hiccup(c);
    unfragment(c);
    count_unexplained(c);

    print_table(c);
    char name[64]; /* the common table has no column for the budget */
    if (o->peer->try_alloc != NULL)
        (void)snprintf(name, sizeof name, "%s-%" PRIu64 "ns", o->workload->name, o->budget_ns);
    else
        (void)snprintf(name, sizeof name, "%s", o->workload->name);
    row_print(&(struct row){
        .workload = name,
        .allocator = o->label,
        .threads = 1,
        .size_min = PEER_PAGE_BYTES,
        .size_max = PEER_PAGE_BYTES,
        .pairs = c->freed,
        .round = o->round,
        .has_ns_per_pair = !o->latency,
        .ns_per_pair = (double)(c->free_ns + c->coalesce_ns) / (double)c->freed,
        .free_ticks = o->latency ? &c->free_ticks : NULL,
        .usage = usage_between(&before, &after),
    });
    free(c);
}

void coalesce_all(const struct options *options)
{
    run(options, false);
}

void coalesce_most(const struct options *options)
{
    run(options, true);
}
