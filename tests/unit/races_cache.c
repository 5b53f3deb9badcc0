/* SPDX-License-Identifier: MIT */
/*
 * As races_arena.c, for the short way: at each step of a call through a cache a signal handler calls, on the same
 * arena or on another one that uses the same ticket.
 */
#include "arena/arena.h"
#include "support/arenas.h"
#include "support/hook.h"
#include "support/unit.h"

#include <lfma/lfma.h>

#define PAGE ((size_t)64)
#define PAGES 512u
#define OUT 96u /* blocks that are out */

enum call { ALLOC, ALLOC_FILLS, FREE, FREE_GATHERS, FLUSH, FAIL, CALLS };

/* One arena: single pages are out, some are kept. */
struct side {
    lfma_arena *arena;
    char *live[OUT + 2];
    unsigned count;
};

struct scene {
    struct side sides[2]; /* of one ticket */
    uint32_t flags;
};

static uint64_t ticket_of(const lfma_arena *arena)
{
    return arena->pool.name & LFMA__TICKET_BITS;
}

static void add(struct side *s, char *block)
{
    REQUIRE(block != NULL && s->count < OUT + 2, "%u blocks", s->count);
    s->live[s->count++] = block;
}

static char *last(struct side *s)
{
    REQUIRE(s->count > 0, "no block");
    return s->live[--s->count];
}

static void prepare(struct side *s)
{
    while (s->count < OUT)
        add(s, lfma_alloc(s->arena, PAGE));
    lfma__cache_ease(&s->arena->pool);
    while (s->count > OUT - 40)
        REQUIRE_CODE(lfma_free(s->arena, last(s)), LFMA_OK);
    REQUIRE_CODE(lfma_cache_flush(s->arena, NULL), LFMA_OK);
    for (unsigned n = 0; n < 8; n++)
        add(s, lfma_alloc(s->arena, PAGE));
    for (unsigned n = 0; n < 4; n++)
        REQUIRE_CODE(lfma_free(s->arena, last(s)), LFMA_OK);
    REQUIRE(arena_stats(s->arena).cached_bytes > 0, "nothing is kept");
}

static struct scene open_scene(uint32_t flags)
{
    struct scene s = { .flags = flags };
    for (unsigned i = 0; i < 2; i++) {
        do { /* names take the tickets in turn */
            REQUIRE_CODE(lfma_arena_destroy(s.sides[i].arena), LFMA_OK);
            s.sides[i].arena = ARENA(.pages = PAGES, .caches = true, .threads_max = 4, .flags = flags);
        } while (i == 1 && ticket_of(s.sides[0].arena) != ticket_of(s.sides[1].arena));
        prepare(&s.sides[i]);
    }
    return s;
}

static int perform(struct side *s, enum call call)
{
    void *block = NULL;
    int code = LFMA_OK;
    switch (call) {
    case ALLOC: /* what is kept serves it */
        add(s, lfma_alloc(s->arena, PAGE));
        break;
    case ALLOC_FILLS:
        code = lfma_try_alloc(s->arena, 2 * PAGE, 0, &block);
        REQUIRE(code != LFMA_OK || lfma_free(s->arena, block) == LFMA_OK, "%p", block);
        break;
    case FREE:
        code = lfma_free(s->arena, last(s));
        break;
    case FREE_GATHERS: /* from another slice than the last ones */
        block = s->live[0];
        s->live[0] = last(s);
        code = lfma_free(s->arena, block);
        break;
    case FLUSH:
        code = lfma_cache_flush(s->arena, NULL);
        break;
    case FAIL:
        code = lfma_try_alloc(s->arena, PAGES * PAGE, 0, &block) == LFMA_OK ? LFMA_E_BROKEN : LFMA_OK;
        break;
    case CALLS:
        break;
    }
    return code;
}

/* Each block is out once, and as many pages as the test has. */
static void check(struct side *s, const char *when)
{
    bool is_out[PAGES] = { false };
    REQUIRE(arena_is_sound(s->arena), "%s", when);
    for (unsigned i = 0; i < s->count; i++) {
        const uint64_t offset = lfma__arena_offset(s->arena, s->live[i]);
        REQUIRE(offset < s->arena->bytes && !is_out[offset / PAGE], "%s: page %" PRIu64, when, offset / PAGE);
        is_out[offset / PAGE] = true;
    }
    const lfma_arena_stats_t stats = arena_stats(s->arena);
    REQUIRE(stats.allocated_bytes == s->count * PAGE, "%s: %zu bytes, %u blocks", when, stats.allocated_bytes,
            s->count);
    REQUIRE(stats.bad_frees == 0 && stats.allocs - stats.frees == s->count, "%s: %" PRIu64, when, stats.bad_frees);
}

static void close_side(struct side *s)
{
    while (s->count > 0)
        REQUIRE_CODE(lfma_free(s->arena, last(s)), LFMA_OK);
    REQUIRE_CODE(lfma_cache_flush(s->arena, NULL), LFMA_OK);
    REQUIRE(arena_is_sound(s->arena) && arena_join_all(s->arena) && arena_is_fresh(s->arena), "not fresh");
    REQUIRE_CODE(lfma_arena_destroy(s->arena), LFMA_OK);
}

struct handler {
    struct side *side;
    enum call call;
    int code;
};

static void handle(void *argument)
{
    struct handler *const h = argument;
    h->code = perform(h->side, h->call);
}

/* A call of the first arena, and before its nth atomic a handler's. False: it has fewer. */
static bool check_nested(enum call outer, enum call inner, unsigned where, unsigned nth, uint32_t flags)
{
    struct scene s = open_scene(flags);
    struct handler handler = { &s.sides[where], inner, LFMA_E_INVALID };
    char when[64];
    (void)snprintf(when, sizeof when, "%u of arena %u in %u at %u", inner, where, outer, nth);
    if (where == 1) /* and the ticket is the first one's again */
        add(&s.sides[0], lfma_alloc(s.sides[0].arena, PAGE));
    hook_set(NULL, HOOK_ANY, nth, handle, &handler);
    const int code = perform(&s.sides[0], outer);
    const bool fired = hook_waiting() == 0;
    hook_clear();
    REQUIRE(code == LFMA_OK && (!fired || handler.code == LFMA_OK), "%s: %d, %d", when, code, handler.code);
    REQUIRE(lfma__ticket_name(lfma__thread_ticket(&lfma__thread_self, s.sides[0].arena->pool.name)) !=
                LFMA__TICKET_BUSY,
            "%s: busy for ever", when);
    for (unsigned i = 0; i < 2; i++)
        check(&s.sides[i], when);
    for (unsigned n = 0; n < 2; n++) { /* whichever comes first, it uses its own slot */
        add(&s.sides[0], lfma_alloc(s.sides[0].arena, PAGE));
        check(&s.sides[0], when);
        REQUIRE_CODE(lfma_free(s.sides[0].arena, last(&s.sides[0])), LFMA_OK);
        check(&s.sides[1], when);
        (void)perform(&s.sides[1], FREE);
        (void)perform(&s.sides[1], ALLOC);
        check(&s.sides[1], when);
    }
    for (unsigned i = 0; i < 2; i++)
        close_side(&s.sides[i]);
    return fired;
}

/*
 * I09: before each atomic operation of each call, each call: on the arena that is being called, and on another one
 * whose name has the same ticket.
 */
Test(cache_races, a_handler_calls_at_every_step)
{
    for (uint32_t flags = 0; flags <= LFMA_HARDENED; flags += LFMA_HARDENED) {
        for (unsigned where = 0; where < 2; where++) {
            for (enum call outer = 0; outer < CALLS; outer++) {
                for (enum call inner = 0; inner < CALLS; inner++) {
                    unsigned nth = 1;
                    while (check_nested(outer, inner, where, nth, flags))
                        nth++;
                    REQUIRE(nth > 4, "%u has %u steps", outer, nth);
                }
            }
        }
    }
}
