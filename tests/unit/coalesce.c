/* SPDX-License-Identifier: MIT */
/* The coalescer, by hand: pairs and runs at every edge, budgets, cursors, strange clocks, thieves in the middle. */
#include "support/clock.h"
#include "support/unit.h"
#include "support/zones.h"

#include <lfma/lfma.h>
#include <string.h>

#define ALL ((lfma_budget)LFMA_BUDGET_ALL)
#define STEPS(n) ((lfma_budget)LFMA_BUDGET_STEPS(n))
#define NS(n) ((lfma_budget)LFMA_BUDGET_NS(n))

struct pass {
    lfma__meter meter;
    lfma__join join;
    bool complete;
};

static struct pass run_pass(const zone_box *box, lfma_budget budget, fake_clock *clock, unsigned want)
{
    static fake_clock frozen;
    struct pass p = { .complete = false };
    lfma__meter_start(&p.meter, budget, fake_clock_read, clock ? clock : &frozen);
    p.join = (lfma__join){ .meter = &p.meter, .owner = box->owner, .want = want };
    p.complete = lfma__zone_coalesce(box->zone, &p.join);
    return p;
}

static struct pass run_all(const zone_box *box)
{
    return run_pass(box, ALL, NULL, LFMA__WANT_NOTHING);
}

/* Every page allocated singly. */
static zone_box open_full(uint64_t pages)
{
    zone_box box = zone_box_open(pages, 31);
    REQUIRE(box_alloc_all(&box) == pages, "%" PRIu64 " pages", pages);
    return box;
}

static void free_pages(const zone_box *box, uint64_t first, uint64_t count)
{
    for (uint64_t p = first; p < first + count; p++)
        REQUIRE(box_free(box, p) == LFMA_OK, "page %" PRIu64, p);
}

static zone_box open_shredded(uint64_t pages)
{
    zone_box box = open_full(pages);
    free_pages(&box, 0, pages);
    return box;
}

static void close_sound(zone_box *box)
{
    const char *const broken = zone_broken(box->zone);
    REQUIRE(broken == NULL, "%s", broken);
    zone_box_close(box);
}

/* The only mergeable run of a zone: one pass joins it into one block, and that is where it was. */
static void check_run(const zone_box *box, uint64_t page, unsigned order)
{
    const uint64_t size = box->zone->pages;
    free_pages(box, page, (uint64_t)1 << order);
    (void)run_all(box);
    for (unsigned k = 0; k <= box->zone->order_max; k++)
        REQUIRE(lfma__zone_count_free(box->zone, k) == (k == order), "%" PRIu64 ": order %u at %" PRIu64, size, order,
                page);
    REQUIRE(box_alloc(box, order) == page, "%" PRIu64 ": order %u at %" PRIu64, size, order, page);
    REQUIRE(box_free(box, page) == LFMA_OK, "%" PRIu64 ": order %u at %" PRIu64, size, order, page);
    for (uint64_t n = (uint64_t)1 << order; n > 0; n--)
        REQUIRE(box_alloc(box, 0) != LFMA__NONE, "%" PRIu64 ": order %u at %" PRIu64, size, order, page);
}

static const uint64_t edge_sizes[] = { 2,    3,     63,     64,     65,         66,          127,
                                       128,  130,   192,    4094,   4096,       4098,        8192,
                                       8256, 12288, 262142, 262144, 262144 + 2, 262144 + 64, 262144 + 4096 + 64 + 2 };

/* A11, J07: the only pair at index 0, at the end, at the edges of words and groups (64, 4096, 262144 pages) */
Test(coalesce, the_only_pair)
{
    const uint64_t at[] = { 0, 2, 30, 32, 62, 64, 126, 4030, 4094, 4096, 4158, 8190, 8192, 262078, 262142, 262144 };
    for (unsigned i = 0; i < sizeof edge_sizes / sizeof edge_sizes[0]; i++) {
        zone_box box = open_full(edge_sizes[i]);
        for (unsigned j = 0; j < sizeof at / sizeof at[0]; j++) {
            if (at[j] + 2 <= edge_sizes[i])
                check_run(&box, at[j], 1);
        }
        check_run(&box, (edge_sizes[i] - 2) / 2 * 2, 1);
        close_sound(&box);
    }
}

/* Runs of every order, the first and the last: partial last groups of every level */
Test(coalesce, the_only_run_of_every_order)
{
    for (unsigned i = 0; i < sizeof edge_sizes / sizeof edge_sizes[0]; i++) {
        zone_box box = open_full(edge_sizes[i]);
        for (unsigned order = 1; order <= box.zone->order_max; order++) {
            check_run(&box, 0, order);
            check_run(&box, ((edge_sizes[i] >> order) - 1) << order, order);
        }
        close_sound(&box);
    }
}

/* Two pages that are neighbours but no buddies stay two blocks. */
Test(coalesce, neighbours_that_are_no_buddies)
{
    zone_box box = open_full(8192);
    for (uint64_t p = 1; p + 1 < 8192; p += p < 130 ? 2 : 62) {
        free_pages(&box, p, 2);
        const struct pass all = run_all(&box);
        REQUIRE(all.join.joined == 0 && lfma__zone_count_free(box.zone, 0) == 2, "at %" PRIu64, p);
        REQUIRE(box_alloc(&box, 0) == p && box_alloc(&box, 0) == p + 1, "at %" PRIu64, p);
    }
    close_sound(&box);
}

static void require_fresh(const zone_box *box, const char *how)
{
    const char *what;
    REQUIRE(zone_is_fresh(box->zone, &what), "%s: %" PRIu64 " pages: the %s differs", how, box->zone->pages, what);
}

/* A complete pass over an emptied zone leaves a fresh one, whatever was done before. */
Test(coalesce, an_emptied_zone_is_a_fresh_one)
{
    rng random = { test_seed(0xc0a1) };
    static uint64_t blocks[300000];
    for (unsigned i = 0; i < sizeof edge_sizes / sizeof edge_sizes[0]; i++) {
        zone_box box = zone_box_open(edge_sizes[i], 31);
        for (unsigned round = 0; round < 3; round++) {
            uint64_t count = 0, page;
            while ((page = box_alloc(&box, (unsigned)rng_below(&random, 8))) != LFMA__NONE)
                blocks[count++] = page;
            for (; count > 0; count--) {
                const uint64_t any = rng_below(&random, count);
                REQUIRE(box_free(&box, blocks[any]) == LFMA_OK, "seed 0x%" PRIx64, test_seed(0xc0a1));
                blocks[any] = blocks[count - 1];
            }
            REQUIRE(run_all(&box).complete, "complete");
            require_fresh(&box, "emptied");
            const struct pass again = run_all(&box);
            REQUIRE(again.join.joined == 0, "nothing left to join");
        }
        close_sound(&box);
    }
}

/* Budget 0 does nothing at all. B04 */
Test(coalesce, budget_zero)
{
    zone_box box = open_shredded(5000);
    void *const before = zone_copy(box.zone);
    const lfma_budget none[] = { LFMA_BUDGET_NONE, { 0, LFMA_UNLIMITED }, { LFMA_UNLIMITED, 0 }, { 0, 5 }, { 5, 0 } };
    for (unsigned i = 0; i < sizeof none / sizeof none[0]; i++) {
        const struct pass p = run_pass(&box, none[i], NULL, LFMA__WANT_NOTHING);
        REQUIRE(!p.complete && p.join.joined == 0 && p.meter.steps == 0, "%u", i);
        REQUIRE(zone_is_copy(box.zone, before), "%u: a bit changed", i);
    }
    free(before);
    close_sound(&box);
}

/* B04, J02: one step a call stops within one unit, and 10^4 such calls finish a pass; each of them gets on. */
Test(coalesce, one_step_at_a_time)
{
    const uint64_t sizes[] = { 2, 64, 130, 4096, 5000, 8192 };
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        zone_box box = open_shredded(sizes[i]);
        uint64_t calls = 0;
        for (bool done = false; !done; calls++) {
            const uint64_t from = lfma__a64_load_relaxed(&box.zone->cursor);
            const struct pass p = run_pass(&box, STEPS(1), NULL, LFMA__WANT_NOTHING);
            const uint64_t to = lfma__a64_load_relaxed(&box.zone->cursor);
            REQUIRE(p.join.joined <= 1 && p.meter.steps <= LFMA__STEPS_PER_READ + 1, "within one unit");
            done = to == 0 && p.join.joined == 0;
            REQUIRE(done || p.join.joined == 1 || to > from, "call %" PRIu64 " got nowhere", calls);
            REQUIRE(calls < 10000, "never ends");
        }
        require_fresh(&box, "step by step");
        close_sound(&box);
    }
}

/* A state to coalesce: random pages of a full zone free. */
static zone_box open_random(uint64_t pages, uint64_t seed, unsigned percent)
{
    zone_box box = open_full(pages);
    rng random = { seed };
    for (uint64_t p = 0; p < pages; p++) {
        if (rng_below(&random, 100) < percent)
            free_pages(&box, p, 1);
    }
    return box;
}

static bool same_blocks(const zone_box *a, const zone_box *b)
{
    bool same = true;
    for (unsigned k = 0; k <= a->zone->order_max; k++) {
        const lfma__table t = lfma__zone_table(a->zone, k);
        const lfma__table u = lfma__zone_table(b->zone, k);
        same = same && memcmp(t.slices, u.slices, (size_t)t.slice_count * 8) == 0;
    }
    return same;
}

/* Many small passes that resume at the cursor come to what one large pass comes to. */
Test(coalesce, resumed_passes_equal_one_pass)
{
    const uint64_t seed = test_seed(0xc0a2);
    rng random = { seed };
    for (unsigned round = 0; round < 60; round++) {
        const uint64_t pages = 2 + rng_below(&random, round % 10 ? 6000 : 300000);
        const unsigned percent = 50 + (unsigned)rng_below(&random, 50);
        zone_box one = open_random(pages, seed + round, percent);
        zone_box many = open_random(pages, seed + round, percent);
        const struct pass all = run_all(&one);
        uint64_t joined = 0;
        bool ended = false;
        while (!ended) {
            const struct pass p = run_pass(&many, STEPS(1 + rng_below(&random, 400)), NULL, LFMA__WANT_NOTHING);
            joined += p.join.joined;
            ended = p.complete || (lfma__a64_load_relaxed(&many.zone->cursor) == 0 && p.join.joined == 0);
        }
        REQUIRE(same_blocks(&one, &many), "seed 0x%" PRIx64 ", round %u", seed, round);
        REQUIRE(joined == all.join.joined, "seed 0x%" PRIx64 ", round %u", seed, round);
        close_sound(&one);
        close_sound(&many);
    }
}

/* A pass that starts in the middle goes on to the end, and round once: all is joined. */
Test(coalesce, a_pass_from_any_cursor_is_whole)
{
    for (uint64_t pages = 100; pages < 9000; pages += 777) {
        for (uint64_t steps = 1; steps < 200; steps += 7) {
            zone_box box = open_shredded(pages);
            (void)run_pass(&box, STEPS(steps), NULL, LFMA__WANT_NOTHING);
            REQUIRE(run_all(&box).complete, "whole");
            require_fresh(&box, "from a cursor");
            close_sound(&box);
        }
    }
}

/* The block that was wanted is kept, in flight; the rest of it is given back by hand_out. */
Test(coalesce, want_keeps_a_block)
{
    for (unsigned want = 1; want <= 13; want++) {
        zone_box box = open_shredded(8192);
        const struct pass p = run_pass(&box, ALL, NULL, want);
        REQUIRE(p.join.kept_page != LFMA__NONE && p.join.kept_order >= want && !p.complete, "want %u", want);
        REQUIRE(lfma__a64_load_relaxed(&box.owner->word) & LFMA__IN_FLIGHT_MASK, "in flight");
        REQUIRE(zone_broken(box.zone) != NULL, "the block is in no bitmap");
        lfma__zone_hand_out(box.zone, box.owner, p.join.kept_page, p.join.kept_order, want);
        REQUIRE(!(lfma__a64_load_relaxed(&box.owner->word) & LFMA__IN_FLIGHT_MASK), "no more");
        REQUIRE(lfma__zone_order_at(box.zone, p.join.kept_page) == (int)want, "want %u", want);
        REQUIRE(zone_broken(box.zone) == NULL, "want %u: %s", want, zone_broken(box.zone));
        REQUIRE(box_free(&box, p.join.kept_page) == LFMA_OK, "want %u", want);
        close_sound(&box);
    }
}

/* What is not there is not kept, and the pass is complete. */
Test(coalesce, want_more_than_there_is)
{
    zone_box box = open_full(8192);
    free_pages(&box, 1, 8191);
    struct pass p = run_pass(&box, ALL, NULL, 13);
    REQUIRE(p.join.kept_page == LFMA__NONE && p.complete, "one page is missing");
    p = run_pass(&box, ALL, NULL, 12);
    REQUIRE(p.join.kept_page == LFMA__NONE, "joined before already: nothing new is made");
    REQUIRE(box_alloc(&box, 12) == 4096, "but it is there");
    close_sound(&box);
}

/* Two coalescers in turns, one of them with a wish: nothing is lost. J07 */
Test(coalesce, two_in_turns)
{
    rng random = { test_seed(0xc0a3) };
    for (unsigned round = 0; round < 200; round++) {
        zone_box box = open_shredded(4096 + rng_below(&random, 9000));
        uint64_t kept[8];
        unsigned count = 0;
        for (unsigned turn = 0; turn < 2000 && count < 8; turn++) {
            const unsigned want = turn % 2 ? LFMA__WANT_NOTHING : 3;
            const struct pass p = run_pass(&box, STEPS(1 + rng_below(&random, 60)), NULL, want);
            if (p.join.kept_page == LFMA__NONE)
                continue;
            lfma__zone_hand_out(box.zone, box.owner, p.join.kept_page, p.join.kept_order, 3);
            kept[count++] = p.join.kept_page;
        }
        REQUIRE(zone_broken(box.zone) == NULL, "seed 0x%" PRIx64 ", round %u", test_seed(0xc0a3), round);
        while (count > 0)
            REQUIRE(box_free(&box, kept[--count]) == LFMA_OK, "round %u", round);
        (void)run_all(&box);
        require_fresh(&box, "two in turns");
        zone_box_close(&box);
    }
}

/* Zones that have nothing to join. */
Test(coalesce, one_page)
{
    zone_box box = zone_box_open(1, 31);
    REQUIRE(run_all(&box).complete, "empty");
    REQUIRE(box_alloc(&box, 0) == 0, "one page");
    REQUIRE(run_all(&box).complete && run_all(&box).join.joined == 0, "full");
    REQUIRE(box_free(&box, 0) == LFMA_OK, "free");
    close_sound(&box);
}
