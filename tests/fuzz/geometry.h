/* SPDX-License-Identifier: MIT */
/* Configurations out of the fuzzer's bytes; and what lfma.h promises that a configuration comes to. */
#ifndef LFMA_TESTS_FUZZ_GEOMETRY_H
#define LFMA_TESTS_FUZZ_GEOMETRY_H

#include <lfma/lfma.h>

#include "fuzz/input.h"

typedef struct geometry {
    uint64_t bytes;
    uint64_t pages;
    uint64_t page_bytes;
    uint64_t block_bytes;
    uint64_t zone_bytes;
    uint64_t zones;
} geometry;

/* Small arenas of any shape: nearly all of these configurations are valid. */
void config_choose(input *in, lfma_arena_config *ret_config);

/* Anything in any member. */
void config_invent(input *in, lfma_arena_config *ret_config);

/* False if it must be refused as LFMA_E_INVALID. In wide numbers and loops, unlike the library. */
bool config_promises(const lfma_arena_config *config, geometry *ret_geometry);

/* Steps that are enough for any one coalescing pass over the whole arena. */
uint64_t geometry_steps(const geometry *g);

#endif
