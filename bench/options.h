/* SPDX-License-Identifier: MIT */
/** @file options.h  What one run is: a workload, an allocator, the parameters, the round. */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "peers/peer.h"

#define CONSUMERS_MAX 256u
#define THREADS_MAX 64u
#define ARENA_GIB_MAX 120u /* in zones of 512 MiB: fewer than LFMA's 256 slots for threads */

struct options {
    const struct workload *workload;
    const struct peer *peer;
    const char *label; /**< the allocator column; the peer's name unless a library is preloaded */
    unsigned round;
    uint64_t pairs;
    uint64_t warmup; /**< pairs before the clock starts */
    unsigned threads;
    unsigned consumers;
    unsigned capacity; /**< of the queue */
    size_t size_min;
    size_t size_max;
    unsigned fill; /**< percent, aging */
    uint64_t budget_ns;
    unsigned arena_gib; /**< coalesce */
    uint64_t seed;
    bool latency; /**< read a clock at each call instead of timing the whole */
    bool pin;
};

struct workload {
    const char *name;
    const char *summary;
    uint64_t pairs; /**< default */
    void (*run)(const struct options *options);
};

/** Parse the command line; prints and exits on --help, --list and on anything wrong. */
void options_parse(int argc, char **argv, struct options *ret_options);

/** The workloads in the order of --list; NULL ends them. */
const struct workload *workload_at(size_t index);

/* Each workload's entry: <file>.c */
void single_once(const struct options *options);
void single_fifo(const struct options *options);
void single_random(const struct options *options);
void consumer_scaling(const struct options *options);
void multi_producer_pairs(const struct options *options);
void multi_producer_self(const struct options *options);
void coalesce_all(const struct options *options);
void coalesce_most(const struct options *options);
void aging_log(const struct options *options);
void aging_uniform(const struct options *options);
void lock_vs_atomic(const struct options *options);

#endif
