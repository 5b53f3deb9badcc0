/* SPDX-License-Identifier: MIT */
/*
 * One side of support/hook.h: each atomic operation is a step, which is counted, and at the step that a test has
 * chosen calls back. So one call is measured, or interrupted at each of its atomics by another one, as by a signal
 * handler or by a thread that overtakes a stopped one. One thread only.
 */
#ifndef LFMA_TESTS_SUPPORT_STEPS_H
#define LFMA_TESTS_SUPPORT_STEPS_H

#include <stdbool.h>
#include <stdint.h>

/* Count from 0, and before step `at` (from 1; 0: never) call `interrupt`, whose own steps are not counted. */
void steps_begin(uint64_t at, void (*interrupt)(void *argument), void *argument);

/* The steps since then; no more interruptions. */
uint64_t steps_end(void);

/* Those of them that changed a word by a read-modify-write: the dear ones. */
uint64_t steps_changes(void);

/* From now on every second compare-exchange fails although its word is as expected. */
void steps_fail_exchanges(bool on);

#endif
