/* SPDX-License-Identifier: MIT */
/*
 * The library's mmap and munmap, watched: the linker leads them here (--wrap). What is mapped is counted, so that a
 * leak is seen; and a call can be made to fail.
 */
#ifndef LFMA_TESTS_FUZZ_MAPS_H
#define LFMA_TESTS_FUZZ_MAPS_H

#include <stdbool.h>
#include <stdint.h>

/* From here on: the call number `fails` (from 1; 0: none) fails, and so does the first one if it is of more bytes. */
void maps_watch(unsigned fails, uint64_t first_bytes_max);

/* Has a mapping failed since, by order or because the system refused? */
bool maps_refused(void);

/* Bytes mapped and not unmapped, since the process began. */
int64_t maps_bytes(void);

#endif
