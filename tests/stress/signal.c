/* SPDX-License-Identifier: MIT */
/*
 * I09: signal handlers that allocate and free on the arena whose calls they interrupt: from a timer and from a storm
 * of pthread_kill. A thread and its handler hold at most one block each, and there are so many: no NOMEM, no
 * FRAGMENTED. Then with caches, where most of what a handler interrupts is the short way.
 */
#include "support/arenas.h"
#include "support/check.h"
#include "support/payload.h"
#include "support/threads.h"

#include <errno.h>
#include <lfma/lfma.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

#define PAGE ((size_t)64)
#define ORDER_MAX 6u
#define KILLS_MAX 2000000u

static lfma_arena *arena;
static _Thread_local volatile sig_atomic_t registered; /* the thread has made its first call */
static _Thread_local unsigned handled;
static atomic_uint handler_calls, handler_codes[16];

static bool may_be_refused;

/* What a call may say when there is room. */
static bool may_fail(int code)
{
    return code == LFMA_E_AGAIN || code == LFMA_E_BUDGET ||
           (may_be_refused && (code == LFMA_E_NOMEM || code == LFMA_E_FRAGMENTED));
}

static int visit(unsigned order, uint64_t mark)
{
    void *block = NULL;
    const int code = lfma_try_alloc(arena, PAGE << order, 0, &block);
    if (code != LFMA_OK)
        return code;
    payload_write(block, PAGE << order, mark);
    if (!payload_holds(block, PAGE << order, mark))
        return LFMA_E_BROKEN;
    return lfma_free(arena, block);
}

static void handle(int number)
{
    (void)number;
    if (!registered)
        return;
    const int saved = errno;
    handled++;
    const int code = visit(handled % 3 ? 0 : ORDER_MAX, handled);
    (void)atomic_fetch_add_explicit(&handler_calls, 1, memory_order_relaxed);
    (void)atomic_fetch_add_explicit(&handler_codes[-code], 1, memory_order_relaxed);
    if (errno != saved)
        (void)atomic_fetch_add_explicit(&handler_codes[15], 1, memory_order_relaxed);
}

static void work(crew_member *self)
{
    void *const first = lfma_alloc(arena, 1);
    CHECK(first != NULL);
    CHECK_CODE(lfma_free(arena, first), LFMA_OK);
    registered = 1;
    while (crew_goes_on(self)) {
        const uint64_t dice = rng_below(&self->rng, 20);
        if (dice == 0) {
            const lfma_budget budget = { LFMA_UNLIMITED, 1 + rng_below(&self->rng, 40) };
            CHECK_CODE(lfma_coalesce(arena, &budget, NULL), LFMA_OK);
            continue;
        }
        const int code = visit(dice < 10 ? (unsigned)rng_below(&self->rng, ORDER_MAX) : ORDER_MAX,
                               rng_next(&self->rng));
        self->operations++;
        if (may_fail(code))
            self->again++;
        else
            CHECK_CODE(code, LFMA_OK);
    }
    registered = 0;
}

static void set_timer(int microseconds)
{
    const struct itimerval every = { { 0, microseconds }, { 0, microseconds } };
    const int code = setitimer(ITIMER_REAL, &every, NULL);
    CHECK(code == 0);
}

static unsigned storm(crew *c, double seconds)
{
    const double start = stress_now();
    unsigned kills = 0;
    while (kills < KILLS_MAX && (kills % 16 != 0 || stress_now() - start < seconds)) {
        const int code = pthread_kill(c->members[kills++ % c->count].thread, SIGUSR1);
        CHECK(code == 0 || code == EAGAIN);
        if (kills % 64 == 0)
            (void)sched_yield();
    }
    return kills;
}

/* Without caches there is room for all at every instant; with them, only almost always: a kept page takes a run. */
static void run(bool caches, const stress_args *args)
{
    static crew c;
    arena = ARENA(.pages = (size_t)((caches ? 8 : 2) * args->threads) << ORDER_MAX,
                  .block_pages = (size_t)1 << ORDER_MAX, .caches = caches);
    may_be_refused = caches;
    crew_start(&c, args->threads, work, NULL, args->seed);
    set_timer(50);
    const unsigned kills = storm(&c, args->seconds);
    set_timer(0);
    crew_join(&c);

    printf("  %llu calls, AGAIN %llu; %u kills, %u calls in handlers, AGAIN %u\n", (unsigned long long)c.operations,
           (unsigned long long)c.again, kills, atomic_load(&handler_calls),
           atomic_load(&handler_codes[-LFMA_E_AGAIN]));
    CHECK(atomic_load(&handler_calls) > 0);
    for (int code = LFMA_ERROR_LAST; code < 0; code++) {
        if (!may_fail(code) && atomic_load(&handler_codes[-code]) != 0)
            check_failed(__FILE__, __LINE__, "a code in a handler", code);
    }
    CHECK(atomic_load(&handler_codes[15]) == 0); /* errno */
    const lfma_arena_stats_t s = arena_stats(arena);
    CHECK(caches || (s.failed_nomem == 0 && s.failed_fragmented == 0));
    CHECK(s.bad_frees == 0 && s.allocs == s.frees && s.cached_bytes == 0);
    CHECK(arena_is_sound(arena));
    CHECK(arena_join_all(arena));
    CHECK(arena_is_fresh(arena));
    CHECK_CODE(lfma_arena_destroy(arena), LFMA_OK);
}

int main(int argc, char **argv)
{
    const stress_args args = stress_begin(argc, argv, 5, 4);
    CHECK(args.operations == 0); /* by the clock only */
    struct sigaction action = { .sa_handler = handle, .sa_flags = SA_RESTART };
    sigaddset(&action.sa_mask, SIGUSR1); /* a handler is not interrupted by the other: one block each */
    sigaddset(&action.sa_mask, SIGALRM);
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    const stress_args half = stress_part(&args, 2);
    run(false, &half);
    run(true, &half);
    return 0;
}
