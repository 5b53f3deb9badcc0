/* SPDX-License-Identifier: MIT */
/**
 * @file row.h  What a run prints: one CSV row a repetition, in the order of ROW_HEADER, empty where not measured.
 *
 * The column ns_above_floor is left empty here: only who sees the floor's run of the same round can fill it (run.py).
 * Further tables are printed as "#<table>,<fields>" lines, each with its header as "#<table>-header,<fields>" before.
 */
#ifndef BENCH_COMMON_ROW_H
#define BENCH_COMMON_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/histogram.h"
#include "common/usage.h"

#define ROW_HEADER                                                                                                   \
    "workload,allocator,threads,consumers,size_min,size_max,pairs,round,ns_per_pair,ns_above_floor,"                 \
    "alloc_p50,alloc_p99,alloc_p999,alloc_p9999,alloc_max,free_p50,free_p99,free_p999,free_p9999,free_max,"          \
    "failures,minor_faults,ctx_switches,peak_rss_kib"

struct row {
    const char *workload;
    const char *allocator;
    unsigned threads;   /**< that allocate */
    unsigned consumers; /**< that only free */
    size_t size_min;    /**< bytes */
    size_t size_max;    /**< bytes */
    uint64_t pairs;
    unsigned round;
    bool has_ns_per_pair;
    double ns_per_pair;
    const struct histogram *alloc_ticks; /**< NULL: not measured */
    const struct histogram *free_ticks;  /**< NULL: not measured */
    uint64_t failures;
    struct usage usage;
};

/** Print the row on stdout. */
void row_print(const struct row *row);

#endif
