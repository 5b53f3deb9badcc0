/* SPDX-License-Identifier: MIT */
/* Where a zone's tables lie, and a fresh zone. */
#include "zone/zone.h"

_Static_assert(LFMA_ORDERS - 1 <= LFMA__STATE_ORDER, "an order fits a block state");

static uint64_t take(uint64_t *offset, uint64_t bytes)
{
    const uint64_t at = *offset;
    *offset = lfma__round_up(at + bytes, LFMA_LINE_BYTES);
    return at;
}

void lfma__zone_layout(lfma__zone *ret_zone, uint64_t pages, unsigned order_max)
{
    LFMA_ASSERT(pages >= 1 && pages <= LFMA__ZONE_PAGES_MAX);
    const unsigned order_fits = lfma__log2_floor(pages);
    if (order_max > order_fits)
        order_max = order_fits;

    lfma__zone zone = { .pages = pages,
                        .order_max = order_max,
                        .levels = (order_max + LFMA__WORD_LOG2 - 1) / LFMA__WORD_LOG2,
                        .page_words = lfma__words_for(pages) };
    uint64_t offset = lfma__round_up(sizeof zone, LFMA_LINE_BYTES);
    for (unsigned order = 0; order <= order_max; order++) {
        const uint64_t slices = lfma__words_for(pages >> order);
        const uint64_t search_words = lfma__words_for(slices);
        if (search_words > 1)
            zone.summary_offset[order] = take(&offset, lfma__words_for(search_words) * sizeof(lfma__a64));
        zone.search_offset[order] = take(&offset, search_words * sizeof(lfma__a64));
        zone.slices_offset[order] = take(&offset, slices * sizeof(lfma__a64));
    }
    zone.states_offset = take(&offset, pages * sizeof(lfma__a8));
    zone.bytes = offset;
    *ret_zone = zone;
}

void lfma__zone_init(lfma__zone *zone, const lfma__zone *layout)
{
    *zone = *layout;
    uint64_t page = 0;
    for (unsigned order = zone->order_max + 1; order-- > 0;) {
        const uint64_t blocks = (zone->pages - page) >> order;
        if (blocks == 0)
            continue;
        lfma__table_fill(lfma__zone_table(zone, order), page >> order, blocks);
        page += blocks << order;
    }
    LFMA_ASSERT(page == zone->pages);
}
