/* SPDX-License-Identifier: MIT */
/**
 * @file multi_producer.c  Many threads allocate at once.
 *
 * multi-producer-pairs: P producers, each with a queue and a consumer of its own, so that only the allocator is
 * shared. The queues are together as large as one of --capacity, so that the arena's fill does not grow with P.
 * multi-producer-self: P threads that each hold 8 live blocks and replace a random one.
 * --pairs is the total of all threads.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "common/channel.h"
#include "common/die.h"
#include "common/pin.h"
#include "common/random.h"
#include "common/row.h"
#include "common/timer.h"
#include "options.h"

#define LIVE 8u

struct lane {
    _Alignas(CACHE_LINE) pthread_t producer;
    pthread_t consumer;
    struct multi *multi;
    unsigned index;
    uint64_t pairs;
    _Alignas(CACHE_LINE) struct random random; /* from here on: the producer's */
    uint64_t failures;
    uint64_t producer_end_ns;
    struct histogram alloc_ticks;
    _Alignas(CACHE_LINE) uint64_t consumer_end_ns; /* from here on: whoever frees */
    struct histogram free_ticks;
    struct channel channel;
};

struct multi {
    const struct options *options;
    void *self;
    bool with_consumers;
    pthread_barrier_t start;
    struct lane *lanes;
};

static void wait_for_start(struct multi *m)
{
    const int result = pthread_barrier_wait(&m->start);
    if (result != PTHREAD_BARRIER_SERIAL_THREAD)
        check(result, "pthread_barrier_wait");
}

static inline void free_block(struct lane *lane, void *block, bool latency)
{
    const struct peer *peer = lane->multi->options->peer;
    const uint64_t begin = latency ? ticks_now() : 0;
    peer->free(lane->multi->self, block);
    if (latency)
        histogram_record(&lane->free_ticks, ticks_now() - begin);
}

/* A failed allocation is counted and tried again: the others free meanwhile. */
static inline void *alloc_block(struct lane *lane, bool latency)
{
    const struct options *o = lane->multi->options;
    const size_t bytes = random_size(&lane->random, o->size_min, o->size_max);
    for (;;) {
        const uint64_t begin = latency ? ticks_now() : 0;
        void *block = o->peer->alloc(lane->multi->self, bytes);
        if (latency)
            histogram_record(&lane->alloc_ticks, ticks_now() - begin);
        if (__builtin_expect(block != NULL, 1))
            return block;
        lane->failures++;
        (void)sched_yield();
    }
}

static inline void replace_own(struct lane *lane, bool latency)
{
    void *live[LIVE] = { NULL };
    for (uint64_t i = 0; i < lane->pairs; i++) {
        const unsigned slot = (unsigned)(random_next(&lane->random) % LIVE);
        if (live[slot] != NULL)
            free_block(lane, live[slot], latency);
        live[slot] = alloc_block(lane, latency);
    }
    for (unsigned slot = 0; slot < LIVE; slot++) {
        if (live[slot] != NULL)
            free_block(lane, live[slot], latency);
    }
}

static inline void produce(struct lane *lane, bool latency)
{
    for (uint64_t i = 0; i < lane->pairs; i++)
        channel_push(&lane->channel, alloc_block(lane, latency));
    channel_close(&lane->channel);
}

static void *producer_main(void *argument)
{
    struct lane *lane = argument;
    const bool latency = lane->multi->options->latency;
    pin_worker(lane->index);
    wait_for_start(lane->multi);
    if (lane->multi->with_consumers)
        latency ? produce(lane, true) : produce(lane, false);
    else
        latency ? replace_own(lane, true) : replace_own(lane, false);
    lane->producer_end_ns = now_ns();
    return NULL;
}

static inline void consume(struct lane *lane, bool latency)
{
    void *block;
    do {
        while (channel_try_pop(&lane->channel, &block))
            free_block(lane, block, latency);
        lane->consumer_end_ns = now_ns();
    } while (channel_wait(&lane->channel, false));
}

static void *consumer_main(void *argument)
{
    struct lane *lane = argument;
    pin_worker(lane->index + 1); /* not where its producer is */
    wait_for_start(lane->multi);
    if (lane->multi->options->latency)
        consume(lane, true);
    else
        consume(lane, false);
    return NULL;
}

static unsigned lane_capacity(const struct options *o)
{
    unsigned capacity = o->capacity;
    for (unsigned lanes = o->threads; lanes > 1 && capacity > 8; lanes = (lanes + 1) / 2)
        capacity /= 2;
    return capacity;
}

/* One pass with threads of its own; returns its time. */
static uint64_t pass(struct multi *m, uint64_t pairs)
{
    const struct options *o = m->options;
    const unsigned threads = m->with_consumers ? 2 * o->threads : o->threads;
    check(pthread_barrier_init(&m->start, NULL, threads + 1), "pthread_barrier_init");
    for (unsigned i = 0; i < o->threads; i++) {
        struct lane *lane = &m->lanes[i];
        memset(lane, 0, sizeof *lane);
        lane->multi = m;
        lane->index = i;
        lane->pairs = pairs / o->threads;
        lane->random = random_stream(o->seed, o->round * THREADS_MAX + i);
        channel_init(&lane->channel, lane_capacity(o));
        check(pthread_create(&lane->producer, NULL, producer_main, lane), "pthread_create");
        if (m->with_consumers)
            check(pthread_create(&lane->consumer, NULL, consumer_main, lane), "pthread_create");
    }
    const uint64_t begin = now_ns();
    wait_for_start(m);

    uint64_t end = begin;
    for (unsigned i = 0; i < o->threads; i++) {
        struct lane *lane = &m->lanes[i];
        check(pthread_join(lane->producer, NULL), "pthread_join");
        if (m->with_consumers)
            check(pthread_join(lane->consumer, NULL), "pthread_join");
        end = lane->producer_end_ns > end ? lane->producer_end_ns : end;
        end = lane->consumer_end_ns > end ? lane->consumer_end_ns : end;
    }
    check(pthread_barrier_destroy(&m->start), "pthread_barrier_destroy");
    return end - begin;
}

static void run(const struct options *o, bool with_consumers)
{
    struct multi m = { .options = o, .with_consumers = with_consumers };
    m.lanes = aligned_alloc(CACHE_LINE, o->threads * sizeof *m.lanes);
    struct histogram *alloc_ticks = calloc(2, sizeof *alloc_ticks), *free_ticks = alloc_ticks + 1;
    if (m.lanes == NULL || alloc_ticks == NULL)
        die("out of memory");
    m.self = o->peer->init();
    if (o->warmup >= o->threads)
        (void)pass(&m, o->warmup);
    const struct usage before = usage_now();
    const uint64_t ns = pass(&m, o->pairs);
    const struct usage after = usage_now();
    o->peer->fini(m.self);

    uint64_t failures = 0;
    for (unsigned i = 0; i < o->threads; i++) {
        failures += m.lanes[i].failures;
        histogram_merge(alloc_ticks, &m.lanes[i].alloc_ticks);
        histogram_merge(free_ticks, &m.lanes[i].free_ticks);
    }
    const uint64_t pairs = o->pairs / o->threads * o->threads;
    row_print(&(struct row){
        .workload = o->workload->name,
        .allocator = o->label,
        .threads = o->threads,
        .consumers = with_consumers ? o->threads : 0,
        .size_min = o->size_min,
        .size_max = o->size_max,
        .pairs = pairs,
        .round = o->round,
        .has_ns_per_pair = !o->latency,
        .ns_per_pair = (double)ns / (double)pairs,
        .alloc_ticks = o->latency ? alloc_ticks : NULL,
        .free_ticks = o->latency ? free_ticks : NULL,
        .failures = failures,
        .usage = usage_between(&before, &after),
    });
    free(alloc_ticks);
    free(m.lanes);
}

void multi_producer_pairs(const struct options *options)
{
    run(options, true);
}

void multi_producer_self(const struct options *options)
{
    run(options, false);
}
