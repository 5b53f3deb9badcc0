/* SPDX-License-Identifier: MIT */
/* The proof of a zone's invariants at rest, by walking everything. Reads only; ends whatever it reads. */
#include "zone/zone.h"

static bool broken(lfma_report *report, const char *invariant, const char *text, uint64_t page, unsigned order)
{
    report->invariant = invariant;
    report->text = text;
    report->page = (size_t)page;
    report->order = order;
    return false;
}

/* All loads here: E0, the zone is at rest, or the result does not count. */
static uint64_t peek(const lfma__a64 *word)
{
    return lfma__a64_load_relaxed(word); /* E0 */
}

/* The order of the one free block that starts at `page`: -1 none, -2 more than one. */
static int free_order_at(lfma__zone *zone, uint64_t page)
{
    int found = -1;
    for (unsigned order = 0; order <= zone->order_max; order++) {
        if (page % ((uint64_t)1 << order) != 0 || page + ((uint64_t)1 << order) > zone->pages)
            break;
        if (!lfma__zone_is_free(zone, page, order))
            continue;
        if (found >= 0)
            return -2;
        found = (int)order;
    }
    return found;
}

static uint8_t state_at(lfma__zone *zone, uint64_t page)
{
    return lfma__a8_load_relaxed(&lfma__zone_states(zone)[page]); /* E0: as in peek */
}

enum whose { FREE, KEPT, ALLOCATED };

/* A block: its state is its own, and the pages inside have none. */
static bool check_block(lfma__zone *zone, uint64_t page, unsigned order, enum whose whose, lfma_report *report)
{
    const uint8_t state = state_at(zone, page);
    if (state != (LFMA__STATE_ALLOCATED | order) && !(whose != ALLOCATED && state == 0))
        return broken(report, "I7", "the state of a block is of another order", page, order);
    for (uint64_t p = page + 1; p < page + ((uint64_t)1 << order); p++) {
        if (state_at(zone, p) != 0)
            return broken(report, "I7", "a page inside a block has a state", p, order);
    }
    return true;
}

/* Every non-zero word has its hint in the bitmap above, and no hint lies beyond the last word. */
static bool hints_cover(const lfma__a64 *hints, const lfma__a64 *words, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        if (peek(&words[i]) && !(peek(&hints[i / LFMA__WORD_BITS]) >> i % LFMA__WORD_BITS & 1))
            return false;
    }
    return count % LFMA__WORD_BITS == 0 || peek(&hints[count / LFMA__WORD_BITS]) >> count % LFMA__WORD_BITS == 0;
}

/* Tables: hints over all that is free, nothing beyond the end, and as many blocks as the walk has met. */
static bool check_table(lfma__zone *zone, unsigned order, uint64_t blocks_met, lfma_report *report)
{
    const lfma__table table = lfma__zone_table(zone, order);
    if (!hints_cover(table.search, table.slices, table.slice_count))
        return broken(report, "I4", "the search bitmap does not cover the slices with free blocks", 0, order);
    if (table.summary && !hints_cover(table.summary, table.search, lfma__words_for(table.slice_count)))
        return broken(report, "I4", "the summary does not cover the search bitmap", 0, order);
    uint64_t blocks = 0;
    for (uint64_t slice = 0; slice < table.slice_count; slice++) {
        const uint64_t bits = peek(&table.slices[slice]);
        const uint64_t room = (zone->pages >> order) - slice * LFMA__WORD_BITS;
        if (room < LFMA__WORD_BITS && bits >> room)
            return broken(report, "I1", "a free block lies beyond the zone's end", zone->pages, order);
        blocks += lfma__popcount64(bits);
    }
    if (blocks != blocks_met)
        return broken(report, "I1", "a free block overlaps another block", 0, order);
    return true;
}

static int allocated_order_at(lfma__zone *zone, uint64_t page)
{
    const uint8_t state = state_at(zone, page);
    return state & LFMA__STATE_ALLOCATED ? (int)(state & LFMA__STATE_ORDER) : -1;
}

/* The block that starts at a page, and whose it is; its order, or -1, and the report says why. */
static int block_at(lfma__zone *zone, const lfma__keepers *keepers, uint64_t page, enum whose *ret_whose,
                    lfma_report *report)
{
    int order = free_order_at(zone, page);
    *ret_whose = FREE;
    if (order == -2) {
        (void)broken(report, "I1", "a page is in free blocks of two orders", page, 0);
        return -1;
    }
    if (order < 0 && keepers) {
        order = keepers->order_at(keepers->context, page);
        *ret_whose = KEPT;
    }
    if (order < 0) {
        order = allocated_order_at(zone, page);
        *ret_whose = ALLOCATED;
    }
    if (order < 0)
        (void)broken(report, "I1", "a page is in no block", page, 0);
    return order;
}

static void count_block(enum whose whose, uint64_t pages, lfma_report *report)
{
    switch (whose) {
    case FREE:
        report->pages_free += pages;
        report->blocks_free++;
        break;
    case KEPT:
        report->pages_cached += pages;
        report->blocks_cached++;
        break;
    case ALLOCATED:
        report->pages_allocated += pages;
        report->blocks_allocated++;
        break;
    }
}

bool lfma__zone_validate(lfma__zone *zone, const lfma__keepers *keepers, lfma_report *report)
{
    uint64_t blocks_met[LFMA_ORDERS] = { 0 };
    for (uint64_t page = 0; page < zone->pages;) {
        enum whose whose;
        const int found = block_at(zone, keepers, page, &whose, report);
        if (found < 0)
            return false;
        const unsigned order = (unsigned)found;
        const uint64_t pages = (uint64_t)1 << order;
        if (order > zone->order_max || page % pages != 0 || page + pages > zone->pages)
            return broken(report, "I7", "a block is allocated that does not fit its place", page, order);
        if (!check_block(zone, page, order, whose, report))
            return false;
        if (whose == FREE)
            blocks_met[order]++;
        count_block(whose, pages, report);
        page += pages;
    }
    for (unsigned order = 0; order <= zone->order_max; order++) {
        if (!check_table(zone, order, blocks_met[order], report))
            return false;
    }
    return true;
}
