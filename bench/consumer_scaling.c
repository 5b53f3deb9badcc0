/* SPDX-License-Identifier: MIT */
/**
 * @file consumer_scaling.c  One producer allocates, C consumers free: the paper's figure 4, this project's main job.
 *
 * The time runs from the producer's first allocation to the last consumer's last free. A failed allocation is
 * counted, the producer yields and tries again. --warmup pairs go the same way before.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/channel.h"
#include "common/die.h"
#include "common/pin.h"
#include "common/random.h"
#include "common/row.h"
#include "common/timer.h"
#include "common/transfer.h"
#include "options.h"

#define POPS_BEFORE_SHARING 128u
#define POPS_A_TURN 1024u

struct consumer {
    _Alignas(CACHE_LINE) pthread_t thread;
    struct scaling *scaling;
    uint64_t freed;
    uint64_t last_free_ns;
    struct histogram free_ticks;
};

struct scaling {
    const struct options *options;
    void *self;
    struct channel channel;
    _Alignas(CACHE_LINE) struct random random; /* this line and what follows: the producer's */
    uint64_t failures;
    struct histogram alloc_ticks;
    _Alignas(CACHE_LINE) struct consumer consumers[CONSUMERS_MAX];
};

static inline void consume(struct consumer *me, bool latency)
{
    struct channel *channel = &me->scaling->channel;
    const struct peer *peer = me->scaling->options->peer;
    void *self = me->scaling->self;
    void *block;
    uint64_t freed = 0, stamped = 0, turn_begin = 0;
    for (;;) {
        while (channel_try_pop(channel, &block)) {
            const uint64_t begin = latency ? ticks_now() : 0;
            peer->free(self, block);
            if (latency)
                histogram_record(&me->free_ticks, ticks_now() - begin);
            if (++freed % POPS_BEFORE_SHARING == 0)
                channel_share_work(channel);
        }
        if (freed != stamped) { /* the ring is empty: there is time to look at the clock */
            me->last_free_ns = now_ns();
            stamped = freed;
        }
        const bool turn_over = freed - turn_begin >= POPS_A_TURN;
        if (turn_over)
            turn_begin = freed;
        if (!channel_wait(channel, turn_over))
            break;
    }
    me->freed = freed;
}

static void *consumer_main(void *argument)
{
    struct consumer *me = argument;
    pin_consumer();
    if (me->scaling->options->latency)
        consume(me, true);
    else
        consume(me, false);
    return NULL;
}

static inline void produce(struct scaling *s, uint64_t pairs, bool latency)
{
    const struct options *o = s->options;
    for (uint64_t i = 0; i < pairs; i++) {
        const size_t bytes = random_size(&s->random, o->size_min, o->size_max);
        for (;;) {
            const uint64_t begin = latency ? ticks_now() : 0;
            void *block = o->peer->alloc(s->self, bytes);
            if (latency)
                histogram_record(&s->alloc_ticks, ticks_now() - begin);
            if (__builtin_expect(block != NULL, 1)) {
                channel_push(&s->channel, block);
                break;
            }
            s->failures++;
            (void)sched_yield();
        }
    }
}

/* One pass with threads of its own; returns its time. */
static uint64_t pass(struct scaling *s, uint64_t pairs)
{
    const struct options *o = s->options;
    channel_init(&s->channel, o->capacity);
    s->failures = 0;
    memset(&s->alloc_ticks, 0, sizeof s->alloc_ticks);
    memset(s->consumers, 0, o->consumers * sizeof s->consumers[0]);
    for (unsigned i = 0; i < o->consumers; i++) {
        s->consumers[i].scaling = s;
        check(pthread_create(&s->consumers[i].thread, NULL, consumer_main, &s->consumers[i]), "pthread_create");
    }
    channel_wait_for_sleepers(&s->channel, o->consumers);

    const uint64_t begin = now_ns();
    if (o->latency)
        produce(s, pairs, true);
    else
        produce(s, pairs, false);
    channel_close(&s->channel);

    uint64_t end = begin, freed = 0;
    for (unsigned i = 0; i < o->consumers; i++) {
        check(pthread_join(s->consumers[i].thread, NULL), "pthread_join");
        freed += s->consumers[i].freed;
        if (s->consumers[i].last_free_ns > end)
            end = s->consumers[i].last_free_ns;
    }
    if (freed != pairs)
        die("%llu pairs, but %llu frees", (unsigned long long)pairs, (unsigned long long)freed);
    return end - begin;
}

/*
 * How the frees were spread, so that "30 consumers" can be checked to mean more than one at work; and what a cache
 * line costs from CPU to CPU at this moment, which explains rounds that differ by a factor on a virtual machine.
 */
static void print_scaling(const struct scaling *s, double transfer_ns)
{
    const struct options *o = s->options;
    unsigned active = 0;
    uint64_t most = 0;
    for (unsigned i = 0; i < o->consumers; i++) {
        active += s->consumers[i].freed != 0;
        if (s->consumers[i].freed > most)
            most = s->consumers[i].freed;
    }
    puts("#scaling-header,allocator,consumers,size_min,size_max,round,consumers_that_freed,largest_share_percent,"
         "line_transfer_ns");
    printf("#scaling,%s,%u,%zu,%zu,%u,%u,%.1f,%.1f\n", o->label, o->consumers, o->size_min, o->size_max, o->round,
           active, 100.0 * (double)most / (double)o->pairs, transfer_ns);
}

void consumer_scaling(const struct options *o)
{
    struct scaling *s = aligned_alloc(CACHE_LINE, sizeof *s);
    struct histogram *free_ticks = calloc(1, sizeof *free_ticks);
    if (s == NULL || free_ticks == NULL)
        die("out of memory");
    s->options = o;
    s->random = random_stream(o->seed, o->round);
    pin_producer();
    const double transfer_ns = o->latency ? 0.0 : line_transfer_ns();
    s->self = o->peer->init();
    if (o->warmup > 0)
        (void)pass(s, o->warmup);
    const struct usage before = usage_now();
    const uint64_t ns = pass(s, o->pairs);
    const struct usage after = usage_now();
    o->peer->fini(s->self);

    for (unsigned i = 0; i < o->consumers; i++)
        histogram_merge(free_ticks, &s->consumers[i].free_ticks);
    row_print(&(struct row){
        .workload = o->workload->name,
        .allocator = o->label,
        .threads = 1,
        .consumers = o->consumers,
        .size_min = o->size_min,
        .size_max = o->size_max,
        .pairs = o->pairs,
        .round = o->round,
        .has_ns_per_pair = !o->latency,
        .ns_per_pair = (double)ns / (double)o->pairs,
        .alloc_ticks = o->latency ? &s->alloc_ticks : NULL,
        .free_ticks = o->latency ? free_ticks : NULL,
        .failures = s->failures,
        .usage = usage_between(&before, &after),
    });
    if (!o->latency)
        print_scaling(s, transfer_ns);
    free(free_ticks);
    free(s);
}
