/* SPDX-License-Identifier: MIT */
/*
 * An owner slot: what one thread tells the others about the blocks it moves, and its counters.
 *
 *     word    [ version : 44 | in flight : 20 ]
 *
 * The version goes up right after each block bit that the thread sets. While an operation holds blocks that are in
 * no bitmap and belong to no caller (a split, a join), the in-flight part is not 0: it is raised before the first
 * claim and lowered, together with a higher version, after the last publish. As a number the word only grows, so a
 * sum over words is unchanged iff each of them is. Who reads all words, then the maps, then all words again, and
 * found none in flight and none changed, has seen the maps at one instant (edges E3, E4; docs/ORDERING.md).
 *
 * A slot of its own is written by one thread: plain loads and stores. The shared slot, for threads beyond the
 * arena's limit and for signal handlers that interrupt a call, is written by read-modify-writes.
 */
#ifndef LFMA_ZONE_OWNER_H
#define LFMA_ZONE_OWNER_H

#include <lfma/stats.h>

#include "base/base.h"

#define LFMA__IN_FLIGHT_ONE ((uint64_t)1)
#define LFMA__VERSION_ONE ((uint64_t)1 << 20)
#define LFMA__IN_FLIGHT_MASK (LFMA__VERSION_ONE - 1)

enum lfma__counter {
    LFMA__FREES,
    LFMA__BYTES_REQUESTED,
    LFMA__SPLITS,
    LFMA__FAILED_NOMEM,
    LFMA__FAILED_FRAGMENTED,
    LFMA__FAILED_BUDGET,
    LFMA__FAILED_AGAIN,
    LFMA__FAILED_NEVER,
    LFMA__BAD_FREES,
    LFMA__COALESCE_RUNS,
    LFMA__BLOCKS_JOINED,
    LFMA__JOIN_CONFLICTS,
    LFMA__HINTS_REPAIRED,
    LFMA__COUNTERS
};

typedef struct lfma__owner {
    _Alignas(LFMA_LINE_BYTES) lfma__a64 word;
    uint64_t shared; /* not 0 for the shared slot; never changes */
    lfma__a64 zone;  /* where an arena of many zones last had a block for this thread, + 1; 0: at home */
    lfma__a64 counters[LFMA__COUNTERS];
} lfma__owner;

_Static_assert(sizeof(lfma__owner) % LFMA_LINE_BYTES == 0, "two owners never share a line");

static inline void lfma__owner_advance(lfma__owner *owner, uint64_t by)
{
    if (LFMA_LIKELY(!owner->shared)) {
        /* E0 for the load: only this thread writes. E3.release: bits set before are seen by who sees the new word. */
        lfma__a64_store_release(&owner->word, lfma__a64_load_relaxed(&owner->word) + by);
    } else {
        (void)lfma__a64_add_release(&owner->word, by); /* E3.release */
    }
}

/* After each block bit set. */
static inline void lfma__owner_raise(lfma__owner *owner)
{
    lfma__owner_advance(owner, LFMA__VERSION_ONE);
}

/* Before the first claim of an operation that holds blocks in flight; the claim's release (E4) carries it. */
static inline void lfma__owner_begin(lfma__owner *owner)
{
    lfma__owner_advance(owner, LFMA__IN_FLIGHT_ONE);
}

/* After its last publish. */
static inline void lfma__owner_end(lfma__owner *owner)
{
    lfma__owner_advance(owner, LFMA__VERSION_ONE - LFMA__IN_FLIGHT_ONE);
}

static inline uint64_t lfma__owner_figure(const lfma__owner *owner, unsigned counter)
{
    return lfma__a64_load_relaxed(&owner->counters[counter]); /* E0: a figure */
}

/* Statistics: exact, ordered with nothing. */
static inline void lfma__owner_add(const lfma__owner *owner, lfma__a64 *counter, uint64_t n)
{
    if (LFMA_LIKELY(!owner->shared))
        lfma__a64_own_add_relaxed(counter, n); /* E0: one writer */
    else
        (void)lfma__a64_add_relaxed(counter, n); /* E0: a counter */
}

static inline void lfma__owner_count(lfma__owner *owner, unsigned counter, uint64_t n)
{
    lfma__owner_add(owner, &owner->counters[counter], n);
}

#endif
