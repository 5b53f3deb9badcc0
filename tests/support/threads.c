/* SPDX-License-Identifier: MIT */
#include "support/threads.h"

#include <ck_barrier.h>
#include <sched.h>
#include <time.h>

#include "support/check.h"

#define SPINS 2000u /* about the length of a round */

void start_line_init(start_line *line, unsigned count)
{
    line->count = count;
    atomic_store(&line->arrived, 0);
    atomic_store(&line->round, 0);
}

void start_line_wait(start_line *line)
{
    const unsigned round = atomic_load(&line->round);
    if (atomic_fetch_add(&line->arrived, 1) + 1 == line->count) {
        atomic_store(&line->arrived, 0);
        atomic_store(&line->round, round + 1);
        return;
    }
    for (unsigned spins = 0; atomic_load(&line->round) == round; spins++) {
        if (spins >= SPINS)
            (void)sched_yield();
    }
}

static ck_barrier_centralized_t crew_line = CK_BARRIER_CENTRALIZED_INITIALIZER;

static void *run(void *argument)
{
    crew_member *const self = argument;
    ck_barrier_centralized_state_t state = CK_BARRIER_CENTRALIZED_STATE_INITIALIZER;
    ck_barrier_centralized(&crew_line, &state, self->crew->count);
    self->crew->body(self);
    if (self->operations >= self->enough && atomic_fetch_sub(&self->crew->working, 1) == 1)
        atomic_store_explicit(&self->crew->stop, true, memory_order_relaxed);
    return NULL;
}

static void start(crew *c, unsigned count, unsigned workers, crew_body *body, void *context, stress_args run_args)
{
    CHECK(count > 0 && count <= CREW_MAX);
    crew_line = (ck_barrier_centralized_t)CK_BARRIER_CENTRALIZED_INITIALIZER;
    c->body = body;
    c->count = count;
    c->operations = c->again = c->budget = 0;
    atomic_store(&c->stop, false);
    atomic_store(&c->working, workers);
    for (unsigned i = 0; i < count; i++) {
        crew_member *const m = &c->members[i];
        *m = (crew_member){ .crew = c,
                            .index = i,
                            .rng = { run_args.seed + 0x1000003u * (i + 1u) },
                            .context = context,
                            .enough = i < workers && run_args.operations > 0
                                          ? stress_part(&run_args, workers).operations
                                          : UINT64_MAX };
        const int code = pthread_create(&m->thread, NULL, run, m);
        CHECK(code == 0);
    }
}

void crew_start(crew *c, unsigned count, crew_body *body, void *context, uint64_t seed)
{
    start(c, count, count, body, context, (stress_args){ .seed = seed });
}

void crew_wait(double seconds)
{
    struct timespec rest = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };
    while (nanosleep(&rest, &rest) != 0) {
    }
}

static void join(crew *c)
{
    for (unsigned i = 0; i < c->count; i++) {
        const int code = pthread_join(c->members[i].thread, NULL);
        CHECK(code == 0);
        c->operations += c->members[i].operations;
        c->again += c->members[i].again;
        c->budget += c->members[i].budget;
    }
    stress_count(c->operations);
}

void crew_join(crew *c)
{
    atomic_store_explicit(&c->stop, true, memory_order_relaxed);
    join(c);
}

void crew_run(crew *c, unsigned count, unsigned workers, crew_body *body, void *context, stress_args run_args)
{
    start(c, count, workers, body, context, run_args);
    if (run_args.operations > 0) {
        join(c);
        return;
    }
    crew_wait(run_args.seconds);
    crew_join(c);
}
