/* SPDX-License-Identifier: MIT */
/*
 * Scenarios over arenas whose threads keep blocks, from states in which a hold is empty, has room, is full, or lies
 * in another slice:
 *
 *     cache     all operations in pairs
 *     cached    fewer of them, with a third thread, interrupted, and killed within each other
 *     lives     threads that take their numbers, end, and leave the number to the next; caches that nobody has
 */
#include "explore/scenarios.h"
#include "explore/world.h"

#define EDGE 72u   /* what is free at the start: in the second slice of order 0, where thread 0 looks first */
#define OWN 80u    /* the actors' own pages, side by side: in the same slice */
#define FAR 16u    /* pages in the first slice */
#define CACHES 48u /* so that three threads may each take two pages ahead, and gather two */

static const world_shape cache_shape = { .pages = 128,
                                         .own_page = { OWN, OWN + 1, OWN + 2, OWN + 3 },
                                         .cache_pages = CACHES };
static const world_shape lives_shape = {
    .pages = 128, .own_page = { OWN, OWN + 1, OWN + 2, OWN + 3 }, .cache_pages = CACHES, .new_threads = true
};

/* ---------------------------------------------------------------------------------------------------- states */

static void state_fresh(void) /* no grants yet: the first thread gets all of them */
{
    world_free(EDGE, 4);
}

static void state_shared(void) /* two blocks at a time for each */
{
    world_free(EDGE, 4);
    world_share();
}

static void state_ahead(void) /* each has one block and has taken another ahead: there is room for the own one */
{
    state_shared();
    world_take(0);
    world_take(1);
}

static void state_gathered(void) /* each has gathered one: there is room for another */
{
    world_share();
    world_give(0, EDGE);
    world_give(1, EDGE + 2);
}

static void state_filled(void) /* each has gathered all that it may */
{
    world_share();
    world_give(0, EDGE);
    world_give(0, EDGE + 1);
    world_give(1, EDGE + 2);
    world_give(1, EDGE + 3);
}

static void state_apart(void) /* each has gathered in another slice than its own page's; some pages are free */
{
    world_free(EDGE, 2);
    world_share();
    world_give(0, FAR);
    world_give(1, FAR + 2);
}

static void state_pressed(void) /* each keeps something and is to give it back */
{
    state_ahead();
    world_give(0, FAR);
    world_give(1, FAR + 2);
    world_press();
}

static void state_lent(void) /* thread 1 alone keeps something, and more than its share may be */
{
    world_grow(1);
    world_give(1, EDGE);
    world_give(1, EDGE + 1);
}

static void state_uneven(void) /* the same on both sides, and it is asked for what is more than its share */
{
    state_lent();
    world_free(EDGE + 2, 2);
    world_take(1);
    world_ask();
}

static void state_whole(void) /* one large block, and nothing that is kept: who takes a page ahead cuts from it */
{
    world_free(EDGE, 8);
    world_join();
    world_share();
}

static const explore_state cache_states[] = {
    { "fresh", state_fresh },       { "shared", state_shared }, { "ahead", state_ahead },
    { "gathered", state_gathered }, { "filled", state_filled }, { "apart", state_apart },
    { "pressed", state_pressed },   { "lent", state_lent },     { "uneven", state_uneven },
    { "whole", state_whole },
};

static const explore_state cached_states[] = { { "ahead", state_ahead },
                                               { "apart", state_apart },
                                               { "pressed", state_pressed } };

static void state_none(void)
{
    world_free(EDGE, 4);
}

/* The second number is nobody's, and all that is left is kept for it: who needs some takes the number. */
static void state_orphan(void)
{
    world_free(EDGE, 2);
    world_take(0);
    world_give(0, FAR);
    world.high_water = 2;
    world.orphans = 2;
}

static const explore_state lives_states[] = { { "none", state_none }, { "orphan", state_orphan } };

/* ------------------------------------------------------------------------------------------------ operations */

static void op_alloc(void)
{
    (void)world_alloc(world.shape->order_least, 0);
}

static void op_alloc_1(void)
{
    (void)world_alloc(world.shape->order_least + 1, 0);
}

static void op_two(void) /* one that fills the cache, one from it */
{
    (void)world_alloc_short();
    (void)world_alloc_short();
}

static void op_free(void)
{
    world_free_own();
}

static void op_move(void)
{
    world_free_own();
    (void)world_alloc(world.shape->order_least, 0);
}

static void op_back(void) /* a block goes and comes back, the short way where there is one; and the own one follows */
{
    world_free_block(world_alloc_short(), world.shape->order_least);
    world_free_own();
}

static void op_flush(void)
{
    world_flush();
}

static void op_renew(void) /* give all back, and take ahead what is free elsewhere */
{
    op_flush();
    (void)world_alloc(world.shape->order_least, 0);
}

static void op_coalesce(void)
{
    world_join();
}

static void op_prove(void)
{
    world_prove();
}

static void op_handle(void)
{
    world_use_handle();
}

static void op_stats(void)
{
    lfma_arena_stats_t stats = LFMA_ARENA_STATS_INIT;
    if (lfma_arena_stats(world.arena, &stats) != LFMA_OK || stats.free_bytes + stats.cached_bytes > stats.bytes)
        explore_fail("stats failed");
}

/* As in arena.c: it ends and changes nothing. */
static void op_validate(void)
{
    lfma_report report = LFMA_REPORT_INIT;
    const int code = lfma_arena_validate(world.arena, &report);
    if (code != LFMA_OK && code != LFMA_E_BROKEN)
        explore_fail("validate failed");
}

static void op_live(void) /* gather, take, and leave nothing */
{
    world_free_own();
    (void)world_alloc(world.shape->order_least, 0);
    explore_thread_end();
}

static void op_again(void) /* two lives, the second perhaps with another number */
{
    (void)world_alloc_short();
    explore_thread_end();
    world_free_own();
    explore_thread_end();
}

static const explore_op cache_ops[] = {
    { "alloc", op_alloc }, { "alloc1", op_alloc_1 }, { "two", op_two },     { "free", op_free },
    { "move", op_move },   { "back", op_back },      { "flush", op_flush }, { "coalesce", op_coalesce },
    { "renew", op_renew }, { "prove", op_prove },    { "stats", op_stats },
};

/* In pairs only: the last two. */
static const explore_op cached_ops[] = { { "alloc", op_alloc },      { "free", op_free },   { "back", op_back },
                                         { "flush", op_flush },      { "prove", op_prove }, { "handle", op_handle },
                                         { "validate", op_validate } };

static const explore_op lives_ops[] = { { "alloc", op_alloc }, { "free", op_free },     { "live", op_live },
                                        { "again", op_again }, { "handle", op_handle }, { "stats", op_stats } };

/* -------------------------------------------------------------------------------------------------- scenarios */

static void setup(const world_shape *shape)
{
    world_make(shape);
    explore_now.family->states[explore_now.state].make();
    world_made();
}

static void setup_cache(void)
{
    setup(&cache_shape);
}

static void setup_lives(void)
{
    setup(&lives_shape);
}

const explore_family cache_family = {
    .name = "cache",
    FAMILY(cache_states, cache_ops),
    .readers = 1,
    .third = EXPLORE_NONE,
    .beside = EXPLORE_NONE,
    .scenario = SCENARIO(setup_cache),
};

const explore_family cached_family = {
    .name = "cached",
    FAMILY(cached_states, cached_ops),
    .readers = 2,
    .third = 1,  /* free */
    .beside = 0, /* alloc */
    .kills = true,
    .scenario = SCENARIO(setup_cache),
};

const explore_family lives_family = {
    .name = "lives",
    FAMILY(lives_states, lives_ops),
    .readers = 1,
    .third = EXPLORE_NONE,
    .beside = EXPLORE_NONE,
    .scenario = SCENARIO(setup_lives),
};
