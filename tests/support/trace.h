/* SPDX-License-Identifier: MIT */
/*
 * Calls that are executed one instruction at a time (x86-64, by ptrace): what they execute is counted exactly,
 * however busy the machine is and whatever its speed.
 */
#ifndef LFMA_TESTS_SUPPORT_TRACE_H
#define LFMA_TESTS_SUPPORT_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#define TRACE_PARTS 2u

typedef struct trace_counts {
    uint64_t instructions, locked, system_calls;
} trace_counts;

/* Between these two the traced function's instructions are counted, as part `part` of it. */
#if defined(__x86_64__)
#define TRACE_BEGIN(part) __asm__ volatile("int3" : : "a"(part) : "memory")
#define TRACE_END() __asm__ volatile("int3" : : : "memory")
#else
#define TRACE_BEGIN(part) ((void)(part))
#define TRACE_END() ((void)0)
#endif

/*
 * Runs function(context) in a child and sums up what it executes. Returns false, with nothing counted, if this
 * machine traces nothing. A child that fails a check fails the test.
 */
bool trace(void (*function)(const void *context), const void *context, trace_counts ret_parts[TRACE_PARTS]);

#endif
