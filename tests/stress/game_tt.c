/* SPDX-License-Identifier: MIT */
/*
 * T threads, T largest blocks, each thread holds at most one block: so there is always a free run for who asks, and
 * nobody may ever hear NOMEM or FRAGMENTED, also while others coalesce and look. AGAIN may be heard; how often is
 * printed. A12, A15, A21, A23
 */
#include "support/arenas.h"
#include "support/check.h"
#include "support/threads.h"

#include <lfma/lfma.h>
#include <sched.h>
#include <stdio.h>

struct game {
    lfma_arena *arena;
    unsigned players; /* those after them coalesce, the last one looks */
    unsigned order;
    bool split, hold;
    size_t page_bytes;
};

static void play(crew_member *self, const struct game *g)
{
    while (crew_goes_on(self)) {
        const unsigned order = g->split && rng_below(&self->rng, 2) ? (unsigned)rng_below(&self->rng, g->order)
                                                                    : g->order;
        void *block = NULL;
        const int code = lfma_try_alloc(g->arena, g->page_bytes << order, 0, &block);
        self->operations++;
        if (code == LFMA_E_AGAIN) {
            self->again++;
            continue;
        }
        if (code ==
            LFMA_E_BUDGET) { /* 100 ms passed inside one call: possible where threads are preempted for long */
            self->budget++;
            continue;
        }
        CHECK_CODE(code, LFMA_OK);
        /* Hold it for a while: then the others need all the rest, also what a coalescer that is stopped has in hand. */
        if (g->hold && rng_below(&self->rng, 2))
            (void)sched_yield();
        CHECK_CODE(lfma_free(g->arena, block), LFMA_OK);
    }
}

static void coalesce(crew_member *self, const struct game *g)
{
    while (crew_goes_on(self)) {
        const lfma_budget budget = { LFMA_UNLIMITED, 1 + rng_below(&self->rng, 100) };
        CHECK_CODE(lfma_coalesce(g->arena, &budget, NULL), LFMA_OK);
    }
}

static void look(crew_member *self, const struct game *g)
{
    while (crew_goes_on(self)) {
        lfma_arena_stats_t s = LFMA_ARENA_STATS_INIT;
        CHECK_CODE(lfma_arena_stats(g->arena, &s), LFMA_OK);
        CHECK(s.free_bytes <= s.bytes);
        CHECK(s.failed_nomem == 0 && s.failed_fragmented == 0 && s.failed_never == 0);
        const int code = lfma_arena_validate(g->arena, NULL); /* in passing: it need not be sound, but it must end */
        CHECK(code == LFMA_OK || code == LFMA_E_BROKEN);
    }
}

static void body(crew_member *self)
{
    const struct game *const g = self->context;
    if (self->index < g->players)
        play(self, g);
    else if (self->index == self->crew->count - 1)
        look(self, g);
    else
        coalesce(self, g);
}

static void run(unsigned threads, unsigned order, bool split, bool zones, unsigned coalescers,
                const stress_args *args)
{
    static crew c;
    struct game g = { .players = threads, .order = order, .split = split, .hold = hold, .page_bytes = 64 };
    g.arena = ARENA(.pages = (size_t)threads << order, .block_pages = (size_t)1 << order,
                    .zone_pages = zones ? (size_t)1 << order : 0);
    crew_run(&c, threads + coalescers + 1, body, &g, args->seed, args->seconds / 14);
    printf("  %u threads, order %u%s%s%s, %u coalescers: %llu calls, AGAIN %.4f %%, BUDGET %llu\n", threads, order,
           split ? ", split" : "", zones ? ", a zone each" : "", hold ? ", held" : "", coalescers,
           (unsigned long long)c.operations, c.operations ? 100.0 * (double)c.again / (double)c.operations : 0.0,
           (unsigned long long)c.budget);
    CHECK(c.operations > c.again + c.budget);
    CHECK(arena_is_sound(g.arena));
    CHECK(arena_join_all(g.arena));
    CHECK(arena_is_fresh(g.arena));
    CHECK_CODE(lfma_arena_destroy(g.arena), LFMA_OK);
}

int main(int argc, char **argv)
{
    const stress_args args = stress_begin(argc, argv, 8, 4);
    run(2, 0, false, false, 0, false, &args);
    run(args.threads, 0, false, false, 1, false, &args);
    run(args.threads, 4, false, true, 1, false, &args);
    run(2, 1, true, false, 0, false, &args);
    run(2, 3, true, false, 1, false, &args);
    run(3, 6, true, false, 1, false, &args);
    run(args.threads, 5, true, true, 1, false, &args);
    run(args.threads, 7, true, false, 2, false, &args);
    run(args.threads, 12, true, false, 0, false, &args);
    run(2 * args.threads, 2, true, false, 0, false, &args);
    run(2, 1, true, false, 2, true, &args);
    run(2, 2, true, false, 4, true, &args);
    run(3, 1, true, true, 4, true, &args);
    run(args.threads, 3, true, false, 3, true, &args);
    return 0;
}
