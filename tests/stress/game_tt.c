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

#define RUNS 14u
#define RUNS_HELD 4u

struct game {
    lfma_arena *arena;
    unsigned players; /* those after them coalesce, the last one looks */
    unsigned coalescers;
    unsigned order; /* of the largest blocks */
    bool split;     /* half of the requests are smaller */
    bool zones;     /* a zone a block */
    bool hold;      /* blocks are held across a yield, at times */
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
        /* Held for a while: then others need all the rest, also what a coalescer that is stopped has in hand. */
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

static void run(struct game g, const stress_args *args)
{
    static crew c;
    const size_t block_pages = (size_t)1 << g.order;
    g.page_bytes = 64;
    g.arena = ARENA(.pages = g.players * block_pages, .block_pages = block_pages,
                    .zone_pages = g.zones ? block_pages : 0);
    /* Held blocks wait for time slices, not for the allocator: a ten-thousandth of the operations is enough. */
    stress_args part = stress_part(args, g.hold || args->operations == 0 ? RUNS : RUNS - RUNS_HELD);
    if (g.hold)
        part.operations = (part.operations + 9999) / 10000;
    crew_run(&c, g.players + g.coalescers + 1, g.players, body, &g, part);
    printf("  %u threads, order %u%s%s%s, %u coalescers: %llu calls, AGAIN %.4f %%, BUDGET %llu\n", g.players,
           g.order, g.split ? ", split" : "", g.zones ? ", a zone each" : "", g.hold ? ", held" : "", g.coalescers,
           (unsigned long long)c.operations, c.operations ? 100.0 * (double)c.again / (double)c.operations : 0.0,
           (unsigned long long)c.budget);
    CHECK(c.operations > c.again + c.budget);
    const lfma_arena_stats_t s = arena_stats(g.arena);
    stress_false_nomem(s.failed_nomem + s.failed_fragmented);
    CHECK(s.failed_nomem == 0 && s.failed_fragmented == 0);
    CHECK(s.allocs == s.frees && s.allocs + c.again + c.budget == c.operations);
    CHECK(arena_is_sound(g.arena));
    CHECK(arena_join_all(g.arena));
    CHECK(arena_is_fresh(g.arena));
    CHECK_CODE(lfma_arena_destroy(g.arena), LFMA_OK);
}

#define RUN(...) run((struct game){ __VA_ARGS__ }, &args)

int main(int argc, char **argv)
{
    const stress_args args = stress_begin(argc, argv, 8, 4);
    const unsigned many = args.threads;
    RUN(.players = 2);
    RUN(.players = many, .coalescers = 1);
    RUN(.players = many, .order = 4, .zones = true, .coalescers = 1);
    RUN(.players = 2, .order = 1, .split = true);
    RUN(.players = 2, .order = 3, .split = true, .coalescers = 1);
    RUN(.players = 3, .order = 6, .split = true, .coalescers = 1);
    RUN(.players = many, .order = 5, .split = true, .zones = true, .coalescers = 1);
    RUN(.players = many, .order = 7, .split = true, .coalescers = 2);
    RUN(.players = many, .order = 12, .split = true);
    RUN(.players = 2 * many, .order = 2, .split = true);
    RUN(.players = 2, .order = 1, .split = true, .hold = true, .coalescers = 2);
    RUN(.players = 2, .order = 2, .split = true, .hold = true, .coalescers = 4);
    RUN(.players = 3, .order = 1, .split = true, .zones = true, .hold = true, .coalescers = 4);
    RUN(.players = many, .order = 3, .split = true, .hold = true, .coalescers = 3);
    return 0;
}
