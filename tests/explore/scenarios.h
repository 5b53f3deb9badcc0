/* SPDX-License-Identifier: MIT */
/* What is explored. A scenario starts at an edge, does one or two operations a thread, and is checked at rest. */
#ifndef LFMA_TESTS_EXPLORE_SCENARIOS_H
#define LFMA_TESTS_EXPLORE_SCENARIOS_H

#include "bitmap/bitmap.h"
#include "explore/explore.h"
#include "os/os.h"

extern const explore_scenario protocol_scenarios[];
extern const unsigned protocol_scenario_count;

typedef struct explore_op {
    const char *name;
    void (*run)(void);
} explore_op;

typedef struct explore_state {
    const char *name;
    void (*make)(void);
} explore_state;

/*
 * A family, from each of its states: all pairs of its operations (a-b); all of them with a third thread that does
 * `third` (a-b-third); each operation interrupted by each other, as by a signal handler, while a second thread does
 * `beside` (a!b-beside); and each operation, whose thread is killed within it, and each other (a~b).
 */
#define EXPLORE_NONE UINT32_MAX

typedef struct explore_family {
    const char *name;
    const explore_state *states;
    unsigned state_count;
    const explore_op *ops;
    unsigned op_count;
    unsigned readers; /* the last of them, which change nothing: in pairs only */
    unsigned third;   /* or EXPLORE_NONE */
    unsigned beside;  /* or EXPLORE_NONE */
    bool kills;
    explore_scenario scenario; /* setup, reset, step, digest and check of all */
} explore_family;

/* The scenario that was made last: what its setup and check go by. */
extern struct explore_now {
    const explore_family *family;
    unsigned state;
    unsigned threads;
    unsigned ops[EXPLORE_ACTORS];
} explore_now;

/* Make the i-th scenario of a family the current one; false beyond the last. */
bool explore_make(const explore_family *family, unsigned i, explore_scenario *ret_scenario);

extern const explore_family *const explore_families[];
extern const unsigned explore_family_count;
extern const explore_family table_family, numbers_family;
extern const explore_family arena_family, words_family, scarce_family, game_6_family, game_12_family, new_family;
extern const explore_family cache_family, cached_family, lives_family;

/*
 * Before each run (thread.c): threads with fixed numbers, and no others there are; the same where other numbers are
 * taken and given back; or new threads, which take theirs at their first call.
 */
enum explore_threads { EXPLORE_FIXED, EXPLORE_NUMBERED, EXPLORE_NEW };
void explore_threads_begin(enum explore_threads kind);
extern lfma__numbers explore_numbers;

/* Before each run, after that: a thread has a ticket already. */
void explore_thread_knows(unsigned thread, uint64_t name, uint64_t mine);

uint32_t explore_thread_number(unsigned thread); /* that it begins with */
void explore_thread_end(void);                   /* the running thread ends; its next call is a new one's */

#define EXPLORE_COUNT(array) ((unsigned)(sizeof(array) / sizeof((array)[0])))

#endif
