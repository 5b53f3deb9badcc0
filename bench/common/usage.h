/* SPDX-License-Identifier: MIT */
/** @file usage.h  What the operating system counted while a pass ran. */
#ifndef BENCH_COMMON_USAGE_H
#define BENCH_COMMON_USAGE_H

#include <stdint.h>

struct usage {
    uint64_t minor_faults;
    uint64_t switches_voluntary;   /**< a thread slept */
    uint64_t switches_involuntary; /**< a thread was preempted */
    uint64_t peak_rss_kib;         /**< of the process until now, not a difference */
};

/** The process's counters now. */
struct usage usage_now(void);

/** The counters between two looks; the peak is that of the later one. */
struct usage usage_between(const struct usage *before, const struct usage *after);

#endif
