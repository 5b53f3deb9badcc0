/* SPDX-License-Identifier: MIT */
/*
 * Scenarios over whole arenas, of the public operations, from states at an edge:
 *
 *     arena     128 pages, two words of the map: single pages come and go, and are joined
 *     words     256 pages: blocks of half a word of the page map and more
 *     scarce    4,096 pages, of which so few are free that buddies are joined before a split
 *     game-6    eight blocks of a word, which never are larger or smaller than that, but joined and split
 *     game-12   the same with four blocks of 64 words, which cover whole groups of the map
 *     new       as arena, by threads that take their numbers meanwhile
 */
#include <stdlib.h>

#include "explore/scenarios.h"
#include "explore/world.h"

#define OWN 16u  /* arena: the actors' own pages, side by side: in the first word of the map */
#define EDGE 72u /* what is free at the start: in the second */

static const world_shape arena_shape = { .pages = 128, .own_page = { OWN, OWN + 1, OWN + 2, OWN + 3 } };
static const world_shape new_shape = { .pages = 128,
                                       .own_page = { OWN, OWN + 1, OWN + 2, OWN + 3 },
                                       .new_threads = true };
static const world_shape words_shape = {
    .pages = 256, .order_least = 5, .own_order = 5, .own_page = { 128, 160, 192, 224 }
};
static const world_shape scarce_shape = {
    .pages = 4096, .order_least = 5, .own_order = 5, .own_page = { 128, 160, 192, 224 }
};
static const world_shape game_6_shape = {
    .pages = 512, .order_least = 6, .own_order = 6, .own_page = { 448, 384, 320, 256 }
};
static const world_shape game_12_shape = {
    .pages = 16384, .order_least = 12, .own_order = 12, .own_page = { 12288, 8192, 4096, 4096 }
};

/* ---------------------------------------------------------------------------------------------------- states */

static void state_full(void) /* hints over nothing */
{
}

static void state_one(void)
{
    world_free(EDGE + 1, 1);
}

static void state_buddies(void)
{
    world_free(EDGE, 2);
}

static void state_four(void)
{
    world_free(EDGE, 4);
}

static void state_block(void) /* one block of order 2 */
{
    world_free(EDGE, 4);
    world_join();
}

static void state_beside(void) /* all but the actors' own pages are free; freed, they are the last to join */
{
    world_free(0, OWN);
    world_free(OWN + EXPLORE_ACTORS, arena_shape.pages - OWN - EXPLORE_ACTORS);
    world_join();
}

static const explore_state arena_states[] = {
    { "full", state_full }, { "one", state_one },     { "buddies", state_buddies },
    { "four", state_four }, { "block", state_block }, { "beside", state_beside },
};

static void state_halves(void) /* of a word */
{
    world_free(64, 64);
}

static void state_word(void)
{
    world_free(64, 64);
    world_join();
}

static void state_two_words(void) /* as one block */
{
    world_free(0, 128);
    world_join();
}

static void state_two_blocks(void) /* buddies, of a word each */
{
    state_two_words();
    void *const first = lfma_alloc(world.arena, (size_t)64 * WORLD_PAGE);
    void *const second = lfma_alloc(world.arena, (size_t)64 * WORLD_PAGE);
    if (lfma_free(world.arena, first) != LFMA_OK || lfma_free(world.arena, second) != LFMA_OK)
        abort();
}

static const explore_state words_states[] = {
    { "full", state_full },     { "halves", state_halves },     { "word", state_word },
    { "two", state_two_words }, { "blocks", state_two_blocks },
};

static const explore_state scarce_states[] = { { "full", state_full },
                                               { "halves", state_halves },
                                               { "blocks", state_two_blocks } };

static void state_first(void)
{
    world_free(0, 1u << world.shape->order_least);
}

static void state_double(void) /* two blocks, as one that must be split */
{
    world_free(0, 2u << world.shape->order_least);
    world_join();
}

static const explore_state game_states[] = { { "first", state_first }, { "double", state_double } };

/* ------------------------------------------------------------------------------------------------ operations */

static void op_alloc(void)
{
    (void)world_alloc(world.shape->order_least, 0);
}

static void op_alloc_1(void)
{
    (void)world_alloc(world.shape->order_least + 1, 0);
}

static void op_alloc_2(void)
{
    (void)world_alloc(world.shape->order_least + 2, 0);
}

static void op_free(void)
{
    world_free_own();
}

static void op_move(void) /* give one back, take another: with T blocks for T threads this always succeeds */
{
    world_free_own();
    (void)world_alloc(world.shape->order_least, 0);
}

static void op_grow(void) /* give one back, take a larger one */
{
    world_free_own();
    (void)world_alloc(world.shape->order_least + 1, 0);
}

static void op_coalesce(void)
{
    world_join();
}

static void op_step(void)
{
    const lfma_budget step = LFMA_BUDGET_STEPS(1);
    if (lfma_coalesce(world.arena, &step, NULL) != LFMA_OK)
        explore_fail("coalesce failed");
}

/* What an allocation does that no hint has helped, by itself. */
static void op_scan(void)
{
    world_scan(world.shape->order_least);
}

/* What an allocation does before a split, by itself. */
static void op_pairs(void)
{
    const lfma__caller caller = lfma__arena_enter(world.arena);
    (void)lfma__zone_join_pairs(lfma__arena_zone(world.arena, 0), &caller.slot->owner, world.shape->order_least + 1);
    lfma__arena_leave(world.arena, caller);
}

/* A clock that stands still, jumps and runs backwards as it likes. */
static void op_timed(void)
{
    const unsigned char me = (unsigned char)(1u << explore_actor());
    const lfma_budget time = LFMA_BUDGET_NS(1000);
    world.wild_clock |= me;
    if (lfma_coalesce(world.arena, &time, NULL) != LFMA_OK)
        explore_fail("coalesce failed");
    world.wild_clock &= (unsigned char)~me;
}

static void op_stats(void)
{
    lfma_arena_stats_t stats = LFMA_ARENA_STATS_INIT;
    if (lfma_arena_stats(world.arena, &stats) != LFMA_OK || stats.free_bytes > stats.bytes)
        explore_fail("stats failed");
}

/* While others move blocks it may find anything, but it ends and changes nothing. */
static void op_validate(void)
{
    lfma_report report = LFMA_REPORT_INIT;
    const int code = lfma_arena_validate(world.arena, &report);
    if (code != LFMA_OK && code != LFMA_E_BROKEN)
        explore_fail("validate failed");
}

static void op_prove(void)
{
    world_prove();
}

static const explore_op arena_ops[] = {
    { "alloc", op_alloc }, { "alloc1", op_alloc_1 }, { "alloc2", op_alloc_2 }, { "free", op_free },
    { "move", op_move },   { "grow", op_grow },      { "step", op_step },      { "coalesce", op_coalesce },
    { "timed", op_timed }, { "prove", op_prove },    { "stats", op_stats },    { "validate", op_validate },
};
#define READERS 2u /* the last two only look, at everything */

static const explore_op words_ops[] = {
    { "alloc", op_alloc },       { "alloc1", op_alloc_1 }, { "alloc2", op_alloc_2 },
    { "free", op_free },         { "move", op_move },      { "grow", op_grow },
    { "coalesce", op_coalesce }, { "prove", op_prove },    { "scan", op_scan },
};

static const explore_op scarce_ops[] = {
    { "alloc", op_alloc }, { "alloc1", op_alloc_1 }, { "free", op_free },
    { "pairs", op_pairs }, { "prove", op_prove },
};

static const explore_op game_ops[] = {
    { "alloc", op_alloc },       { "free", op_free },   { "move", op_move },
    { "coalesce", op_coalesce }, { "prove", op_prove },
};

/* Without a walk through thousands of pages in many steps. */
static const explore_op game_12_ops[] = {
    { "alloc", op_alloc },
    { "free", op_free },
    { "move", op_move },
    { "prove", op_prove },
};

/* -------------------------------------------------------------------------------------------------- scenarios */

static void setup(const world_shape *shape)
{
    world_make(shape);
    explore_now.family->states[explore_now.state].make();
    world_made();
}

static void setup_arena(void)
{
    setup(&arena_shape);
}

static void setup_words(void)
{
    setup(&words_shape);
}

static void setup_scarce(void)
{
    setup(&scarce_shape);
}

static void setup_game_6(void)
{
    setup(&game_6_shape);
}

static void setup_game_12(void)
{
    setup(&game_12_shape);
}

static void setup_new(void)
{
    setup(&new_shape);
}

const explore_family arena_family = {
    .name = "arena",
    FAMILY(arena_states, arena_ops),
    .readers = READERS,
    .third = 3,  /* free */
    .beside = 9, /* prove */
    .kills = true,
    .scenario = SCENARIO(setup_arena),
};

const explore_family words_family = {
    .name = "words",
    FAMILY(words_states, words_ops),
    .third = 3,  /* free */
    .beside = 7, /* prove */
    .kills = true,
    .scenario = SCENARIO(setup_words),
};

const explore_family scarce_family = {
    .name = "scarce",
    FAMILY(scarce_states, scarce_ops),
    .third = 2, /* free */
    .beside = EXPLORE_NONE,
    .scenario = SCENARIO(setup_scarce),
};

const explore_family game_6_family = {
    .name = "game6",
    FAMILY(game_states, game_ops),
    .third = 2, /* move */
    .beside = EXPLORE_NONE,
    .scenario = SCENARIO(setup_game_6),
};

const explore_family game_12_family = {
    .name = "game12",
    FAMILY(game_states, game_12_ops),
    .third = EXPLORE_NONE,
    .beside = EXPLORE_NONE,
    .scenario = SCENARIO(setup_game_12),
};

const explore_family new_family = {
    .name = "new",
    .states = arena_states,
    .state_count = 2,
    .ops = arena_ops,
    .op_count = 5, /* up to move; prove is what allocations do that find nothing */
    .third = EXPLORE_NONE,
    .beside = EXPLORE_NONE,
    .scenario = SCENARIO(setup_new),
};
