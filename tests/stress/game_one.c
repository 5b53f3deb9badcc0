/* SPDX-License-Identifier: MIT */
/*
 * Free blocks passed around: N threads each hold a block, and there are N blocks, or one more. Who frees its own and
 * asks for another always has one to get: 0 false NOMEM. A14, A15, C05
 *
 * A thread that gets back what it freed never looks far. So in some runs one more block lies in a swap slot, and each
 * thread changes its own for that one before it frees: then blocks are free where others do not look first, and move
 * all the time. And others are held for good, between them: the longer the way, the more may happen on it.
 */
#include "support/arenas.h"
#include "support/check.h"
#include "support/threads.h"

#include <lfma/lfma.h>
#include <stdio.h>

#define RUNS 14u

struct game {
    lfma_arena *arena;
    size_t bytes;
    bool swaps;
    _Atomic(void *) slot;
};

static void *get(crew_member *self, struct game *g)
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
    struct game *const g = self->context;
    void *mine = get(self, g);
    while (crew_goes_on(self)) {
        if (g->swaps)
            mine = atomic_exchange_explicit(&g->slot, mine, memory_order_acq_rel);
        CHECK_CODE(lfma_free(g->arena, mine), LFMA_OK);
        mine = get(self, g);
    }
    CHECK_CODE(lfma_free(g->arena, mine), LFMA_OK);
}

struct plan {
    unsigned threads, extra; /* blocks beyond one a thread */
    unsigned order;
    bool zones; /* a zone each */
    bool swaps;
    unsigned held; /* blocks between each two of the game's, held for good */
};

/* The game's blocks are free, those between them allocated. */
static void hold(lfma_arena *arena, size_t bytes, unsigned blocks, unsigned held)
{
    char *const base = arena_stats(arena).base;
    for (unsigned n = blocks * (held + 1); n > 0; n--)
        CHECK(lfma_alloc(arena, bytes) != NULL);
    for (unsigned n = 0; n < blocks; n++)
        CHECK_CODE(lfma_free(arena, base + n * (held + 1) * bytes), LFMA_OK);
}

static uint64_t run(struct plan p, const stress_args *args)
{
    static crew c;
    static struct game g;
    const unsigned threads = p.threads, blocks = p.threads + p.extra + p.swaps;
    const size_t block_pages = (size_t)1 << p.order;
    g.arena = ARENA(.pages = blocks * (p.held + 1) * block_pages, .block_pages = block_pages,
                    .zone_pages = p.zones ? block_pages : 0);
    g.bytes = 64u << p.order;
    g.swaps = p.swaps;
    hold(g.arena, g.bytes, blocks, p.held);
    atomic_store(&g.slot, p.swaps ? lfma_alloc(g.arena, g.bytes) : NULL);
    crew_run(&c, threads, threads, body, &g, stress_part(args, RUNS));
    printf("  %u threads, %u blocks of order %u%s%s: %llu calls, AGAIN %.4f %%\n", threads, blocks, p.order,
           p.zones ? ", a zone each" : "",
           p.held    ? ", swapped, far apart"
           : p.swaps ? ", swapped"
                     : "",
           (unsigned long long)c.operations, c.operations ? 100.0 * (double)c.again / (double)c.operations : 0.0);
    CHECK_CODE(lfma_free(g.arena, atomic_load(&g.slot)), LFMA_OK); /* NULL is nothing to free */
    const lfma_arena_stats_t s = arena_stats(g.arena);
    stress_false_nomem(s.failed_nomem + s.failed_fragmented);
    CHECK(s.failed_nomem == 0 && s.failed_fragmented == 0);
    CHECK(s.allocs == s.frees + blocks * p.held && s.failed_again == c.again);
    CHECK(arena_is_sound(g.arena));
    lfma_arena_destroy_forced(g.arena);
    return c.operations;
}

int main(int argc, char **argv)
{
    const stress_args args = stress_begin(argc, argv, 8, 4);
    const unsigned many = args.threads;
    uint64_t operations = 0;
    operations += run((struct plan){ .threads = 2 }, &args);
    operations += run((struct plan){ .threads = 2, .extra = 1 }, &args);
    operations += run((struct plan){ .threads = many }, &args);
    operations += run((struct plan){ .threads = many, .extra = 1, .order = 6 }, &args);
    operations += run((struct plan){ .threads = many, .order = 3, .zones = true }, &args);
    operations += run((struct plan){ .threads = many, .extra = 1, .zones = true }, &args);
    operations += run((struct plan){ .threads = 70 }, &args); /* two slices */
    operations += run((struct plan){ .threads = 70, .extra = 1, .order = 8 }, &args);
    operations += run((struct plan){ .threads = 2, .zones = true, .swaps = true }, &args);
    operations += run((struct plan){ .threads = 3, .order = 7, .zones = true, .swaps = true }, &args);
    operations += run((struct plan){ .threads = 2, .swaps = true, .held = 700 }, &args);
    operations += run((struct plan){ .threads = 2, .swaps = true, .held = 3000 }, &args);
    operations += run((struct plan){ .threads = 2, .swaps = true, .held = 9000 }, &args);
    operations += run((struct plan){ .threads = 3, .swaps = true, .held = 3000 }, &args);
    printf("  %llu calls, no false NOMEM\n", (unsigned long long)operations);
    return 0;
}
