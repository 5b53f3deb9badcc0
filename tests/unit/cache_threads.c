/* SPDX-License-Identifier: MIT */
/*
 * Whose caches they are: threads that are known to several arenas, arenas that go while their threads stay, and
 * processes that fork.
 */
#include "arena/arena.h"
#include "support/arenas.h"
#include "support/unit.h"

#include <lfma/lfma.h>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE ((size_t)64)

static void close_fresh(lfma_arena *arena)
{
    REQUIRE(arena_is_sound(arena) && arena_stats(arena).cached_bytes == 0, "sound, and nothing is kept");
    REQUIRE(arena_join_all(arena) && arena_is_fresh(arena), "not fresh");
    REQUIRE_CODE(lfma_arena_destroy(arena), LFMA_OK);
}

/* Fill the thread's own cache: pages that are freed again. */
static bool leave_some(lfma_arena *arena)
{
    void *blocks[40];
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned n = 0; n < 40; n++) {
            if ((blocks[n] = lfma_alloc(arena, PAGE)) != NULL)
                continue;
            int code; /* another thread may be cutting the one large block just now */
            while ((code = lfma_try_alloc(arena, PAGE, 0, &blocks[n])) == LFMA_E_AGAIN)
                sched_yield();
            if (code != LFMA_OK)
                return false;
        }
        for (unsigned n = 0; n < 40; n++) {
            if (lfma_free(arena, blocks[n]) != LFMA_OK)
                return false;
        }
    }
    return true;
}

/* ----------------------------------------------------------------------------------------------------- tickets */

/* One ticket serves several arenas: each call finds the slot of the arena that is called. */
Test(cache_threads, five_arenas_in_turns)
{
    enum { ARENAS = 9, BLOCKS = 100 };
    static char *blocks[ARENAS][BLOCKS];
    lfma_arena *arenas[ARENAS];
    rng random = { test_seed(0x5a1e) };
    for (unsigned i = 0; i < ARENAS; i++)
        arenas[i] = ARENA(.pages = 256, .caches = true, .threads_max = 1 + i,
                          .flags = i % 4 == 3 ? LFMA_HARDENED : 0);
    for (uint64_t n = 0; n < test_scaled(100000); n++) {
        const uint64_t i = n < 20000 ? n % ARENAS : rng_below(&random, ARENAS);
        char **const block = &blocks[i][rng_below(&random, BLOCKS)];
        if (*block)
            REQUIRE_CODE(lfma_free(arenas[i], *block), LFMA_OK);
        *block = *block ? NULL : lfma_alloc(arenas[i], PAGE << rng_below(&random, 2));
        REQUIRE(!*block || lfma__arena_offset(arenas[i], *block) < arenas[i]->bytes, "another arena's block");
        if (n % 1000 == 0) {
            for (unsigned k = 0; k < ARENAS; k++)
                REQUIRE(arena_is_sound(arenas[k]), "arena %u, call %" PRIu64, k, n);
        }
    }
    for (unsigned i = 0; i < ARENAS; i++) {
        for (unsigned k = 0; k < BLOCKS; k++)
            REQUIRE_CODE(lfma_free(arenas[i], blocks[i][k]), LFMA_OK);
        REQUIRE_CODE(lfma_cache_flush(arenas[i], NULL), LFMA_OK);
        close_fresh(arenas[i]);
    }
}

/* Threads that wait for each other, and the arena of the hour. */
static struct hall {
    pthread_barrier_t line, seconds_line;
    lfma_arena *arena, *again;
    bool failed;
    uint32_t number;
} hall;

static void *third_thread(void *unused)
{
    hall.failed |= !leave_some(hall.arena);
    hall.number = lfma__thread_self.index;
    (void)pthread_barrier_wait(&hall.line); /* used */
    (void)pthread_barrier_wait(&hall.line); /* replaced */
    if (hall.again) {
        const uint64_t name = hall.again->pool.name;
        hall.failed |= lfma__ticket_name(lfma__thread_ticket(&lfma__thread_self, name)) == name;
        hall.failed |= !leave_some(hall.again);
    }
    return unused;
}

static void *second_thread(void *unused)
{
    hall.failed |= !leave_some(hall.arena);
    (void)pthread_barrier_wait(&hall.seconds_line); /* has its number */
    (void)pthread_barrier_wait(&hall.seconds_line); /* the end */
    return unused;
}

static size_t mapped(const lfma_arena *arena)
{
    return (arena->metadata_bytes + 4095) / 4096 * 4096;
}

static uint64_t ticket_of(const lfma_arena *arena)
{
    return arena->pool.name & LFMA__TICKET_BITS;
}

/* In the place of an arena for three threads one for a single one, of the same ticket: pages fill the slots' room. */
static lfma_arena *open_in_its_place(lfma_arena *old)
{
    const size_t bytes = mapped(old);
    const uint64_t ticket = ticket_of(old);
    REQUIRE_CODE(lfma_arena_destroy(old), LFMA_OK);
    for (size_t n = 0; n < 4000; n++) {
        lfma_arena *const arena = ARENA(.pages = 1024 + n / 4 * 64, .caches = true, .threads_max = 1);
        if (mapped(arena) == bytes && arena == old && ticket_of(arena) == ticket)
            return arena;
        REQUIRE_CODE(lfma_arena_destroy(arena), LFMA_OK);
    }
    return ARENA(.pages = 1024, .caches = true, .threads_max = 1); /* this system maps elsewhere each time */
}

/* H16: an arena comes where another was, with fewer slots: a thread that knew that one has none in this one. */
Test(cache_threads, another_arena_at_the_same_address)
{
    pthread_t second, third;
    pthread_barrier_t *const line = &hall.line, *const seconds_line = &hall.seconds_line;
    cr_assert_eq(pthread_barrier_init(line, NULL, 2), 0);
    cr_assert_eq(pthread_barrier_init(seconds_line, NULL, 2), 0);
    hall.arena = ARENA(.pages = 1024, .caches = true, .threads_max = 3);
    REQUIRE(leave_some(hall.arena), "the first thread");
    cr_assert_eq(pthread_create(&second, NULL, second_thread, NULL), 0);
    (void)pthread_barrier_wait(seconds_line);
    cr_assert_eq(pthread_create(&third, NULL, third_thread, NULL), 0);
    (void)pthread_barrier_wait(line);
    REQUIRE(hall.number == 2, "%u", hall.number);
    REQUIRE(arena_stats(hall.arena).cached_bytes > 0, "nothing is kept");
    hall.again = open_in_its_place(hall.arena);
    (void)pthread_barrier_wait(line);
    cr_assert_eq(pthread_join(third, NULL), 0);
    REQUIRE(!hall.failed, "a call failed");
    const lfma_arena_stats_t s = arena_stats(hall.again);
    const uint64_t by_shared = lfma__a64_load_relaxed(&hall.again->slots[1].allocs[0]);
    REQUIRE(s.allocs == 120 && by_shared == 120, "%" PRIu64 " by the shared slot", by_shared);
    (void)pthread_barrier_wait(seconds_line);
    cr_assert_eq(pthread_join(second, NULL), 0);
    close_fresh(hall.again);
}

/* H16: an arena is destroyed while a thread that has kept something in it lives; it ends later, and calls nothing. */
Test(cache_threads, an_arena_goes_before_its_threads)
{
    cr_assert_eq(pthread_barrier_init(&hall.line, NULL, 2), 0);
    for (unsigned round = 0; round < 200; round++) {
        pthread_t thread;
        hall.arena = ARENA(.pages = 1024, .caches = true);
        hall.again = round % 2 ? ARENA(.pages = 512, .caches = true) : NULL;
        cr_assert_eq(pthread_create(&thread, NULL, third_thread, NULL), 0);
        (void)pthread_barrier_wait(&hall.line);
        REQUIRE(arena_stats(hall.arena).cached_bytes > 0, "nothing is kept");
        REQUIRE_CODE(lfma_arena_destroy(hall.arena), LFMA_OK);
        (void)pthread_barrier_wait(&hall.line);
        cr_assert_eq(pthread_join(thread, NULL), 0);
        REQUIRE(!hall.failed, "round %u", round);
        if (hall.again)
            close_fresh(hall.again);
    }
}

/* -------------------------------------------------------------------------------------------------------- fork */

#define THREADS 4u
#define PAGES ((size_t)4096)

static struct family {
    lfma_arena *arena;
    pthread_barrier_t line;
    void *blocks[THREADS]; /* one of each thread is out */
    lfma_cache *cache;
    void *of_cache;
} family;

static void *parents_thread(void *argument)
{
    void **const block = argument;
    void *result = leave_some(family.arena) ? NULL : argument;
    while ((*block = lfma_alloc(family.arena, PAGE)) == NULL)
        sched_yield();
    (void)pthread_barrier_wait(&family.line); /* at rest */
    (void)pthread_barrier_wait(&family.line); /* the child has ended */
    if (!leave_some(family.arena) || lfma_free(family.arena, *block) != LFMA_OK)
        result = argument;
    return result;
}

/* In the child a failure is its exit status: a number that tells which. */
#define EXPECT(condition)                                                                                            \
    do {                                                                                                             \
        if (!(condition))                                                                                            \
            _exit(__LINE__ % 200 + 1);                                                                               \
    } while (0)

static void *childs_thread(void *argument)
{
    lfma_arena *const own = ARENA(.pages = 512, .caches = true);
    EXPECT(leave_some(family.arena) && leave_some(own));
    *(uint32_t *)argument = lfma__thread_self.index;
    EXPECT(lfma_arena_destroy(own) == LFMA_OK);
    return NULL;
}

/* Threads of the child take the numbers of those that are no more, but none that a cache has. */
static void use_in_child(void)
{
    uint32_t numbers[THREADS];
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++)
        EXPECT(pthread_create(&threads[i], NULL, childs_thread, &numbers[i]) == 0);
    for (unsigned i = 0; i < THREADS; i++) {
        EXPECT(pthread_join(threads[i], NULL) == 0);
        EXPECT(family.arena->slots[numbers[i]].cache_of == NULL);
    }
    EXPECT(arena_is_sound(family.arena));
    EXPECT(lfma_cache_free(family.cache, family.of_cache) == LFMA_OK);
    EXPECT(lfma_cache_alloc(family.cache, PAGE) != NULL);
}

/* Everything is had that is not out: what the vanished threads had kept too. */
static void fill_in_child(void)
{
    size_t pages = 0;
    EXPECT(lfma_cache_flush(family.arena, family.cache) == LFMA_OK); /* that one is not vanished */
    while (lfma_alloc(family.arena, PAGE))
        pages++;
    EXPECT(pages == PAGES - THREADS - 1);
    EXPECT(arena_stats(family.arena).cached_bytes == 0);
    EXPECT(arena_is_sound(family.arena));
    for (uint64_t page = 0; page < PAGES; page++)
        EXPECT(lfma_free(family.arena, (char *)family.arena->base + page * PAGE) == LFMA_OK);
    lfma_cache_destroy(family.cache);
    EXPECT(lfma_cache_flush(family.arena, NULL) == LFMA_OK);
    EXPECT(arena_is_sound(family.arena) && arena_join_all(family.arena) && arena_is_fresh(family.arena));
    EXPECT(lfma_arena_destroy(family.arena) == LFMA_OK);
}

/* H02: fork at rest: the child goes on with the arena, whoever it was that had kept something; the parent as well. */
Test(cache_threads, fork_at_rest)
{
    for (unsigned way = 0; way < 3; way++) {
        pthread_t threads[THREADS];
        family.arena = ARENA(.pages = PAGES, .caches = true);
        cr_assert_eq(pthread_barrier_init(&family.line, NULL, THREADS + 1), 0);
        REQUIRE(leave_some(family.arena), "the first thread");
        REQUIRE_CODE(lfma_cache_create(family.arena, &family.cache), LFMA_OK);
        for (unsigned i = 0; i < THREADS; i++)
            cr_assert_eq(pthread_create(&threads[i], NULL, parents_thread, &family.blocks[i]), 0);
        (void)pthread_barrier_wait(&family.line);
        family.of_cache = lfma_cache_alloc(family.cache, PAGE);
        const size_t kept = arena_stats(family.arena).cached_bytes;
        REQUIRE(kept > 40 * PAGE, "%zu bytes are kept", kept);
        const pid_t child = fork();
        cr_assert(child >= 0);
        if (child == 0) {
            if (way > 0)
                use_in_child();
            if (way < 2)
                fill_in_child();
            _exit(0);
        }
        int status = -1;
        cr_assert_eq(waitpid(child, &status, 0), child);
        REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0, "way %u: status 0x%x", way, (unsigned)status);
        REQUIRE(arena_stats(family.arena).cached_bytes == kept, "the parent's arena has changed");
        REQUIRE_CODE(lfma_cache_free(family.cache, family.of_cache), LFMA_OK);
        (void)pthread_barrier_wait(&family.line);
        for (unsigned i = 0; i < THREADS; i++) {
            void *failed = NULL;
            cr_assert_eq(pthread_join(threads[i], &failed), 0);
            REQUIRE(failed == NULL, "thread %u", i);
        }
        lfma_cache_destroy(family.cache);
        REQUIRE_CODE(lfma_cache_flush(family.arena, NULL), LFMA_OK);
        close_fresh(family.arena);
    }
}
