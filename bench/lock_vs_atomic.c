/* SPDX-License-Identifier: MIT */
/**
 * @file lock_vs_atomic.c  What a plain instruction, an atomic and a lock cost, and whether costs add up as the
 * paper's model says: a locked operation takes lock + unlock + work, a lock-free one its number of atomics × their
 * cost.
 *
 * Three scenes: `cached`, one thread and one line; `miss`, one thread and for each operation a random line of
 * 256 MiB, chosen by the value that the one before it read, so that misses do not overlap; `shared`, two threads and
 * one line. Every operation is an increment of a counter; those with a lock have it on the counter's line.
 */
#include <ck_spinlock.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "common/die.h"
#include "common/pin.h"
#include "common/random.h"
#include "common/row.h"
#include "common/timer.h"
#include "options.h"

#define LINE 64
#define MISS_LINES ((size_t)1 << 22) /* 256 MiB: more than the caches of today's machines */

/* One line: a counter with both locks, so that a miss brings the lock and what it guards. */
struct cell {
    _Alignas(LINE) pthread_mutex_t mutex;
    ck_spinlock_fas_t spin;
    _Atomic(uint64_t) counter;
};

_Static_assert(sizeof(struct cell) == LINE, "a cell is one cache line");

enum operation {
    PLAIN,
    ATOMIC_1,
    ATOMIC_2,
    ATOMIC_3,
    ATOMIC_4,
    CAS,
    MUTEX_EMPTY,
    MUTEX,
    SPIN_EMPTY,
    SPIN,
    OPERATIONS
};

static const char *const names[OPERATIONS] = {
    [PLAIN] = "plain-increment",   [ATOMIC_1] = "atomic-add",    [ATOMIC_2] = "atomic-add-x2",
    [ATOMIC_3] = "atomic-add-x3",  [ATOMIC_4] = "atomic-add-x4", [CAS] = "cas-loop",
    [MUTEX_EMPTY] = "mutex-empty", [MUTEX] = "mutex-increment",  [SPIN_EMPTY] = "spinlock-empty",
    [SPIN] = "spinlock-increment",
};

/* A load and a store that the compiler may not keep in a register: what an atomic is held against. */
static inline uint64_t plain_increment(struct cell *cell)
{
    const uint64_t value = atomic_load_explicit(&cell->counter, memory_order_relaxed);
    atomic_store_explicit(&cell->counter, value + 1, memory_order_relaxed);
    return value;
}

static inline uint64_t atomic_adds(struct cell *cell, unsigned n)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < n; i++)
        value = atomic_fetch_add_explicit(&cell->counter, 1, memory_order_acq_rel);
    return value;
}

static inline uint64_t cas_increment(struct cell *cell)
{
    uint64_t value = atomic_load_explicit(&cell->counter, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&cell->counter, &value, value + 1, memory_order_acq_rel,
                                                  memory_order_relaxed))
        continue;
    return value;
}

/* An empty section reads the counter after it, so that here too the next index waits for this line. */
static inline uint64_t mutex_increment(struct cell *cell, bool work)
{
    uint64_t value = 0;
    const int locked = pthread_mutex_lock(&cell->mutex);
    if (work)
        value = plain_increment(cell);
    const int unlocked = pthread_mutex_unlock(&cell->mutex);
    if (__builtin_expect((locked | unlocked) != 0, 0))
        check(locked != 0 ? locked : unlocked, "pthread_mutex");
    return work ? value : atomic_load_explicit(&cell->counter, memory_order_relaxed);
}

static inline uint64_t spin_increment(struct cell *cell, bool work)
{
    uint64_t value = 0;
    ck_spinlock_fas_lock(&cell->spin);
    if (work)
        value = plain_increment(cell);
    ck_spinlock_fas_unlock(&cell->spin);
    return work ? value : atomic_load_explicit(&cell->counter, memory_order_relaxed);
}

static inline uint64_t operate(struct cell *cell, enum operation operation)
{
    switch (operation) {
    case PLAIN:
        return plain_increment(cell);
    case ATOMIC_1:
        return atomic_adds(cell, 1);
    case ATOMIC_2:
        return atomic_adds(cell, 2);
    case ATOMIC_3:
        return atomic_adds(cell, 3);
    case ATOMIC_4:
        return atomic_adds(cell, 4);
    case CAS:
        return cas_increment(cell);
    case MUTEX_EMPTY:
        return mutex_increment(cell, false);
    case MUTEX:
        return mutex_increment(cell, true);
    case SPIN_EMPTY:
        return spin_increment(cell, false);
    case SPIN:
        return spin_increment(cell, true);
    case OPERATIONS:
        break;
    }
    return 0;
}

/* `count` operations on one cell (mask 0) or on random ones; the next index waits for the value of the one before. */
static inline void loop(struct cell *cells, size_t mask, uint64_t count, enum operation operation, uint64_t seed)
{
    struct random random = { seed };
    for (uint64_t i = 0; i < count; i++) {
        const size_t index = mask == 0 ? 0 : (size_t)random_next(&random) & mask;
        random.state += operate(&cells[index], operation) & 1;
    }
}

/* Each operation is compiled on its own: no switch inside the loop. */
static void repeat(struct cell *cells, size_t mask, uint64_t count, enum operation operation, uint64_t seed)
{
    switch (operation) {
    case PLAIN:
        loop(cells, mask, count, PLAIN, seed);
        break;
    case ATOMIC_1:
        loop(cells, mask, count, ATOMIC_1, seed);
        break;
    case ATOMIC_2:
        loop(cells, mask, count, ATOMIC_2, seed);
        break;
    case ATOMIC_3:
        loop(cells, mask, count, ATOMIC_3, seed);
        break;
    case ATOMIC_4:
        loop(cells, mask, count, ATOMIC_4, seed);
        break;
    case CAS:
        loop(cells, mask, count, CAS, seed);
        break;
    case MUTEX_EMPTY:
        loop(cells, mask, count, MUTEX_EMPTY, seed);
        break;
    case MUTEX:
        loop(cells, mask, count, MUTEX, seed);
        break;
    case SPIN_EMPTY:
        loop(cells, mask, count, SPIN_EMPTY, seed);
        break;
    case SPIN:
        loop(cells, mask, count, SPIN, seed);
        break;
    case OPERATIONS:
        break;
    }
}

struct half {
    _Alignas(LINE) pthread_t thread;
    pthread_barrier_t *start;
    struct cell *cell;
    uint64_t count;
    enum operation operation;
    unsigned index;
    uint64_t begin_ns;
    uint64_t end_ns;
};

static void *half_main(void *argument)
{
    struct half *half = argument;
    pin_worker(half->index);
    const int result = pthread_barrier_wait(half->start);
    if (result != PTHREAD_BARRIER_SERIAL_THREAD)
        check(result, "pthread_barrier_wait");
    half->begin_ns = now_ns();
    repeat(half->cell, 0, half->count, half->operation, 1);
    half->end_ns = now_ns();
    return NULL;
}

/* Two threads, each `count` operations on one cell; the time of one operation as its thread sees it. */
static double time_shared(struct cell *cell, uint64_t count, enum operation operation)
{
    pthread_barrier_t start;
    struct half halves[2];
    check(pthread_barrier_init(&start, NULL, 2), "pthread_barrier_init");
    for (unsigned i = 0; i < 2; i++) {
        halves[i] = (struct half){
            .start = &start, .cell = cell, .count = count, .operation = operation, .index = i
        };
        check(pthread_create(&halves[i].thread, NULL, half_main, &halves[i]), "pthread_create");
    }
    for (unsigned i = 0; i < 2; i++)
        check(pthread_join(halves[i].thread, NULL), "pthread_join");
    check(pthread_barrier_destroy(&start), "pthread_barrier_destroy");
    return (double)(halves[0].end_ns - halves[0].begin_ns + halves[1].end_ns - halves[1].begin_ns) /
           (2.0 * (double)count);
}

static double time_alone(struct cell *cells, size_t mask, uint64_t count, enum operation operation, uint64_t seed)
{
    const uint64_t begin = now_ns();
    repeat(cells, mask, count, operation, seed);
    return (double)(now_ns() - begin) / (double)count;
}

static void print_result(const struct options *o, const char *scene, enum operation operation, unsigned threads,
                         uint64_t count, double ns)
{
    char workload[64];
    (void)snprintf(workload, sizeof workload, "%s-%s", o->workload->name, scene);
    row_print(&(struct row){
        .workload = workload,
        .allocator = names[operation],
        .threads = threads,
        .pairs = count,
        .round = o->round,
        .has_ns_per_pair = true,
        .ns_per_pair = ns,
        .usage = usage_now(),
    });
}

void lock_vs_atomic(const struct options *o)
{
    struct cell *cells = mmap(NULL, MISS_LINES * sizeof *cells, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                              -1, 0);
    if (cells == MAP_FAILED)
        die("no memory for %zu lines", MISS_LINES);
    for (size_t i = 0; i < MISS_LINES; i++) { /* touches every line: no page fault is measured */
        check(pthread_mutex_init(&cells[i].mutex, NULL), "pthread_mutex_init");
        ck_spinlock_fas_init(&cells[i].spin);
        atomic_init(&cells[i].counter, 0);
    }
    const uint64_t misses = o->pairs / 8 + 1; /* an operation is tens of times longer here */
    for (enum operation operation = PLAIN; operation < OPERATIONS; operation++)
        print_result(o, "shared", operation, 2, o->pairs, time_shared(&cells[0], o->pairs, operation));
    pin_producer();
    repeat(cells, MISS_LINES - 1, misses, PLAIN, o->seed); /* warms page tables */
    for (enum operation operation = PLAIN; operation < OPERATIONS; operation++) {
        print_result(o, "cached", operation, 1, o->pairs, time_alone(cells, 0, o->pairs, operation, o->seed));
        print_result(o, "miss", operation, 1, misses,
                     time_alone(cells, MISS_LINES - 1, misses, operation, o->seed + (uint64_t)operation));
    }
    if (munmap(cells, MISS_LINES * sizeof *cells) != 0)
        die("munmap failed");
}
