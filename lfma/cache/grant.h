/* SPDX-License-Identifier: MIT */
/* How much a thread may keep (K3): grants from the arena's purse, and holds that reserve parts of a grant. */
#ifndef LFMA_CACHE_GRANT_H
#define LFMA_CACHE_GRANT_H

#include "cache/cache.h"

/*
 * How many blocks of an order to keep, of which a hold is about to begin anew: as many of each order as the grant,
 * first brought nearer to its even share, has pages for, if all up to the largest one in use were kept at once; at
 * most a slice's. So sizes that are asked for evenly all run out equally often. 0: too few to be worth it.
 */
unsigned lfma__cache_fair_count(lfma__pool *pool, lfma__slot *slot, unsigned side, unsigned order);

/*
 * A hold begins anew, empty: what it had reserved is free again, and it reserves room for its fair count. Returns it.
 */
unsigned lfma__cache_reserve(lfma__pool *pool, lfma__slot *slot, unsigned side, unsigned order);

/*
 * To turn a hold to another slice costs as much as a few calls without a cache. When it served fewer than that, as
 * in a fragmented arena or with frees in no order, the order goes without it for a while: twice as long each time
 * in a row.
 */
#define LFMA__TAKE_PAYS 2u
#define LFMA__GIVE_PAYS 3u
#define LFMA__HOLD_FAILED_MOST 5u

static inline bool lfma__cache_sits_out(lfma__hold *hold)
{
    if (hold->pause == 0)
        return false;
    hold->pause--;
    return true;
}

static inline void lfma__cache_served(lfma__hold *hold, unsigned blocks, unsigned pays)
{
    if (blocks >= pays) {
        hold->failed = 0;
        return;
    }
    hold->pause = (1u << hold->failed) - 1;
    if (hold->failed < LFMA__HOLD_FAILED_MOST)
        hold->failed++;
}

/*
 * Blocks of a slice get the states of free blocks that were last allocated at their order (I7), and of allocated
 * ones.
 * Not in hardened arenas: there only what a caller holds has a state.
 */
static inline void lfma__cache_set_states(const lfma__pool *pool, unsigned order, uint64_t first, uint64_t bits)
{
    for (; bits && !pool->hardened; bits &= bits - 1)
        lfma__state_set(pool->row.states, first + ((uint64_t)lfma__ctz64(bits) << order), order);
}

/* An empty hold turns to a slice. */
static inline void lfma__cache_begin(lfma__hold *hold, unsigned order, lfma__slice slice)
{
    LFMA_ASSERT(lfma__hold_all(hold) == 0);
    lfma__cache_set(&hold->first, slice.first);
    hold->slice = &lfma__zone_table(slice.zone, order).slices[slice.index];
    hold->blocks = (uint8_t)slice.blocks;
}

/* A hold that reserves nothing reserves room for so many blocks, which the caller has found room for. */
void lfma__cache_reserve_blocks(lfma__slot *slot, unsigned side, unsigned order, unsigned blocks);

/* Publish all that a side keeps; nothing is reserved on it any more. */
void lfma__cache_drain_side(lfma__pool *pool, lfma__slot *slot, unsigned side);

/* A hold, empty, reserves nothing any more. */
void lfma__cache_release(lfma__slot *slot, unsigned side, unsigned order);

/* A user of a side gives its grant back; nothing is reserved. */
void lfma__cache_resign(lfma__pool *pool, lfma__slot *slot, unsigned side);

#endif
