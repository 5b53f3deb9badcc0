/* SPDX-License-Identifier: MIT */
#ifndef LFMA_OS_MEMORY_H
#define LFMA_OS_MEMORY_H

#include "base/base.h"

/*
 * Reserve `bytes` (rounded up to OS pages) of zeroed, private, lazily committed memory at a multiple of
 * `alignment`, a power of two. NULL if the operating system refuses.
 */
void *lfma__os_reserve(uint64_t bytes, uint64_t alignment);

/* Give back exactly what lfma__os_reserve(bytes) returned. */
void lfma__os_release(void *base, uint64_t bytes);

#endif
