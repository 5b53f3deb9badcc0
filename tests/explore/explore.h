/* SPDX-License-Identifier: MIT */
/*
 * The explorer: runs the library's real code in coroutines of one OS thread, through every schedule
 * up to a bound, and through the older values that weak memory lets a load see.
 *
 * A run is a string of choices. At each atomic operation one is made: which thread goes on (to leave a
 * thread that could go on is a preemption; at most `preemptions` of them in a run), and, in weak
 * memory, which value a load sees (an older one than the newest is a stale read; at most `stale` in a
 * run). The runs are walked depth first; a failing one is named by its choices and can be replayed.
 *
 * Weak memory is the view machine of C11 without load buffering: each location keeps its written
 * values in modification order, each thread the oldest it may still see of every location; a release
 * write carries its writer's view, an acquire read takes it over; read-modify-writes read the newest
 * value and carry on the view of a release before them; a sc read sees nothing older than the last sc
 * write of the location.
 */
#ifndef LFMA_TESTS_EXPLORE_EXPLORE_H
#define LFMA_TESTS_EXPLORE_EXPLORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPLORE_THREADS 4u

typedef struct explore_scenario {
    const char *name;
    void (*setup)(void);                   /* once: builds the state that each run starts from */
    void (*reset)(void);                   /* before each run */
    unsigned threads;                      /* 1 … EXPLORE_THREADS */
    void (*thread[EXPLORE_THREADS])(void); /* what they do */
    void (*step)(void);                    /* after each atomic operation; may be NULL */
    const char *(*check)(void);            /* at rest: NULL, or what is wrong */
    const char *bug;                       /* not NULL: the scenario runs a wrong protocol, and must fail */
} explore_scenario;

typedef struct explore_bounds {
    unsigned preemptions;
    unsigned stale; /* 0: sequentially consistent memory */
    uint64_t runs_max;
    uint64_t seed;      /* not 0: random runs instead of all */
    const char *replay; /* choices of one run, which is then traced */
} explore_bounds;

typedef struct explore_result {
    uint64_t runs;
    uint64_t operations;
    bool complete; /* all runs within the bounds were made */
    bool failed;
    char what[128];
    char choices[512]; /* for replay */
} explore_result;

explore_result explore(const explore_scenario *scenario, const explore_bounds *bounds);

/* The thread that runs now: 0 … threads - 1; EXPLORE_THREADS outside of runs. */
unsigned explore_self(void);

/* Cells that one thread alone uses (its counters): accesses to them are no scheduling points. */
void explore_quiet(const void *first, size_t bytes);
void explore_quiet_none(void);

/* From a thread or a step: this run has failed. */
void explore_fail(const char *what);

#endif
