/* SPDX-License-Identifier: MIT */
/*
 * The ways through a race, one at a time: before a chosen atomic operation of a call another thread acts, by a hook
 * in the door to atomics. What follows is the same in every run. A05, A23, B09, B11
 */
#include "bitmap/bitmap.h"
#include "support/hook.h"
#include "support/unit.h"
#include "support/zones.h"

#include <lfma/lfma.h>

/* -------------------------------------------------------------------------------------------------- free tables */

#define SLICES 130u /* three search words, the last of two slices */

static lfma__a64 summary[1], search[3], slices[SLICES];

static lfma__table open_table(bool with_summary)
{
    for (unsigned i = 0; i < SLICES; i++)
        lfma__a64_store_relaxed(&slices[i], 0);
    for (unsigned i = 0; i < 3; i++)
        lfma__a64_store_relaxed(&search[i], 0);
    lfma__a64_store_relaxed(&summary[0], 0);
    return (lfma__table){
        .search = search, .slices = slices, .slice_count = SLICES, .summary = with_summary ? summary : NULL
    };
}

static bool is_set(const lfma__a64 *words, uint64_t bit)
{
    return lfma__a64_load_relaxed(&words[bit / 64]) >> bit % 64 & 1;
}

/* What another thread does: one call on the table. */
struct rival {
    lfma__table table;
    uint64_t block; /* to publish; or where to start, and what was got */
};

static void publish(void *argument)
{
    const struct rival *const r = argument;
    REQUIRE(!lfma__table_publish(r->table, r->block), "block %" PRIu64 " was free", r->block);
}

static void claim(void *argument)
{
    struct rival *const r = argument;
    r->block = lfma__table_claim(r->table, r->block);
}

/*
 * F1 and F2 come before C2: the publisher found the hint, so only the retirer, who reads the slice again, can keep
 * it. Then C4 sets the hint again, and the block is found from everywhere.
 */
static void check_publish_before_c2(bool with_summary, uint64_t slice)
{
    const lfma__table t = open_table(with_summary);
    struct rival rival = { t, slice * 64 + 3 };
    (void)lfma__table_hint(t, slice); /* stale */
    hook_set(&search[slice / 64], HOOK_CHANGE, 1, publish, &rival);
    lfma__table_tidy(t, slice);
    REQUIRE(hook_waiting() == 0, "slice %" PRIu64 ": the hint was not retired", slice);
    REQUIRE(is_set(search, slice), "slice %" PRIu64 ": a block without its hint", slice);
    REQUIRE(!with_summary || is_set(summary, slice / 64), "slice %" PRIu64 ": a hint without its summary", slice);
    REQUIRE(lfma__table_claim(t, 0) == rival.block, "slice %" PRIu64, slice);
}

Test(races, publish_before_the_hint_is_cleared)
{
    for (uint64_t slice = 0; slice < SLICES; slice++) {
        check_publish_before_c2(false, slice);
        check_publish_before_c2(true, slice);
    }
}

/* F1 and F2 come between C2 and C3: both see it, and both set the hint. */
Test(races, publish_after_the_hint_is_cleared)
{
    for (uint64_t slice = 0; slice < SLICES; slice++) {
        const lfma__table t = open_table(slice % 2);
        struct rival rival = { t, slice * 64 + 63 };
        (void)lfma__table_hint(t, slice);
        hook_set(&slices[slice], HOOK_LOAD, 2, publish, &rival); /* the second load of it is C3 */
        lfma__table_tidy(t, slice);
        REQUIRE(hook_waiting() == 0 && is_set(search, slice), "slice %" PRIu64, slice);
        REQUIRE(lfma__table_claim(t, 0) == rival.block, "slice %" PRIu64, slice);
    }
}

/*
 * The same as before C2, and then a searcher meets the search word while its last hint is cleared, and retires its
 * summary bit. Who undoes C2 has to set the summary bit too (F3): else the block is hidden from whoever starts
 * elsewhere.
 */
Test(races, summary_retired_before_the_hint_is_set_again)
{
    for (uint64_t slice = 64; slice < SLICES; slice++) {
        const lfma__table t = open_table(true);
        struct rival publisher = { t, slice * 64 + 7 }, searcher = { t, 0 };
        (void)lfma__table_hint(t, slice);
        hook_set(&search[slice / 64], HOOK_CHANGE, 1, publish, &publisher);
        hook_set(&slices[slice], HOOK_LOAD, 2, claim, &searcher);
        lfma__table_tidy(t, slice);
        REQUIRE(hook_waiting() == 0, "slice %" PRIu64, slice);
        REQUIRE(searcher.block == LFMA__NONE, "its hint was cleared: %" PRIu64, searcher.block);
        REQUIRE(is_set(search, slice) && is_set(summary, slice / 64), "slice %" PRIu64 ": not repaired", slice);
        REQUIRE(lfma__table_claim(t, 0) == publisher.block, "slice %" PRIu64, slice);
    }
}

/* The search word is found empty under its summary bit, and a block comes before that is cleared. */
Test(races, publish_before_the_summary_is_cleared)
{
    for (uint64_t slice = 64; slice < SLICES; slice++) {
        const lfma__table t = open_table(true);
        struct rival rival = { t, slice * 64 };
        (void)lfma__hint_ensure(summary, slice / 64); /* stale */
        hook_set(&summary[0], HOOK_CHANGE, 1, publish, &rival);
        lfma__table_tidy(t, slice / 64 * 64);
        REQUIRE(hook_waiting() == 0, "slice %" PRIu64 ": the summary was not retired", slice);
        REQUIRE(is_set(summary, slice / 64), "slice %" PRIu64 ": hints without their summary", slice);
        REQUIRE(lfma__table_claim(t, 0) == rival.block, "slice %" PRIu64, slice);
    }
}

static void note(void *argument)
{
    ++*(unsigned *)argument;
}

/*
 * Two want the lowest block of a slice: who is second gets the next one, on the short way and on the long one, and
 * leaves the hint alone: the slice was never empty.
 */
Test(races, a_claim_that_lost_takes_the_next_block)
{
    for (uint64_t start = 0; start < SLICES; start += 43) {
        for (uint64_t slice = 0; slice < SLICES; slice++) {
            const lfma__table t = open_table(slice % 2);
            struct rival rival = { t, slice };
            unsigned hint_changes = 0;
            lfma__table_fill(t, slice * 64 + 20, 2);
            hook_set(&slices[slice], HOOK_CHANGE, 1, claim, &rival);
            hook_set(&search[slice / 64], HOOK_CHANGE, 1, note, &hint_changes);
            REQUIRE(lfma__table_claim(t, start) == slice * 64 + 21, "start %" PRIu64 ", slice %" PRIu64, start,
                    slice);
            REQUIRE(hook_waiting() == 1 && rival.block == slice * 64 + 20, "%" PRIu64, rival.block);
            REQUIRE(hint_changes == 0, "start %" PRIu64 ", slice %" PRIu64 ": the hint was touched", start, slice);
            hook_clear();
        }
    }
}

/* Two want the only block: who is second gets none, and retires the hint. */
Test(races, a_claim_that_lost_the_last_block)
{
    for (uint64_t start = 0; start < SLICES; start += 43) {
        for (uint64_t slice = 0; slice < SLICES; slice++) {
            const lfma__table t = open_table(slice % 2);
            struct rival rival = { t, slice };
            (void)lfma__table_publish(t, slice * 64 + 20);
            hook_set(&slices[slice], HOOK_CHANGE, 1, claim, &rival);
            REQUIRE(lfma__table_claim(t, start) == LFMA__NONE, "start %" PRIu64 ", slice %" PRIu64, start, slice);
            REQUIRE(hook_waiting() == 0 && rival.block == slice * 64 + 20, "%" PRIu64, rival.block);
            REQUIRE(!is_set(search, slice), "start %" PRIu64 ", slice %" PRIu64 ": hinted", start, slice);
        }
    }
}

/* The slice is empty, and a block comes before its hint is cleared: the search that sees it takes it. */
Test(races, a_block_comes_while_its_hint_is_retired)
{
    for (uint64_t slice = 0; slice < SLICES; slice++) {
        const lfma__table t = open_table(slice % 2);
        struct rival rival = { t, slice * 64 + 40 };
        (void)lfma__table_hint(t, slice);
        hook_set(&search[slice / 64], HOOK_CHANGE, 1, publish, &rival);
        REQUIRE(lfma__table_claim(t, slice) == rival.block, "slice %" PRIu64, slice);
        REQUIRE(hook_waiting() == 0, "slice %" PRIu64, slice);
    }
}

/* A scan that loses the block it has seen goes on to the next slice; with no other block it finds none. */
Test(races, a_scan_that_lost_goes_on)
{
    for (uint64_t slice = 0; slice < SLICES; slice++) {
        for (uint64_t other = slice; other < SLICES; other += 21) {
            const lfma__table t = open_table(slice % 2);
            struct rival rival = { t, slice };
            uint64_t repaired = 0;
            (void)lfma__table_publish(t, slice * 64);
            if (other > slice)
                (void)lfma__table_publish(t, other * 64 + 9);
            hook_set(&search[slice / 64], HOOK_LOAD, 1, claim, &rival); /* the slice was seen, its hint not yet */
            const uint64_t got = lfma__table_claim_scan(t, 0, &repaired);
            REQUIRE(hook_waiting() == 0 && rival.block == slice * 64, "%" PRIu64, rival.block);
            REQUIRE(got == (other > slice ? other * 64 + 9 : LFMA__NONE), "%" PRIu64 ", %" PRIu64, slice, other);
        }
    }
}

/* -------------------------------------------------------------------------------------------------------- zones */

struct thief {
    zone_box box; /* the zone, with an owner slot of the thief's own */
    unsigned order;
    uint64_t page; /* what was allocated, or what is to be freed */
    int code;
};

static void steal(void *argument)
{
    struct thief *const t = argument;
    t->page = box_alloc(&t->box, t->order);
}

static void free_hardened(void *argument)
{
    struct thief *const t = argument;
    t->code = zone_free(t->box.zone, t->box.owner, t->page, true);
}

static uint64_t counter(const zone_box *box, enum lfma__counter which)
{
    return lfma__a64_load_relaxed(&box->owner->counters[which]);
}

static bool in_flight(const zone_box *box)
{
    return (lfma__a64_load_relaxed(&box->owner->word) & LFMA__IN_FLIGHT_MASK) != 0;
}

static void close_fresh(zone_box *box, zone_box *own)
{
    const char *what = zone_broken(box->zone);
    REQUIRE(what == NULL, "%s", what);
    (void)zone_join_all(box->zone, box->owner);
    REQUIRE(zone_is_fresh(box->zone, &what), "%s", what);
    zone_box_close(own);
    zone_box_close(box);
}

/*
 * Pairs of one slice are joined all at once, and a page of one of them is taken between the look and the claim: its
 * buddy goes back as it was, the others are joined. With one pair that is nothing to join at all.
 */
static void check_stolen_buddy(uint64_t pairs)
{
    zone_box box = zone_box_open(64, 31), own = zone_box_open(1, 0);
    struct thief thief = { .box = { box.zone, own.owner }, .order = 0 };
    REQUIRE(box_alloc_all(&box) == 64, "64 pages");
    for (uint64_t page = 0; page < 2 * pairs; page++)
        REQUIRE(box_free(&box, page) == LFMA_OK, "page %" PRIu64, page);
    hook_set(lfma__zone_table(box.zone, 0).slices, HOOK_CHANGE, 1, steal, &thief);
    const uint64_t made = lfma__zone_join_pairs(box.zone, box.owner, 0);

    REQUIRE(hook_waiting() == 0 && thief.page == 0, "%" PRIu64, thief.page);
    REQUIRE(!in_flight(&box) && counter(&box, LFMA__JOIN_CONFLICTS) == 1, "%" PRIu64 " conflicts",
            counter(&box, LFMA__JOIN_CONFLICTS));
    REQUIRE(lfma__zone_count_free(box.zone, 0) == 1, "the buddy alone");
    REQUIRE((made > 0) == (pairs > 1) && counter(&box, LFMA__BLOCKS_JOINED) == made, "%" PRIu64 " made", made);
    lfma_report report = LFMA_REPORT_INIT;
    REQUIRE(lfma__zone_validate(box.zone, NULL, &report), "%s", report.invariant);
    REQUIRE(report.pages_free == 2 * pairs - 1, "%zu pages free", report.pages_free);
    REQUIRE(box_alloc(&box, 0) == 1, "it can be had");
    for (uint64_t page = 0; page < 2; page++)
        REQUIRE(box_free(&box, page) == LFMA_OK, "page %" PRIu64, page);
    for (uint64_t page = 2 * pairs; page < 64; page++)
        REQUIRE(box_free(&box, page) == LFMA_OK, "page %" PRIu64, page);
    close_fresh(&box, &own);
}

Test(races, a_buddy_is_stolen_before_the_pairs_are_claimed)
{
    for (uint64_t pairs = 1; pairs <= 32; pairs++)
        check_stolen_buddy(pairs);
}

/* Hardened: of two frees that both have seen the block allocated one gets it, the other changes nothing. */
Test(races, two_hardened_frees)
{
    for (unsigned order = 0; order <= 8; order++) {
        zone_box box = zone_box_open(256, 31), own = zone_box_open(1, 0);
        struct thief rival = { .box = { box.zone, own.owner }, .code = 1 };
        rival.page = box_alloc(&box, order);
        hook_set(&lfma__zone_states(box.zone)[rival.page], HOOK_CHANGE, 1, free_hardened, &rival);
        const int code = zone_free(box.zone, box.owner, rival.page, true);
        REQUIRE(hook_waiting() == 0 && rival.code == LFMA_OK, "order %u: %d", order, rival.code);
        REQUIRE(code == LFMA_E_DOUBLE_FREE, "order %u: %d", order, code);
        REQUIRE(lfma__zone_count_free(box.zone, order) >= 1, "order %u", order);
        close_fresh(&box, &own);
    }
}

/*
 * The same frees in a zone that is not hardened: both publish, the second finds the bit set, and is told so. No mark
 * and no block is there twice.
 */
static void free_plain(void *argument)
{
    struct thief *const t = argument;
    t->code = box_free(&t->box, t->page);
}

Test(races, two_plain_frees)
{
    for (unsigned order = 0; order <= 8; order++) {
        zone_box box = zone_box_open(256, 31), own = zone_box_open(1, 0);
        struct thief rival = { .box = { box.zone, own.owner }, .code = 1 };
        rival.page = box_alloc(&box, order);
        lfma__a64 *const slice = &lfma__zone_table(box.zone, order).slices[(rival.page >> order) / 64];
        hook_set(slice, HOOK_CHANGE, 1, free_plain, &rival);
        const int code = box_free(&box, rival.page);
        REQUIRE(hook_waiting() == 0 && rival.code == LFMA_OK, "order %u: %d", order, rival.code);
        REQUIRE(code == LFMA_E_DOUBLE_FREE, "order %u: %d", order, code);
        close_fresh(&box, &own);
    }
}

/* A block of a run is allocated between the look and the claim of a coalescer: what it has goes back. Every block. */
static void check_stolen_part(uint64_t page)
{
    zone_box box = zone_box_open(64, 31), own = zone_box_open(1, 0);
    struct thief thief = { .box = { box.zone, own.owner }, .order = 0 };
    REQUIRE(box_alloc(&box, 0) == 0 && box_free(&box, 0) == LFMA_OK, "a block of each order up to 5");
    /* The thief takes the lowest block of an order; the run is blocks of 1, 1, 2, 4 … 32 pages. */
    thief.order = page == 0 ? 0 : lfma__log2_floor(page);
    hook_set(lfma__zone_table(box.zone, thief.order).slices, HOOK_CHANGE, 1, steal, &thief);
    REQUIRE(zone_join_all(box.zone, box.owner) <= 1, "page %" PRIu64, page);
    REQUIRE(hook_waiting() == 0 && thief.page != LFMA__NONE, "page %" PRIu64, page);
    const char *const broken = zone_broken(box.zone);
    REQUIRE(broken == NULL && !in_flight(&box), "page %" PRIu64 ": %s", page, broken);
    lfma_report report = LFMA_REPORT_INIT;
    REQUIRE(lfma__zone_validate(box.zone, NULL, &report), "%s", report.invariant);
    REQUIRE(report.pages_free == 64 - ((uint64_t)1 << thief.order), "%zu pages free", report.pages_free);
    REQUIRE(box_free(&thief.box, thief.page) == LFMA_OK, "page %" PRIu64, page);
    close_fresh(&box, &own);
}

Test(races, a_part_of_a_run_is_stolen_before_it_is_claimed)
{
    for (uint64_t page = 0; page < 64; page = page ? page * 2 : 1)
        check_stolen_part(page);
}

/* What a scan has found is allocated before it claims: it goes on to the next order, or ends; not in flight. */
Test(races, what_a_scan_has_found_is_stolen)
{
    for (unsigned larger = 0; larger < 2; larger++) {
        zone_box box = zone_box_open(64, 31), own = zone_box_open(1, 0);
        struct thief thief = { .box = { box.zone, own.owner } };
        /* Page 0 is free, and with `larger` the upper half of the zone. */
        const uint64_t page = box_alloc(&box, 0);
        uint64_t pages[6] = { 0 };
        for (unsigned order = 0; order < 6 - larger; order++)
            pages[order] = box_alloc(&box, order);
        REQUIRE(box_free(&box, page) == LFMA_OK, "page %" PRIu64, page);
        hook_set(&box.owner->word, HOOK_STORE, 1, steal, &thief);
        const uint64_t got = lfma__zone_alloc_scan(box.zone, box.owner, 0);
        REQUIRE(hook_waiting() == 0 && thief.page == page, "%" PRIu64, thief.page);
        REQUIRE(got == (larger ? 32 : LFMA__NONE) && !in_flight(&box), "%" PRIu64, got);
        REQUIRE(!larger || box_free(&box, got) == LFMA_OK, "page %" PRIu64, got);
        REQUIRE(box_free(&box, thief.page) == LFMA_OK, "page %" PRIu64, page);
        for (unsigned order = 0; order < 6 - larger; order++)
            REQUIRE(box_free(&box, pages[order]) == LFMA_OK, "order %u", order);
        close_fresh(&box, &own);
    }
}

/* A shared owner slot: what two of its users do to a word or a counter at once is all there in the end. */
static void free_through_the_same_slot(void *argument)
{
    const struct thief *const t = argument;
    REQUIRE(box_free(&t->box, t->page) == LFMA_OK, "page %" PRIu64, t->page);
    lfma__owner_count(t->box.owner, LFMA__FREES, 5);
}

Test(races, a_shared_slot_loses_nothing)
{
    for (unsigned at_counter = 0; at_counter < 2; at_counter++) {
        zone_box box = zone_box_open(64, 31), own = zone_box_open(1, 0);
        box.owner->shared = 1;
        const uint64_t page = box_alloc(&box, 0);
        struct thief other = { .box = box, .page = box_alloc(&box, 0) };
        const uint64_t before = lfma__a64_load_relaxed(&box.owner->word);
        hook_set(at_counter ? &box.owner->counters[LFMA__FREES] : &box.owner->word, HOOK_CHANGE, 1,
                 free_through_the_same_slot, &other);
        REQUIRE(box_free(&box, page) == LFMA_OK, "page %" PRIu64, page);
        lfma__owner_count(box.owner, LFMA__FREES, 7);
        REQUIRE(hook_waiting() == 0, "no read-modify-write");
        REQUIRE(lfma__a64_load_relaxed(&box.owner->word) == before + 2 * LFMA__VERSION_ONE, "a raise was lost");
        REQUIRE(counter(&box, LFMA__FREES) == 12, "%" PRIu64, counter(&box, LFMA__FREES));
        close_fresh(&box, &own);
    }
}
