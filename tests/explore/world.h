/* SPDX-License-Identifier: MIT */
/* A small arena that scenarios start from, what its callers may expect, and the check at rest. */
#ifndef LFMA_TESTS_EXPLORE_WORLD_H
#define LFMA_TESTS_EXPLORE_WORLD_H

#include "arena/arena.h"
#include "explore/explore.h"

#define WORLD_PAGE 64u

typedef struct world_shape {
    unsigned pages;
    unsigned order_least; /* no block is smaller: so a free run of this order is as good as 2^order free pages */
    bool new_threads;     /* threads take their numbers at their first call */
    unsigned cache_pages; /* of all caches; 0: none. Then threads with fixed numbers have their tickets already. */
    unsigned own_order;
    unsigned own_page[EXPLORE_ACTORS]; /* the block that each actor holds at the start */
} world_shape;

extern struct world {
    const world_shape *shape;
    lfma_arena *arena;
    unsigned char wild_clock; /* 1 bit an actor: in its calls the clock jumps as it likes */
    uint32_t high_water;      /* of the numbers, at the start */
    uint64_t orphans;         /* 1 bit a number that nobody has at the start though something is kept for it */
} world;

/* Make the arena anew: every page allocated, in blocks of the least order. Then the state is made of it. */
void world_make(const world_shape *shape);
void world_free(unsigned first_page, unsigned pages); /* blocks of the least order */
void world_join(void);
void world_made(void);

/*
 * For states with caches: a thread has a block of the least order more, and what it took ahead with it; a page that
 * it has is freed by it and kept; it may keep all that is left; all have an even share of what may be kept; memory
 * has run short; somebody misses a part of his share.
 */
void world_take(unsigned actor);
void world_give(unsigned actor, unsigned page);
void world_grow(unsigned actor);
void world_share(void);
void world_press(void);
void world_ask(void);

/* Before each run. */
void world_reset(void);

/* A call by the running actor: its block; NULL, and a code that must be true. */
void *world_alloc(unsigned order, unsigned flags);
void world_scan(unsigned order); /* as world_alloc(), by reading all slices whatever the hints say */
void world_prove(void);          /* that no run of the least order is free, which must then be so */
void world_free_own(void);
void world_flush(void);
void *world_alloc_short(void); /* as world_alloc() of the least order, the short way; NULL: no reason is known */
void world_free_block(void *block, unsigned order);
void world_use_handle(void); /* a cache of no thread is made, gives a block, takes the own one, and ends */

/* For explore_scenario. */
void world_observe(void);
uint64_t world_digest(void);
const char *world_check(void);
void world_name_of(const void *cell, char *text, size_t size);

/* What a family of scenarios in this world has in common with the others. */
#define SCENARIO(setup_)                                                                                             \
    {                                                                                                                \
        .setup = setup_, .reset = world_reset, .step = world_observe, .digest = world_digest, .check = world_check,  \
        .name_of = world_name_of                                                                                     \
    }
#define FAMILY(states_, ops_)                                                                                        \
    .states = states_, .state_count = EXPLORE_COUNT(states_), .ops = ops_, .op_count = EXPLORE_COUNT(ops_)

#endif
