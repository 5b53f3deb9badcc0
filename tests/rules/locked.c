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

enum call { ALLOC, FREE };

static const struct expectation {
    const char *name;
    enum call call;
    unsigned order;
    uint32_t flags;
    unsigned locked;
} expectations[] = {
    { "allocate, order 0: the claim and its mark", ALLOC, 0, 0, 2 },
    { "allocate, order 5: the claim and its mark", ALLOC, 5, 0, 2 },
    { "allocate, order 6: the claim", ALLOC, 6, 0, 1 },
    { "allocate, order 9: the claim", ALLOC, 9, 0, 1 },
    { "free, order 0: the mark and the publish", FREE, 0, 0, 2 },
    { "free, order 5: the mark and the publish", FREE, 5, 0, 2 },
    { "free, order 6: the publish", FREE, 6, 0, 1 },
    { "free, order 9: the publish", FREE, 9, 0, 1 },
    { "hardened free, order 0: the state, the mark and the publish", FREE, 0, LFMA_HARDENED, 3 },
    { "hardened free, order 6: the state and the publish", FREE, 6, LFMA_HARDENED, 2 },
};

/* Once to warm up, once counted. */
static void make_calls(const void *context)
{
    const struct expectation *const e = context;
    lfma_arena *const arena = ARENA(.pages = 4096, .flags = e->flags);
    const size_t bytes = (size_t)PAGE << e->order;
    void *block = lfma_alloc(arena, bytes);
    CHECK(block != NULL);
    CHECK_CODE(lfma_free(arena, block), LFMA_OK);
    TRACE_BEGIN(ALLOC);
    block = lfma_alloc(arena, bytes);
    TRACE_END();
    CHECK(block != NULL);
    TRACE_BEGIN(FREE);
    const int code = lfma_free(arena, block);
    TRACE_END();
    CHECK_CODE(code, LFMA_OK);
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
