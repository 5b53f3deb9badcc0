/* SPDX-License-Identifier: MIT */
/*
 * The explorer: runs the library's real code in coroutines of one OS thread, through every schedule
 * up to a bound, and through the older values that weak memory lets a load see.
 *
 * A run is a string of choices. At each atomic operation one is made: which thread goes on (to leave a
 * thread that could go on is a preemption; at most `preemptions` of them in a run), whether a signal
 * handler of the first thread runs before it, whether that thread is killed, whether a weak
 * compare-exchange fails for no reason, and, in weak memory, which value a load sees (an older one than
 * the newest is a stale read; at most `stale` in a run). The runs are walked depth first; a failing one
 * is named by its choices and can be replayed.
 *
 * States that were met before with as much freedom left are not walked again: a state is what the
 * threads have read so far (that decides what they do next), the memory, and the oracles' notes, as a
 * hash of 56 bits (in a scenario of a million states two share one by accident about once in 10^5 times).
 * Accesses of cells that no two threads share, or that nobody writes, are no scheduling points.
 *
 * Weak memory is the view machine of C11 without load buffering (no load sees a write that comes later
 * in program order than an operation which depends on it; no processor that the library is for shows
 * that through a read-modify-write). Each location keeps its written values in modification order, each
 * thread the oldest it may still see of every location; a release write carries its writer's view, an
 * acquire read takes it over; read-modify-writes read the newest value and carry on the view of a
 * release before them; a sc read sees nothing older than the last sc write of the location.
 */
#ifndef LFMA_TESTS_EXPLORE_EXPLORE_H
#define LFMA_TESTS_EXPLORE_EXPLORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPLORE_THREADS 3u
#define EXPLORE_HANDLER EXPLORE_THREADS /* the actor that interrupts thread 0 */
#define EXPLORE_ACTORS (EXPLORE_THREADS + 1u)
#define EXPLORE_OUTSIDE EXPLORE_ACTORS
#define EXPLORE_UNLIMITED 255u

typedef struct explore_scenario {
    const char *name;
    void (*setup)(void);                   /* once: builds the state that each run starts from */
    void (*reset)(void);                   /* before each run */
    unsigned threads;                      /* 1 … EXPLORE_THREADS */
    void (*thread[EXPLORE_THREADS])(void); /* what they do */
    void (*handler)(void);      /* may be NULL; else runs before one atomic operation of thread 0, or never */
    bool kill;                  /* thread 0 ends before one of its atomic operations, or never */
    void (*step)(void);         /* after each write; may be NULL */
    uint64_t (*digest)(void);   /* of what step() and check() go by besides the atomics; may be NULL */
    const char *(*check)(void); /* at rest: NULL, or what is wrong */
    void (*name_of)(const void *cell, char *text, size_t size); /* for traces; may be NULL */
    const char *bug; /* not NULL: the scenario runs a wrong protocol, and must fail, "always" or in "weak" memory */
} explore_scenario;

typedef struct explore_bounds {
    unsigned preemptions;
    unsigned stale; /* 0: sequentially consistent memory */
    uint64_t runs_max;
    unsigned depth; /* not 0: random runs, of priorities that change depth - 1 times */
    uint64_t seed;
    const char *replay; /* choices of one run, which is then traced */
} explore_bounds;

typedef struct explore_result {
    uint64_t runs;
    uint64_t operations;
    uint64_t states;
    unsigned longest; /* atomic operations of one thread in one run */
    bool complete;    /* all runs within the bounds were made */
    bool failed;
    char what[160];
    char choices[512]; /* for replay */
} explore_result;

explore_result explore(const explore_scenario *scenario, const explore_bounds *bounds);

/* Who runs now: a thread, 0 … EXPLORE_THREADS - 1; EXPLORE_HANDLER in the handler; EXPLORE_OUTSIDE outside runs. */
unsigned explore_actor(void);

bool explore_memory_is_weak(void);

/* Was thread 0 killed in this run? */
bool explore_was_killed(void);

/* One of `options` ways for the world outside to behave, such as a clock. */
unsigned explore_pick(unsigned options);

/* Cells that one thread alone uses (its counters): accesses to them are no scheduling points. */
void explore_quiet(const void *first, size_t bytes);
void explore_quiet_none(void);

/* From a thread or a step: this run has failed. */
void explore_fail(const char *what);

static inline uint64_t explore_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 29;
}

#endif
