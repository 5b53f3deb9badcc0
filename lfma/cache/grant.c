/* SPDX-License-Identifier: MIT */
#include "cache/grant.h"

/* One order reserves at most this part of its thread's grant: many orders are taken ahead, few are gathered. */
static const unsigned order_part[LFMA__SIDES] = { [LFMA__TAKE] = 6, [LFMA__GIVE] = 2 };

#define LOOKS_APART 64u /* allocations under pressure from one look whether it may end to the next */
#define CALM 1024u /* and how many without a split end it, though large blocks are scarce: no one asks for them */

/* Bring a grant nearer to its even share: give back what exceeds it and is not reserved, or take what is left. */
static void adjust(lfma__pool *pool, lfma__slot *slot, unsigned side)
{
    struct lfma__grant *const grant = &slot->grants[side];
    struct lfma__purse *const purse = &pool->purses[side];
    if (!grant->is_user) {
        grant->is_user = true;
        (void)lfma__a64_add_relaxed(&purse->users, 1); /* E0: a number */
    }
    const uint64_t users = lfma__a64_load_relaxed(&purse->users); /* E0: a number; this thread is counted in it */
    const uint64_t share = users == 1 ? pool->pages_max[side] : pool->pages_max[side] / users;
    if (grant->pages > share) {
        const uint64_t least = grant->reserved > share ? grant->reserved : share;
        if (grant->pages > least)
            (void)lfma__a64_add_relaxed(&purse->left, grant->pages - least); /* E0: a number */
        grant->pages = least;
    } else if (grant->pages < share) {
        uint64_t left = lfma__a64_load_relaxed(&purse->left); /* E0: a number */
        const uint64_t more = left < share - grant->pages ? left : share - grant->pages;
        if (more && lfma__a64_cas_relaxed(&purse->left, &left, left - more)) /* E0: if others are at it, next time */
            grant->pages += more;
    }
}

void lfma__cache_release(lfma__slot *slot, unsigned side, unsigned order)
{
    lfma__hold *const hold = &slot->shelves[order].holds[side];
    LFMA_ASSERT(lfma__hold_all(hold) == 0);
    slot->grants[side].reserved -= (uint64_t)hold->room << order;
    lfma__a64 *const orders = &slot->grants[side].orders;
    lfma__cache_set(orders, lfma__cache_get(orders) & ~((uint64_t)1 << order));
    hold->room = 0;
}

/* Holds that are empty reserve for nothing. */
static void release_empty(lfma__slot *slot, unsigned side)
{
    for (uint64_t orders = lfma__cache_get(&slot->grants[side].orders); orders; orders &= orders - 1) {
        const unsigned order = lfma__ctz64(orders);
        if (lfma__hold_all(&slot->shelves[order].holds[side]) == 0)
            lfma__cache_release(slot, side, order);
    }
}

void lfma__cache_reserve_blocks(lfma__slot *slot, unsigned side, unsigned order, unsigned blocks)
{
    slot->grants[side].reserved += (uint64_t)blocks << order;
    lfma__a64_own_or_relaxed(&slot->grants[side].orders, (uint64_t)1 << order); /* E0: one writer */
    slot->shelves[order].holds[side].room = blocks;
}

unsigned lfma__cache_reserve(lfma__pool *pool, lfma__slot *slot, unsigned side, unsigned order)
{
    struct lfma__grant *const grant = &slot->grants[side];
    lfma__cache_release(slot, side, order);
    adjust(pool, slot, side);
    const uint64_t most = grant->pages / order_part[side] >> order;
    const uint64_t wanted = most < LFMA__WORD_BITS ? most : LFMA__WORD_BITS;
    if (grant->reserved + (wanted << order) > grant->pages)
        release_empty(slot, side);
    const uint64_t left = grant->pages > grant->reserved ? (grant->pages - grant->reserved) >> order : 0;
    const unsigned blocks = (unsigned)(left < wanted ? left : wanted);
    if (blocks < 2)
        return 0; /* one at a time, it would cost more than it saves */
    lfma__cache_reserve_blocks(slot, side, order, blocks);
    return blocks;
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
