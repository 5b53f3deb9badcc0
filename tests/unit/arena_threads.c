/* SPDX-License-Identifier: MIT */
/* The public calls from several threads that live at once: their slots, their home zones, their failures. */
#include "arena/arena.h"
#include "support/arenas.h"
#include "support/unit.h"

#include <lfma/lfma.h>
#include <pthread.h>

#define THREADS_MAX 8u

/* What threads share that must all be alive at some instant. */
struct meeting {
    lfma_arena *arena;
    pthread_barrier_t all_here;
};

/* Run `count` threads; each returns NULL if all went well with it. */
static void run(struct meeting *m, unsigned count, void *(*body)(void *meeting))
{
    pthread_t threads[THREADS_MAX];
    cr_assert_eq(pthread_barrier_init(&m->all_here, NULL, count), 0);
    for (unsigned i = 0; i < count; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, body, m), 0);
    for (unsigned i = 0; i < count; i++) {
        void *failed = m;
        cr_assert_eq(pthread_join(threads[i], &failed), 0);
        REQUIRE(failed == NULL, "thread %u of %u", i, count);
    }
    cr_assert_eq(pthread_barrier_destroy(&m->all_here), 0);
}

static void close_fresh(lfma_arena *arena)
{
    REQUIRE(arena_is_sound(arena) && arena_join_all(arena) && arena_is_fresh(arena), "fresh");
    REQUIRE_CODE(lfma_arena_destroy(arena), LFMA_OK);
}

static void *alloc_and_free(void *meeting)
{
    const struct meeting *const m = meeting;
    for (unsigned n = 0; n < 1000; n++) {
        void *const block = lfma_alloc(m->arena, 1 + n % 300);
        if (!block || lfma_free(m->arena, block) != LFMA_OK)
            return meeting;
    }
    return NULL;
}

/* More threads at once than owner slots, one slot and all others over the shared one. */
Test(arena_threads, beyond_the_limit)
{
    struct meeting m = { .arena = ARENA(.pages = 1000, .threads_max = 1) };
    run(&m, 8, alloc_and_free);
    const lfma_arena_stats_t s = arena_stats(m.arena);
    REQUIRE(s.allocs == 8000 && s.frees == 8000 && s.free_bytes == s.bytes, "%" PRIu64, s.allocs);
    close_fresh(m.arena);
}

/* One block each, while all have a number: it comes from the zone of the number, modulo the zones there are. */
static void *take_at_home(void *meeting)
{
    struct meeting *const m = meeting;
    char *const block = lfma_alloc(m->arena, 1);
    (void)pthread_barrier_wait(&m->all_here);
    const uint32_t index = lfma__thread_self.index;
    const uintptr_t zone = block ? (uintptr_t)(block - (char *)m->arena->base) >>
                                       (m->arena->pool.row.pages_log2 + m->arena->page_shift)
                                 : UINTPTR_MAX;
    const bool at_home = zone == index % m->arena->pool.row.count;
    const bool given_back = block && lfma_free(m->arena, block) == LFMA_OK;
    return at_home && given_back ? NULL : meeting;
}

/* As many zones as threads, more, and fewer. */
Test(arena_threads, start_in_the_zones_of_their_numbers)
{
    for (unsigned zones = 1; zones <= 9; zones++) {
        struct meeting m = { .arena = ARENA(.pages = zones * 4096, .zone_pages = 4096, .block_pages = 64) };
        REQUIRE(m.arena->pool.row.count == zones, "%u zones", m.arena->pool.row.count);
        run(&m, 7, take_at_home);
        close_fresh(m.arena);
    }
}

/* Threads beyond the limit, all alive, over the shared slot: what fails for want of memory is proved there too. */
static void *fail_with_nomem(void *meeting)
{
    struct meeting *const m = meeting;
    void *block = NULL;
    (void)lfma_free(m->arena, &block); /* a number, if there is one */
    (void)pthread_barrier_wait(&m->all_here);
    const int code = lfma_try_alloc(m->arena, 1, 0, &block);
    (void)pthread_barrier_wait(&m->all_here);
    return code == LFMA_E_NOMEM ? NULL : meeting;
}

Test(arena_threads, nomem_with_more_threads_than_slots)
{
    struct meeting m = { .arena = ARENA(.pages = 64, .threads_max = 2) };
    for (unsigned page = 0; page < 64; page++)
        cr_assert_not_null(lfma_alloc(m.arena, 1));
    run(&m, 5, fail_with_nomem);
    const lfma_arena_stats_t s = arena_stats(m.arena);
    REQUIRE(s.failed_nomem == 5 && s.bad_frees == 5, "%" PRIu64, s.failed_nomem);
    const uint64_t shared = lfma__a64_load_relaxed(&m.arena->slots[2].owner.counters[LFMA__FAILED_NOMEM]);
    REQUIRE(shared >= 3, "%" PRIu64 " of five over the shared slot", shared);
    lfma_arena_destroy_forced(m.arena);
}
