/* SPDX-License-Identifier: MIT */
/* Threads of a stress program: started together, told to stop together, joined. */
#ifndef LFMA_TESTS_SUPPORT_THREADS_H
#define LFMA_TESTS_SUPPORT_THREADS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "support/check.h"
#include "support/env.h"

#define CREW_MAX 256u

typedef struct crew crew;

typedef struct crew_member {
    crew *crew;
    unsigned index;
    rng rng;
    void *context;
    uint64_t operations; /* for the body to count; crew_join() adds them up */
    uint64_t enough;     /* operations after which it stops */
    uint64_t again;      /* LFMA_E_AGAIN met */
    uint64_t budget;     /* LFMA_E_BUDGET met */
    pthread_t thread;
} crew_member;

typedef void crew_body(crew_member *self);

struct crew {
    crew_body *body;
    unsigned count;
    atomic_bool stop;
    atomic_uint working; /* members that have not done enough; the last one of them stops all */
    crew_member members[CREW_MAX];
    uint64_t operations, again, budget; /* after crew_join() */
};

/* Start `count` threads that run body(member) once all of them are there (a ck_barrier). */
void crew_start(crew *c, unsigned count, crew_body *body, void *context, uint64_t seed);

/* To be asked by bodies, relaxed: it orders nothing. */
static inline bool crew_goes_on(const crew_member *self)
{
    return self->operations < self->enough && !atomic_load_explicit(&self->crew->stop, memory_order_relaxed);
}

/* Tell them to stop, join them, add up. */
void crew_join(crew *c);

/*
 * Start, run, join: for a time; or, if the run is told a number of operations, until the first `workers` members, who
 * count, have done an equal part of them each. The others go on until then.
 */
void crew_run(crew *c, unsigned count, unsigned workers, crew_body *body, void *context, stress_args run);

/*
 * A line where threads of many short rounds wait for each other: they spin, so that they start at the same instant,
 * and yield after a while, so that a machine with fewer free cores than threads does not spin away its time slices.
 */
typedef struct start_line {
    unsigned count;
    atomic_uint arrived, round;
} start_line;

void start_line_init(start_line *line, unsigned count);
void start_line_wait(start_line *line);

/* Sleep for the length of a run; it orders nothing and nothing depends on how long it takes. */
void crew_wait(double seconds);

#endif
