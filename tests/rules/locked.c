/* SPDX-License-Identifier: MIT */
/*
 * How many locked instructions a call executes when nothing is in its way, and that it makes no system call (x86-64).
 * Exit status 0, 1, or 77.
 */
#include <inttypes.h>
#include <lfma/lfma.h>
#include <stdio.h>

#include "support/arenas.h"
#include "support/check.h"
#include "support/env.h"
#include "support/trace.h"

#define PAGE 64u
#define BATCH 16u

enum call { ALLOC, FREE };

static const struct expectation {
    const char *name;
    enum call call;
    unsigned order;
    uint32_t flags;
    unsigned locked;
    unsigned batch; /* 0: an arena without caches; else with, and so many blocks are out at a time */
} expectations[] = {
    { "allocate, order 0: the claim", ALLOC, 0, 0, 1, 0 },
    { "allocate, order 5: the claim", ALLOC, 5, 0, 1, 0 },
    { "allocate, order 6: the claim", ALLOC, 6, 0, 1, 0 },
    { "allocate, order 9: the claim", ALLOC, 9, 0, 1, 0 },
    { "free, order 0: the publish", FREE, 0, 0, 1, 0 },
    { "free, order 5: the publish", FREE, 5, 0, 1, 0 },
    { "free, order 6: the publish", FREE, 6, 0, 1, 0 },
    { "free, order 9: the publish", FREE, 9, 0, 1, 0 },
    { "hardened free, order 0: the state and the publish", FREE, 0, LFMA_HARDENED, 2, 0 },
    { "hardened free, order 6: the state and the publish", FREE, 6, LFMA_HARDENED, 2, 0 },
    { "allocate from the cache, order 0", ALLOC, 0, 0, 0, 1 },
    { "allocate from the cache, order 5", ALLOC, 5, 0, 0, 1 },
    { "allocate from the cache, order 6", ALLOC, 6, 0, 0, 1 },
    { "allocate from the cache, order 0, in batches", ALLOC, 0, 0, 0, BATCH },
    { "allocate from the cache, order 6, in batches", ALLOC, 6, 0, 0, BATCH },
    { "free into the cache, order 0", FREE, 0, 0, 0, 1 },
    { "free into the cache, order 5", FREE, 5, 0, 0, 1 },
    { "free into the cache, order 6", FREE, 6, 0, 0, 1 },
    { "free into the cache, order 0, in batches", FREE, 0, 0, 0, BATCH },
    { "free into the cache, order 6, in batches", FREE, 6, 0, 0, BATCH },
    { "hardened allocate from the cache, order 0", ALLOC, 0, LFMA_HARDENED, 0, 1 },
    { "hardened free into the cache, order 0: the state", FREE, 0, LFMA_HARDENED, 1, 1 },
};

/* Many times to warm up, so that blocks were taken ahead, and once counted: the sum of a batch. */
static void make_calls(const void *context)
{
    const struct expectation *const e = context;
    lfma_arena *const arena = ARENA(.pages = 1 << 16, .flags = e->flags, .caches = e->batch > 0);
    const size_t bytes = (size_t)PAGE << e->order;
    const unsigned count = e->batch ? e->batch : 1;
    void *blocks[BATCH];
    for (unsigned warm = 0; warm < (e->batch ? 8u : 1u); warm++) {
        for (unsigned n = 0; n < count; n++)
            CHECK((blocks[n] = lfma_alloc(arena, bytes)) != NULL);
        for (unsigned n = 0; n < count; n++)
            CHECK_CODE(lfma_free(arena, blocks[n]), LFMA_OK);
    }
    for (unsigned n = 0; n < count; n++) {
        TRACE_BEGIN(ALLOC);
        blocks[n] = lfma_alloc(arena, bytes);
        TRACE_END();
        CHECK(blocks[n] != NULL);
    }
    for (unsigned n = 0; n < count; n++) {
        TRACE_BEGIN(FREE);
        const int code = lfma_free(arena, blocks[n]);
        TRACE_END();
        CHECK_CODE(code, LFMA_OK);
    }
    CHECK_CODE(lfma_arena_destroy(arena), LFMA_OK);
}

int main(void)
{
    bool failed = false;
    if (test_is_sanitized())
        return 77;
    for (unsigned i = 0; i < sizeof expectations / sizeof expectations[0]; i++) {
        const struct expectation *const e = &expectations[i];
        trace_counts parts[TRACE_PARTS];
        if (!trace(make_calls, e, parts)) {
            puts("skipped: this machine traces nothing, or is no x86-64");
            return 77;
        }
        const trace_counts *const c = &parts[e->call];
        const bool good = c->locked == e->locked && c->system_calls == 0;
        printf("%s %s: %" PRIu64 " instructions, %" PRIu64 " locked, %" PRIu64 " system calls\n", good ? "  " : "! ",
               e->name, c->instructions, c->locked, c->system_calls);
        failed |= !good;
    }
    return failed;
}
