/* SPDX-License-Identifier: MIT */
/**
 * @file aging.c  What becomes of an arena that is nearly full for millions of operations.
 *
 * The rule, the same for every allocator: a seeded generator draws a size; while it would not fit under --fill
 * percent of the arena, a random live block is freed; then the block is allocated. "Live" and "fill" count every
 * block of the schedule at its size rounded up to a power of two of pages, whether the allocator under test served it
 * or not. So the schedule never depends on the allocator, and one that fails pays with a failure, not with another
 * schedule: the slot stays empty until the schedule frees it. As the fill is below 100 %, pages enough are always
 * free, and every failure is one of fragmentation.
 *
 * Two passes over the same schedule: the first is timed and does nothing else; the second keeps a shadow map of the
 * pages, asks it at each failure whether an aligned run was free (a false failure), and samples the largest free run.
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
#include "shadow_map.h"

#define ORDERS 11u /* 4 KiB … 4 MiB */
#define SAMPLES 200u
#define CODES (1 - LFMA_ERROR_LAST)

struct slot {
    void *block; /* NULL: the allocator failed */
    unsigned order;
};

struct tally {
    uint64_t operations;
    uint64_t allocations;
    uint64_t failures;
    uint64_t false_failures;
    uint64_t by_code[CODES]; /* [-code]; only of allocators that give one */
    int largest_min;         /* the smallest of the samples, as an order */
};

struct aging {
    const struct options *options;
    void *self;
    bool log_uniform;
    bool arena; /* the peer has one, so it can be shadowed */
    size_t pages_target;
    size_t pages_live;
    size_t live; /* slots[0 … live − 1] are in use */
    struct random random;
    struct tally tally;
    struct shadow_map shadow;
    struct slot slots[PEER_PAGES];
};

static unsigned draw(struct aging *a, size_t *ret_bytes)
{
    size_t pages;
    if (a->log_uniform) { /* an order, then a size that needs it */
        const size_t high = PEER_PAGE_BYTES << random_below(&a->random, ORDERS);
        *ret_bytes = random_size(&a->random, high / 2 + 1, high);
    } else {
        *ret_bytes = random_size(&a->random, 1, PEER_PAGE_BYTES << (ORDERS - 1));
    }
    pages = (*ret_bytes + PEER_PAGE_BYTES - 1) / PEER_PAGE_BYTES;
    return pages == 1 ? 0 : 64u - (unsigned)__builtin_clzll(pages - 1);
}

static inline void free_one(struct aging *a, size_t index, bool shadowed)
{
    const struct slot slot = a->slots[index];
    a->slots[index] = a->slots[--a->live];
    a->pages_live -= (size_t)1 << slot.order;
    if (slot.block == NULL)
        return;
    if (shadowed && a->arena)
        shadow_release(&a->shadow, slot.block, slot.order);
    a->options->peer->free(a->self, slot.block);
}

static void note_failure(struct aging *a, size_t bytes, unsigned order, int code)
{
    if (code < 0 && code >= LFMA_ERROR_LAST)
        a->tally.by_code[-code]++;
    if (!a->arena || !shadow_has_room(&a->shadow, order))
        return;
    if (a->tally.false_failures++ == 0)
        fprintf(stderr, "%s: false failure of %zu bytes at operation %" PRIu64 "\n", a->options->label, bytes,
                a->tally.operations);
}

static inline void alloc_one(struct aging *a, size_t bytes, unsigned order, bool shadowed)
{
    const struct peer *peer = a->options->peer;
    void *block = NULL;
    int code = 0;
    if (shadowed && peer->try_alloc != NULL)
        code = peer->try_alloc(a->self, bytes, &block);
    else
        block = peer->alloc(a->self, bytes);
    a->slots[a->live++] = (struct slot){ .block = block, .order = order };
    a->pages_live += (size_t)1 << order;
    a->tally.allocations++;
    if (block == NULL) {
        a->tally.failures++;
        if (shadowed)
            note_failure(a, bytes, order, code);
    } else if (shadowed && a->arena) {
        shadow_take(&a->shadow, block, order);
    }
}

static void sample(struct aging *a)
{
    const struct options *o = a->options;
    const int order = shadow_largest_order(&a->shadow);
    if (order < a->tally.largest_min)
        a->tally.largest_min = order;
    size_t taken = 0;
    for (size_t i = 0; i < SHADOW_WORDS; i++)
        taken += (size_t)__builtin_popcountll(a->shadow.taken[i]);
    printf("#series,%s,%s,%u,%u,%" PRIu64 ",%zu,%zu,%" PRIu64 "\n", o->workload->name, o->label, o->fill, o->round,
           a->tally.operations, order < 0 ? 0 : PEER_PAGE_BYTES << order, taken * PEER_PAGE_BYTES, a->tally.failures);
}

/* The schedule; compiled once with and once without the shadow. */
static inline void age(struct aging *a, uint64_t operations, bool shadowed)
{
    const uint64_t interval = operations / SAMPLES + 1;
    uint64_t next_sample = interval;
    while (a->tally.operations < operations) {
        size_t bytes;
        const unsigned order = draw(a, &bytes);
        while (a->pages_live + ((size_t)1 << order) > a->pages_target) {
            free_one(a, random_below(&a->random, (uint32_t)a->live), shadowed);
            a->tally.operations++;
        }
        alloc_one(a, bytes, order, shadowed);
        a->tally.operations++;
        if (shadowed && a->arena && a->tally.operations >= next_sample) {
            sample(a);
            next_sample += interval;
        }
    }
}

static void begin_pass(struct aging *a)
{
    const struct options *o = a->options;
    a->self = o->peer->init();
    a->arena = o->peer->base != NULL;
    a->pages_target = PEER_PAGES * o->fill / 100;
    a->pages_live = 0;
    a->live = 0;
    a->random = random_stream(o->seed, o->round);
    a->tally = (struct tally){ .largest_min = 64 };
    if (a->arena)
        shadow_reset(&a->shadow, o->peer->base(a->self));
}

static void end_pass(struct aging *a)
{
    while (a->live > 0)
        free_one(a, a->live - 1, false);
    a->options->peer->fini(a->self);
}

static void print_tally(const struct aging *a, double ns_per_operation, const lfma_arena_stats_t *stats)
{
    const struct options *o = a->options;
    const struct tally *t = &a->tally;
    puts("#aging-header,workload,allocator,fill_percent,round,operations,ns_per_operation,allocations,failures,"
         "failure_ppm,false_failures,nomem,fragmented,budget,again,largest_free_min_bytes,"
         "coalesce_runs,blocks_joined,hints_repaired");
    printf("#aging,%s,%s,%u,%u,%" PRIu64 ",%.3f,%" PRIu64 ",%" PRIu64 ",%.1f,", o->workload->name, o->label, o->fill,
           o->round, t->operations, ns_per_operation, t->allocations, t->failures,
           1e6 * (double)t->failures / (double)t->allocations);
    if (a->arena)
        printf("%" PRIu64, t->false_failures);
    if (o->peer->try_alloc != NULL)
        printf(",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, t->by_code[-LFMA_E_NOMEM],
               t->by_code[-LFMA_E_FRAGMENTED], t->by_code[-LFMA_E_BUDGET], t->by_code[-LFMA_E_AGAIN]);
    else
        printf(",,,,");
    putchar(',');
    if (a->arena)
        printf("%zu", t->largest_min < 0 || t->largest_min > 63 ? 0 : PEER_PAGE_BYTES << t->largest_min);
    if (o->peer->try_alloc != NULL)
        printf(",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", stats->coalesce_runs, stats->blocks_joined,
               stats->hints_repaired);
    else
        printf(",,,\n");
}

static void run(const struct options *o, bool log_uniform)
{
    struct aging *a = calloc(1, sizeof *a);
    if (a == NULL)
        die("out of memory");
    a->options = o;
    a->log_uniform = log_uniform;
    pin_producer();
    const uint64_t operations = 2 * o->pairs;

    begin_pass(a);
    const struct usage before = usage_now();
    const uint64_t begin = now_ns();
    age(a, operations, false);
    const uint64_t end = now_ns();
    const struct usage after = usage_now();
    end_pass(a);
    const struct tally timed = a->tally;

    puts("#series-header,workload,allocator,fill_percent,round,operation,largest_free_bytes,taken_bytes,failures");
    begin_pass(a);
    if (a->arena)
        age(a, operations, true);
    else
        a->tally = timed; /* nothing to shadow: a second pass would say nothing new */
    lfma_arena_stats_t stats = LFMA_ARENA_STATS_INIT;
    if (o->peer->try_alloc != NULL) /* only LFMA has it */
        (void)lfma_arena_stats(a->self, &stats);
    end_pass(a);

    print_tally(a, (double)(end - begin) / (double)timed.operations, &stats);
    char name[64]; /* the common table has no column for the fill */
    (void)snprintf(name, sizeof name, "%s-%u", o->workload->name, o->fill);
    row_print(&(struct row){
        .workload = name,
        .allocator = o->label,
        .threads = 1,
        .size_min = 1,
        .size_max = PEER_PAGE_BYTES << (ORDERS - 1),
        .pairs = timed.allocations,
        .round = o->round,
        .has_ns_per_pair = true,
        .ns_per_pair = (double)(end - begin) / (double)timed.allocations,
        .failures = timed.failures,
        .usage = usage_between(&before, &after),
    });
    free(a);
}

void aging_log(const struct options *options)
{
    run(options, true);
}

void aging_uniform(const struct options *options)
{
    run(options, false);
}
