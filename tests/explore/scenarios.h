/* SPDX-License-Identifier: MIT */
/* What is explored. A scenario starts at an edge, does one or two operations a thread, and is checked at rest. */
#ifndef LFMA_TESTS_EXPLORE_SCENARIOS_H
#define LFMA_TESTS_EXPLORE_SCENARIOS_H

#include "bitmap/bitmap.h"
#include "explore/explore.h"

extern const explore_scenario protocol_scenarios[];
extern const unsigned protocol_scenario_count;

/*
 * A family: all pairs of its operations, and all of them with a third thread that does `third`, from each of its
 * states.
 */
typedef struct explore_op {
    const char *name;
    void (*run)(void);
} explore_op;

typedef struct explore_state {
    const char *name;
    void (*make)(void);
} explore_state;

typedef struct explore_family {
    const char *name;
    const explore_state *states;
    unsigned state_count;
    const explore_op *ops;
    unsigned op_count;
    unsigned third;
    explore_scenario scenario; /* setup, reset, step and check of all */
} explore_family;

/* The scenario that was made last: what its setup and check go by. */
extern struct explore_now {
    const explore_family *family;
    unsigned state;
    unsigned threads;
    unsigned ops[EXPLORE_THREADS];
} explore_now;

/* Make the i-th scenario of a family the current one; false beyond the last. */
bool explore_make(const explore_family *family, unsigned i, explore_scenario *ret_scenario);

extern const explore_family table_family;
extern const explore_family arena_family;

#define EXPLORE_COUNT(array) ((unsigned)(sizeof(array) / sizeof((array)[0])))

#endif
