/* SPDX-License-Identifier: MIT */
/*
 * How many instructions an allocation and a free execute on their fast path, in the mean of many calls in an arena
 * that has been used: growth shows here on any machine, and however busy it is (x86-64, optimised builds without
 * assertions). Exit status 0, 1, or 77.
 */
#include <inttypes.h>
#include <lfma/lfma.h>
#include <stdio.h>

#include "support/arenas.h"
#include "support/check.h"
#include "support/env.h"
#include "support/trace.h"

/*
 * The bounds: the means of today, made by gcc 12, and how many times that is too much: other compilers make other
 * code of the same sources. What earns its growth raises the means here, and what makes calls shorter lowers them.
 */
#define TOO_MUCH 1.5

enum pattern {
    AT_ONCE, /* each block is freed before the next is allocated */
    BATCH,   /* all are allocated, then all freed, in the same order */
    REPLACE, /* all are live, and a random one makes room for the next */
};

enum part { ALLOC, FREE };

static const struct expectation {
    const char *name;
    enum pattern pattern;
    size_t bytes_min, bytes_max;
    uint32_t flags;
    bool caches;
    double today[TRACE_PARTS]; /* instructions of an allocation, and of a free */
} expectations[] = {
    { "the short way: a page, freed at once", AT_ONCE, 4096, 4096, 0, true, { 59, 68 } },
    { "the short way: up to 4 MiB, freed at once", AT_ONCE, 1, 4 << 20, 0, true, { 59, 68 } },
    { "caches: a page, freed in batches", BATCH, 4096, 4096, 0, true, { 59, 68 } },
    { "caches: 64 KiB, freed in batches", BATCH, 65536, 65536, 0, true, { 59, 68 } },
    { "caches: up to 4 MiB, a random one replaced", REPLACE, 1, 4 << 20, 0, true, { 73, 102 } },
    { "caches: a page, freed at once, hardened", AT_ONCE, 4096, 4096, LFMA_HARDENED, true, { 190, 142 } },
    { "a page, freed at once", AT_ONCE, 4096, 4096, 0, false, { 237, 167 } },
    { "up to 4 MiB, freed at once", AT_ONCE, 1, 4 << 20, 0, false, { 237, 160 } },
    { "a page, freed in batches", BATCH, 4096, 4096, 0, false, { 237, 167 } },
    { "64 KiB, freed in batches", BATCH, 65536, 65536, 0, false, { 237, 167 } },
    { "up to 4 MiB, freed in batches", BATCH, 1, 4 << 20, 0, false, { 246, 160 } },
    { "up to 4 MiB, a random one replaced", REPLACE, 1, 4 << 20, 0, false, { 249, 160 } },
    { "a page, freed at once, hardened", AT_ONCE, 4096, 4096, LFMA_HARDENED, false, { 239, 174 } },
};

#define LIVE 64u
#define WARM 2048u /* pairs before what is counted */
#define PAIRS 64u  /* counted: one batch */

struct run {
    const struct expectation *what;
    lfma_arena *arena;
    rng random;
    bool counted;
    void *live[LIVE];
};

static void *allocate(struct run *r)
{
    const size_t span = r->what->bytes_max - r->what->bytes_min + 1;
    const size_t bytes = r->what->bytes_min + rng_below(&r->random, span);
    if (r->counted)
        TRACE_BEGIN(ALLOC);
    void *const block = lfma_alloc(r->arena, bytes);
    if (r->counted)
        TRACE_END();
    CHECK(block != NULL);
    return block;
}

static void release(struct run *r, void *block)
{
    if (r->counted)
        TRACE_BEGIN(FREE);
    const int code = lfma_free(r->arena, block);
    if (r->counted)
        TRACE_END();
    CHECK_CODE(code, LFMA_OK);
}

static void run_pairs(struct run *r, unsigned pairs)
{
    for (unsigned i = 0; i < pairs; i++) {
        if (r->what->pattern == AT_ONCE) {
            release(r, allocate(r));
            continue;
        }
        const uint64_t slot = r->what->pattern == BATCH ? i % LIVE : rng_below(&r->random, LIVE);
        if (r->what->pattern == REPLACE)
            release(r, r->live[slot]);
        r->live[slot] = allocate(r);
        if (r->what->pattern == BATCH && slot == LIVE - 1) {
            for (unsigned freed = 0; freed < LIVE; freed++)
                release(r, r->live[freed]);
        }
    }
}

/* Sizes and order are the same in every run, and so are the counts of one binary. */
static void make_calls(const void *context)
{
    struct run r = { .what = context, .random = { 1 } };
    r.arena = ARENA(.pages = (size_t)1 << 18, .page_bytes = 4096, .flags = r.what->flags, .caches = r.what->caches);
    if (r.what->pattern == REPLACE) {
        for (unsigned i = 0; i < LIVE; i++)
            r.live[i] = allocate(&r);
    }
    run_pairs(&r, WARM);
    r.counted = true;
    run_pairs(&r, PAIRS);
}

static bool is_too_much(const struct expectation *e, const trace_counts parts[TRACE_PARTS])
{
    static const char *const names[TRACE_PARTS] = { "allocate", "free" };
    bool failed = false;
    printf("%s\n", e->name);
    for (unsigned part = 0; part < TRACE_PARTS; part++) {
        const double mean = (double)parts[part].instructions / PAIRS;
        const double most = TOO_MUCH * e->today[part];
        printf("%s %-8s %.1f instructions, at most %.1f\n", mean <= most ? "  " : "! ", names[part], mean, most);
        failed |= !(mean <= most);
    }
    return failed;
}

static bool is_optimised(void)
{
#if defined(__OPTIMIZE__) && defined(NDEBUG)
    return !test_is_sanitized();
#else
    return false;
#endif
}

int main(void)
{
    bool failed = false;
    if (!is_optimised()) {
        puts("skipped: counts an optimised build without assertions");
        return 77;
    }
    for (unsigned i = 0; i < sizeof expectations / sizeof expectations[0]; i++) {
        trace_counts parts[TRACE_PARTS];
        if (!trace(make_calls, &expectations[i], parts)) {
            puts("skipped: this machine traces nothing, or is no x86-64");
            return 77;
        }
        failed |= is_too_much(&expectations[i], parts);
    }
    return failed;
}
