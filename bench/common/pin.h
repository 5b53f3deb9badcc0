/* SPDX-License-Identifier: MIT */
/**
 * @file pin.h  Which thread runs where.
 *
 * Of the CPUs that this process may use, the last one belongs to the producer alone, the consumers share the others.
 * With one CPU, or with --no-pin, the scheduler decides.
 */
#ifndef BENCH_COMMON_PIN_H
#define BENCH_COMMON_PIN_H

#include <stdbool.h>

/** Read the CPUs that this process may use. Call once, in the main thread. */
void pin_init(bool enabled);

/** CPUs that this process may use. */
unsigned pin_cpus(void);

/** Whether threads are pinned. */
bool pin_enabled(void);

/** Bind the calling thread to the producer's CPU. */
void pin_producer(void);

/** Bind the calling thread to the CPUs that are not the producer's. */
void pin_consumer(void);

/** Bind the calling thread to CPU `index` modulo their number, counted from the producer's. */
void pin_worker(unsigned index);

#endif
