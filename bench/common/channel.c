/* SPDX-License-Identifier: MIT */
#include "common/channel.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/die.h"
#include "common/pin.h"

static int gettime(const struct ck_ec_ops *ops, struct timespec *ret_now)
{
    (void)ops;
    return clock_gettime(CLOCK_MONOTONIC, ret_now);
}

static void futex_wait(const struct ck_ec_wait_state *state, const uint32_t *address, uint32_t expected,
                       const struct timespec *deadline)
{
    (void)state;
    /* The bitset form takes an absolute deadline. Early returns are allowed: the caller looks again. */
    (void)syscall(SYS_futex, address, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected, deadline, NULL,
                  FUTEX_BITSET_MATCH_ANY);
}

static void futex_wake(const uint32_t *address, int threads)
{
    (void)syscall(SYS_futex, address, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, threads, NULL, NULL, 0);
}

/*
 * CK clears the "somebody waits" flag and expects all waiters to be woken. Waking one is enough here: it sets the
 * flag again before it sleeps itself, and until then it serves the ring. Whoever stays asleep loses nothing.
 */
static void wake_one(const struct ck_ec_ops *ops, const uint32_t *address)
{
    (void)ops;
    futex_wake(address, 1);
}

static const struct ck_ec_ops ops_wake_one = { .gettime = gettime, .wait32 = futex_wait, .wake32 = wake_one };

const struct ck_ec_mode channel_wake_one = { .ops = &ops_wake_one, .single_producer = true };

/* About 200 ns. Looks at the ring are this far apart, so that the other side keeps the lines that it writes. */
static void stall(void)
{
    for (unsigned i = 0; i < 16; i++)
        ck_pr_stall();
}

void channel_init(struct channel *channel, unsigned capacity)
{
    if (capacity < 4 || capacity > CHANNEL_CAPACITY_MAX || (capacity & (capacity - 1)) != 0)
        die("queue capacity %u is not a power of two in 4 … %u", capacity, CHANNEL_CAPACITY_MAX);
    ck_ring_init(&channel->ring, capacity);
    ck_ec32_init(&channel->pushed, 0);
    channel->sleepers = 0;
    channel->closed = 0;
    channel->crowded = capacity - capacity / 4;
    channel->looks = pin_cpus() > 1 ? 12 : 0; /* on one CPU, nobody pushes while we look */
}

void channel_close(struct channel *channel)
{
    ck_pr_store_uint(&channel->closed, 1);
    ck_pr_fence_memory(); /* "closed" is visible before anybody wakes */
    ck_ec32_inc(&channel->pushed, &channel_wake_one);
    futex_wake(&channel->pushed.counter, INT_MAX);
}

void channel_push_full(struct channel *channel, void *item)
{
    for (;;) {
        for (unsigned round = 0; round < 8; round++) {
            stall();
            if (ck_ring_enqueue_spmc(&channel->ring, channel->slots, item))
                return;
        }
        (void)sched_yield();
    }
}

void channel_share_work(struct channel *channel)
{
    if (ck_pr_load_uint(&channel->sleepers) != 0 && ck_ring_size(&channel->ring) >= channel->crowded)
        futex_wake(&channel->pushed.counter, 1);
}

void channel_wait_for_sleepers(struct channel *channel, unsigned consumers)
{
    while (ck_pr_load_uint(&channel->sleepers) < consumers)
        (void)sched_yield();
}

static bool is_empty(const struct channel *channel)
{
    return ck_ring_size(&channel->ring) == 0;
}

bool channel_wait(struct channel *channel, bool turn_over)
{
    const bool relieved = turn_over && ck_pr_load_uint(&channel->sleepers) != 0;
    for (unsigned round = 0; !relieved && round < channel->looks; round++) {
        stall();
        if (!is_empty(channel))
            return true;
    }
    const uint32_t seen = ck_ec32_value(&channel->pushed);
    const bool closed = ck_pr_load_uint(&channel->closed) != 0;
    ck_pr_fence_load(); /* empty after closed: nothing comes any more */
    if (!is_empty(channel))
        return true;
    if (closed)
        return false;
    ck_pr_inc_uint(&channel->sleepers);
    (void)ck_ec32_wait(&channel->pushed, &channel_wake_one, seen, NULL);
    ck_pr_dec_uint(&channel->sleepers);
    return true;
}
