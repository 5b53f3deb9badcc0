/* SPDX-License-Identifier: MIT */
/**
 * @file single.c  One thread that allocates and frees: the paper's figures 2 and 3.
 *
 * single-once frees each block at once; single-fifo and single-random hold 64 live ones and replace the oldest, or a
 * random one. One loop serves all: slot `i` is freed, then filled again.
 */
#include <string.h>

#include "common/pin.h"
#include "common/random.h"
#include "common/row.h"
#include "common/timer.h"
#include "options.h"

#define LIVE 64u

enum order { ONCE, FIFO, RANDOM };

struct single {
    const struct peer *peer;
    void *self;
    struct random random;
    size_t size_min;
    size_t size_max;
    uint64_t failures;
    void *live[LIVE];
    struct histogram alloc_ticks;
    struct histogram free_ticks;
};

static inline void free_block(struct single *s, void *block, bool latency)
{
    if (block == NULL)
        return;
    if (!latency) {
        s->peer->free(s->self, block);
        return;
    }
    const uint64_t begin = ticks_now();
    s->peer->free(s->self, block);
    histogram_record(&s->free_ticks, ticks_now() - begin);
}

static inline void *alloc_block(struct single *s, bool latency)
{
    const size_t bytes = random_size(&s->random, s->size_min, s->size_max);
    const uint64_t begin = latency ? ticks_now() : 0;
    void *block = s->peer->alloc(s->self, bytes);
    if (latency)
        histogram_record(&s->alloc_ticks, ticks_now() - begin);
    if (block == NULL)
        s->failures++;
    return block;
}

static inline void loop(struct single *s, uint64_t pairs, enum order order, bool latency)
{
    for (uint64_t i = 0; i < pairs; i++) {
        if (order == ONCE) {
            free_block(s, alloc_block(s, latency), latency);
            continue;
        }
        const uint64_t slot = order == FIFO ? i % LIVE : random_next(&s->random) % LIVE;
        free_block(s, s->live[slot], latency);
        s->live[slot] = alloc_block(s, latency);
    }
}

/* Each case is compiled on its own, so that what is not measured costs nothing. */
static void pass(struct single *s, uint64_t pairs, enum order order, bool latency)
{
    switch (order) {
    case ONCE:
        latency ? loop(s, pairs, ONCE, true) : loop(s, pairs, ONCE, false);
        break;
    case FIFO:
        latency ? loop(s, pairs, FIFO, true) : loop(s, pairs, FIFO, false);
        break;
    case RANDOM:
        latency ? loop(s, pairs, RANDOM, true) : loop(s, pairs, RANDOM, false);
        break;
    }
}

static void run(const struct options *o, enum order order)
{
    static struct single s;
    s.peer = o->peer;
    s.random = random_stream(o->seed, o->round);
    s.size_min = o->size_min;
    s.size_max = o->size_max;
    pin_producer();
    s.self = o->peer->init();

    pass(&s, o->warmup, order, o->latency);
    s.failures = 0;
    memset(&s.alloc_ticks, 0, sizeof s.alloc_ticks);
    memset(&s.free_ticks, 0, sizeof s.free_ticks);

    const struct usage before = usage_now();
    const uint64_t begin = now_ns();
    pass(&s, o->pairs, order, o->latency);
    const uint64_t end = now_ns();
    const struct usage after = usage_now();

    for (unsigned i = 0; i < LIVE; i++)
        free_block(&s, s.live[i], false);
    o->peer->fini(s.self);
    row_print(&(struct row){
        .workload = o->workload->name,
        .allocator = o->label,
        .threads = 1,
        .size_min = o->size_min,
        .size_max = o->size_max,
        .pairs = o->pairs,
        .round = o->round,
        .has_ns_per_pair = !o->latency,
        .ns_per_pair = (double)(end - begin) / (double)o->pairs,
        .alloc_ticks = o->latency ? &s.alloc_ticks : NULL,
        .free_ticks = o->latency ? &s.free_ticks : NULL,
        .failures = s.failures,
        .usage = usage_between(&before, &after),
    });
}

void single_once(const struct options *options)
{
    run(options, ONCE);
}

void single_fifo(const struct options *options)
{
    run(options, FIFO);
}

void single_random(const struct options *options)
{
    run(options, RANDOM);
}
