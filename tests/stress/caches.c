/* SPDX-License-Identifier: MIT */
/*
 * Caches in use: producers hand blocks to consumers, and everybody flushes now and then; what a block's last owner
 * wrote plainly comes before what its next one does (C04), whether it came by a table or by a cache. At the end
 * nothing is lost (I07). And the first calls of many threads at once, each another entry (G08, I06).
 */
#include "support/arenas.h"
#include "support/channel.h"
#include "support/check.h"
#include "support/threads.h"

#include <lfma/lfma.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#define PAGE ((size_t)64)
#define WORDS (PAGE / 8)
#define PRODUCERS 2u
#define HELD_MAX 64u

struct market {
    lfma_arena *arena;
    unsigned order_max;
    bool by_handle; /* each thread has a cache of its own making */
    channel channels[PRODUCERS];
};

/* Every page bears one number, in its first and last word. */
static void check_pages(const uint64_t *words, size_t pages)
{
    for (size_t p = 0; p < pages; p++)
        CHECK(words[p * WORDS] == words[p * WORDS + WORDS - 1]);
}

static void write_pages(uint64_t *words, size_t pages, uint64_t mark)
{
    for (size_t p = 0; p < pages; p++) {
        words[p * WORDS] = mark;
        words[p * WORDS + WORDS - 1] = mark;
    }
}

static void *take(const struct market *m, lfma_cache *cache, size_t bytes)
{
    void *block = NULL;
    const int code = cache ? lfma_cache_try_alloc(cache, bytes, 0, 0, &block)
                           : lfma_try_alloc(m->arena, bytes, 0, &block);
    CHECK(code == LFMA_OK || code == LFMA_E_NOMEM || code == LFMA_E_FRAGMENTED || code == LFMA_E_AGAIN ||
          code == LFMA_E_BUDGET);
    return block;
}

static void release(const struct market *m, lfma_cache *cache, uint64_t *words)
{
    const size_t pages = lfma_usable_size(m->arena, words) / PAGE;
    CHECK(pages > 0);
    check_pages(words, pages);
    write_pages(words, pages, pages);
    CHECK_CODE(cache ? lfma_cache_free(cache, words) : lfma_free(m->arena, words), LFMA_OK);
}

static void *make(const struct market *m, lfma_cache *cache, rng *random)
{
    const unsigned order = (unsigned)rng_below(random, m->order_max + 1u);
    uint64_t *const words = take(m, cache, PAGE << order);
    if (words) {
        check_pages(words, (size_t)1 << order);
        write_pages(words, (size_t)1 << order, rng_next(random));
    }
    return words;
}

/* Producers put what they make into their channel, consumers free what they get; both keep some for themselves. */
static void trade(crew_member *self)
{
    struct market *const m = self->context;
    const bool produces = self->index < PRODUCERS;
    void *held[HELD_MAX] = { NULL };
    lfma_cache *cache = NULL;
    if (m->by_handle)
        CHECK_CODE(lfma_cache_create(m->arena, &cache), LFMA_OK);
    while (crew_goes_on(self)) {
        void **const place = &held[rng_below(&self->rng, HELD_MAX)];
        if (*place) {
            release(m, cache, *place);
            *place = NULL;
        } else if (rng_below(&self->rng, 4) == 0) {
            *place = make(m, cache, &self->rng);
        }
        channel *const c = &m->channels[produces ? self->index : rng_below(&self->rng, PRODUCERS)];
        if (produces) {
            void *const block = make(m, cache, &self->rng);
            if (block && !channel_put(c, block)) {
                release(m, cache, block);
                sched_yield();
            }
        } else {
            void *const block = channel_get(c);
            if (block)
                release(m, cache, block);
        }
        if (rng_below(&self->rng, 1000) == 0)
            CHECK_CODE(lfma_cache_flush(m->arena, cache), LFMA_OK);
        self->operations++;
    }
    for (unsigned i = 0; i < HELD_MAX; i++) {
        if (held[i])
            release(m, cache, held[i]);
    }
    lfma_cache_destroy(cache);
}

static void run_market(size_t pages, unsigned order_max, uint32_t flags, bool by_handle, size_t cache_pages,
                       const stress_args *args)
{
    static crew c;
    static struct market m;
    m = (struct market){ .order_max = order_max, .by_handle = by_handle };
    m.arena = ARENA(.pages = pages, .caches = true, .cache_pages = cache_pages, .flags = flags);
    memset(arena_stats(m.arena).base, 0, pages * PAGE); /* on TSan's books as written before the threads were born */
    for (unsigned i = 0; i < PRODUCERS; i++)
        channel_init(&m.channels[i]);
    const unsigned threads = args->threads > PRODUCERS ? args->threads : PRODUCERS + 1;
    crew_run(&c, threads, threads, trade, &m, stress_part(args, 6));
    uint64_t left = 0;
    for (unsigned i = 0; i < PRODUCERS; i++) {
        for (void *block; (block = channel_get(&m.channels[i])) != NULL; left++)
            release(&m, NULL, block);
    }
    const lfma_arena_stats_t s = arena_stats(m.arena);
    printf("  %zu pages, orders to %u%s%s: %llu steps, %llu allocations, %llu left over\n", pages, order_max,
           flags ? ", hardened" : "", by_handle ? ", by handles" : "", (unsigned long long)c.operations,
           (unsigned long long)s.allocs, (unsigned long long)left);
    CHECK(s.allocs == s.frees && s.bad_frees == 0 && s.allocated_bytes == 0);
    CHECK(arena_is_sound(m.arena));
    CHECK_CODE(lfma_cache_flush(m.arena, NULL), LFMA_OK);
    CHECK(arena_stats(m.arena).cached_bytes == 0);
    CHECK(arena_is_sound(m.arena) && arena_join_all(m.arena) && arena_is_fresh(m.arena));
    CHECK_CODE(lfma_arena_destroy(m.arena), LFMA_OK);
}

/* ---------------------------------------------------------------------------------------------------- first calls */

#define FIRST_THREADS 32u
#define ENTRIES 9u

struct first {
    lfma_arena *arena;
    start_line line;
    unsigned round;
};

/* There is always room, but another thread may be cutting the one large block just now. */
static void alloc_and_free(lfma_arena *arena)
{
    void *block = NULL;
    int code;
    while ((code = lfma_try_alloc(arena, 1, 0, &block)) == LFMA_E_AGAIN)
        sched_yield();
    CHECK_CODE(code, LFMA_OK);
    CHECK_CODE(lfma_free(arena, block), LFMA_OK);
}

/* The very first call of a thread, one of all entries; then it goes on as any other. */
static void call_first(lfma_arena *arena, unsigned entry)
{
    lfma_arena_stats_t stats = LFMA_ARENA_STATS_INIT;
    lfma_cache *cache = NULL;
    void *block = NULL;
    switch (entry) {
    case 0:
        CHECK_CODE(lfma_free(arena, lfma_alloc(arena, 1)), LFMA_OK);
        break;
    case 1:
        alloc_and_free(arena);
        break;
    case 2:
        CHECK_CODE(lfma_free(arena, &block), LFMA_E_FOREIGN);
        break;
    case 3:
        CHECK_CODE(lfma_cache_flush(arena, NULL), LFMA_OK);
        break;
    case 4:
        CHECK_CODE(lfma_coalesce(arena, &(lfma_budget)LFMA_BUDGET_STEPS(10), NULL), LFMA_OK);
        break;
    case 5:
        CHECK_CODE(lfma_arena_stats(arena, &stats), LFMA_OK);
        break;
    case 6:
        CHECK_CODE(lfma_cache_create(arena, &cache), LFMA_OK);
        CHECK_CODE(lfma_cache_free(cache, lfma_cache_alloc(cache, 1)), LFMA_OK); /* or NULL: the same */
        lfma_cache_destroy(cache);
        break;
    case 7:
        lfma_arena_destroy_forced(ARENA(.pages = 8, .caches = true));
        break;
    default:
        CHECK(lfma_usable_size(arena, arena) == 0);
    }
}

static void first_calls(crew_member *self)
{
    struct first *const f = self->context;
    start_line_wait(&f->line);
    call_first(f->arena, (self->index + f->round) % ENTRIES);
    for (unsigned n = 0; n < 100; n++)
        alloc_and_free(f->arena);
}

static void run_first_calls(unsigned rounds)
{
    static crew c;
    for (unsigned round = 0; round < rounds; round++) {
        struct first f = { .arena = ARENA(.pages = 4096, .caches = true), .round = round };
        start_line_init(&f.line, FIRST_THREADS);
        crew_start(&c, FIRST_THREADS, first_calls, &f, round);
        crew_join(&c);
        const lfma_arena_stats_t s = arena_stats(f.arena);
        CHECK(s.cached_bytes == 0 && s.free_bytes == s.bytes && s.allocs == s.frees);
        CHECK(arena_is_sound(f.arena) && arena_join_all(f.arena) && arena_is_fresh(f.arena));
        CHECK_CODE(lfma_arena_destroy(f.arena), LFMA_OK);
    }
}

int main(int argc, char **argv)
{
    const stress_args args = stress_begin(argc, argv, 6, 4);
    run_market(4096, 0, 0, false, 0, &args);
    run_market(8192, 5, 0, false, 0, &args);
    run_market(8192, 7, LFMA_HARDENED, false, 0, &args);
    run_market(512, 3, 0, false, 512, &args); /* scarce: pressure comes and goes */
    run_market(8192, 4, 0, true, 2048, &args);
    run_market(512, 3, LFMA_HARDENED, true, 0, &args);
    run_first_calls((unsigned)test_scaled(2 * ENTRIES));
    return 0;
}
