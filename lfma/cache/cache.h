/* SPDX-License-Identifier: MIT */
/*
 * Room `cache`: the blocks that a thread keeps between the tables and its callers, so that most calls touch nothing
 * that another thread writes.
 *
 *     shelf of an order    take: blocks of one slice, claimed ahead by one atomic, handed out lowest first
 *                          give: blocks of one slice, freed by this thread, gathered to be published by one atomic
 *
 * K1  To the tables and their witnesses (page map, survey) a kept block is claimed; to callers it is free. Each
 *     one is in one hold of one thread. One that was freed into a hold has no state, so that another free of it is
 *     refused.
 *     One that was taken ahead has its state already, so that handing it out touches nothing but the hold.
 * K2  Only its thread reads and writes a cache, by loads and stores; others read the figures and, at rest, the bits.
 *     The holder of a number that has no thread (os/numbers.h, edge E5) is the cache's thread.
 * K3  Both sides are bounded in pages by one purse of the arena: what a thread keeps it has been granted, and the sum
 *     of the grants never exceeds the purse. A grant grows in steps to the thread's even share of those that use
 *     this side; who misses a part of it asks the others, which give back at their next call what is more than
 *     theirs.
 * K4  Under pressure nothing is kept, and each thread gives back what it has at its next call.
 *
 * Knows zones, by a row of them; does not know addresses.
 */
#ifndef LFMA_CACHE_CACHE_H
#define LFMA_CACHE_CACHE_H

#include "zone/zone.h"

/* Added to a pool's name, so that no ticket says the same. */
#define LFMA__WAY_PRESSED ((uint64_t)1) /* memory is short: nothing is kept */
#define LFMA__WAY_LONG ((uint64_t)2)    /* a pool without caches, or a hardened one: all calls go the whole way */
#define LFMA__WAY_UNEVEN ((uint64_t)4)  /* a thread misses its share: who has more than its own gives that back */

enum { LFMA__TAKE, LFMA__GIVE, LFMA__SIDES };

/* Blocks of one slice. Zeroed it keeps nothing and has room for nothing. */
typedef struct lfma__hold {
    _Alignas(64) lfma__a64 bits; /* blocks with a state, as claimed, except in hardened arenas */
    lfma__a64 back;              /* blocks without, as freed into this hold */
    lfma__a64 first;             /* the slice's first page, in the row */
    const lfma__a64 *slice;      /* the slice */
    lfma__a64 popped;            /* blocks handed out, ever */
    lfma__a64 pushed;            /* blocks kept by frees, ever */
    uint64_t limit;              /* room + pushed - popped, so that keeping count of them is keeping count of it */
    uint32_t pause;              /* turns that it sits out, for it did not pay (grant.h) */
    uint8_t failed;              /* times in a row that it did not pay */
    uint8_t blocks;              /* that the slice has */
} lfma__hold;

_Static_assert(sizeof(lfma__hold) == 64, "a hold is one line");

typedef struct lfma__shelf {
    lfma__hold holds[LFMA__SIDES];
} lfma__shelf;

/* What an arena keeps for one thread. The shelves come first: then an order and a slot make an address fastest. */
typedef struct lfma__slot {
    _Alignas(LFMA_LINE_BYTES) lfma__shelf shelves[LFMA_ORDERS];
    lfma__owner owner;
    struct lfma__grant {
        uint64_t pages;     /* that may be kept */
        uint64_t reserved;  /* of them, by the holds: what each keeps and its room */
        lfma__a64 orders;   /* 1 bit an order: its hold has reserved something; so no other keeps anything */
        lfma__a64 ever;     /* the same: it has once */
        uint64_t settled;   /* how many users there were when the grant was its even share; 0: it is not */
        uint32_t recent[2]; /* 1 bit an order: it began anew in this round, in the last one (grant.c) */
        uint32_t turns;     /* of this round */
        bool is_user;       /* counted in the purse */
        uint64_t missed;    /* how often others had something of its share, */
        uint64_t missed_of; /* while there were so many users */
    } grants[LFMA__SIDES];
    uint64_t turn;                 /* allocations under pressure since the last split; calls while it is uneven */
    lfma_arena *cache_of;          /* for a cache that is no thread's: its arena, else NULL, */
    uint32_t cache_number;         /* and the number that it has taken */
    lfma__a64 allocs[LFMA_ORDERS]; /* successful allocations of each order, without those that a hold counts */
} lfma__slot;

/* What all caches of an arena share: the zones, and a purse for each side. */
typedef struct lfma__pool {
    lfma__row row;
    uint64_t pages_max[LFMA__SIDES]; /* of all threads together; 0: no caches. Never changes. */
    bool hardened;                   /* never changes */
    uint64_t name;                   /* no other pool of this process ever has it: for tickets (os/thread.h) */
    lfma__a64 way;                   /* the name, and the bits below. Changes seldom. */
    struct lfma__purse {
        _Alignas(LFMA_LINE_BYTES) lfma__a64 left; /* pages not granted to anybody */
        lfma__a64 users;
    } purses[LFMA__SIDES];
} lfma__pool;

/* E0, all relaxed accesses of this room: one thread's words; figures for the others (K2). */
static inline uint64_t lfma__cache_get(const lfma__a64 *word)
{
    return lfma__a64_load_relaxed(word); /* E0: as above */
}

static inline void lfma__cache_set(lfma__a64 *word, uint64_t value)
{
    lfma__a64_store_relaxed(word, value); /* E0: as above */
}

/* The word as it is without pressure. */
static inline uint64_t lfma__cache_way_of(const lfma__pool *pool)
{
    return pool->name | (pool->hardened || pool->pages_max[LFMA__TAKE] == 0 ? LFMA__WAY_LONG : 0);
}

/* What a ticket must say to go the short way. */
static inline uint64_t lfma__cache_way(const lfma__pool *pool)
{
    return lfma__a64_load_relaxed(&pool->way); /* E0: a change is seen by the next call or the one after */
}

static inline bool lfma__cache_is_pressed(const lfma__pool *pool)
{
    return (lfma__cache_way(pool) & LFMA__WAY_PRESSED) != 0;
}

/* All blocks of a hold. */
static inline uint64_t lfma__hold_all(const lfma__hold *hold)
{
    return lfma__cache_get(&hold->bits) | lfma__cache_get(&hold->back);
}

/* How many more it may keep. */
static inline uint64_t lfma__hold_room(const lfma__hold *hold)
{
    return hold->limit + lfma__cache_get(&hold->popped) - lfma__cache_get(&hold->pushed);
}

/* One side of an order. */
static inline lfma__hold *lfma__slot_hold(lfma__slot *slot, uint64_t order, unsigned side)
{
    lfma__shelf *const shelves = lfma__computed_once(slot->shelves);
    return &shelves[order].holds[side];
}

/* Hand out a block: its page in the row. False: there is none. */
static inline bool lfma__hold_pop(lfma__pool *pool, lfma__hold *take, unsigned order, uint64_t *ret_page)
{
    const uint64_t bits = lfma__cache_get(&take->bits);
    if (LFMA_LIKELY(bits)) {
        lfma__cache_set(&take->bits, bits & (bits - 1));
        lfma__a64_own_add_relaxed(&take->popped, 1); /* E0: one writer */
        *ret_page = lfma__cache_get(&take->first) + ((uint64_t)lfma__ctz64(bits) << order);
        return true;
    }
    const uint64_t back = lfma__cache_get(&take->back);
    if (LFMA_UNLIKELY(back == 0))
        return false;
    lfma__cache_set(&take->back, back & (back - 1));
    lfma__a64_own_add_relaxed(&take->popped, 1); /* E0: one writer */
    *ret_page = lfma__cache_get(&take->first) + ((uint64_t)lfma__ctz64(back) << order);
    lfma__state_give(pool->row.states, *ret_page, order);
    return true;
}

/* Which block of a hold's slice starts at a page: huge if it lies before. */
static inline uint64_t lfma__hold_block(const lfma__hold *hold, uint64_t order, uint64_t page)
{
    return (page - lfma__cache_get(&hold->first)) >> (order & 63); /* as the instruction does: it spares one */
}

/*
 * Keep a block of a hold's slice that is being freed. Not if its bit is set, in the slice or among those that were
 * claimed ahead: then it was free already. (Of those that came back their state tells.)
 */
static inline bool lfma__hold_push(lfma__hold *hold, uint64_t block)
{
    const uint64_t bit = (uint64_t)1 << block;
    if (LFMA_UNLIKELY((lfma__cache_get(&hold->bits) | lfma__cache_get(hold->slice)) & bit))
        return false;
    lfma__a64_own_add_relaxed(&hold->pushed, 1); /* E0: one writer */
    lfma__a64_own_or_relaxed(&hold->back, bit);  /* E0: one writer */
    return true;
}

/* The same, if one of the holds of the order has the slice and room. Never a block that is in the other. */
static inline bool lfma__cache_push(lfma__slot *slot, uint64_t order, uint64_t page)
{
    lfma__hold *const take = lfma__slot_hold(slot, order, LFMA__TAKE);
    uint64_t block = lfma__hold_block(take, order, page);
    if (LFMA_LIKELY(block < take->blocks)) {
        if (LFMA_LIKELY(lfma__hold_room(take)))
            return lfma__hold_push(take, block);
        /* Both may hold one slice; a block that was claimed ahead has its state, though it is free (K1). */
        if (LFMA_UNLIKELY(lfma__cache_get(&take->bits) >> block & 1))
            return false;
    }
    lfma__hold *const give = take + LFMA__GIVE - LFMA__TAKE;
    block = lfma__hold_block(give, order, page);
    return block < give->blocks && lfma__hold_room(give) && lfma__hold_push(give, block);
}

/* May the thread keep blocks of the order that it frees or takes ahead? */
static inline bool lfma__cache_may_keep(const lfma__pool *pool, const lfma__slot *slot, unsigned side, unsigned order)
{
    return pool->pages_max[side] >> order != 0 && !slot->owner.shared && !lfma__cache_is_pressed(pool);
}

/*
 * A block from the cache, which is filled if it has none: its page in the row, and its state is set. LFMA__NONE:
 * it is not worth it, or no hint is right.
 */
uint64_t lfma__cache_take(lfma__pool *pool, lfma__slot *slot, uint64_t zone, unsigned order, uint32_t home);

/*
 * A block that is being freed, may be kept, and was not kept by lfma__cache_push(): publish what was gathered, and
 * begin anew with this one; or publish it. It has a state, which in a hardened arena this free has taken. 0, or
 * LFMA_E_DOUBLE_FREE: it was free already.
 */
int lfma__cache_gather(lfma__pool *pool, lfma__slot *slot, unsigned order, uint64_t page);

/* Publish all that is kept, and give the grants back, for the thread may go idle. Returns how many pages. */
uint64_t lfma__cache_drain(lfma__pool *pool, lfma__slot *slot);

/*
 * What the way asks of each call that goes all of it: under pressure, give all back; when it is uneven, what is more
 * than an even share.
 */
void lfma__cache_give_way(lfma__pool *pool, lfma__slot *slot);

static inline void lfma__cache_mind_way(lfma__pool *pool, lfma__slot *slot)
{
    if (LFMA_UNLIKELY(lfma__cache_way(pool) & (LFMA__WAY_PRESSED | LFMA__WAY_UNEVEN)))
        lfma__cache_give_way(pool, slot);
}

/* Memory has run short: whoever keeps something gives it back. */
static inline void lfma__cache_press(lfma__pool *pool)
{
    if (pool->pages_max[LFMA__TAKE] && !lfma__cache_is_pressed(pool))
        lfma__a64_store_relaxed(&pool->way, lfma__cache_way_of(pool) | LFMA__WAY_PRESSED); /* E0: as it is read */
}

/* Memory is plenty again. */
static inline void lfma__cache_ease(lfma__pool *pool)
{
    lfma__a64_store_relaxed(&pool->way, lfma__cache_way_of(pool)); /* E0: as it is read */
}

/* After an allocation from a zone's tables, in a pool with caches: raise the pressure if it split a scarce block; end
 * it if none are scarce. */
void lfma__cache_mind_pressure(lfma__pool *pool, lfma__slot *slot, lfma__zone *zone, bool has_split);

/* What all caches may keep together. */
static inline uint64_t lfma__cache_pages_max(const lfma__pool *pool)
{
    return pool->pages_max[LFMA__TAKE] + pool->pages_max[LFMA__GIVE];
}

/* Figures: pages kept; blocks of an order handed out, and blocks freed into a hold, ever. */
uint64_t lfma__cache_pages(const lfma__slot *slot);
uint64_t lfma__cache_popped(const lfma__slot *slot, unsigned order);
uint64_t lfma__cache_pushed(const lfma__slot *slot);

/* The order of the block that is kept and starts at a page of the row; -1: none. */
int lfma__cache_order_at(const lfma__slot *slot, uint64_t page);

#endif
