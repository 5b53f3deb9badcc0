/* SPDX-License-Identifier: MIT */
/*
 * Room `os`: the only place that talks to the operating system and the C library: address space, the clock, and
 * which thread this is. Knows nothing of arenas.
 */
#ifndef LFMA_OS_OS_H
#define LFMA_OS_OS_H

#include "os/memory.h"
#include "os/thread.h"

/* CLOCK_MONOTONIC in nanoseconds, through the vDSO where there is one; 0 if the clock cannot be read. */
uint64_t lfma__os_clock(void *context);

#endif
