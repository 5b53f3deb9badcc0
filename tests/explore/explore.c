/* SPDX-License-Identifier: MIT */
/* The scheduler and the depth-first search over choices. Memory is in memory.c. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "explore/explore.h"
#include "explore/internal.h"

#define STACK_BYTES (64u * 1024u)
#define DEPTH_MAX 4096u
#define OPERATIONS_MAX 20000u /* of one run: more is a livelock */

struct choice {
    uint16_t taken;
    uint16_t options;
};

static struct engine {
    const explore_scenario *scenario;
    const explore_bounds *bounds;
    struct choice choices[DEPTH_MAX];
    unsigned depth;  /* choices made in this run */
    unsigned prefix; /* choices that are given */
    unsigned preemptions;
    uint64_t operations;
    uint64_t random;
    unsigned self;
    bool running;
    bool finished[EXPLORE_THREADS];
    bool failed;
    bool trace;
    char what[128];
    ucontext_t main;
    ucontext_t contexts[EXPLORE_THREADS];
    char stacks[EXPLORE_THREADS][STACK_BYTES];
} engine;

unsigned explore_self(void)
{
    return engine.running ? engine.self : EXPLORE_THREADS;
}

bool explore_is_traced(void)
{
    return engine.trace;
}

void explore_fail(const char *what)
{
    if (!engine.failed)
        snprintf(engine.what, sizeof engine.what, "%s", what);
    engine.failed = true;
}

static uint64_t next_random(void)
{
    engine.random += 0x9E3779B97F4A7C15u;
    uint64_t z = engine.random;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

unsigned explore_choose(unsigned options)
{
    if (options <= 1 || engine.failed)
        return 0;
    if (engine.depth == DEPTH_MAX) {
        explore_fail("too many choices in one run");
        return 0;
    }
    struct choice *const c = &engine.choices[engine.depth++];
    if (engine.depth > engine.prefix) {
        /* Random runs mostly go on: one choice in eight is another. */
        const bool other = engine.bounds->seed != 0 && next_random() % 8 == 0;
        c->taken = other ? (uint16_t)(next_random() % options) : 0;
    } else if (c->taken >= options) {
        explore_fail("the choices do not fit this scenario");
        c->taken = 0;
    }
    c->options = (uint16_t)options;
    return c->taken;
}

/* Give the floor to another thread, or to nobody when all are done. */
static void switch_to(unsigned next)
{
    const unsigned self = engine.self;
    engine.self = next;
    explore_switched(self, next);
    swapcontext(&engine.contexts[self], &engine.contexts[next]);
}

/* Threads that can go on, the one that runs first. */
static unsigned runnable(unsigned *threads)
{
    unsigned count = 0;
    for (unsigned i = 0; i < engine.scenario->threads; i++) {
        const unsigned thread = (engine.self + i) % engine.scenario->threads;
        if (!engine.finished[thread])
            threads[count++] = thread;
    }
    return count;
}

/* Before each atomic operation: who goes on? */
void explore_point(void)
{
    if (++engine.operations > OPERATIONS_MAX)
        explore_fail("no end: a thread makes no progress");
    if (engine.failed) /* leave as fast as possible: nothing more is learnt */
        swapcontext(&engine.contexts[engine.self], &engine.main);
    unsigned threads[EXPLORE_THREADS];
    const unsigned count = runnable(threads);
    if (engine.preemptions == engine.bounds->preemptions)
        return;
    const unsigned taken = explore_choose(count);
    if (taken > 0) {
        engine.preemptions++;
        switch_to(threads[taken]);
    }
}

void explore_after(void)
{
    if (engine.scenario->step)
        engine.scenario->step();
}

static void thread_main(void)
{
    engine.scenario->thread[engine.self]();
    engine.finished[engine.self] = true;
    unsigned threads[EXPLORE_THREADS];
    const unsigned count = runnable(threads);
    if (count == 0)
        setcontext(&engine.main);
    /* No preemption: this thread is done. */
    const unsigned next = threads[explore_choose(count)];
    explore_switched(engine.self, next);
    engine.self = next;
    setcontext(&engine.contexts[next]);
}

static void run_once(void)
{
    const explore_scenario *const scenario = engine.scenario;
    engine.depth = 0;
    engine.preemptions = 0;
    engine.operations = 0;
    engine.failed = false;
    memset(engine.finished, 0, sizeof engine.finished);
    engine.running = false;
    explore_memory_reset();
    scenario->reset();
    for (unsigned i = 0; i < scenario->threads; i++) {
        getcontext(&engine.contexts[i]);
        engine.contexts[i].uc_stack.ss_sp = engine.stacks[i];
        engine.contexts[i].uc_stack.ss_size = STACK_BYTES;
        engine.contexts[i].uc_link = NULL;
        makecontext(&engine.contexts[i], thread_main, 0);
    }
    engine.self = 0;
    engine.self = explore_choose(scenario->threads);
    engine.running = true;
    explore_switched(EXPLORE_THREADS, engine.self);
    swapcontext(&engine.main, &engine.contexts[engine.self]);
    engine.running = false;
    explore_switched(engine.self, EXPLORE_THREADS);
    if (!engine.failed) {
        const char *const wrong = scenario->check();
        if (wrong)
            explore_fail(wrong);
    }
}

/* The next string of choices in depth-first order; false when all were made. */
static bool advance(void)
{
    while (engine.depth > 0) {
        struct choice *const last = &engine.choices[engine.depth - 1];
        if (last->taken + 1u < last->options) {
            last->taken++;
            engine.prefix = engine.depth;
            return true;
        }
        engine.depth--;
    }
    return false;
}

/* Choices that are not 0, as place:choice, … */
static void write_choices(char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < engine.depth && used + 16 < size; i++) {
        if (engine.choices[i].taken)
            used += (size_t)snprintf(text + used, size - used, "%s%u:%u", used ? "," : "", i,
                                     engine.choices[i].taken);
    }
    if (used == 0)
        snprintf(text, size, "-");
}

static bool read_choices(const char *text)
{
    memset(engine.choices, 0, sizeof engine.choices);
    engine.prefix = DEPTH_MAX; /* what is not named is 0 */
    while (*text && *text != '-') {
        unsigned place, taken;
        int used = 0;
        if (sscanf(text, "%u:%u%n", &place, &taken, &used) != 2 || place >= DEPTH_MAX || taken >= UINT16_MAX)
            return false;
        engine.choices[place].taken = (uint16_t)taken;
        text += used;
        if (*text == ',')
            text++;
    }
    return true;
}

/* An internal assertion of the library: say how to get here again. */
static void on_abort(int signal_number)
{
    static char choices[512];
    (void)signal_number;
    write_choices(choices, sizeof choices);
    fprintf(stderr, "assertion failed in %s, choices %s\n", engine.scenario->name, choices);
    _Exit(1);
}

explore_result explore(const explore_scenario *scenario, const explore_bounds *bounds)
{
    explore_result result = { .complete = false };
    memset(&engine.choices, 0, sizeof engine.choices);
    engine.scenario = scenario;
    engine.bounds = bounds;
    engine.prefix = 0;
    engine.random = bounds->seed;
    engine.trace = bounds->replay != NULL;
    explore_memory_mode(bounds->stale);
    signal(SIGABRT, on_abort);
    scenario->setup();
    if (bounds->replay && !read_choices(bounds->replay)) {
        result.failed = true;
        snprintf(result.what, sizeof result.what, "not a string of choices");
        return result;
    }
    for (;;) {
        run_once();
        result.runs++;
        result.operations += engine.operations;
        if (engine.failed) {
            result.failed = true;
            memcpy(result.what, engine.what, sizeof result.what);
            write_choices(result.choices, sizeof result.choices);
            return result;
        }
        if (bounds->replay)
            return result;
        if (bounds->seed) {
            engine.prefix = 0;
        } else if (!advance()) {
            result.complete = true;
            return result;
        }
        if (result.runs >= bounds->runs_max)
            return result;
    }
}
