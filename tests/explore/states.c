/* SPDX-License-Identifier: MIT */
/* The states met so far: a set of hashes, each with the fewest preemptions that led to it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explore/internal.h"

#define LOG2_FIRST 12u
#define LOG2_LAST 24u /* 16 million states; beyond that states are walked more than once */

/* The upper 56 bits of a digest, and the preemptions spent + 1 in the lower ones; 0: an empty slot. */
static uint64_t *slots;
static unsigned log2_size;
static uint64_t count;

static void allocate(unsigned log2)
{
    log2_size = log2;
    slots = calloc((size_t)1 << log2, sizeof *slots);
    if (slots == NULL) {
        fprintf(stderr, "explorer: no memory for states\n");
        exit(2);
    }
}

static uint64_t *slot_of(uint64_t digest)
{
    const uint64_t mask = ((uint64_t)1 << log2_size) - 1;
    uint64_t slot = digest >> (64u - log2_size);
    while (slots[slot] != 0 && (slots[slot] ^ digest) >> 8 != 0)
        slot = (slot + 1) & mask;
    return &slots[slot];
}

static void grow(void)
{
    uint64_t *const old = slots;
    const uint64_t old_size = (uint64_t)1 << log2_size;
    allocate(log2_size + 1);
    for (uint64_t i = 0; i < old_size; i++) {
        if (old[i] != 0)
            *slot_of(old[i]) = old[i];
    }
    free(old);
}

void explore_states_reset(void)
{
    if (slots && log2_size == LOG2_FIRST) {
        memset(slots, 0, sizeof *slots << log2_size);
    } else {
        free(slots);
        allocate(LOG2_FIRST);
    }
    count = 0;
}

bool explore_states_met(uint64_t digest, unsigned preemptions)
{
    uint64_t *const slot = slot_of(digest);
    if (*slot != 0) {
        if ((*slot & 0xFF) <= preemptions + 1)
            return true;
    } else {
        if (count >= (uint64_t)3 << log2_size >> 2 && log2_size == LOG2_LAST)
            return false;
        count++;
    }
    *slot = (digest & ~(uint64_t)0xFF) | (preemptions + 1);
    if (count > (uint64_t)3 << log2_size >> 2 && log2_size < LOG2_LAST)
        grow();
    return false;
}

uint64_t explore_states_count(void)
{
    return count;
}
