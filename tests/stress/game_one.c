/* SPDX-License-Identifier: MIT */
/*
 * Free blocks passed around: N threads each hold a block, and there are N blocks, or one more. Who frees its own and
 * asks for another always has one to get: 0 false NOMEM. A14, A15, C05
 */
#include "support/arenas.h"
#include "support/check.h"
#include "support/threads.h"

#include <lfma/lfma.h>
#include <stdio.h>

#define RUNS 8u

struct game {
    lfma_arena *arena;
    size_t bytes;
};

static void *get(crew_member *self, const struct game *g)
{
    void *block = NULL;
    for (;;) {
        const int code = lfma_try_alloc(g->arena, g->bytes, 0, &block);
        self->operations++;
        if (code == LFMA_OK)
            return block;
        CHECK_CODE(code, LFMA_E_AGAIN);
        self->again++;
    }
}

static void body(crew_member *self)
{
    const struct game *const g = self->context;
    void *mine = get(self, g);
    while (crew_goes_on(self)) {
        CHECK_CODE(lfma_free(g->arena, mine), LFMA_OK);
        mine = get(self, g);
    }
    CHECK_CODE(lfma_free(g->arena, mine), LFMA_OK);
}

static uint64_t run(unsigned threads, unsigned extra, unsigned order, bool zones, const stress_args *args)
{
    static crew c;
    const size_t block_pages = (size_t)1 << order;
    const struct game g = { ARENA(.pages = (threads + extra) * block_pages, .block_pages = block_pages,
                                  .zone_pages = zones ? block_pages : 0),
                            64u << order };
    crew_run(&c, threads, threads, body, (void *)(uintptr_t)&g, stress_part(args, RUNS));
    printf("  %u threads, %u blocks of order %u%s: %llu calls, AGAIN %.4f %%\n", threads, threads + extra, order,
           zones ? ", a zone each" : "", (unsigned long long)c.operations,
           c.operations ? 100.0 * (double)c.again / (double)c.operations : 0.0);
    const lfma_arena_stats_t s = arena_stats(g.arena);
    stress_false_nomem(s.failed_nomem + s.failed_fragmented);
    CHECK(s.failed_nomem == 0 && s.failed_fragmented == 0);
    CHECK(s.allocs == s.frees && s.failed_again == c.again);
    CHECK(arena_is_sound(g.arena));
    CHECK_CODE(lfma_arena_destroy(g.arena), LFMA_OK);
    return c.operations;
}

int main(int argc, char **argv)
{
    const stress_args args = stress_begin(argc, argv, 8, 4);
    uint64_t operations = 0;
    operations += run(2, 0, 0, false, &args);
    operations += run(2, 1, 0, false, &args);
    operations += run(args.threads, 0, 0, false, &args);
    operations += run(args.threads, 1, 6, false, &args);
    operations += run(args.threads, 0, 3, true, &args);
    operations += run(args.threads, 1, 0, true, &args);
    operations += run(70, 0, 0, false, &args); /* two slices */
    operations += run(70, 1, 8, false, &args);
    printf("  %llu calls, no false NOMEM\n", (unsigned long long)operations);
    return 0;
}
