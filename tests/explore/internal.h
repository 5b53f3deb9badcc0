/* SPDX-License-Identifier: MIT */
/* Between the explorer's scheduler (explore.c) and its memory (memory.c). */
#ifndef LFMA_TESTS_EXPLORE_INTERNAL_H
#define LFMA_TESTS_EXPLORE_INTERNAL_H

#include <stdbool.h>

/* One of `options` ways to go on: 0 first, the others in later runs. */
unsigned explore_choose(unsigned options);

/* Before and after each atomic operation of a thread. */
void explore_point(void);
void explore_after(void);

/* The floor goes from one thread to another; EXPLORE_THREADS stands for the outside. Thread-local storage follows. */
void explore_switched(unsigned from, unsigned to);

/* Is a cell of one thread alone? Then an access is no scheduling point, and has no history. */
bool explore_is_quiet(const void *cell);

bool explore_is_traced(void);

/* At most `stale` reads of a run may see an older value than the newest; 0: none. */
void explore_memory_mode(unsigned stale);
void explore_memory_reset(void);

#endif
