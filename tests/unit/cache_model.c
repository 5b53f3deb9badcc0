/* SPDX-License-Identifier: MIT */
/*
 * Several caches of one arena, used in turns by one thread, beside a model that knows which pages are out.
 */
#include "arena/arena.h"
#include "support/arenas.h"
#include "support/unit.h"

#include <lfma/lfma.h>
#include <stdlib.h>
#include <string.h>

#define PAGE ((size_t)64)
#define CACHES_MAX 9u /* the last is the thread's own */
#define LIVE_MAX 4096u
#define SEED 0xcac4e

struct block {
    char *start;
    unsigned order;
};

struct play {
    lfma_arena *arena;
    char *base;
    lfma_cache *caches[CACHES_MAX];
    unsigned count;
    rng random;
    struct block live[LIVE_MAX];
    unsigned live_count;
    size_t live_pages;
    unsigned char *is_out; /* by page */
};

static int alloc_by(struct play *p, lfma_cache *cache, unsigned order, void **ret_block)
{
    const size_t bytes = (PAGE << order) - rng_below(&p->random, PAGE);
    return cache ? lfma_cache_try_alloc(cache, bytes, 0, 0, ret_block)
                 : lfma_try_alloc(p->arena, bytes, 0, ret_block);
}

static const lfma__slot *slot_of(const struct play *p, lfma_cache *cache)
{
    return cache ? (const lfma__slot *)(const void *)cache : &p->arena->slots[lfma__thread_self.index];
}

/* A refusal is the truth of what is free to all, after this cache has given back what it kept. */
static void check_refusal(struct play *p, lfma_cache *cache, unsigned order, int code)
{
    const lfma_arena_stats_t s = arena_stats(p->arena);
    REQUIRE(code == LFMA_E_NOMEM || code == LFMA_E_FRAGMENTED, "%s", lfma_error_name(code));
    REQUIRE((code == LFMA_E_NOMEM) == (s.free_bytes < PAGE << order), "%s with %zu bytes free", lfma_error_name(code),
            s.free_bytes);
    REQUIRE(s.largest_free_bytes < PAGE << order, "%s, though a block is free", lfma_error_name(code));
    REQUIRE(lfma__cache_pages(slot_of(p, cache)) == 0, "refused with blocks in the own cache");
    REQUIRE(s.cached_bytes_max == 0 || lfma__cache_is_pressed(&p->arena->pool), "no pressure");
}

/* Each block is delivered once (fault C17): its pages were nobody's. */
static void take_one(struct play *p)
{
    lfma_cache *const cache = p->caches[rng_below(&p->random, p->count)];
    const unsigned most = p->arena->order_max < 7 ? p->arena->order_max : 7;
    const unsigned order = (unsigned)(rng_below(&p->random, 2) ? 0 : rng_below(&p->random, most + 1));
    void *block = NULL;
    if (p->live_count == LIVE_MAX)
        return;
    const int code = rng_below(&p->random, 4) || cache               ? alloc_by(p, cache, order, &block)
                     : (block = lfma_alloc(p->arena, PAGE << order)) ? LFMA_OK
                                                                     : alloc_by(p, cache, order, &block);
    if (code != LFMA_OK) {
        check_refusal(p, cache, order, code);
        return;
    }
    const size_t page = (size_t)((char *)block - p->base) / PAGE;
    for (size_t i = 0; i < (size_t)1 << order; i++)
        REQUIRE(!p->is_out[page + i]++, "page %zu is out already, order %u", page + i, order);
    REQUIRE(lfma_usable_size(p->arena, block) == PAGE << order, "page %zu", page);
    REQUIRE(lfma_block_of(p->arena, (char *)block + (PAGE << order) - 1) == block, "page %zu", page);
    p->live[p->live_count++] = (struct block){ block, order };
    p->live_pages += (size_t)1 << order;
}

static void free_one(struct play *p)
{
    if (p->live_count == 0)
        return;
    lfma_cache *const cache = p->caches[rng_below(&p->random, p->count)];
    const unsigned i = (unsigned)rng_below(&p->random, p->live_count);
    const struct block b = p->live[i];
    p->live[i] = p->live[--p->live_count];
    REQUIRE_CODE(cache ? lfma_cache_free(cache, b.start) : lfma_free(p->arena, b.start), LFMA_OK);
    memset(p->is_out + (size_t)(b.start - p->base) / PAGE, 0, (size_t)1 << b.order);
    p->live_pages -= (size_t)1 << b.order;
    if (rng_below(&p->random, 8) == 0) { /* and once more, by anybody */
        lfma_cache *const again = p->caches[rng_below(&p->random, p->count)];
        REQUIRE_CODE(again ? lfma_cache_free(again, b.start) : lfma_free(p->arena, b.start), LFMA_E_DOUBLE_FREE);
    }
}

/* A cache leaves and another comes. */
static void replace_one(struct play *p)
{
    const unsigned i = (unsigned)rng_below(&p->random, p->count);
    if (!p->caches[i])
        return;
    lfma_cache_destroy(p->caches[i]);
    REQUIRE_CODE(lfma_cache_create(p->arena, &p->caches[i]), LFMA_OK);
}

static void check(struct play *p)
{
    REQUIRE(arena_is_sound(p->arena), "seed 0x%" PRIx64, test_seed(SEED));
    const lfma_arena_stats_t s = arena_stats(p->arena);
    REQUIRE(s.allocated_bytes == p->live_pages * PAGE, "%zu bytes allocated instead of %zu", s.allocated_bytes,
            p->live_pages * PAGE);
    REQUIRE(s.allocs - s.frees == p->live_count, "%" PRIu64 " - %" PRIu64, s.allocs, s.frees);
}

static void play(const arena_plan *plan, unsigned caches, uint64_t steps)
{
    struct play *const p = calloc(1, sizeof *p);
    cr_assert_not_null(p);
    p->arena = arena_open(plan);
    p->base = (char *)p->arena->base;
    p->count = caches;
    p->random = (rng){ test_seed(SEED) + caches + plan->pages };
    p->is_out = calloc(plan->pages, 1);
    (void)lfma_free(p->arena, p->base + 1); /* the thread has its number */
    for (unsigned i = 0; i + 1 < caches; i++)
        REQUIRE_CODE(lfma_cache_create(p->arena, &p->caches[i]), LFMA_OK);
    for (uint64_t n = 0; n < steps; n++) {
        const bool filling = n / 256 % 3 < 2; /* fills up in waves */
        const uint64_t dice = rng_below(&p->random, 100);
        if (dice < (filling ? 58u : 36u))
            take_one(p);
        else if (dice < 97)
            free_one(p);
        else if (dice == 97)
            REQUIRE_CODE(lfma_cache_flush(p->arena, p->caches[rng_below(&p->random, caches)]), LFMA_OK);
        else if (dice == 98)
            replace_one(p);
        else if (rng_below(&p->random, 4) == 0)
            (void)arena_join_all(p->arena);
        if (n % 32 == 0)
            check(p);
    }
    while (p->live_count > 0)
        free_one(p);
    check(p);
    for (unsigned i = 0; i + 1 < caches; i++)
        lfma_cache_destroy(p->caches[i]);
    REQUIRE_CODE(lfma_cache_flush(p->arena, NULL), LFMA_OK);
    REQUIRE(arena_is_sound(p->arena) && arena_stats(p->arena).cached_bytes == 0, "seed 0x%" PRIx64, test_seed(SEED));
    REQUIRE(arena_join_all(p->arena) && arena_is_fresh(p->arena), "seed 0x%" PRIx64, test_seed(SEED));
    REQUIRE_CODE(lfma_arena_destroy(p->arena), LFMA_OK);
    free(p->is_out);
    free(p);
}

/*
 * A16, fault C17: random calls by several caches. Arenas of one zone and of many, zones of fewer than 64 blocks,
 * a last zone that is shorter, hardened ones; caches of nearly nothing, of an eighth, of everything.
 */
Test(cache_model, random_calls_beside_a_model)
{
    static const arena_plan shapes[] = {
        { .pages = 16 },
        { .pages = 100 },
        { .pages = 1000 },
        { .pages = 1000, .zone_pages = 64, .block_pages = 16 },
        { .pages = 333, .zone_pages = 16, .block_pages = 16 },
        { .pages = 4096, .zone_pages = 1024, .block_pages = 128 },
    };
    static const uint32_t flags[] = { 0, LFMA_HARDENED };
    static const unsigned counts[] = { 1, 2, 3, 5, 9 };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        const size_t pages = shapes[i].pages;
        const size_t bounds[] = { 0, 1, 3, pages / 3, pages };
        for (size_t b = 0; b < sizeof bounds / sizeof bounds[0]; b++) {
            for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
                arena_plan plan = shapes[i];
                plan.caches = true;
                plan.cache_pages = bounds[b];
                plan.flags = flags[(i + b + c) % 2];
                play(&plan, counts[c], test_scaled(3000));
                plan.flags ^= LFMA_HARDENED;
                play(&plan, counts[c], test_scaled(1000));
            }
        }
    }
}
