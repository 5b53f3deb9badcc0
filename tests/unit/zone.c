/* SPDX-License-Identifier: MIT */
/* One zone: its layout, a fresh one, allocate, split and free of every order. */
#include "support/unit.h"
#include "support/zones.h"

#include <lfma/lfma.h>

struct interval {
    uint64_t start, end;
};

static unsigned list_tables(const lfma__zone *z, struct interval *ret)
{
    unsigned n = 0;
    ret[n++] = (struct interval){ 0, sizeof *z };
    for (unsigned order = 0; order <= z->order_max; order++) {
        const uint64_t slices = lfma__words_for(z->pages >> order);
        ret[n++] = (struct interval){ z->search_offset[order],
                                      z->search_offset[order] + lfma__words_for(slices) * 8 };
        ret[n++] = (struct interval){ z->slices_offset[order], z->slices_offset[order] + slices * 8 };
        if (z->summary_offset[order])
            ret[n++] = (struct interval){ z->summary_offset[order],
                                          z->summary_offset[order] + lfma__words_for(lfma__words_for(slices)) * 8 };
    }
    ret[n++] = (struct interval){ z->states_offset, z->states_offset + z->pages };
    return n;
}

/* F01: disjoint, on lines of their own, and the total is the last table's end. */
static void check_layout(uint64_t pages, unsigned order_max)
{
    lfma__zone z;
    lfma__zone_layout(&z, pages, order_max);
    REQUIRE(z.order_max <= order_max && (uint64_t)1 << z.order_max <= pages, "%" PRIu64, pages);
    REQUIRE(z.order_max == order_max || (uint64_t)2 << z.order_max > pages, "no lower than need be: %" PRIu64, pages);
    REQUIRE(z.pages == pages && z.page_words == (pages + 63) / 64, "%" PRIu64, pages);

    struct interval tables[2 + 3 * LFMA_ORDERS];
    const unsigned count = list_tables(&z, tables);
    uint64_t last = 0;
    for (unsigned i = 0; i < count; i++) {
        REQUIRE(tables[i].start % LFMA_LINE_BYTES == 0, "%" PRIu64 " pages, table %u", pages, i);
        for (unsigned j = 0; j < i; j++)
            REQUIRE(tables[i].start >= tables[j].end || tables[i].end <= tables[j].start, "%" PRIu64 ": %u, %u",
                    pages, i, j);
        if (tables[i].end > last)
            last = tables[i].end;
    }
    REQUIRE(z.bytes == (last + LFMA_LINE_BYTES - 1) / LFMA_LINE_BYTES * LFMA_LINE_BYTES, "%" PRIu64, pages);
}

Test(zone, layout_of_1_to_4200_pages)
{
    const unsigned orders[] = { 0, 1, 5, 6, 7, 12, LFMA_ORDERS - 1 };
    for (uint64_t pages = 1; pages <= 4200; pages++) {
        for (unsigned i = 0; i < sizeof orders / sizeof orders[0]; i++)
            check_layout(pages, orders[i]);
    }
}

/* E13, E19, F06: around the powers of two, up to the largest zone */
Test(zone, layout_around_powers_of_two)
{
    for (unsigned k = 0; k < LFMA_ORDERS; k++) {
        const uint64_t power = (uint64_t)1 << k;
        for (unsigned order = 0; order < LFMA_ORDERS; order++) {
            check_layout(power, order);
            if (power > 1)
                check_layout(power - 1, order);
            if (k < LFMA_ORDERS - 1)
                check_layout(power + 1, order);
        }
    }
}

/* The first blocks are of the largest order; then at most one of each lower order. */
static void check_fresh(uint64_t pages, unsigned order_max)
{
    zone_box box = zone_box_open(pages, order_max);
    REQUIRE(zone_broken(box.zone) == NULL, "%" PRIu64 " pages: %s", pages, zone_broken(box.zone));
    uint64_t left = pages;
    for (unsigned order = box.zone->order_max + 1; order-- > 0;) {
        const uint64_t blocks = left >> order;
        REQUIRE(lfma__zone_count_free(box.zone, order) == blocks, "%" PRIu64 " pages, order %u", pages, order);
        left -= blocks << order;
    }
    lfma__survey survey = { .count_all = true };
    lfma__zone_survey(box.zone, box.zone->order_max, &survey);
    REQUIRE(survey.pages_free == pages && survey.has_run, "%" PRIu64 " pages", pages);
    zone_box_close(&box);
}

/* F02, F06 */
Test(zone, fresh_zones_of_1_to_1000_pages)
{
    const unsigned orders[] = { 0, 1, 5, 6, 7, 31 };
    for (uint64_t pages = 1; pages <= 1000; pages++) {
        for (unsigned i = 0; i < sizeof orders / sizeof orders[0]; i++)
            check_fresh(pages, orders[i]);
    }
}

Test(zone, fresh_zones_around_powers_of_two)
{
    for (unsigned k = 1; k <= 19; k++) {
        for (uint64_t pages = ((uint64_t)1 << k) - 1; pages <= ((uint64_t)1 << k) + 1; pages++)
            check_fresh(pages, 31);
    }
}

/* One block of each order out of a fresh zone: the buddies left over are at most one of each order between. */
static void check_split(uint64_t pages, unsigned order)
{
    zone_box box = zone_box_open(pages, 31);
    uint64_t before[LFMA_ORDERS];
    unsigned from = LFMA_ORDERS;
    for (unsigned k = LFMA_ORDERS; k-- > 0;) {
        before[k] = lfma__zone_count_free(box.zone, k);
        if (k >= order && before[k] > 0)
            from = k;
    }
    const uint64_t page = box_alloc(&box, order);
    REQUIRE(page != LFMA__NONE && page % ((uint64_t)1 << order) == 0, "%" PRIu64 " pages, order %u", pages, order);
    for (unsigned k = 0; k < LFMA_ORDERS; k++) {
        const uint64_t after = before[k] - (k == from) + (k >= order && k < from);
        REQUIRE(lfma__zone_count_free(box.zone, k) == after, "%" PRIu64 " pages, order %u, left %u", pages, order, k);
    }
    REQUIRE(zone_broken(box.zone) == NULL, "%" PRIu64 " pages, order %u: %s", pages, order, zone_broken(box.zone));
    REQUIRE(lfma__zone_order_at(box.zone, page) == (int)order, "state");
    for (uint64_t p = 0; p < pages; p++) {
        const bool inside = p >= page && p < page + ((uint64_t)1 << order);
        REQUIRE(lfma__zone_block_of(box.zone, p) == (inside ? page : LFMA__NONE), "page %" PRIu64, p);
    }
    REQUIRE(box_free(&box, page) == LFMA_OK, "free");
    REQUIRE(zone_broken(box.zone) == NULL, "after the free");
    REQUIRE(lfma__zone_count_free(box.zone, order) == before[order] + (from != order ? 2 : 0), "never merges");
    zone_box_close(&box);
}

Test(zone, split_and_free_every_order)
{
    for (unsigned k = 0; k <= 13; k++) {
        for (unsigned order = 0; order <= k; order++) {
            check_split((uint64_t)1 << k, order);
            if (k > 0 && order < k)
                check_split(((uint64_t)1 << k) - 1, order);
            check_split(((uint64_t)1 << k) + 1, order);
        }
    }
}

/* E19: orders beyond the zone's are no block, and no crash. */
Test(zone, orders_beyond_the_largest)
{
    zone_box box = zone_box_open(100, 31);
    for (unsigned order = 7; order < 60; order++)
        REQUIRE(box_alloc(&box, order) == LFMA__NONE, "order %u", order);
    REQUIRE(zone_broken(box.zone) == NULL, "nothing changed");
    zone_box_close(&box);
}

/* Blocks of each order until there are none: as many as fit, each once, then the zone is empty of that order. */
Test(zone, fill_with_each_order)
{
    for (uint64_t pages = 1; pages <= 600; pages++) {
        for (unsigned order = 0; (uint64_t)1 << order <= pages; order++) {
            zone_box box = zone_box_open(pages, 31);
            uint64_t blocks = 0;
            while (box_alloc(&box, order) != LFMA__NONE)
                blocks++;
            REQUIRE(blocks == pages >> order, "%" PRIu64 " pages, order %u", pages, order);
            lfma_report report = LFMA_REPORT_INIT;
            REQUIRE(lfma__zone_validate(box.zone, NULL, &report), "%s", report.invariant);
            REQUIRE(report.pages_allocated == blocks << order && report.blocks_allocated == blocks, "report");
            REQUIRE(report.pages_free == pages - (blocks << order), "report");
            zone_box_close(&box);
        }
    }
}

/* Every home starts elsewhere; all of them reach every block. */
Test(zone, every_home_finds_every_block)
{
    for (uint32_t home = 0; home < 1100; home += home < 20 ? 1 : 37) {
        zone_box box = zone_box_open(5000, 31);
        uint64_t pages = 0;
        while (lfma__zone_alloc(box.zone, box.owner, 0, home) != LFMA__NONE)
            pages++;
        REQUIRE(pages == 5000, "home %u: %" PRIu64, home, pages);
        REQUIRE(zone_broken(box.zone) == NULL, "home %u", home);
        zone_box_close(&box);
    }
}

/* The search with no hints at all: a scan finds what is there and mends. */
Test(zone, alloc_scan_without_any_hint)
{
    for (uint64_t pages = 1; pages <= 300; pages++) {
        zone_box box = zone_box_open(pages, 31);
        for (unsigned order = 0; order <= box.zone->order_max; order++)
            lfma__a64_store_relaxed(&lfma__zone_table(box.zone, order).search[0], 0);
        REQUIRE(box_alloc(&box, 0) == LFMA__NONE, "no hint");
        REQUIRE(lfma__zone_alloc_scan(box.zone, box.owner, 0) != LFMA__NONE, "%" PRIu64 " pages", pages);
        for (uint64_t left = pages - 1; left > 0; left--)
            REQUIRE(lfma__zone_alloc_scan(box.zone, box.owner, 0) != LFMA__NONE, "%" PRIu64 " of %" PRIu64, left,
                    pages);
        REQUIRE(lfma__zone_alloc_scan(box.zone, box.owner, 0) == LFMA__NONE, "all are out");
        REQUIRE(zone_broken(box.zone) == NULL, "%s", zone_broken(box.zone));
        REQUIRE(lfma__a64_load_relaxed(&box.owner->counters[LFMA__HINTS_REPAIRED]) > 0, "counted");
        zone_box_close(&box);
    }
}

/* Owner words: never odd or in flight at rest, up after each publish. */
Test(zone, owner_word_at_rest)
{
    zone_box box = zone_box_open(4096, 31);
    rng random = { test_seed(0x207e) };
    uint64_t last = lfma__a64_load_relaxed(&box.owner->word);
    for (unsigned n = 0; n < 20000; n++) {
        const unsigned order = (unsigned)rng_below(&random, 14);
        const uint64_t page = box_alloc(&box, order);
        uint64_t now = lfma__a64_load_relaxed(&box.owner->word);
        REQUIRE((now & LFMA__IN_FLIGHT_MASK) == 0, "in flight after an allocation");
        REQUIRE(now >= last, "only grows");
        if (page != LFMA__NONE) {
            last = now;
            REQUIRE(box_free(&box, page) == LFMA_OK, "free");
            now = lfma__a64_load_relaxed(&box.owner->word);
            REQUIRE(now > last, "a publish raises it");
        }
        if (n % 100 == 0)
            (void)zone_join_all(box.zone, box.owner);
        last = lfma__a64_load_relaxed(&box.owner->word);
        REQUIRE((last & LFMA__IN_FLIGHT_MASK) == 0, "in flight after a pass");
    }
    zone_box_close(&box);
}
