/* SPDX-License-Identifier: MIT */
/*
 * Threads that come and go: their numbers are given back and used again, a free in a destructor of thread-local data
 * works whichever destructor runs first (I04), and more threads than owner slots share the last one.
 */
#include "os/os.h"
#include "support/arenas.h"
#include "support/check.h"
#include "support/threads.h"

#include <lfma/lfma.h>
#include <stdio.h>

#define BATCH 8u
#define THREADS_MIN 10000u

static lfma_arena *arena;
static pthread_key_t before_key, after_key; /* made before and after the library's own */
static atomic_uint destructors;

static void free_late(void *block)
{
    CHECK_CODE(lfma_free(arena, block), LFMA_OK);
    void *const again = lfma_alloc(arena, 100); /* a call of a thread that is ending */
    CHECK(again != NULL);
    CHECK_CODE(lfma_free(arena, again), LFMA_OK);
    (void)atomic_fetch_add(&destructors, 1);
}

static void leave_block(pthread_key_t key)
{
    void *const block = lfma_alloc(arena, 64);
    CHECK(block != NULL);
    const int code = pthread_setspecific(key, block);
    CHECK(code == 0);
}

static void *short_life(void *argument)
{
    const uintptr_t number = (uintptr_t)argument;
    for (unsigned n = 0; n < 4; n++) {
        void *const block = lfma_alloc(arena, 1 + number % 500);
        CHECK(block != NULL);
        CHECK_CODE(lfma_free(arena, block), LFMA_OK);
    }
    if (number % 3 == 0)
        leave_block(before_key);
    if (number % 4 == 0)
        leave_block(after_key);
    return NULL;
}

static unsigned run_batches(double seconds)
{
    const double start = stress_now();
    unsigned born = 0;
    while (born < THREADS_MIN || stress_now() - start < seconds) {
        pthread_t threads[BATCH];
        for (unsigned i = 0; i < BATCH; i++) {
            const int code = pthread_create(&threads[i], NULL, short_life, (void *)(uintptr_t)(born + i));
            CHECK(code == 0);
        }
        for (unsigned i = 0; i < BATCH; i++) {
            const int code = pthread_join(threads[i], NULL);
            CHECK(code == 0);
        }
        born += BATCH;
    }
    return born;
}

static void come_and_go(double seconds)
{
    int code = pthread_key_create(&before_key, free_late);
    CHECK(code == 0);
    arena = ARENA(.pages = 1000);
    code = pthread_key_create(&after_key, free_late);
    CHECK(code == 0);
    const unsigned born = run_batches(seconds);
    const lfma_arena_stats_t s = arena_stats(arena);
    printf("  %u threads, %u destructors, numbers up to %llu\n", born, atomic_load(&destructors),
           (unsigned long long)lfma__thread_high_water());
    CHECK(lfma__thread_high_water() <= BATCH + 2);
    CHECK(atomic_load(&destructors) >= born / 3);
    CHECK(s.allocs == s.frees && s.bad_frees == 0 && s.free_bytes == s.bytes);
    CHECK(arena_is_sound(arena));
    CHECK(arena_join_all(arena));
    CHECK(arena_is_fresh(arena));
    CHECK_CODE(lfma_arena_destroy(arena), LFMA_OK);
}

/* N threads, N blocks, two owner slots: who frees its own finds another. */
static void body(crew_member *self)
{
    void *block = NULL;
    while (crew_goes_on(self)) {
        const unsigned order = self->context ? (unsigned)rng_below(&self->rng, 3) : 0;
        const int code = lfma_try_alloc(arena, 64u << order, 0, &block);
        self->operations++;
        if (code == LFMA_E_AGAIN) {
            self->again++;
            continue;
        }
        CHECK_CODE(code, LFMA_OK);
        CHECK_CODE(lfma_free(arena, block), LFMA_OK);
    }
}

static void share_a_slot(unsigned threads, bool split, const stress_args *args)
{
    static crew c;
    arena = ARENA(.pages = split ? 4 * threads : threads, .threads_max = 2, .block_pages = split ? 4 : 1);
    crew_run(&c, threads, threads, body, split ? &c : NULL, stress_part(args, 4));
    const lfma_arena_stats_t s = arena_stats(arena);
    printf("  %u threads over 2 slots%s: %llu calls, AGAIN %.4f %%\n", threads, split ? ", split" : "",
           (unsigned long long)c.operations, 100.0 * (double)c.again / (double)(c.operations ? c.operations : 1));
    CHECK(s.failed_nomem == 0 && s.failed_fragmented == 0 && s.allocs == s.frees);
    CHECK(s.allocs + s.failed_again == c.operations);
    CHECK(arena_is_sound(arena));
    CHECK(arena_join_all(arena));
    CHECK(arena_is_fresh(arena));
    CHECK_CODE(lfma_arena_destroy(arena), LFMA_OK);
}

int main(int argc, char **argv)
{
    const stress_args args = stress_begin(argc, argv, 5, 6);
    come_and_go(args.seconds / 2);
    share_a_slot(args.threads, false, &args);
    share_a_slot(args.threads, true, &args);
    return 0;
}
