/* SPDX-License-Identifier: MIT */
/*
 * Exhaustive placement: zones of 1 … 4,200 pages × every order × every legal position. With all other pages
 * allocated, the only free run is found as single pages (through the coalescer), as one block (through the hints),
 * and split.
 */
#include "support/unit.h"
#include "support/zones.h"

#include <lfma/lfma.h>

#define PAGES_MAX 4200u

static uint64_t fixed_clock(void *context)
{
    (void)context;
    return 0;
}

/* The first page of the block that the coalescer joined for the order, now allocated. */
static uint64_t join_and_take(const zone_box *box, unsigned order)
{
    lfma__meter meter;
    lfma__meter_start(&meter, (lfma_budget)LFMA_BUDGET_ALL, fixed_clock, NULL);
    lfma__join join = { .meter = &meter, .owner = box->owner, .want = order };
    (void)lfma__zone_coalesce(box->zone, &join);
    if (join.kept_page != LFMA__NONE)
        lfma__zone_hand_out(box->zone, box->owner, join.kept_page, join.kept_order, order);
    return join.kept_page;
}

/* A02, A04, F06, F10: all pages are allocated singly before, and after. */
static void check_place(const zone_box *box, unsigned order, uint64_t page)
{
    const uint64_t pages = (uint64_t)1 << order;
    const uint64_t size = box->zone->pages;
    for (uint64_t p = page; p < page + pages; p++)
        REQUIRE(box_free(box, p) == LFMA_OK, "%" PRIu64 "/%" PRIu64, p, size);
    if (order > 0) {
        /* Some are joined by the allocation itself, the others by a pass. */
        uint64_t got = box_alloc(box, order);
        if (got == LFMA__NONE)
            got = join_and_take(box, order);
        REQUIRE(got == page, "joined: order %u at %" PRIu64 "/%" PRIu64 ", not at %" PRIu64, order, page, size, got);
        REQUIRE(lfma__zone_order_at(box->zone, page) == (int)order, "state of %" PRIu64 "/%" PRIu64, page, size);
        REQUIRE(box_free(box, page) == LFMA_OK, "order %u at %" PRIu64 "/%" PRIu64, order, page, size);
    }
    REQUIRE(box_alloc(box, order + 1) == LFMA__NONE, "nothing larger: order %u at %" PRIu64 "/%" PRIu64, order, page,
            size);
    REQUIRE(box_alloc(box, order) == page, "by hint: order %u at %" PRIu64 "/%" PRIu64, order, page, size);
    REQUIRE(box_alloc(box, order) == LFMA__NONE, "only one: order %u at %" PRIu64 "/%" PRIu64, order, page, size);
    REQUIRE(box_free(box, page) == LFMA_OK, "order %u at %" PRIu64 "/%" PRIu64, order, page, size);
    for (uint64_t n = 0; n < pages; n++) {
        const uint64_t got = box_alloc(box, 0);
        REQUIRE(got >= page && got < page + pages, "split: order %u at %" PRIu64 "/%" PRIu64, order, page, size);
    }
    REQUIRE(box_alloc(box, 0) == LFMA__NONE, "nothing else: order %u at %" PRIu64 "/%" PRIu64, order, page, size);
}

static void check_size(uint64_t size, unsigned order_max)
{
    zone_box box = zone_box_open(size, order_max);
    REQUIRE(box_alloc_all(&box) == size, "%" PRIu64 " pages", size);
    for (unsigned order = 0; order <= box.zone->order_max; order++) {
        for (uint64_t page = 0; page + ((uint64_t)1 << order) <= size; page += (uint64_t)1 << order)
            check_place(&box, order, page);
    }
    const char *const broken = zone_broken(box.zone);
    REQUIRE(broken == NULL, "%" PRIu64 " pages: %s", size, broken);
    zone_box_close(&box);
}

/*
 * All sizes in an optimised build; with a sanitizer or without optimisation those around multiples of 64 and a few
 * between, as many as the scale says.
 */
static bool is_visited(uint64_t size)
{
#if defined(__OPTIMIZE__)
    if (!test_is_sanitized())
        return true;
#endif
    return size <= 200 || size % 1024 <= 1 || size % 1024 == 1023 || size % test_scaled(400) == 7;
}

static void check_sizes(uint64_t residue)
{
    for (uint64_t size = 1; size <= PAGES_MAX; size++) {
        if (size % 8 == residue && is_visited(size))
            check_size(size, 31);
    }
}

/* Eight cases, so that they share the cores. */
Test(placement, sizes_0_mod_8)
{
    check_sizes(0);
}
Test(placement, sizes_1_mod_8)
{
    check_sizes(1);
}
Test(placement, sizes_2_mod_8)
{
    check_sizes(2);
}
Test(placement, sizes_3_mod_8)
{
    check_sizes(3);
}
Test(placement, sizes_4_mod_8)
{
    check_sizes(4);
}
Test(placement, sizes_5_mod_8)
{
    check_sizes(5);
}
Test(placement, sizes_6_mod_8)
{
    check_sizes(6);
}
Test(placement, sizes_7_mod_8)
{
    check_sizes(7);
}

/* The largest block configured smaller than what would fit. */
Test(placement, limited_orders)
{
    for (unsigned order_max = 0; order_max <= 12; order_max++) {
        for (uint64_t size = 1; size <= 4160; size = size * 2 + 1)
            check_size(size, order_max);
        check_size(192, order_max);
        check_size(4096 + 64, order_max);
    }
}

/* Whole zones, joined from single pages: the greedy decomposition comes back, as in a fresh zone. */
Test(placement, emptied_zones_are_fresh_zones)
{
    for (uint64_t size = 1; size <= PAGES_MAX; size += size < 300 || !test_is_sanitized() ? 1 : 61) {
        zone_box box = zone_box_open(size, 31);
        REQUIRE(box_alloc_all(&box) == size, "%" PRIu64, size);
        for (uint64_t p = 0; p < size; p++)
            REQUIRE(box_free(&box, p) == LFMA_OK, "%" PRIu64 "/%" PRIu64, p, size);
        (void)zone_join_all(box.zone, box.owner);
        const char *what;
        REQUIRE(zone_is_fresh(box.zone, &what), "%" PRIu64 " pages: the %s differs", size, what);
        zone_box_close(&box);
    }
}
