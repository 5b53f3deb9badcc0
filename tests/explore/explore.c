/* SPDX-License-Identifier: MIT */
/* The scheduler and the depth-first search over choices. Memory is in memory.c, the states met in states.c. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "explore/explore.h"
#include "explore/internal.h"

#define STACK_BYTES (64u * 1024u)
#define DEPTH_MAX 8192u
#define OPERATIONS_MAX 6000u /* of one thread in one run: more is a livelock */

/* Where a run could go on in several ways. Named by the operation and the kind, which a replay finds again. */
struct choice {
    uint16_t taken;
    uint16_t options;
    uint32_t operation;
    char kind; /* t: which thread goes on, or an interrupt; i: an interrupt; e: a thread has ended; v: what a load
                  sees; s, p */
};

static struct engine {
    const explore_scenario *scenario;
    const explore_bounds *bounds;
    struct choice choices[DEPTH_MAX];
    unsigned depth;  /* choices made in this run */
    unsigned prefix; /* choices that are given */
    unsigned given;  /* a replay's choices; */
    unsigned next;   /* and the next of them */
    uint32_t operation;
    unsigned preemptions;
    unsigned operations[EXPLORE_THREADS];
    uint64_t read[EXPLORE_THREADS]; /* a digest of all that each thread has read */
    uint64_t priorities[EXPLORE_THREADS];
    unsigned longest_run; /* atomic operations of a run, for random changes of priority */
    uint64_t random;
    unsigned self;
    bool running;
    bool in_handler;
    bool was_interrupted;
    bool was_killed;
    bool started[EXPLORE_THREADS];
    bool finished[EXPLORE_THREADS];
    bool committed; /* the thread that starts has been chosen: its first operation is done without a choice */
    bool failed;
    bool met; /* this run has come to a state that was met before */
    bool trace;
    char what[160];
    jmp_buf main;                    /* where a run was begun, */
    jmp_buf begins[EXPLORE_THREADS]; /* where its threads begin, on stacks of their own, */
    jmp_buf places[EXPLORE_THREADS]; /* and where they are */
    bool prepared;
    char stacks[EXPLORE_THREADS][STACK_BYTES];
} engine;

unsigned explore_self(void)
{
    return engine.running ? engine.self : EXPLORE_OUTSIDE;
}

unsigned explore_actor(void)
{
    return engine.running && engine.in_handler && engine.self == 0 ? EXPLORE_HANDLER : explore_self();
}

bool explore_was_killed(void)
{
    return engine.was_killed;
}

bool explore_is_traced(void)
{
    return engine.trace;
}

void explore_name_of(const void *cell, char *text, size_t size)
{
    snprintf(text, size, "%p", cell);
    if (engine.scenario->name_of)
        engine.scenario->name_of(cell, text, size);
}

void explore_fail(const char *what)
{
    if (!engine.failed)
        snprintf(engine.what, sizeof engine.what, "%s", what);
    engine.failed = true;
}

void explore_saw(uint64_t value)
{
    engine.read[engine.self] = explore_mix(engine.read[engine.self], value + 1);
}

/* ----------------------------------------------------------------------------------------------------- choices */

static uint64_t next_random(void)
{
    engine.random += 0x9E3779B97F4A7C15u;
    uint64_t z = engine.random;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* A replay: what is not named is 0. */
static unsigned choose_again(char kind)
{
    const struct choice *const c = &engine.choices[engine.next];
    if (engine.next == engine.given || c->operation != engine.operation || c->kind != kind)
        return 0;
    engine.next++;
    return c->taken;
}

/* As explore_choose(); what a random run takes is given. */
static unsigned choose(char kind, unsigned options, unsigned taken_at_random)
{
    if (options <= 1 || engine.failed)
        return 0;
    if (engine.bounds->replay) {
        const unsigned taken = choose_again(kind);
        if (taken >= options)
            explore_fail("the choices do not fit this scenario");
        return taken < options ? taken : 0;
    }
    if (engine.depth == DEPTH_MAX) {
        explore_fail("too many choices in one run");
        return 0;
    }
    struct choice *const c = &engine.choices[engine.depth++];
    if (engine.depth > engine.prefix)
        c->taken = engine.bounds->depth > 0 ? (uint16_t)taken_at_random : 0;
    c->options = (uint16_t)options;
    c->operation = engine.operation;
    c->kind = kind;
    return c->taken;
}

unsigned explore_choose(char kind, unsigned options)
{
    const bool other = engine.bounds->depth > 0 && next_random() % 4 == 0;
    return choose(kind, options, other ? (unsigned)(next_random() % options) : 0);
}

unsigned explore_pick(unsigned options)
{
    if (!engine.running)
        return 0;
    engine.operation++;
    const unsigned taken = explore_choose('p', options);
    explore_saw(taken);
    return taken;
}

/* ----------------------------------------------------------------------------------------------------- threads */

/* Nothing more is learnt from this run. */
static void leave(void)
{
    _longjmp(engine.main, 1);
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

/* Random runs: the place of the thread with the highest priority. */
static unsigned most_urgent(const unsigned *threads, unsigned count)
{
    unsigned best = 0;
    for (unsigned i = 1; i < count; i++) {
        if (engine.priorities[threads[i]] > engine.priorities[threads[best]])
            best = i;
    }
    return best;
}

/* Never returns. */
static void go_on_with(unsigned next)
{
    const unsigned self = engine.self;
    const bool begins = !engine.started[next];
    engine.self = next;
    engine.committed = begins;
    engine.started[next] = true;
    explore_switched(self, next);
    _longjmp(begins ? engine.begins[next] : engine.places[next], 1);
}

/* The thread that ran is done or dead. */
static void go_on_without_me(void)
{
    engine.finished[engine.self] = true;
    unsigned threads[EXPLORE_THREADS];
    const unsigned count = runnable(threads);
    if (count == 0)
        leave();
    const unsigned next = threads[choose('e', count, most_urgent(threads, count))];
    go_on_with(next);
}

/* A thread's stack: here it begins in every run. */
static void thread_main(void)
{
    if (_setjmp(engine.begins[engine.self]) == 0)
        _longjmp(engine.main, 1);
    engine.scenario->thread[engine.self]();
    go_on_without_me();
}

/* Once: a context can be made for a stack, a jump is faster, for it leaves the signal mask alone. */
static void prepare_threads(void)
{
    for (engine.self = 0; engine.self < EXPLORE_THREADS; engine.self++) {
        ucontext_t entry;
        (void)getcontext(&entry);
        entry.uc_stack.ss_sp = engine.stacks[engine.self];
        entry.uc_stack.ss_size = STACK_BYTES;
        entry.uc_link = NULL;
        makecontext(&entry, thread_main, 0);
        if (_setjmp(engine.main) == 0)
            (void)setcontext(&entry);
    }
    engine.prepared = true;
}

/* Has this run come to where another has been, with as much freedom? */
static bool was_met(void)
{
    uint64_t digest = explore_memory_digest();
    unsigned flags = 0;
    for (unsigned i = 0; i < engine.scenario->threads; i++) {
        digest = explore_mix(digest, engine.read[i]);
        flags |= (unsigned)engine.finished[i] << i;
    }
    flags |= (unsigned)engine.was_interrupted << 4 | (unsigned)engine.was_killed << 5 |
             (unsigned)engine.in_handler << 6;
    if (engine.bounds->preemptions != EXPLORE_UNLIMITED)
        flags |= engine.self << 8; /* to leave a thread costs a preemption: which one runs matters */
    digest = explore_mix(digest, flags);
    if (engine.scenario->digest)
        digest = explore_mix(digest, engine.scenario->digest());
    digest = explore_mix(digest, digest >> 32);
    return explore_states_met(digest, engine.bounds->preemptions == EXPLORE_UNLIMITED ? 0 : engine.preemptions);
}

static void interrupt(void)
{
    engine.was_interrupted = true;
    engine.in_handler = true;
    engine.scenario->handler();
    engine.in_handler = false;
}

/* Random runs: who is most urgent; about depth - 1 times a run the running thread gets a low priority. */
static unsigned at_random(const unsigned *threads, unsigned count, unsigned options)
{
    if (engine.bounds->depth == 0)
        return 0;
    if (options > count && next_random() % (engine.longest_run + 1) == 0)
        return options - 1;
    if (engine.bounds->depth > 1 && next_random() % (engine.longest_run / (engine.bounds->depth - 1) + 1) == 0)
        engine.priorities[engine.self] = next_random() >> 32;
    return most_urgent(threads, count);
}

void explore_count(void)
{
    engine.operation++;
    if (++engine.operations[engine.self] > OPERATIONS_MAX) {
        explore_fail("no end: a thread makes no progress");
        leave();
    }
}

/* Before each atomic operation of a shared location: who goes on? */
void explore_point(void)
{
    const unsigned self = engine.self;
    if (engine.failed)
        leave();
    if (engine.committed) {
        engine.committed = false;
        return;
    }
    unsigned threads[EXPLORE_THREADS];
    const unsigned may_go = runnable(threads);
    const unsigned count = engine.preemptions == engine.bounds->preemptions ? 1 : may_go;
    const bool may_interrupt = self == 0 && engine.scenario->handler && !engine.was_interrupted;
    const bool may_kill = self == 0 && engine.scenario->kill && !engine.was_killed;
    const unsigned options = count + may_interrupt + may_kill;
    const bool is_search = !engine.bounds->replay && engine.bounds->depth == 0;
    /* Where only one way is left, a note now and then is enough to cut short who comes the same way. */
    if (is_search && engine.depth >= engine.prefix && (options > 1 || engine.operation % 8 == 0) && was_met()) {
        engine.met = true;
        leave();
    }
    const unsigned taken = choose('t', options, at_random(threads, count, options));
    if (taken == 0)
        return;
    if (taken < count) {
        engine.preemptions++;
        if (_setjmp(engine.places[self]) == 0)
            go_on_with(threads[taken]);
    } else if (may_interrupt && taken == count) {
        interrupt();
    } else {
        engine.was_killed = true;
        go_on_without_me();
    }
}

void explore_fence(void)
{
    const bool may_interrupt = explore_self() == 0 && engine.scenario->handler && !engine.was_interrupted;
    if (may_interrupt && explore_choose('i', 2) != 0)
        interrupt();
}

void explore_after(void)
{
    if (engine.scenario->step)
        engine.scenario->step();
}

/* -------------------------------------------------------------------------------------------------------- runs */

static void begin_run(void)
{
    engine.depth = 0;
    engine.next = 0;
    engine.operation = 0;
    engine.preemptions = 0;
    engine.failed = false;
    engine.met = false;
    engine.in_handler = false;
    engine.was_interrupted = false;
    engine.was_killed = false;
    engine.running = false;
    memset(engine.started, 0, sizeof engine.started);
    memset(engine.finished, 0, sizeof engine.finished);
    memset(engine.operations, 0, sizeof engine.operations);
    memset(engine.read, 0, sizeof engine.read);
    explore_memory_reset();
    engine.scenario->reset();
    for (unsigned i = 0; i < engine.scenario->threads; i++)
        engine.priorities[i] = next_random() >> 1;
    if (!engine.prepared)
        prepare_threads();
}

static void run_once(void)
{
    begin_run();
    engine.self = 0;
    if (_setjmp(engine.main) == 0) {
        unsigned threads[EXPLORE_THREADS];
        const unsigned count = runnable(threads);
        engine.self = EXPLORE_OUTSIDE;
        engine.running = true;
        go_on_with(threads[choose('e', count, most_urgent(threads, count))]);
    }
    engine.running = false;
    explore_switched(engine.self, EXPLORE_OUTSIDE);
    if (!engine.failed && !engine.met) {
        const char *const wrong = engine.scenario->check();
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

/* Choices that are not 0, as operation, kind and choice: 0e1,12t1,… */
static void write_choices(char *text, size_t size)
{
    size_t used = 0;
    snprintf(text, size, "-");
    for (unsigned i = 0; i < engine.depth && used + 24 < size; i++) {
        const struct choice *const c = &engine.choices[i];
        if (c->taken)
            used += (size_t)snprintf(text + used, size - used, "%s%u%c%u", used ? "," : "", (unsigned)c->operation,
                                     c->kind, (unsigned)c->taken);
    }
}

static bool read_choices(const char *text)
{
    engine.given = 0;
    while (*text && *text != '-') {
        unsigned operation, taken;
        char kind;
        int used = 0;
        if (sscanf(text, "%u%c%u%n", &operation, &kind, &taken, &used) != 3 || engine.given == DEPTH_MAX ||
            taken > UINT16_MAX)
            return false;
        engine.choices[engine.given++] = (struct choice){ .operation = operation,
                                                          .kind = kind,
                                                          .taken = (uint16_t)taken };
        text += used;
        if (*text == ',')
            text++;
    }
    return true;
}

/* An internal assertion of the library, or a bad access: say how to get here again. */
static void on_crash(int signal_number)
{
    static char choices[512];
    write_choices(choices, sizeof choices);
    printf("FAILED %s: %s, replay with --replay %s\n", engine.scenario->name,
           signal_number == SIGABRT ? "an assertion" : "a bad access", choices);
    fflush(stdout);
    _Exit(1);
}

static void note(explore_result *result)
{
    unsigned all = 0;
    result->runs++;
    for (unsigned i = 0; i < engine.scenario->threads; i++) {
        all += engine.operations[i];
        if (engine.operations[i] > result->longest)
            result->longest = engine.operations[i];
    }
    result->operations += all;
    if (all > engine.longest_run)
        engine.longest_run = all;
    if (engine.failed) {
        result->failed = true;
        memcpy(result->what, engine.what, sizeof result->what);
        write_choices(result->choices, sizeof result->choices);
    }
}

explore_result explore(const explore_scenario *scenario, const explore_bounds *bounds)
{
    explore_result result = { .complete = false };
    memset(&engine.choices, 0, sizeof engine.choices);
    engine.scenario = scenario;
    engine.bounds = bounds;
    engine.prefix = 0;
    engine.longest_run = 0;
    engine.random = bounds->seed;
    engine.trace = bounds->replay != NULL;
    signal(SIGABRT, on_crash);
    signal(SIGSEGV, on_crash);
    scenario->setup();
    explore_memory_begin(bounds->stale, bounds->replay || bounds->depth > 0);
    explore_states_reset();
    if (bounds->replay && !read_choices(bounds->replay)) {
        result.failed = true;
        snprintf(result.what, sizeof result.what, "not a string of choices");
        return result;
    }
    do {
        run_once();
        note(&result);
        if (result.failed || bounds->replay)
            break;
        if (bounds->depth > 0) {
            engine.prefix = 0;
        } else if (explore_memory_again()) {
            engine.prefix = 0;
            explore_states_reset();
        } else {
            result.complete = !advance();
        }
    } while (!result.complete && result.runs < bounds->runs_max);
    result.states = explore_states_count();
    return result;
}
