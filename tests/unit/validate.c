/* SPDX-License-Identifier: MIT */
/* The validator is a witness: each kind of word, made wrong by hand, is caught and the right invariant is named. */
#include "support/unit.h"
#include "support/zones.h"

#include <lfma/lfma.h>
#include <string.h>

#define PAGES 300u /* one block of 256, one of 32, one of 8, one of 4: and all below is made by splits */

/* Free and allocated blocks of every order from 0 to 7: smaller and larger than a word of the page map. */
static zone_box open_mixed(void)
{
    zone_box box = zone_box_open(PAGES, 31);
    for (unsigned order = 0; order <= 7; order++)
        REQUIRE(box_alloc(&box, order) != LFMA__NONE, "order %u", order);
    REQUIRE(zone_broken(box.zone) == NULL, "sound to begin with");
    return box;
}

static void flip(lfma__a64 *words, uint64_t bit)
{
    const uint64_t seen = lfma__a64_load_relaxed(&words[bit / 64]);
    lfma__a64_store_relaxed(&words[bit / 64], seen ^ (uint64_t)1 << bit % 64);
}

static bool is_set(const lfma__a64 *words, uint64_t bit)
{
    return lfma__a64_load_relaxed(&words[bit / 64]) >> bit % 64 & 1;
}

static void set_state(lfma__zone *zone, uint64_t page, unsigned state)
{
    lfma__a8_store_relaxed(&lfma__zone_states(zone)[page], (uint8_t)state);
}

static unsigned get_state(lfma__zone *zone, uint64_t page)
{
    return lfma__a8_load_relaxed(&lfma__zone_states(zone)[page]);
}

/* The zone is broken in the way named; it is then restored and sound again. */
static void caught(zone_box box, const void *sound, const char *invariant, const char *what, uint64_t where)
{
    const char *const found = zone_broken(box.zone);
    REQUIRE(found != NULL, "%s at %" PRIu64 " was not caught", what, where);
    REQUIRE(strcmp(found, invariant) == 0, "%s at %" PRIu64 ": %s instead of %s", what, where, found, invariant);
    memcpy(box.zone, sound, (size_t)box.zone->bytes);
    REQUIRE(zone_broken(box.zone) == NULL, "restored");
}

struct fixture {
    zone_box box;
    void *sound;
};

static struct fixture begin(void)
{
    struct fixture f = { .box = open_mixed() };
    f.sound = zone_copy(f.box.zone);
    return f;
}

static void end(struct fixture *f)
{
    free(f->sound);
    zone_box_close(&f->box);
}

Test(validate, search_bits)
{
    struct fixture f = begin();
    for (unsigned order = 0; order <= f.box.zone->order_max; order++) {
        const lfma__table t = lfma__zone_table(f.box.zone, order);
        for (uint64_t slice = 0; slice < 64; slice++) {
            if (slice < t.slice_count && lfma__a64_load_relaxed(&t.slices[slice]) == 0) {
                flip(t.search, slice); /* a hint over an empty slice may be either way */
                REQUIRE(zone_broken(f.box.zone) == NULL, "a stale hint is no fault");
                flip(t.search, slice);
                continue;
            }
            flip(t.search, slice);
            caught(f.box, f.sound, "I4", slice < t.slice_count ? "a hint missing" : "a hint beyond the end", slice);
        }
    }
    end(&f);
}

/* The summary exists from 65 slices on: missing over a search word that is not 0, or beyond the last one. */
Test(validate, summary_bits)
{
    zone_box box = zone_box_open(70 * 64, 0); /* single pages, 70 slices, 2 search words */
    const lfma__table t = lfma__zone_table(box.zone, 0);
    REQUIRE(t.summary != NULL, "a summary");
    void *const sound = zone_copy(box.zone);
    for (uint64_t bit = 0; bit < 64; bit++) {
        flip(t.summary, bit);
        caught(box, sound, "I4", bit < 2 ? "a summary bit missing" : "a summary bit beyond the end", bit);
    }
    free(sound);
    REQUIRE(box_alloc_all(&box) == 70 * 64, "all");
    for (uint64_t bit = 0; bit < 2; bit++) {
        REQUIRE(!is_set(t.summary, bit), "retired");
        flip(t.summary, bit);
        REQUIRE(zone_broken(box.zone) == NULL, "a stale hint is no fault");
    }
    zone_box_close(&box);
}

/*
 * A block lost, a block free in two orders or inside another, beyond the end. The bit of a block with a state of its
 * own says whether it is free (I7), so that is no fault.
 */
static void check_block_bit(const struct fixture *f, unsigned order, uint64_t block)
{
    lfma__zone *const zone = f->box.zone;
    const lfma__table t = lfma__zone_table(zone, order);
    const uint64_t page = block << order;
    const bool lost = is_set(t.slices, block);
    const bool own = page < PAGES && get_state(zone, page) == (LFMA__STATE_ALLOCATED | order);
    flip(t.slices, block);
    (void)lfma__table_hint(t, block / 64);
    const char *const found = zone_broken(zone);
    if (own)
        REQUIRE(found == NULL, "%s: a state and a bit", found);
    else
        REQUIRE(found != NULL, "order %u, block %" PRIu64 " was not caught", order, block);
    if (lost || page >= PAGES)
        REQUIRE(strcmp(found, "I1") == 0, "%s: order %u, block %" PRIu64, found, order, block);
    memcpy(zone, f->sound, (size_t)zone->bytes);
}

Test(validate, block_bits)
{
    struct fixture f = begin();
    for (unsigned order = 0; order <= f.box.zone->order_max; order++) {
        for (uint64_t block = 0; block < lfma__zone_table(f.box.zone, order).slice_count * 64; block++)
            check_block_bit(&f, order, block);
    }
    end(&f);
}

/* The order of the free block that starts at a page, or -1. */
static int free_order(lfma__zone *zone, uint64_t page)
{
    for (unsigned order = 0; order <= zone->order_max && page % (1u << order) == 0; order++) {
        if (page >> order < zone->pages >> order && is_set(lfma__zone_table(zone, order).slices, page >> order))
            return (int)order;
    }
    return -1;
}

Test(validate, states_cleared_and_set)
{
    struct fixture f = begin();
    for (uint64_t page = 0; page < PAGES; page++) {
        const int free = free_order(f.box.zone, page);
        if (free < 0 && get_state(f.box.zone, page)) {
            set_state(f.box.zone, page, 0);
            caught(f.box, f.sound, "I1", "an allocated block's state lost", page);
            continue;
        }
        for (unsigned order = 0; order <= f.box.zone->order_max; order++) {
            set_state(f.box.zone, page, LFMA__STATE_ALLOCATED | order);
            if (free == (int)order) { /* free as it was last allocated: no fault */
                REQUIRE(zone_broken(f.box.zone) == NULL, "page %" PRIu64, page);
                set_state(f.box.zone, page, 0);
                continue;
            }
            const char *const found = zone_broken(f.box.zone);
            REQUIRE(found != NULL, "a state of order %u at page %" PRIu64, order, page);
            REQUIRE(strcmp(found, free >= 0 ? "I1" : "I7") == 0 || strcmp(found, "I7") == 0,
                    "%s: order %u, page %" PRIu64, found, order, page);
            memcpy(f.box.zone, f.sound, (size_t)f.box.zone->bytes);
        }
    }
    end(&f);
}

Test(validate, states_of_a_wrong_order)
{
    struct fixture f = begin();
    for (uint64_t page = 0; page < PAGES; page++) {
        const unsigned state = free_order(f.box.zone, page) < 0 ? get_state(f.box.zone, page) : 0;
        for (unsigned order = 0; state && order < LFMA_ORDERS; order++) {
            if ((LFMA__STATE_ALLOCATED | order) == state)
                continue;
            set_state(f.box.zone, page, LFMA__STATE_ALLOCATED | order);
            const char *const found = zone_broken(f.box.zone);
            REQUIRE(found != NULL, "order %u instead of %u at page %" PRIu64, order, state & LFMA__STATE_ORDER, page);
            if (page % (1u << (order & 15)) != 0 || order > f.box.zone->order_max)
                REQUIRE(strcmp(found, "I7") == 0, "%s: order %u at page %" PRIu64, found, order, page);
            memcpy(f.box.zone, f.sound, (size_t)f.box.zone->bytes);
        }
    }
    end(&f);
}

/* Bits of a state that mean nothing, beside a right order or alone. */
Test(validate, states_with_unknown_bits)
{
    struct fixture f = begin();
    for (uint64_t page = 0; page < PAGES; page++) {
        const unsigned state = get_state(f.box.zone, page);
        const bool is_block = state != 0 || free_order(f.box.zone, page) >= 0;
        for (unsigned bits = 0x20; bits <= 0x60; bits += 0x20) {
            set_state(f.box.zone, page, state | bits);
            caught(f.box, f.sound, "I7", is_block ? "unknown bits at a block" : "unknown bits inside a block", page);
        }
    }
    end(&f);
}

/* Counts, zone and place of what is broken reach the caller. */
Test(validate, report_says_where)
{
    struct fixture f = begin();
    lfma_report report = LFMA_REPORT_INIT;
    REQUIRE(lfma__zone_validate(f.box.zone, NULL, &report), "sound");
    REQUIRE(report.pages_allocated == 255 && report.pages_free == PAGES - 255, "%zu", report.pages_allocated);
    REQUIRE(report.blocks_allocated == 8, "%zu", report.blocks_allocated);
    REQUIRE(report.invariant == NULL && report.text == NULL, "nothing to say");
    set_state(f.box.zone, 77, LFMA__STATE_ALLOCATED); /* inside a block */
    report = (lfma_report)LFMA_REPORT_INIT;
    REQUIRE(!lfma__zone_validate(f.box.zone, NULL, &report), "broken");
    REQUIRE(report.page == 77 && report.text != NULL, "page %zu", report.page);
    end(&f);
}
