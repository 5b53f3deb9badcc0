/* SPDX-License-Identifier: MIT */
#include "support/zones.h"

#include <stdlib.h>
#include <string.h>

#include "os/os.h"

static void *exactly(uint64_t bytes)
{
    void *const memory = aligned_alloc(LFMA_LINE_BYTES, (size_t)bytes);
    if (!memory)
        abort();
    memset(memory, 0, (size_t)bytes);
    return memory;
}

zone_box zone_box_open(uint64_t pages, unsigned order_max)
{
    lfma__zone layout;
    lfma__zone_layout(&layout, pages, order_max);
    const zone_box box = { exactly(layout.bytes), exactly(sizeof(lfma__owner)) };
    lfma__zone_init(box.zone, &layout);
    return box;
}

void zone_box_close(zone_box *box)
{
    free(box->zone);
    free(box->owner);
    *box = (zone_box){ NULL, NULL };
}

uint64_t box_alloc_all(const zone_box *box)
{
    uint64_t count = 0;
    while (box_alloc(box, 0) != LFMA__NONE)
        count++;
    return count;
}

const char *zone_broken(lfma__zone *zone)
{
    lfma_report report = LFMA_REPORT_INIT;
    return lfma__zone_validate(zone, NULL, &report) ? NULL : report.invariant;
}

void *zone_copy(const lfma__zone *zone)
{
    void *const copy = exactly(zone->bytes);
    memcpy(copy, zone, (size_t)zone->bytes);
    return copy;
}

bool zone_is_copy(const lfma__zone *zone, const void *copy)
{
    return memcmp(zone, copy, (size_t)zone->bytes) == 0;
}

/* A block that is free as it was last allocated may keep its state (I7); no other page has one. */
static bool states_are_fresh(lfma__zone *zone)
{
    for (uint64_t page = 0; page < zone->pages; page++) {
        const uint8_t state = lfma__a8_load_relaxed(&lfma__zone_states(zone)[page]);
        const unsigned order = state & LFMA__STATE_ORDER;
        if (state == 0)
            continue;
        if (state != (LFMA__STATE_ALLOCATED | order) || order > zone->order_max || page % ((uint64_t)1 << order) != 0)
            return false;
        const lfma__table t = lfma__zone_table(zone, order);
        const uint64_t block = page >> order;
        if (block >= zone->pages >> order || !(lfma__a64_load_relaxed(&t.slices[block / 64]) >> block % 64 & 1))
            return false;
    }
    return true;
}

static const char *difference(lfma__zone *zone, lfma__zone *fresh)
{
    if (!states_are_fresh(zone))
        return "block states";
    for (unsigned order = 0; order <= zone->order_max; order++) {
        const lfma__table a = lfma__zone_table(zone, order);
        const lfma__table b = lfma__zone_table(fresh, order);
        if (memcmp(a.slices, b.slices, (size_t)a.slice_count * 8) != 0)
            return "block bitmap";
        const uint64_t search_words = lfma__words_for(a.slice_count);
        if (memcmp(a.search, b.search, (size_t)search_words * 8) != 0)
            return "search bitmap";
        if (a.summary && memcmp(a.summary, b.summary, (size_t)lfma__words_for(search_words) * 8) != 0)
            return "summary";
    }
    return NULL;
}

bool zone_is_fresh(lfma__zone *zone, const char **ret_what)
{
    zone_box fresh = zone_box_open(zone->pages, zone->order_max);
    *ret_what = difference(zone, fresh.zone);
    zone_box_close(&fresh);
    return *ret_what == NULL;
}

uint64_t zone_join_all(lfma__zone *zone, lfma__owner *owner)
{
    lfma__meter meter;
    lfma__meter_start(&meter, (lfma_budget)LFMA_BUDGET_ALL, lfma__os_clock, NULL);
    lfma__join join = { .meter = &meter, .owner = owner, .want = LFMA__WANT_NOTHING };
    (void)lfma__zone_coalesce(zone, &join);
    return join.joined;
}
