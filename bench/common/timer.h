/* SPDX-License-Identifier: MIT */
/**
 * @file timer.h  Two clocks.
 *
 * now_ns() is CLOCK_MONOTONIC: it brackets whole passes. ticks_now() is the cheap one that a latency pass reads twice
 * a call: the time stamp counter where it is invariant, CLOCK_MONOTONIC elsewhere. Nothing is subtracted for
 * reading it: the floor row shows what that costs.
 */
#ifndef BENCH_COMMON_TIMER_H
#define BENCH_COMMON_TIMER_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#if defined(__x86_64__) || defined(__i386__)
#define TIMER_HAS_TSC 1
#include <x86intrin.h>
#else
#define TIMER_HAS_TSC 0
#endif

/** Whether ticks are of the time stamp counter; set once by timer_init(). */
extern bool timer_uses_tsc;

static inline uint64_t now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail: the clock exists and t is ours */
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t ticks_now(void)
{
#if TIMER_HAS_TSC
    if (timer_uses_tsc) {
        unsigned cpu;
        return __rdtscp(&cpu); /* waits for what is before it, so that a call cannot leak past its end */
    }
#endif
    return now_ns();
}

/** Choose the clock and find its rate (takes about 5 ms). Call once, before any thread is made. */
void timer_init(void);

/** Ticks to nanoseconds, rounded. */
uint64_t ticks_to_ns(uint64_t ticks);

/** Nanoseconds to ticks, rounded. */
uint64_t ns_to_ticks(uint64_t ns);

#endif
