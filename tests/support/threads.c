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
    return NULL;
}

void crew_start(crew *c, unsigned count, crew_body *body, void *context, uint64_t seed)
{
    CHECK(count > 0 && count <= CREW_MAX);
    crew_line = (ck_barrier_centralized_t)CK_BARRIER_CENTRALIZED_INITIALIZER;
    c->body = body;
    c->count = count;
    c->operations = c->again = c->budget = 0;
    atomic_store(&c->stop, false);
    for (unsigned i = 0; i < count; i++) {
        crew_member *const m = &c->members[i];
        *m = (crew_member){ .crew = c, .index = i, .rng = { seed + 0x1000003u * (i + 1u) }, .context = context };
        const int code = pthread_create(&m->thread, NULL, run, m);
        CHECK(code == 0);
    }
}

void crew_wait(double seconds)
{
    struct timespec rest = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };
    while (nanosleep(&rest, &rest) != 0) {
    }
}

void crew_join(crew *c)
{
    atomic_store_explicit(&c->stop, true, memory_order_relaxed);
    for (unsigned i = 0; i < c->count; i++) {
        const int code = pthread_join(c->members[i].thread, NULL);
        CHECK(code == 0);
        c->operations += c->members[i].operations;
        c->again += c->members[i].again;
        c->budget += c->members[i].budget;
    }
}

void crew_run(crew *c, unsigned count, crew_body *body, void *context, uint64_t seed, double seconds)
{
    crew_start(c, count, body, context, seed);
    crew_wait(seconds);
    crew_join(c);
}
