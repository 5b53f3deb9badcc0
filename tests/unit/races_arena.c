/* SPDX-License-Identifier: MIT */
/*
 * As races.c, for the public calls: blocks that move while a failing allocation looks, calls of a signal handler at
 * each step of the call that it interrupts.
 */
#include "arena/arena.h"
#include "support/arenas.h"
#include "support/hook.h"
#include "support/unit.h"

#include <lfma/lfma.h>
#include <pthread.h>

#define PAGE ((size_t)64)
#define LOOKS 32u /* of a failing allocation before it says AGAIN */

/* A call that another thread makes, with a slot of its own. */
struct other {
    lfma_arena *arena;
    void *block; /* to free; NULL: coalesce */
    int code;
};

static void *run_other(void *argument)
{
    struct other *const o = argument;
    o->code = o->block ? lfma_free(o->arena, o->block) : lfma_coalesce(o->arena, &(lfma_budget)LFMA_BUDGET_ALL, NULL);
    return NULL;
}

static void act(void *argument)
{
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, run_other, argument), 0);
    cr_assert_eq(pthread_join(thread, NULL), 0);
}

/* The slot of the thread that act() makes: one thread at a time, so always the same number. */
static lfma__owner *slot_of_other(lfma_arena *arena)
{
    struct other first = { .arena = arena, .code = 1 };
    cr_assert_eq(lfma_coalesce(arena, NULL, NULL), LFMA_OK); /* this thread takes the first number */
    act(&first);
    cr_assert_eq(first.code, LFMA_OK);
    cr_assert_eq(lfma__thread_self.index, 0);
    return &arena->slots[1].owner;
}

/* Every page allocated singly, by this thread. */
static char *fill(lfma_arena *arena)
{
    for (uint64_t pages = arena->bytes / PAGE; pages > 0; pages--)
        cr_assert_not_null(lfma_alloc(arena, 1));
    return (char *)arena->base;
}

static void close_fresh(lfma_arena *arena)
{
    REQUIRE(arena_is_sound(arena) && arena_join_all(arena) && arena_is_fresh(arena), "not fresh");
    REQUIRE_CODE(lfma_arena_destroy(arena), LFMA_OK);
}

static void free_all(lfma_arena *arena)
{
    for (uint64_t page = 0; page < arena->bytes / PAGE; page++)
        (void)lfma_free(arena, (char *)arena->base + page * PAGE); /* what is free already says so */
}

/*
 * The page map was read and nothing was free; a page is freed before the owner words are read again. Saying NOMEM
 * would be true of the instant before, but a free may also have been missed by the same reading: so it looks again.
 */
Test(arena_races, a_free_during_the_survey_of_a_full_arena)
{
    lfma_arena *const arena = ARENA(.pages = 2);
    char *const base = fill(arena);
    struct other other = { .arena = arena, .block = base + PAGE };
    void *block = NULL;
    hook_set(&slot_of_other(arena)->word, HOOK_LOAD, 2, act, &other);
    REQUIRE_CODE(lfma_try_alloc(arena, PAGE, 0, &block), LFMA_OK);
    REQUIRE(hook_waiting() == 0 && block == other.block, "page %td", (char *)block - base);
    REQUIRE(arena_stats(arena).failed_nomem == 0, "counted as a failure");
    free_all(arena);
    close_fresh(arena);
}

/* The same for FRAGMENTED; the buddies that are free then are joined. */
Test(arena_races, a_free_during_the_survey_of_a_fragmented_arena)
{
    const lfma_budget steps = LFMA_BUDGET_STEPS(1000);
    lfma_arena *const arena = ARENA(.pages = 4, .budget = steps);
    char *const base = fill(arena);
    struct other other = { .arena = arena, .block = base + PAGE };
    void *block = NULL;
    REQUIRE_CODE(lfma_free(arena, base), LFMA_OK);
    REQUIRE_CODE(lfma_free(arena, base + 2 * PAGE), LFMA_OK);
    REQUIRE_CODE(lfma_try_alloc(arena, 2 * PAGE, 0, &block), LFMA_E_FRAGMENTED);
    hook_set(&slot_of_other(arena)->word, HOOK_LOAD, 2, act, &other);
    REQUIRE_CODE(lfma_try_alloc(arena, 2 * PAGE, 0, &block), LFMA_OK);
    REQUIRE(hook_waiting() == 0 && block == base, "page %td", (char *)block - base);
    free_all(arena);
    close_fresh(arena);
}

static void begin(void *argument)
{
    lfma__owner_begin(argument);
}

static void note(void *argument)
{
    ++*(unsigned *)argument;
}

/*
 * Something is in flight, since before the first look or since the middle of it, and stays there: nothing can be
 * proved. Single pages say AGAIN, after as many looks as promised; larger blocks BUDGET, when theirs is spent.
 */
static void check_in_flight(bool from_the_middle)
{
    const lfma_budget steps = LFMA_BUDGET_STEPS(20);
    lfma_arena *const arena = ARENA(.pages = 64, .budget = steps);
    (void)fill(arena);
    lfma__owner *const shared = &arena->slots[arena->threads_max].owner;
    void *const untouched = arena;
    void *block = untouched;
    if (from_the_middle)
        hook_set(&shared->word, HOOK_LOAD, 2, begin, shared);
    else
        lfma__owner_begin(shared);
    unsigned last = 0, beyond = 0;
    hook_set(&shared->word, HOOK_LOAD, LOOKS + from_the_middle, note, &last);
    hook_set(&shared->word, HOOK_LOAD, LOOKS + from_the_middle + 1, note, &beyond);
    REQUIRE_CODE(lfma_try_alloc(arena, PAGE, 0, &block), LFMA_E_AGAIN);
    REQUIRE(last == 1 && beyond == 0, "more or fewer looks");
    hook_clear();
    REQUIRE_CODE(lfma_try_alloc(arena, 2 * PAGE, LFMA_ALLOC_NO_COALESCE, &block), LFMA_E_AGAIN);
    REQUIRE_CODE(lfma_try_alloc(arena, 2 * PAGE, 0, &block), LFMA_E_BUDGET);
    lfma__owner_end(shared);
    REQUIRE_CODE(lfma_try_alloc(arena, PAGE, 0, &block), LFMA_E_NOMEM);
    REQUIRE_CODE(lfma_try_alloc(arena, 2 * PAGE, 0, &block), LFMA_E_NOMEM);
    REQUIRE(block == untouched, "output written");
    const lfma_arena_stats_t s = arena_stats(arena);
    REQUIRE(s.failed_again == 2 && s.failed_budget == 1 && s.failed_nomem == 2, "%" PRIu64, s.failed_again);
    free_all(arena);
    close_fresh(arena);
}

Test(arena_races, in_flight_before_the_look)
{
    check_in_flight(false);
}

Test(arena_races, in_flight_since_the_middle_of_the_look)
{
    check_in_flight(true);
}

/* A look costs the budget a step a word of the page bitmap, as a walk does: half as many looks as without. */
Test(arena_races, looks_are_paid_for)
{
    enum { WORDS = 100, STEPS = 1000 };
    const lfma_budget steps = LFMA_BUDGET_STEPS(STEPS);
    lfma_arena *const arena = ARENA(.pages = 64 * WORDS, .budget = steps);
    (void)fill(arena);
    lfma__owner *const shared = &arena->slots[arena->threads_max].owner;
    void *block = NULL;
    unsigned beyond = 0;
    lfma__owner_begin(shared);
    hook_set(&shared->word, HOOK_LOAD, STEPS / (2 * WORDS) + 2, note, &beyond);
    REQUIRE_CODE(lfma_try_alloc(arena, 2 * PAGE, 0, &block), LFMA_E_BUDGET);
    REQUIRE(beyond == 0, "looks that were not paid for");
    lfma_arena_destroy_forced(arena);
    hook_clear();
}

/* Free blocks that no hint leads to, in each zone in turn, of each size that a zone has: found all the same. */
Test(arena_races, blocks_without_hints)
{
    for (uint64_t good = 0; good < 3; good++) {
        for (unsigned order = 0; order <= 3; order++) {
            lfma_arena *const arena = ARENA(.pages = 24, .zone_pages = 8, .block_pages = 8);
            char *const base = fill(arena);
            void *block = NULL;
            for (uint64_t page = 0; page < (uint64_t)1 << order; page++)
                REQUIRE_CODE(lfma_free(arena, base + (good * 8 + page) * PAGE), LFMA_OK);
            (void)arena_join_all(arena);
            lfma__zone *const zone = lfma__arena_zone(arena, good);
            for (unsigned k = 0; k <= zone->order_max; k++)
                lfma__a64_store_relaxed(&lfma__zone_table(zone, k).search[0], 0);
            REQUIRE_CODE(lfma_try_alloc(arena, PAGE, 0, &block), LFMA_OK);
            REQUIRE(block == base + good * 8 * PAGE, "zone %" PRIu64 ", order %u", good, order);
            REQUIRE(arena_stats(arena).hints_repaired == 1, "zone %" PRIu64 ", order %u", good, order);
            free_all(arena);
            close_fresh(arena);
        }
    }
}

/* Blocks are joined between the counting of their order and of the next: no more bytes are free than there are. */
Test(arena_races, statistics_while_blocks_are_joined)
{
    lfma_arena *const arena = ARENA(.pages = 2);
    struct other other = { .arena = arena };
    (void)slot_of_other(arena);
    (void)fill(arena);
    free_all(arena);
    hook_set(lfma__zone_table(lfma__arena_zone(arena, 0), 1).slices, HOOK_LOAD, 1, act, &other);
    const lfma_arena_stats_t s = arena_stats(arena);
    REQUIRE(hook_waiting() == 0 && s.free_blocks[0] == 2 && s.free_blocks[1] == 1, "the race was missed");
    REQUIRE(s.free_bytes == s.bytes && s.allocated_bytes == 0, "%zu of %zu bytes free", s.free_bytes, s.bytes);
    close_fresh(arena);
}

/* ------------------------------------------------------------------------------------------------ signal handlers */

enum call { ALLOC, ALLOC_SPLIT, ALLOC_FAILS, FREE, COALESCE, STATISTICS, CALLS };

struct scene {
    lfma_arena *arena;
    void *mine, *handlers; /* blocks to free */
    void *got[2];          /* by the call, by the handler */
    int code;              /* of the handler's call */
};

/* 64 pages: 32 as one block, 16 free singly, the others allocated. */
static struct scene open_scene(void)
{
    struct scene s = { .arena = ARENA(.pages = 64, .block_pages = 32, .threads_max = 4) };
    void *const large = lfma_alloc(s.arena, 32 * PAGE);
    while (lfma_alloc(s.arena, PAGE)) {
    }
    REQUIRE_CODE(lfma_free(s.arena, large), LFMA_OK);
    char *const rest = (char *)s.arena->base + (large == (void *)s.arena->base ? 32 * PAGE : 0);
    for (unsigned page = 0; page < 16; page++)
        REQUIRE_CODE(lfma_free(s.arena, rest + page * PAGE), LFMA_OK);
    s.mine = rest + 20 * PAGE;
    s.handlers = rest + 21 * PAGE; /* its buddy */
    return s;
}

static int perform(struct scene *s, enum call call, unsigned who, void *to_free)
{
    lfma_arena_stats_t stats = LFMA_ARENA_STATS_INIT;
    const lfma_budget steps = LFMA_BUDGET_STEPS(40);
    switch (call) {
    case ALLOC:
        return lfma_try_alloc(s->arena, PAGE, 0, &s->got[who]);
    case ALLOC_SPLIT:
        return lfma_try_alloc(s->arena, 4 * PAGE, 0, &s->got[who]);
    case ALLOC_FAILS:
        return lfma_try_alloc(s->arena, 64 * PAGE, 0, &s->got[who]);
    case FREE:
        return lfma_free(s->arena, to_free);
    case COALESCE:
        return lfma_coalesce(s->arena, &steps, NULL);
    case STATISTICS:
        return lfma_arena_stats(s->arena, &stats);
    case CALLS:
        break;
    }
    return LFMA_E_INVALID;
}

static int pages_taken(enum call call)
{
    return call == ALLOC ? 1 : call == ALLOC_SPLIT ? 4 : call == FREE ? -1 : 0;
}

/* Of one call and, if there was one, of a handler's: nothing that a slot counts is lost. */
static bool counted(const lfma_arena_stats_t *before, const lfma_arena_stats_t *after, enum call call, int handlers)
{
    const uint64_t counts[CALLS] = {
        [ALLOC] = after->allocs_of_order[0] - before->allocs_of_order[0],
        [ALLOC_SPLIT] = after->allocs_of_order[2] - before->allocs_of_order[2],
        [ALLOC_FAILS] = after->failed_never - before->failed_never,
        [FREE] = after->frees - before->frees,
        [COALESCE] = after->coalesce_runs - before->coalesce_runs,
    };
    bool right = after->bad_frees == 0;
    for (int kind = 0; kind < STATISTICS; kind++)
        right = right && counts[kind] == (uint64_t)((kind == (int)call) + (kind == handlers));
    return right;
}

static enum call of_handler;

static void handle(void *argument)
{
    struct scene *const s = argument;
    s->code = perform(s, of_handler, 1, s->handlers);
}

/* One call, and before its nth atomic operation a call of a handler on the same thread. False: it has fewer. */
static bool check_nested(enum call outer, enum call inner, unsigned nth)
{
    struct scene s = open_scene();
    const lfma_arena_stats_t before = arena_stats(s.arena);
    of_handler = inner;
    hook_set(NULL, HOOK_ANY, nth, handle, &s);
    const int code = perform(&s, outer, 0, s.mine);
    const bool fired = hook_waiting() == 0;
    hook_clear();
    REQUIRE(code == (outer == ALLOC_FAILS ? LFMA_E_NEVER : LFMA_OK), "%u in %u at %u: %d", inner, outer, nth, code);
    if (fired)
        REQUIRE(s.code == (inner == ALLOC_FAILS ? LFMA_E_NEVER : LFMA_OK), "%u in %u at %u: %d", inner, outer, nth,
                s.code);
    REQUIRE(lfma__ticket_name(lfma__thread_ticket(&lfma__thread_self, s.arena->pool.name)) != LFMA__TICKET_BUSY,
            "%u in %u at %u: busy for ever", inner, outer, nth);
    REQUIRE(arena_is_sound(s.arena), "%u in %u at %u", inner, outer, nth);
    const lfma_arena_stats_t after = arena_stats(s.arena);
    REQUIRE(counted(&before, &after, outer, fired ? (int)inner : -1), "%u in %u at %u: counters", inner, outer, nth);
    const int pages = 16 + pages_taken(outer) + (fired ? pages_taken(inner) : 0);
    REQUIRE(after.allocated_bytes == (size_t)pages * PAGE, "%u in %u at %u", inner, outer, nth);
    free_all(s.arena);
    close_fresh(s.arena);
    return fired;
}

/* Before each atomic operation of each call, each call. */
Test(arena_races, a_handler_calls_at_every_step)
{
    for (enum call outer = 0; outer < CALLS; outer++) {
        for (enum call inner = 0; inner < CALLS; inner++) {
            unsigned nth = 1;
            while (check_nested(outer, inner, nth))
                nth++;
            REQUIRE(nth > 2, "%u has %u steps", outer, nth);
        }
    }
}
