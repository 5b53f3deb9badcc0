/* SPDX-License-Identifier: MIT */
/**
 * @file shadow_map.h  The benchmark's own view of an arena: one bit a page, set while somebody holds the page.
 *
 * Made from the addresses that an allocator returns and the sizes asked for, so it knows nothing of how the allocator
 * works and can contradict it: when it says "no room", and when it hands out a page twice.
 */
#ifndef BENCH_SHADOW_MAP_H
#define BENCH_SHADOW_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "peers/peer.h"

#define SHADOW_WORDS (PEER_PAGES / 64)

struct shadow_map {
    const char *base;
    uint64_t taken[SHADOW_WORDS];
};

/** Forget everything; `base` is the arena's first byte. */
void shadow_reset(struct shadow_map *map, const void *base);

/** A block of 2^order pages was handed out; exits if it is outside, not aligned or overlaps a live one. */
void shadow_take(struct shadow_map *map, const void *block, unsigned order);

/** The block was freed. */
void shadow_release(struct shadow_map *map, const void *block, unsigned order);

/** Whether an aligned run of 2^order pages is free. O(pages / 64). */
bool shadow_has_room(const struct shadow_map *map, unsigned order);

/** The largest order of which an aligned run is free; -1: every page is taken. O(pages / 64 × orders). */
int shadow_largest_order(const struct shadow_map *map);

#endif
