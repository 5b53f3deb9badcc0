/* SPDX-License-Identifier: MIT */
/*
 * Racing frees of one block in a hardened arena: exactly one is LFMA_OK, all others LFMA_E_DOUBLE_FREE. In a plain
 * one every second free by the same thread is caught. Both without caches, and with them.
 */
#include "support/arenas.h"
#include "support/check.h"
#include "support/threads.h"

#include <lfma/lfma.h>
#include <stdio.h>

#define ROUNDS 100000u

struct race {
    lfma_arena *arena;
    unsigned rounds; /* at most; the time may end it before */
    start_line line;
    _Atomic(void *) block; /* NULL: the race is over */
    atomic_uint ok, twice, other;
};

/* One round of the leader: let all free the block, count what they got. */
static void check_round(struct race *r, unsigned threads)
{
    CHECK(atomic_load(&r->other) == 0);
    CHECK(atomic_load(&r->ok) == 1);
    CHECK(atomic_load(&r->twice) == threads - 1);
    atomic_store(&r->ok, 0);
    atomic_store(&r->twice, 0);
}

static void body(crew_member *self)
{
    struct race *const r = self->context;
    const unsigned threads = self->crew->count;
    for (unsigned round = 0;; round++) {
        if (self->index == 0) {
            void *block = NULL;
            if (round < r->rounds && crew_goes_on(self))
                CHECK_CODE(lfma_try_alloc(r->arena, 64u << rng_below(&self->rng, 8), 0, &block), LFMA_OK);
            atomic_store(&r->block, block);
        }
        start_line_wait(&r->line);
        void *const block = atomic_load(&r->block);
        if (!block)
            return;
        const int code = lfma_free(r->arena, block);
        (void)atomic_fetch_add(code == LFMA_OK ? &r->ok : code == LFMA_E_DOUBLE_FREE ? &r->twice : &r->other, 1);
        start_line_wait(&r->line);
        if (self->index == 0) {
            check_round(r, threads);
            self->operations++;
        }
    }
}

static void run(unsigned threads, unsigned rounds, double seconds, bool caches, const stress_args *args)
{
    static crew c;
    static struct race r;
    r = (struct race){ .rounds = rounds };
    start_line_init(&r.line, threads);
    r.arena = ARENA(.pages = 256, .flags = LFMA_HARDENED, .caches = caches);
    const double start = stress_now();
    crew_start(&c, threads, body, &r, args->seed);
    while (stress_now() - start < seconds && atomic_load(&r.block) == NULL) {
    }
    /* The race may end long before its time: look from time to time. */
    while (stress_now() - start < seconds && atomic_load(&r.block) != NULL)
        crew_wait(0.01);
    crew_join(&c);
    printf("  %u threads%s: %llu rounds\n", threads, caches ? ", caches" : "", (unsigned long long)c.operations);
    CHECK(c.operations > 0);
    const lfma_arena_stats_t s = arena_stats(r.arena);
    CHECK(s.frees == c.operations && s.bad_frees == c.operations * (threads - 1));
    CHECK(arena_is_sound(r.arena));
    CHECK(arena_join_all(r.arena));
    CHECK(arena_is_fresh(r.arena));
    CHECK_CODE(lfma_arena_destroy(r.arena), LFMA_OK);
}

/* Sequential: the first free is right, every later one is wrong until the page is handed out again. */
static void run_plain(bool caches, const stress_args *args)
{
    lfma_arena *const arena = ARENA(.pages = 300, .caches = caches);
    rng random = { args->seed };
    void *blocks[40] = { NULL };
    for (unsigned n = 0; n < ROUNDS; n++) {
        void **const slot = &blocks[rng_below(&random, 40)];
        if (!*slot) {
            *slot = lfma_alloc(arena, 64u << rng_below(&random, 5));
            continue;
        }
        CHECK_CODE(lfma_free(arena, *slot), LFMA_OK);
        CHECK_CODE(lfma_free(arena, *slot), LFMA_E_DOUBLE_FREE);
        if (rng_below(&random, 50) == 0) {
            CHECK(arena_join_all(arena));
            CHECK(lfma_block_of(arena, *slot) == NULL);
            CHECK_CODE(lfma_free(arena, *slot), LFMA_E_DOUBLE_FREE);
        }
        *slot = NULL;
    }
    CHECK(arena_is_sound(arena));
    lfma_arena_destroy_forced(arena);
}

int main(int argc, char **argv)
{
    const stress_args args = stress_begin(argc, argv, 5, 4);
    CHECK(args.operations == 0); /* by the clock only */
    for (unsigned caches = 0; caches < 2; caches++) {
        run_plain(caches, &args);
        run(2, ROUNDS, args.seconds * 0.2, caches, &args);
        run(args.threads, ROUNDS, args.seconds * 0.3, caches, &args);
    }
    return 0;
}
