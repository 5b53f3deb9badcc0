/* SPDX-License-Identifier: MIT */
/**
 * @file coalesce.c  Whether coalescing keeps to its budget, what it does in it, and its rivals.
 *
 * All pages of the arena are allocated one by one and freed in a random order (coalesce-most: but
 * for 1 in 64). Then:
 *  - LFMA: lfma_coalesce() with --budget ns, again and again until nothing is left to join. Overrun
 *    is the time of a call above its budget, by this benchmark's reading of the clock. Another
 *    arena, of 1 GiB, is joined one block a call: such a call's time is what an overrun may be.
 *    A call that took longer is kept apart if an involuntary switch fell into it.
 *  - An immediately merging allocator has done its work in the frees: their time is the comparison.
 * A large budget needs a large arena (--arena-gib), or its first call does all there is to do.
 * The row's ns_per_pair is (all frees + all coalescing) / pages, without the time of allocating.
 */
#include <inttypes.h>
#include <lfma/lfma.h>
#include <pthread.h>
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

#define PAGES_OF_ZONE (PEER_ZONE_BYTES / PEER_PAGE_BYTES)
#define ZONES_MAX (ARENA_GIB_MAX * (PEER_ARENA_BYTES / PEER_ZONE_BYTES))

/* A call that its budget ended: it was not complete, or late. */
struct overrun {
    uint64_t ns;
    bool preempted;
};

struct coalesce {
    const struct options *options;
    void *self;
    char *base;
    bool keep_some;
    size_t pages; /* of the arena */
    size_t freed;
    uint64_t free_ns;
    struct histogram free_ticks; /* of each free, in a latency run */
    struct histogram join_ns;    /* of each call that joined exactly one block, not preempted */
    struct overrun *overruns;    /* in the order of the calls */
    size_t overruns_count;
    size_t overruns_capacity;
    uint64_t calls;                /* up to the last one that joined something */
    uint64_t ended;                /* by the budget */
    uint64_t above;                /* late by more than the longest single join, not preempted */
    struct histogram overrun_ns;   /* of those ended, but for the next */
    struct histogram preempted_ns; /* late by more than the longest single join, and preempted */
    uint64_t coalesce_ns;          /* in calls, up to the last one that joined something */
    uint64_t blocks_joined;
    uint64_t conflicts;
    uint64_t pages_joined;  /* single free pages that became part of a larger block */
    uint64_t largest_bytes; /* free block at the end */
    uint64_t hiccup_ns;     /* the longest pause of a loop that does nothing */
    struct usage usage;
    pthread_barrier_t filled;
    uint32_t order[PEER_PAGES]; /* in which the pages of each GiB are freed */
};

struct filler {
    struct coalesce *c;
    unsigned index;
};

static void choose_order(struct coalesce *c)
{
    struct random random = random_stream(c->options->seed, c->options->round);
    for (uint32_t i = 0; i < PEER_PAGES; i++) {
        const uint32_t j = random_below(&random, i + 1);
        c->order[i] = c->order[j];
        c->order[j] = i;
    }
}

static void allocate_pages(const struct coalesce *c, size_t count)
{
    const struct peer *peer = c->options->peer;
    for (size_t i = 0; i < count; i++) {
        if (peer->alloc(c->self, PEER_PAGE_BYTES) == NULL)
            die("%s: a page of %zu could not be allocated", peer->name, c->pages);
    }
}

static void *fill_zone(void *argument)
{
    const struct filler *filler = argument;
    pin_worker(filler->index);
    allocate_pages(filler->c, PAGES_OF_ZONE);
    const int code = pthread_barrier_wait(&filler->c->filled);
    check(code == PTHREAD_BARRIER_SERIAL_THREAD ? 0 : code, "pthread_barrier_wait");
    return NULL;
}

/*
 * An allocation searches from its thread's home zone, and takes the longer the more is full there.
 * So a large arena is filled by as many threads as it has zones, all alive until the last is done:
 * each has a home of its own. That saves time and nothing else: in the end every page is taken.
 */
static void allocate_large(struct coalesce *c)
{
    static pthread_t threads[ZONES_MAX];
    static struct filler fillers[ZONES_MAX];
    const unsigned zones = (unsigned)(c->pages / PAGES_OF_ZONE);
    check(pthread_barrier_init(&c->filled, NULL, zones), "pthread_barrier_init");
    for (unsigned i = 0; i < zones; i++) {
        fillers[i] = (struct filler){ c, i };
        check(pthread_create(&threads[i], NULL, fill_zone, &fillers[i]), "pthread_create");
    }
    for (unsigned i = 0; i < zones; i++)
        check(pthread_join(threads[i], NULL), "pthread_join");
    check(pthread_barrier_destroy(&c->filled), "pthread_barrier_destroy");
}

/* Every page is a block of its own now, so that what is freed need not be what a call returned. */
static inline void *page_at(const struct coalesce *c, size_t window, size_t i)
{
    return c->base + (window + c->order[i]) * PEER_PAGE_BYTES;
}

static size_t freed_of_window(const struct coalesce *c)
{
    return c->keep_some ? PEER_PAGES - PEER_PAGES / KEEP_ONE_IN : PEER_PAGES;
}

static void free_most(struct coalesce *c)
{
    const struct peer *peer = c->options->peer;
    const size_t count = freed_of_window(c);
    const uint64_t begin = now_ns();
    for (size_t window = 0; window < c->pages; window += PEER_PAGES) {
        if (!c->options->latency) {
            for (size_t i = 0; i < count; i++)
                peer->free(c->self, page_at(c, window, i));
            continue;
        }
        for (size_t i = 0; i < count; i++) {
            const uint64_t call = ticks_now();
            peer->free(c->self, page_at(c, window, i));
            histogram_record(&c->free_ticks, ticks_now() - call);
        }
    }
    c->free_ns = now_ns() - begin;
    c->freed = count * (c->pages / PEER_PAGES);
}

static void free_rest(const struct coalesce *c)
{
    for (size_t window = 0; window < c->pages; window += PEER_PAGES) {
        for (size_t i = freed_of_window(c); i < PEER_PAGES; i++)
            c->options->peer->free(c->self, page_at(c, window, i));
    }
}

static lfma_arena_stats_t read_stats(struct coalesce *c)
{
    lfma_arena_stats_t stats = LFMA_ARENA_STATS_INIT;
    const int code = lfma_arena_stats(c->self, &stats);
    if (code != LFMA_OK)
        die("lfma_arena_stats: %s", lfma_strerror(code));
    return stats;
}

struct call {
    lfma_coalesce_result result;
    uint64_t ns;
    bool preempted;
};

/* Timed by the clock that the budget is of: in 10 ms another one may differ by more than a join. */
static struct call coalesce_once(const struct coalesce *c, lfma_budget budget)
{
    struct call call = { .result = LFMA_COALESCE_RESULT_INIT };
    const uint64_t switches = usage_now().switches_involuntary;
    const uint64_t begin = now_ns();
    const int code = lfma_coalesce(c->self, &budget, &call.result);
    call.ns = now_ns() - begin;
    call.preempted = usage_now().switches_involuntary != switches;
    if (code != LFMA_OK)
        die("lfma_coalesce: %s", lfma_strerror(code));
    return call;
}

/* More than two walks of all levels: after so many steps without a join nothing is left to join. */
static uint64_t steps_to_be_sure(const struct coalesce *c)
{
    return c->pages / 64 * 5 / 2;
}

static void note_overrun(struct coalesce *c, const struct call *call)
{
    if (c->overruns_count == c->overruns_capacity) {
        c->overruns_capacity = c->overruns_capacity > 0 ? 2 * c->overruns_capacity : 4096;
        c->overruns = realloc(c->overruns, c->overruns_capacity * sizeof *c->overruns);
        if (c->overruns == NULL)
            die("out of memory");
    }
    const uint64_t budget = c->options->budget_ns;
    const uint64_t overrun = call->ns > budget ? call->ns - budget : 0;
    c->overruns[c->overruns_count++] = (struct overrun){ overrun, call->preempted };
}

/* After the calls, so that the histograms do not push what LFMA uses out of the cache. */
static void judge_overruns(struct coalesce *c)
{
    for (size_t i = 0; i < c->ended; i++) {
        const struct overrun *overrun = &c->overruns[i];
        const bool late = overrun->ns > c->join_ns.max;
        const bool apart = late && overrun->preempted;
        histogram_record(apart ? &c->preempted_ns : &c->overrun_ns, overrun->ns);
        c->above += late && !apart;
    }
    free(c->overruns);
}

/* Calls with one budget until one is complete or a whole walk has joined nothing. */
static void coalesce_in_budgets(struct coalesce *c)
{
    const lfma_budget budget = LFMA_BUDGET_NS(c->options->budget_ns);
    const uint64_t singles = read_stats(c).free_blocks[0];
    uint64_t calls = 0, ns_total = 0, steps_idle = 0;

    const struct usage before = usage_now();
    while (steps_idle < steps_to_be_sure(c)) {
        const struct call call = coalesce_once(c, budget);
        calls++;
        if (!call.result.complete || call.ns > budget.ns)
            note_overrun(c, &call);
        c->blocks_joined += call.result.blocks_joined;
        c->conflicts += call.result.conflicts;
        ns_total += call.ns;
        steps_idle += call.result.steps + 1;
        if (call.result.blocks_joined > 0) {
            c->calls = calls;
            c->ended = c->overruns_count;
            c->coalesce_ns = ns_total;
            steps_idle = 0;
        }
        if (call.result.complete)
            break;
    }
    const struct usage after = usage_now();
    c->usage = usage_between(&before, &after);
    judge_overruns(c);

    const lfma_arena_stats_t stats = read_stats(c);
    c->pages_joined = singles - stats.free_blocks[0];
    c->largest_bytes = stats.largest_free_bytes;
}

/* The same work, one block a call: a step budget that ends with the first join. */
static void time_single_joins(struct coalesce *c)
{
    const lfma_budget budget = LFMA_BUDGET_STEPS(STEPS_OF_ONE_JOIN);
    uint64_t steps_idle = 0;
    while (steps_idle < steps_to_be_sure(c)) {
        const struct call call = coalesce_once(c, budget);
        if (call.result.blocks_joined == 1 && !call.preempted)
            histogram_record(&c->join_ns, call.ns);
        steps_idle = call.result.blocks_joined > 0 ? 0 : steps_idle + call.result.steps + 1;
        if (call.result.complete)
            break;
    }
}

/*
 * What the machine itself adds: interrupts and a hypervisor stop a call, and no switch is counted.
 * The longest distance of two clock readings in an idle loop, switches apart, says how long such
 * stops are at this time. The loop takes as long as the coalescing did.
 */
static void find_hiccup(struct coalesce *c)
{
    const uint64_t begin = now_ns(), length = c->coalesce_ns > 1000000 ? c->coalesce_ns : 1000000;
    uint64_t switches = usage_now().switches_involuntary;
    uint64_t last = begin;
    while (last - begin < length) {
        uint64_t now = now_ns();
        if (now - last > c->hiccup_ns) {
            const uint64_t switches_now = usage_now().switches_involuntary;
            if (switches_now == switches)
                c->hiccup_ns = now - last;
            switches = switches_now;
            now = now_ns();
        }
        last = now;
    }
}

static void print_number(uint64_t value)
{
    printf("%" PRIu64 ",", value);
}

static void print_percentiles(const struct histogram *h)
{
    if (h->count == 0) { /* each call did all there was to do within its budget */
        fputs(",,,", stdout);
        return;
    }
    print_number(histogram_percentile(h, 0.5));
    print_number(histogram_percentile(h, 0.999));
    print_number(h->max);
}

static void print_table(const struct coalesce *c)
{
    const struct options *o = c->options;
    const double free_ns = (double)c->free_ns / (double)c->freed;
    const double us = c->coalesce_ns > 0 ? (double)c->coalesce_ns / 1e3 : 1.0;
    puts("#coalesce-header,workload,allocator,budget_ns,round,arena_bytes,pages_freed,"
         "free_ns_per_page,calls,calls_ended_by_budget,overrun_p50,overrun_p999,overrun_max,"
         "overruns_preempted,overrun_max_preempted,join_p50,join_p999,join_max,"
         "overruns_above_join_max,hiccup_max,blocks_joined,pages_joined,coalesce_ns,"
         "pages_joined_per_us,largest_free_bytes,conflicts,switches_voluntary,"
         "switches_involuntary");
    printf("#coalesce,%s,%s,", o->workload->name, o->label);
    if (o->peer->try_alloc != NULL)
        print_number(o->budget_ns);
    else
        putchar(','); /* no budgets: all was done in the frees */
    printf("%u,%zu,%zu,%.3f,", o->round, c->pages * PEER_PAGE_BYTES, c->freed, free_ns);
    if (o->peer->try_alloc == NULL) {
        puts(",,,,,,,,,,,,,,,,,,,");
        return;
    }
    print_number(c->calls);
    print_number(c->ended);
    print_percentiles(&c->overrun_ns);
    print_number(c->preempted_ns.count);
    print_number(c->preempted_ns.max);
    print_percentiles(&c->join_ns);
    print_number(c->above);
    print_number(c->hiccup_ns);
    print_number(c->blocks_joined);
    print_number(c->pages_joined);
    print_number(c->coalesce_ns);
    printf("%.3f,", (double)c->pages_joined / us);
    print_number(c->largest_bytes);
    print_number(c->conflicts);
    print_number(c->usage.switches_voluntary);
    printf("%" PRIu64 "\n", c->usage.switches_involuntary);
}

/* A fragmented arena of its own for each measurement. */
static void fragment(struct coalesce *c, unsigned gib)
{
    const struct peer *peer = c->options->peer;
    c->pages = gib * PEER_PAGES;
    c->self = gib == 1 ? peer->init() : peer->init_large(gib * PEER_ARENA_BYTES);
    c->base = peer->base(c->self);
    if (gib == 1)
        allocate_pages(c, c->pages);
    else
        allocate_large(c);
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
    if (o->arena_gib > 1 && o->peer->init_large == NULL)
        die("--arena-gib: %s has 1 GiB", o->peer->name);
    struct coalesce *c = calloc(1, sizeof *c);
    if (c == NULL)
        die("out of memory");
    c->options = o;
    c->keep_some = keep_some;
    choose_order(c);
    pin_producer();

    if (o->peer->try_alloc != NULL) { /* only LFMA has it */
        fragment(c, 1);
        time_single_joins(c);
        unfragment(c);
    }
    c->free_ticks = (struct histogram){ 0 };
    const struct usage before = usage_now();
    fragment(c, o->arena_gib);
    if (o->peer->try_alloc != NULL)
        coalesce_in_budgets(c);
    const struct usage after = usage_now();
    find_hiccup(c);
    unfragment(c);

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
