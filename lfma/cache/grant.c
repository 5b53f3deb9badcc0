/* SPDX-License-Identifier: MIT */
#include "cache/grant.h"

/* Of an order less than this is not kept: with one user, an arena has at least 128 blocks of a size that is kept. */
static const unsigned blocks_least[LFMA__SIDES] = { [LFMA__TAKE] = 6, [LFMA__GIVE] = 2 };

#ifndef LFMA_HOLD_MOST
#define LFMA_HOLD_MOST LFMA__WORD_BITS /* blocks in a hold */
#endif
#define STEPS 16u       /* in which a grant grows: who needs little, or once, leaves the rest to others */
#define MISSES_LOG2 3u  /* of the times that a share is missed, the first after which the others are asked for it */
#define ROUND 64u       /* holds that begin anew, in one after which an order that had none counts as unused */
#define LOOKS_APART 64u /* allocations under pressure from one look whether it may end to the next */
#define ASKED_LONG 64u  /* calls of a thread for which those that have more than their share are asked */
#define CALM 1024u /* and how many without a split end it, though large blocks are scarce: no one asks for them */

/* Ask each thread to give back what is more than its share, or end that; under pressure it gives back all anyway. */
static void set_uneven(lfma__pool *pool, bool is_uneven)
{
    const uint64_t even = lfma__cache_way_of(pool), uneven = even | LFMA__WAY_UNEVEN;
    uint64_t seen = is_uneven ? even : uneven;
    (void)lfma__a64_cas_relaxed(&pool->way, &seen, is_uneven ? uneven : even); /* E0: as it is read */
}

/*
 * Others have what a grant misses of its share. They give it back when they begin a hold anew; who never does, since
 * it is steady, must be asked. It may not run just now, or be idle for good: so again after twice as many misses.
 */
static void miss(lfma__pool *pool, struct lfma__grant *grant, uint64_t users)
{
    if (grant->missed_of != users) {
        grant->missed_of = users;
        grant->missed = 0;
    }
    const uint64_t missed = ++grant->missed;
    if (missed >> MISSES_LOG2 && (missed & (missed - 1)) == 0)
        set_uneven(pool, true);
}

/*
 * Bring a thread's grant on a side, whose user it becomes, nearer to its even share: give back what exceeds it and is
 * not reserved, or take what is left, by and by.
 */
static void adjust(lfma__pool *pool, lfma__slot *slot, unsigned side)
{
    struct lfma__grant *const grant = &slot->grants[side];
    struct lfma__purse *const purse = &pool->purses[side];
    if (!grant->is_user) {
        grant->is_user = true;
        (void)lfma__a64_add_relaxed(&purse->users, 1); /* E0: a number */
    }
    const uint64_t users = lfma__a64_load_relaxed(&purse->users); /* E0: a number; this thread is counted in it */
    if (LFMA_LIKELY(grant->settled == users))
        return;
    const uint64_t share = pool->pages_max[side] / users;
    if (grant->pages > share) {
        const uint64_t least = grant->reserved > share ? grant->reserved : share;
        if (grant->pages > least)
            (void)lfma__a64_add_relaxed(&purse->left, grant->pages - least); /* E0: a number */
        grant->pages = least;
    } else if (grant->pages < share) {
        const uint64_t step = pool->pages_max[side] / STEPS + 2 * blocks_least[side];
        const uint64_t wanted = share - grant->pages < step ? share - grant->pages : step;
        uint64_t left = lfma__a64_load_relaxed(&purse->left); /* E0: a number */
        const uint64_t more = left < wanted ? left : wanted;
        if (more && lfma__a64_cas_relaxed(&purse->left, &left, left - more)) /* E0: if others are at it, next time */
            grant->pages += more;
        if (more < wanted)
            miss(pool, grant, users);
    }
    grant->settled = grant->pages == share ? users : 0;
}

void lfma__cache_give_way(lfma__pool *pool, lfma__slot *slot)
{
    if (lfma__cache_is_pressed(pool)) {
        (void)lfma__cache_drain(pool, slot);
        return;
    }
    if (slot->owner.shared)
        return;
    for (unsigned side = 0; side < LFMA__SIDES; side++) {
        const struct lfma__grant *const grant = &slot->grants[side];
        const uint64_t users = lfma__a64_load_relaxed(&pool->purses[side].users); /* E0: a number */
        if (!grant->is_user || grant->settled == users)
            continue;
        if (grant->reserved > pool->pages_max[side] / users)
            lfma__cache_drain_side(pool, slot, side);
        adjust(pool, slot, side);
    }
    if (++slot->turn >= ASKED_LONG) {
        slot->turn = 0;
        set_uneven(pool, false);
    }
}

unsigned lfma__cache_fair_count(lfma__pool *pool, lfma__slot *slot, unsigned side, unsigned order)
{
    struct lfma__grant *const grant = &slot->grants[side];
    adjust(pool, slot, side);
    const uint64_t order_pages = grant->pages / (2 * blocks_least[side]);
    if (order_pages >> order == 0)
        return 0;
    if (++grant->turns >= ROUND) {
        grant->turns = 0;
        grant->recent[1] = grant->recent[0];
        grant->recent[0] = 0;
    }
    grant->recent[0] |= (uint32_t)1 << order;
    const uint64_t kept = 2 * (uint64_t)1 << lfma__log2_floor(order_pages); /* the orders of which enough fits */
    const unsigned largest = lfma__log2_floor((grant->recent[0] | grant->recent[1]) & (kept - 1));
    const uint64_t blocks = grant->pages >> (largest + 1);
    return blocks < LFMA_HOLD_MOST ? (unsigned)blocks : LFMA_HOLD_MOST;
}

void lfma__cache_release(lfma__slot *slot, unsigned side, unsigned order)
{
    lfma__hold *const hold = &slot->shelves[order].holds[side];
    LFMA_ASSERT(lfma__hold_all(hold) == 0);
    slot->grants[side].reserved -= lfma__hold_room(hold) << order;
    lfma__a64 *const orders = &slot->grants[side].orders;
    lfma__cache_set(orders, lfma__cache_get(orders) & ~((uint64_t)1 << order));
    hold->limit -= lfma__hold_room(hold);
}

void lfma__cache_reserve_blocks(lfma__slot *slot, unsigned side, unsigned order, unsigned blocks)
{
    slot->grants[side].reserved += (uint64_t)blocks << order;
    lfma__a64_own_or_relaxed(&slot->grants[side].orders, (uint64_t)1 << order); /* E0: one writer */
    lfma__a64_own_or_relaxed(&slot->grants[side].ever, (uint64_t)1 << order);   /* E0: one writer */
    slot->shelves[order].holds[side].limit += blocks;
}

unsigned lfma__cache_reserve(lfma__pool *pool, lfma__slot *slot, unsigned side, unsigned order)
{
    const struct lfma__grant *const grant = &slot->grants[side];
    const lfma__hold *const hold = &slot->shelves[order].holds[side];
    const unsigned wanted = lfma__cache_fair_count(pool, slot, side, order);
    if (wanted && lfma__hold_room(hold) == wanted)
        return wanted; /* as the last time */
    lfma__cache_release(slot, side, order);
    if (wanted == 0)
        return 0;
    if (grant->reserved + ((uint64_t)wanted << order) > grant->pages)
        lfma__cache_drain_side(pool, slot, side); /* of when other sizes were in use, or fewer threads */
    lfma__cache_reserve_blocks(slot, side, order, wanted);
    return wanted;
}

void lfma__cache_resign(lfma__pool *pool, lfma__slot *slot, unsigned side)
{
    struct lfma__grant *const grant = &slot->grants[side];
    struct lfma__purse *const purse = &pool->purses[side];
    if (!grant->is_user)
        return;
    LFMA_ASSERT(grant->reserved == 0);
    (void)lfma__a64_add_relaxed(&purse->left, grant->pages);     /* E0: a number */
    (void)lfma__a64_add_relaxed(&purse->users, (uint64_t)0 - 1); /* E0: a number */
    grant->pages = 0;
    grant->settled = 0;
    grant->is_user = false;
}

void lfma__cache_mind_pressure(lfma__pool *pool, lfma__slot *slot, lfma__zone *zone, bool has_split)
{
    if (!lfma__cache_is_pressed(pool)) {
        if (has_split && !lfma__zone_is_plenty(zone, lfma__owner_figure(&slot->owner, LFMA__SPLITS)))
            lfma__cache_press(pool);
        return;
    }
    if (slot->owner.shared)
        return;
    if (has_split)
        slot->turn = 0;
    if (++slot->turn >= CALM || (slot->turn % LOOKS_APART == 0 &&
                                 lfma__zone_is_plenty(zone, lfma__owner_figure(&slot->owner, LFMA__SPLITS)))) {
        slot->turn = 0;
        lfma__cache_ease(pool);
    }
}
