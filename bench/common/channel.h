/* SPDX-License-Identifier: MIT */
/**
 * @file channel.h  The queue between one producer and many consumers: CK's SPMC ring, with sleep.
 *
 *      producer ── push ──> [ ring of 64 pointers ] ── try_pop ──> consumers
 *                    └ event count: wakes one sleeper, only if there is one
 *
 * A consumer that finds the ring empty backs off for two or three microseconds and then sleeps on the event count.
 * The wake-ups are of one consumer, not of the herd: it wakes the next one if, after a run of pops, the ring is still
 * three quarters full. So with 30 consumers on two CPUs the queue costs about what it costs with one.
 * A producer that finds the ring full backs off and then yields its CPU, which it may share with its consumers.
 *
 * Not here: any memory management. The pointers are opaque.
 */
#ifndef BENCH_COMMON_CHANNEL_H
#define BENCH_COMMON_CHANNEL_H

#include <ck_ec.h>
#include <ck_ring.h>
#include <stdbool.h>

#define CACHE_LINE 64
#define CHANNEL_CAPACITY_MAX 1024u

struct channel {
    ck_ring_t ring; /* its ends are on lines of their own */
    _Alignas(CACHE_LINE) struct ck_ec32 pushed;
    _Alignas(CACHE_LINE) unsigned sleepers;
    unsigned closed;
    unsigned looks;   /* at an empty ring before a consumer sleeps; constant */
    unsigned crowded; /* a ring this full wants one more consumer; constant */
    _Alignas(CACHE_LINE) ck_ring_buffer_t slots[CHANNEL_CAPACITY_MAX];
};

extern const struct ck_ec_mode channel_wake_one;

/** Make an empty channel; capacity is a power of two, 4 … CHANNEL_CAPACITY_MAX, of which one slot stays empty. */
void channel_init(struct channel *channel, unsigned capacity);

/** Say that nothing will be pushed any more, and wake every consumer. Producer only. */
void channel_close(struct channel *channel);

/**
 * Wait after channel_try_pop() found nothing: back off, then sleep. Consumers only.
 * @param turn_over the caller has popped a good many: if others sleep, sleep at once, so that they get a turn
 * @return false: closed and empty
 */
bool channel_wait(struct channel *channel, bool turn_over);

/** Yield until so many consumers sleep, or are about to: all threads of a pass are up before its clock starts. */
void channel_wait_for_sleepers(struct channel *channel, unsigned consumers);

void channel_push_full(struct channel *channel, void *item);

/** Push, waiting while the ring is full. Producer only. */
static inline void channel_push(struct channel *channel, void *item)
{
    if (__builtin_expect(!ck_ring_enqueue_spmc(&channel->ring, channel->slots, item), 0))
        channel_push_full(channel, item);
    ck_ec32_inc(&channel->pushed, &channel_wake_one);
}

/** Take an item; false: none there. */
static inline bool channel_try_pop(struct channel *channel, void *ret_item)
{
    return ck_ring_dequeue_spmc(&channel->ring, channel->slots, ret_item);
}

/**
 * After a run of pops that never found the ring empty: if it is still crowded and somebody sleeps, wake one.
 * A system call at worst, so not for every pop.
 */
void channel_share_work(struct channel *channel);

#endif
