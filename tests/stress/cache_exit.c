/* SPDX-License-Identifier: MIT */
/*
 * Threads end in every way that there is, and leave nothing in their caches: by return, by pthread_exit(), cancelled,
 * or with a destructor of thread-local data that calls once more, before the library's own or after it (I04). Arenas
 * come and go meanwhile, and are destroyed before threads that have used them end (H16).
 */
#include "arena/arena.h"
#include "support/arenas.h"
#include "support/check.h"
#include "support/threads.h"

#include <lfma/lfma.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PAGE ((size_t)64)
#define BATCH 8u

static lfma_arena *arena;
static pthread_key_t before_key, after_key; /* made before and after the library's own */
static atomic_uint destructors;

enum way { RETURN, EXIT, CANCEL, BEFORE, AFTER, BOTH, WAYS };

/* There is always room, but another thread may be cutting the one large block just now. */
static void *take(lfma_arena *of, size_t bytes)
{
    void *block = NULL;
    int code;
    while ((code = lfma_try_alloc(of, bytes, 0, &block)) == LFMA_E_AGAIN || code == LFMA_E_BUDGET)
        sched_yield();
    CHECK_CODE(code, LFMA_OK);
    return block;
}

static void use(lfma_arena *of)
{
    void *blocks[24];
    for (unsigned n = 0; n < 24; n++)
        blocks[n] = n % 2 ? take(of, PAGE << n % 3) : lfma_alloc(of, PAGE << n % 3);
    for (unsigned n = 0; n < 24; n++)
        CHECK_CODE(lfma_free(of, blocks[n]), LFMA_OK);
}

static void call_late(void *block)
{
    const uint64_t ticket = lfma__ticket_name(lfma__thread_ticket(&lfma__thread_self, arena->pool.name));
    CHECK(lfma__thread_self.index != LFMA__THREAD_SHARED || ticket != arena->pool.name);
    CHECK_CODE(lfma_free(arena, block), LFMA_OK);
    use(arena);
    (void)atomic_fetch_add(&destructors, 1);
}

static void leave_block(pthread_key_t key)
{
    const int code = pthread_setspecific(key, take(arena, PAGE));
    CHECK(code == 0);
}

struct life {
    pthread_t thread;
    enum way way;
    sem_t used; /* it only sleeps from here on */
};

/* ThreadSanitizer is blind in a thread that was cancelled while it blocks: there it is cancelled in between. */
static _Noreturn void sleep_for_ever(void)
{
    for (;;) {
        pthread_testcancel();
        if (test_is_sanitized())
            sched_yield();
        else
            (void)pause();
    }
}

static void *live(void *argument)
{
    struct life *const life = argument;
    use(arena);
    switch (life->way) {
    case EXIT:
        pthread_exit(NULL);
    case CANCEL:
        (void)sem_post(&life->used);
        sleep_for_ever();
    case BEFORE:
        leave_block(before_key);
        break;
    case AFTER:
        leave_block(after_key);
        break;
    case BOTH:
        leave_block(before_key);
        leave_block(after_key);
        break;
    case RETURN:
    case WAYS:
        break;
    }
    return NULL;
}

static void run_batch(struct life *lives, unsigned born)
{
    for (unsigned i = 0; i < BATCH; i++) {
        lives[i].way = (enum way)((born + i) % WAYS);
        const int code = pthread_create(&lives[i].thread, NULL, live, &lives[i]);
        CHECK(code == 0);
    }
    for (unsigned i = 0; i < BATCH; i++) {
        if (lives[i].way == CANCEL) {
            while (sem_wait(&lives[i].used) != 0) {
            }
            const int code = pthread_cancel(lives[i].thread);
            CHECK(code == 0);
        }
        void *result = NULL;
        const int code = pthread_join(lives[i].thread, &result);
        CHECK(code == 0 && result == (lives[i].way == CANCEL ? PTHREAD_CANCELED : NULL));
    }
}

static void end_in_every_way(unsigned threads)
{
    struct life lives[BATCH];
    for (unsigned i = 0; i < BATCH; i++)
        (void)sem_init(&lives[i].used, 0, 0);
    int code = pthread_key_create(&before_key, call_late);
    CHECK(code == 0);
    arena = ARENA(.pages = 2048, .caches = true);
    code = pthread_key_create(&after_key, call_late);
    CHECK(code == 0);
    unsigned born = 0;
    for (; born < threads; born += BATCH) {
        run_batch(lives, born);
        CHECK(arena_stats(arena).cached_bytes == 0);
    }
    const lfma_arena_stats_t s = arena_stats(arena);
    printf("  %u threads, %u late calls\n", born, atomic_load(&destructors));
    CHECK(atomic_load(&destructors) >= born / WAYS * 4 - BATCH);
    CHECK(s.allocs == s.frees && s.bad_frees == 0 && s.free_bytes == s.bytes);
    CHECK(arena_is_sound(arena) && arena_join_all(arena) && arena_is_fresh(arena));
    CHECK_CODE(lfma_arena_destroy(arena), LFMA_OK);
    stress_count(born);
}

/* ---------------------------------------------------------------------------- arenas that go before their threads */

/* One of a batch that uses an arena, says so, and ends whenever it ends. */
struct guest {
    lfma_arena *of;
    sem_t *used;
};

static void *visit(void *argument)
{
    const struct guest guest = *(const struct guest *)argument;
    use(guest.of);
    lfma_arena *const own = ARENA(.pages = 256, .caches = true);
    use(own);
    CHECK_CODE(lfma_arena_destroy(own), LFMA_OK);
    (void)sem_post(guest.used);
    return NULL;
}

/* All calls on the arena are over; the threads are about to end, and what they keep is free in the count. */
static void destroy_while_they_end(unsigned rounds)
{
    sem_t used;
    (void)sem_init(&used, 0, 0);
    for (unsigned round = 0; round < rounds; round++) {
        pthread_t threads[BATCH];
        struct guest guest = { ARENA(.pages = 4096, .caches = true), &used };
        for (unsigned i = 0; i < BATCH; i++) {
            const int code = pthread_create(&threads[i], NULL, visit, &guest);
            CHECK(code == 0);
        }
        for (unsigned i = 0; i < BATCH; i++) {
            while (sem_wait(&used) != 0) {
            }
        }
        CHECK_CODE(lfma_arena_destroy(guest.of), LFMA_OK);
        for (unsigned i = 0; i < BATCH; i++) {
            const int code = pthread_join(threads[i], NULL);
            CHECK(code == 0);
        }
    }
    stress_count(rounds);
}

int main(int argc, char **argv)
{
    const stress_args args = stress_begin(argc, argv, 5, 4);
    const bool quick = getenv("LFMA_TEST_QUICK") || test_is_sanitized() || args.seconds < 5;
    end_in_every_way(quick ? 10000 : 100000);
    destroy_while_they_end((unsigned)test_scaled(3000));
    return 0;
}
