/* SPDX-License-Identifier: MIT */
/*
 * A22: all threads ask again and again for runs that are not there, of a checkerboard: each call ends, with the truth
 * or AGAIN, and changes nothing. The thread that asks alone in between is always told the truth.
 */
#include "support/arenas.h"
#include "support/check.h"
#include "support/threads.h"

#include <lfma/lfma.h>
#include <stdio.h>

#define PAGE ((size_t)64)
#define PAGES 512u

static int ask(lfma_arena *arena, unsigned order)
{
    void *const untouched = &arena;
    void *block = untouched;
    const int code = lfma_try_alloc(arena, PAGE << order, 0, &block);
    CHECK(block == untouched);
    return code;
}

static int truth(unsigned order)
{
    return (1u << order) > PAGES / 2 ? LFMA_E_NOMEM : LFMA_E_FRAGMENTED;
}

static void body(crew_member *self)
{
    lfma_arena *const arena = self->context;
    while (crew_goes_on(self)) {
        const unsigned order = 1 + (unsigned)rng_below(&self->rng, 9);
        const int code = ask(arena, order);
        self->operations++;
        self->again += code == LFMA_E_AGAIN;
        if (code != LFMA_E_AGAIN)
            CHECK_CODE(code, truth(order));
    }
}

int main(int argc, char **argv)
{
    static crew c;
    const stress_args args = stress_begin(argc, argv, 4, 4);
    /* No limit of time: a thread that is stopped for long would rightly hear BUDGET. */
    lfma_arena *const arena = ARENA(.pages = PAGES, .budget = LFMA_BUDGET_ALL);
    char *const base = arena_stats(arena).base;
    for (unsigned page = 0; page < PAGES; page++)
        CHECK(lfma_alloc(arena, 1) != NULL);
    for (unsigned page = 1; page < PAGES; page += 2)
        CHECK_CODE(lfma_free(arena, base + page * PAGE), LFMA_OK);
    const uint64_t calls = test_scaled(1000000);
    for (uint64_t n = 0; n < calls; n++)
        CHECK_CODE(ask(arena, 1 + (unsigned)(n % 9)), truth(1 + (unsigned)(n % 9)));
    const lfma_arena_stats_t before = arena_stats(arena);
    crew_run(&c, args.threads, args.threads, body, arena, args);
    printf("  %llu calls, AGAIN %.4f %%\n", (unsigned long long)c.operations,
           100.0 * (double)c.again / (double)(c.operations ? c.operations : 1));
    const lfma_arena_stats_t after = arena_stats(arena);
    CHECK(c.operations > c.again);
    CHECK(after.allocs == before.allocs && after.free_bytes == before.free_bytes);
    CHECK(after.failed_again == c.again && after.failed_budget == 0);
    CHECK(after.failed_nomem + after.failed_fragmented - before.failed_nomem - before.failed_fragmented ==
          c.operations - c.again);
    CHECK(arena_is_sound(arena));
    lfma_arena_destroy_forced(arena);
    return 0;
}
