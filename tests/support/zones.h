/* SPDX-License-Identifier: MIT */
/*
 * Zones without an arena: in memory that is exactly as large as the layout says (so that ASan sees a step beyond),
 * with one owner slot; and comparisons with a fresh zone.
 */
#ifndef LFMA_TESTS_SUPPORT_ZONES_H
#define LFMA_TESTS_SUPPORT_ZONES_H

#include <stdbool.h>
#include <stdint.h>

#include "zone/zone.h"

typedef struct zone_box {
    lfma__zone *zone;
    lfma__owner *owner;
} zone_box;

/* A fresh zone; order_max as for lfma__zone_layout(). */
zone_box zone_box_open(uint64_t pages, unsigned order_max);
void zone_box_close(zone_box *box);

static inline uint64_t box_alloc(const zone_box *box, unsigned order)
{
    return lfma__zone_alloc(box->zone, box->owner, order, 0);
}

/* A free as an arena without caches does it. */
static inline int zone_free(lfma__zone *zone, lfma__owner *owner, uint64_t page, bool hardened)
{
    lfma__a8 *const states = lfma__zone_states(zone);
    const unsigned state = hardened ? lfma__state_take(states, page) : lfma__state_get(states, page);
    if (state == 0)
        return lfma__zone_why_not(zone, page);
    return lfma__zone_publish(zone, owner, page, state & LFMA__STATE_ORDER);
}

static inline int box_free(const zone_box *box, uint64_t page)
{
    return zone_free(box->zone, box->owner, page, false);
}

/* Allocate every page as a block of order 0; returns how many there were. */
uint64_t box_alloc_all(const zone_box *box);

/* What lfma__zone_validate() names: NULL if the zone is sound. */
const char *zone_broken(lfma__zone *zone);

/* A copy of all of a zone's words, header and cursor included; to be freed. */
void *zone_copy(const lfma__zone *zone);
bool zone_is_copy(const lfma__zone *zone, const void *copy);

/*
 * Is the zone bit for bit a fresh one? All bitmaps: equal. States: none but those that free blocks may keep (I7). On
 * false *ret_what names the first table that differs.
 */
bool zone_is_fresh(lfma__zone *zone, const char **ret_what);

/* Coalesce the zone whole, without limits. Returns the blocks joined. */
uint64_t zone_join_all(lfma__zone *zone, lfma__owner *owner);

#endif
