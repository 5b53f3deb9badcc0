/* SPDX-License-Identifier: MIT */
/*
 * Operations of every kind, mixed, from several threads, for as long as is wanted: allocations of random sizes and
 * alignments, frees of what other threads allocated, refused frees, questions, coalescing. The largest free block is
 * looked at each 10^5 operations: it must not get smaller in the long run. In the end all is freed and joined, and
 * every table is, bit for bit, that of a fresh arena. J09, I07
 */
#include "support/arenas.h"
#include "support/check.h"
#include "support/threads.h"

#include <lfma/lfma.h>
#include <stdio.h>
#include <string.h>

#define PAGE ((size_t)64)
#define ROUNDS 3u
#define BLOCK_LOG2 9u           /* requests: up to 2^9 pages */
#define SLOTS_MAX 1024u         /* six tenths of them are blocks that are out: six tenths of the arena, in the mean */
#define SAMPLE_EVERY 100000u    /* operations */
#define SAMPLES_MAX (1u << 20)  /* of 10^11 operations */
#define SAMPLES_FOR_A_TREND 80u /* with fewer a quarter of them says nothing */

struct yard {
    lfma_arena *arena;
    unsigned slot_count;
    _Atomic(uint64_t *) slots[SLOTS_MAX]; /* the exchange hands a block over, with the mark in it */
    _Atomic(uint64_t) operations;
    _Atomic(uint8_t) largest[SAMPLES_MAX]; /* log2 of the pages of the largest free block, + 1; 0: none */
};

static uint64_t mark_of(const void *block)
{
    return (uint64_t)(uintptr_t)block * 0x9E3779B97F4A7C15u;
}

/* Marks at both ends: two owners at once break them. */
static void mark(uint64_t *block, size_t usable, uint64_t value)
{
    block[usable / 8 - 1] = value;
    block[0] = value;
}

static uint64_t *new_block(crew_member *self, struct yard *y)
{
    const size_t bytes = 1 + rng_below(&self->rng, PAGE << rng_below(&self->rng, BLOCK_LOG2 + 1));
    void *block = NULL;
    int code;
    if (rng_below(&self->rng, 16) == 0)
        code = lfma_try_alloc_aligned(y->arena, bytes, (size_t)1 << rng_below(&self->rng, 13), 0, &block);
    else
        code = lfma_try_alloc(y->arena, bytes, 0, &block);
    self->operations++;
    self->again += code == LFMA_E_AGAIN;
    self->budget += code == LFMA_E_BUDGET;
    if (code != LFMA_OK) {
        CHECK(code == LFMA_E_NOMEM || code == LFMA_E_FRAGMENTED || code == LFMA_E_AGAIN || code == LFMA_E_BUDGET);
        return NULL;
    }
    const size_t usable = lfma_usable_size(y->arena, block); /* too cheap to be counted */
    CHECK(usable >= bytes && (usable & (usable - 1)) == 0);
    mark(block, usable, mark_of(block));
    return block;
}

/* Of the thread that has the block now, most often another one than allocated it. */
static void end_block(crew_member *self, struct yard *y, uint64_t *block)
{
    const size_t usable = lfma_usable_size(y->arena, block);
    CHECK(usable >= PAGE);
    CHECK(block[0] == mark_of(block) && block[usable / 8 - 1] == mark_of(block));
    if (rng_below(&self->rng, 64) == 0) {
        char *const inside = (char *)block + usable - PAGE;
        CHECK(lfma_block_of(y->arena, inside) == block);
        CHECK_CODE(lfma_free(y->arena, (char *)block + 8), LFMA_E_UNALIGNED);
        self->operations += 2;
        if (usable > PAGE) {
            CHECK_CODE(lfma_free(y->arena, inside), LFMA_E_INNER);
            self->operations++;
        }
    }
    mark(block, usable, 0);
    CHECK_CODE(lfma_free(y->arena, block), LFMA_OK);
    self->operations++;
}

static void sample(struct yard *y, uint64_t index)
{
    const size_t pages = arena_stats(y->arena).largest_free_bytes / PAGE;
    uint8_t order = 0;
    while (pages >> order)
        order++;
    if (index < SAMPLES_MAX)
        atomic_store_explicit(&y->largest[index], order, memory_order_relaxed);
}

static void body(crew_member *self)
{
    struct yard *const y = self->context;
    uint64_t told = 0;
    while (crew_goes_on(self)) {
        const uint64_t dice = rng_below(&self->rng, 1000);
        if (dice == 0) {
            const lfma_budget steps = LFMA_BUDGET_STEPS(rng_below(&self->rng, 2000));
            CHECK_CODE(lfma_coalesce(y->arena, &steps, NULL), LFMA_OK);
            self->operations++;
        }
        uint64_t *const mine = dice < 600 ? new_block(self, y) : NULL;
        uint64_t *const theirs = atomic_exchange_explicit(&y->slots[rng_below(&self->rng, y->slot_count)], mine,
                                                          memory_order_acq_rel);
        if (theirs)
            end_block(self, y, theirs);
        if (self->operations - told < 1000)
            continue;
        const uint64_t done = self->operations - told;
        const uint64_t before = atomic_fetch_add_explicit(&y->operations, done, memory_order_relaxed);
        if (before / SAMPLE_EVERY != (before + done) / SAMPLE_EVERY)
            sample(y, before / SAMPLE_EVERY);
        told = self->operations;
    }
}

static double mean(const struct yard *y, uint64_t from, uint64_t to)
{
    uint64_t sum = 0;
    for (uint64_t i = from; i < to; i++)
        sum += atomic_load_explicit(&y->largest[i], memory_order_relaxed);
    return (double)sum / (double)(to - from);
}

/*
 * The second quarter of the samples, when the arena is in its stride, against the last one. They scatter by half an
 * order each: what few of them cannot tell from chance is allowed.
 */
static void check_trend(const struct yard *y)
{
    uint64_t count = atomic_load(&y->operations) / SAMPLE_EVERY;
    if (count > SAMPLES_MAX)
        count = SAMPLES_MAX;
    if (count < SAMPLES_FOR_A_TREND) {
        printf("    %llu samples: too few for a trend\n", (unsigned long long)count);
        return;
    }
    const double early = mean(y, count / 4, count / 2), late = mean(y, count - count / 4, count);
    printf("    largest free block, mean log2 of its pages: %.2f early, %.2f late, %llu samples\n", early - 1,
           late - 1, (unsigned long long)count);
    CHECK(late >= early - (count < 1000 ? 1 : 0.25));
}

static void check_end(struct yard *y, const crew *c)
{
    check_trend(y);
    CHECK(arena_is_sound(y->arena));
    crew_member last = { .rng = { 1 } };
    for (unsigned i = 0; i < y->slot_count; i++) {
        uint64_t *const block = atomic_exchange(&y->slots[i], NULL);
        if (block)
            end_block(&last, y, block);
    }
    const lfma_arena_stats_t s = arena_stats(y->arena);
    CHECK(s.allocs == s.frees && s.free_bytes == s.bytes);
    CHECK(s.failed_again == c->again && s.failed_budget == c->budget);
    CHECK(arena_join_all(y->arena));
    CHECK(arena_is_sound(y->arena));
    CHECK(arena_is_fresh(y->arena));
    printf("    %llu allocations, %llu conflicts, %llu times none, AGAIN %llu, BUDGET %llu; emptied: fresh\n",
           (unsigned long long)s.allocs, (unsigned long long)s.join_conflicts,
           (unsigned long long)(s.failed_nomem + s.failed_fragmented), (unsigned long long)c->again,
           (unsigned long long)c->budget);
}

static void run(arena_plan plan, const stress_args *args)
{
    static crew c;
    static struct yard y;
    memset(&y, 0, sizeof y);
    plan.threads_max = args->threads + 1;
    y.arena = arena_open(&plan);
    y.slot_count = plan.pages > 50000 ? SLOTS_MAX : SLOTS_MAX / 8;
    printf("  %zu pages%s%s:\n", plan.pages, plan.zone_pages ? ", zones" : "",
           plan.flags & LFMA_HARDENED ? ", hardened" : "");
    crew_run(&c, args->threads, args->threads, body, &y, stress_part(args, ROUNDS));
    check_end(&y, &c);
    CHECK_CODE(lfma_arena_destroy(y.arena), LFMA_OK);
}

int main(int argc, char **argv)
{
    const stress_args args = stress_begin(argc, argv, 6, 4);
    run((arena_plan){ .pages = 65536 + 4096 + 64 + 5 }, &args); /* tables with summaries, and a tail */
    run((arena_plan){ .pages = 8192 + 77, .flags = LFMA_HARDENED }, &args);
    run((arena_plan){ .pages = 65536, .zone_pages = 4096, .block_pages = 4096 }, &args);
    return 0;
}
