/* SPDX-License-Identifier: MIT */
/* Between the explorer's scheduler (explore.c), its memory (memory.c) and the states it has met (states.c). */
#ifndef LFMA_TESTS_EXPLORE_INTERNAL_H
#define LFMA_TESTS_EXPLORE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "explore/door.h"

/* One of `options` ways to go on: 0 first, the others in later runs. `kind` names the choice for a replay. */
unsigned explore_choose(char kind, unsigned options);

/* The coroutine that runs: a thread, also while its handler does; EXPLORE_OUTSIDE outside of runs. */
unsigned explore_self(void);

/* Each atomic operation of a thread; before one of a shared location, after its write, and what it has read. */
void explore_count(void);
void explore_point(void);
void explore_after(void);
void explore_saw(uint64_t value);

/* The floor goes from one thread to another, or to or from the outside. Thread-local storage follows. */
void explore_switched(unsigned from, unsigned to);

/* Is a cell of one thread alone? Then an access is no scheduling point, and has no history. */
bool explore_is_quiet(const void *cell);

/* The scenario's name of a cell. */
void explore_name_of(const void *cell, char *text, size_t size);
bool explore_is_traced(void);

void explore_trace(const char *operation, const void *cell, enum explore_order order, uint64_t value, uint64_t more);

/*
 * A new scenario. At most `stale` reads of a run may see an older value than the newest; 0: none. Every access is a
 * scheduling point, or only those of shared locations: then the search begins anew while explore_memory_again() says,
 * after a run, that it has found another one.
 */
void explore_memory_begin(unsigned stale, bool all_shared);
bool explore_memory_again(void);
void explore_memory_reset(void); /* a new run */
uint64_t explore_memory_digest(void);

/* Forget all states; has this one been met with as few preemptions spent? If not, it has been met now. */
void explore_states_reset(void);
bool explore_states_met(uint64_t digest, unsigned preemptions);
uint64_t explore_states_count(void);

#endif
