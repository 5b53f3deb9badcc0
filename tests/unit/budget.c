/* SPDX-License-Identifier: MIT */
/* The coalescer's clock: frozen, backwards, jumping, slow; and what others do while it is read. */
#include "support/clock.h"
#include "support/unit.h"
#include "support/zones.h"

#include <lfma/lfma.h>

#define SLOW_NS 20000u /* a clock without a vDSO */

struct pass {
    lfma__meter meter;
    lfma__join join;
    bool complete;
};

static struct pass run_pass(const zone_box *box, lfma_budget budget, fake_clock *clock)
{
    struct pass p = { .complete = false };
    lfma__meter_start(&p.meter, budget, fake_clock_read, clock);
    p.join = (lfma__join){ .meter = &p.meter, .owner = box->owner, .want = LFMA__WANT_NOTHING };
    p.complete = lfma__zone_coalesce(box->zone, &p.join);
    return p;
}

static zone_box open_shredded(uint64_t pages)
{
    zone_box box = zone_box_open(pages, 31);
    REQUIRE(box_alloc_all(&box) == pages, "%" PRIu64, pages);
    for (uint64_t p = 0; p < pages; p++)
        REQUIRE(box_free(&box, p) == LFMA_OK, "%" PRIu64, p);
    return box;
}

static void close_sound(zone_box *box)
{
    const char *const broken = zone_broken(box->zone);
    REQUIRE(broken == NULL, "%s", broken);
    zone_box_close(box);
}

/* J05: at most one read in 16 steps, and two */
static void check_reads(const fake_clock *clock, const struct pass *p)
{
    REQUIRE(clock->reads <= p->meter.steps / LFMA__STEPS_PER_READ + 2, "%" PRIu64 " reads in %" PRIu64 " steps",
            clock->reads, p->meter.steps);
}

/* J01: a clock that does not advance leaves it to the step cap, one step a nanosecond. */
static void check_standing(enum fake_clock_mode mode)
{
    for (uint64_t ns = 1; ns < 200000; ns = ns * 3 + 1) {
        zone_box box = open_shredded(70000);
        fake_clock clock = { .mode = mode, .now_ns = (uint64_t)1 << 40, .tick_ns = 1000 };
        const struct pass p = run_pass(&box, (lfma_budget)LFMA_BUDGET_NS(ns), &clock);
        const uint64_t cap = ns > LFMA__STEPS_PER_READ ? ns : LFMA__STEPS_PER_READ;
        REQUIRE(p.meter.steps < cap + LFMA__STEPS_PER_READ, "%" PRIu64 " ns: %" PRIu64 " steps", ns, p.meter.steps);
        REQUIRE(p.complete || p.meter.steps >= cap, "not stopped early: %" PRIu64 " of %" PRIu64, p.meter.steps, cap);
        check_reads(&clock, &p);
        close_sound(&box);
    }
}

Test(budget, frozen_clock)
{
    check_standing(CLOCK_FROZEN);
}

Test(budget, backwards_clock)
{
    check_standing(CLOCK_BACKWARDS);
}

Test(budget, jumping_clock)
{
    zone_box box = open_shredded(70000);
    fake_clock clock = { .mode = CLOCK_JUMPING };
    uint64_t calls = 0;
    while (lfma__zone_count_free(box.zone, 16) == 0) {
        const uint64_t reads = clock.reads;
        const struct pass p = run_pass(&box, (lfma_budget)LFMA_BUDGET_NS(1000), &clock);
        REQUIRE(p.meter.steps < 1000 + LFMA__STEPS_PER_READ, "%" PRIu64 " steps", p.meter.steps);
        REQUIRE(clock.reads - reads <= p.meter.steps / LFMA__STEPS_PER_READ + 2, "reads");
        REQUIRE(++calls < 100000, "gets nowhere");
    }
    close_sound(&box);
}

/* J05: with 20 us a read the bound is passed by one unit of work and one read, no more. */
Test(budget, slow_clock)
{
    for (uint64_t reads = 0; reads < 50; reads++) {
        zone_box box = open_shredded(70000);
        fake_clock clock = { .mode = CLOCK_TICKING, .tick_ns = SLOW_NS, .now_ns = 12345 };
        const uint64_t limit = reads * SLOW_NS + 1;
        const struct pass p = run_pass(&box, (lfma_budget)LFMA_BUDGET_NS(limit), &clock);
        REQUIRE(clock.now_ns - p.meter.start_ns < limit + SLOW_NS, "%" PRIu64 " ns", clock.now_ns - p.meter.start_ns);
        REQUIRE(p.meter.steps <= (reads + 1) * 2 * LFMA__STEPS_PER_READ, "%" PRIu64 " steps", p.meter.steps);
        check_reads(&clock, &p);
        close_sound(&box);
    }
}

/* J01: the deadline is met at the first read at or past it, not before and not after; at each read in turn. */
Test(budget, stops_at_the_first_read_past_the_deadline)
{
    for (uint64_t n = 1; n < 40; n++) {
        zone_box box = open_shredded(70000);
        fake_clock clock = { .mode = CLOCK_TICKING, .tick_ns = 1000 };
        (void)run_pass(&box, (lfma_budget)LFMA_BUDGET_NS(n * 1000), &clock);
        REQUIRE(clock.reads == n + 1, "%" PRIu64 " reads, deadline at %" PRIu64, clock.reads, n);
        close_sound(&box);
    }
}

/* Without a time limit the clock is not asked again. */
Test(budget, no_limit_no_reads)
{
    zone_box box = open_shredded(70000);
    fake_clock clock = { .mode = CLOCK_TICKING, .tick_ns = UINT64_MAX / 2 };
    const struct pass p = run_pass(&box, (lfma_budget)LFMA_BUDGET_ALL, &clock);
    REQUIRE(p.complete && clock.reads <= 1, "%" PRIu64 " reads", clock.reads);
    close_sound(&box);
}

/* ------------------------------------------------------------------------ thieves, called while the clock is read */

struct thief {
    zone_box box; /* the zone, with an owner slot of the thief's own */
    rng random;
    unsigned order;
    uint64_t stolen[4096];
    uint64_t count, takes, failures;
};

static void steal_once(void *argument, uint64_t read)
{
    struct thief *const t = argument;
    if (read < 2 || t->count > 0) /* the first read starts the meter */
        return;
    t->stolen[0] = box_alloc(&t->box, t->order);
    REQUIRE(t->stolen[0] != LFMA__NONE, "there is something to steal");
    t->count = 1;
}

/*
 * B09, B01: in one word the runs 0–15 and 32–39; when the first is joined the clock is read, and a part of the
 * second, that was seen with it, is taken. What was claimed of the second is then given back as it was.
 */
static void check_theft(unsigned order_stolen)
{
    zone_box box = zone_box_open(64, 31);
    REQUIRE(box_alloc_all(&box) == 64, "64 pages");
    for (uint64_t p = 0; p < 40; p = p == 15 ? 32 : p + 1)
        REQUIRE(box_free(&box, p) == LFMA_OK, "page %" PRIu64, p);
    if (order_stolen > 0) { /* pages 32–35 as one block */
        const struct pass first = run_pass(&box, (lfma_budget)LFMA_BUDGET_ALL, &(fake_clock){ .mode = CLOCK_FROZEN });
        REQUIRE(first.join.joined == 2, "16 and 8 pages");
        REQUIRE(box_alloc(&box, 2) == 32, "the lower half of the smaller run");
        for (uint64_t n = 0; n < 20; n++)
            REQUIRE(box_alloc(&box, 0) != LFMA__NONE, "the rest, singly");
        REQUIRE(box_free(&box, 32) == LFMA_OK, "one block");
        for (uint64_t p = 0; p < 40; p = p == 15 ? 36 : p + 1)
            REQUIRE(box_free(&box, p) == LFMA_OK, "page %" PRIu64, p);
    }
    zone_box own = zone_box_open(1, 0);
    struct thief thief = { .box = { box.zone, own.owner }, .order = order_stolen };
    fake_clock clock = { .mode = CLOCK_FROZEN, .on_read = steal_once, .argument = &thief };
    const struct pass p = run_pass(&box, (lfma_budget)LFMA_BUDGET_NS(1000000), &clock);

    const uint64_t pages = (uint64_t)1 << order_stolen;
    REQUIRE(thief.stolen[0] == 32, "page %" PRIu64, thief.stolen[0]);
    REQUIRE(p.join.conflicts == 1, "%" PRIu64 " conflicts", p.join.conflicts);
    REQUIRE((lfma__a64_load_relaxed(&box.owner->word) & LFMA__IN_FLIGHT_MASK) == 0, "nothing in flight");
    lfma_report report = LFMA_REPORT_INIT;
    REQUIRE(lfma__zone_validate(box.zone, NULL, &report), "%s", report.invariant);
    REQUIRE(report.pages_free == 24 - pages, "%zu pages free", report.pages_free);
    REQUIRE(lfma__zone_count_free(box.zone, 0) == (order_stolen ? 4 : 7), "the others as they were");
    REQUIRE(box_free(&thief.box, thief.stolen[0]) == LFMA_OK, "the thief's");
    (void)run_pass(&box, (lfma_budget)LFMA_BUDGET_ALL, &(fake_clock){ .mode = CLOCK_FROZEN });
    REQUIRE(lfma__zone_count_free(box.zone, 4) == 1 && lfma__zone_count_free(box.zone, 3) == 1, "joined in the end");
    zone_box_close(&own);
    close_sound(&box);
}

Test(budget, a_page_of_a_run_is_stolen)
{
    check_theft(0);
}

Test(budget, a_larger_part_of_a_run_is_stolen)
{
    check_theft(2);
}

static void steal_at_random(void *argument, uint64_t read)
{
    struct thief *const t = argument;
    (void)read;
    for (unsigned n = 0; n < 3; n++) {
        if (t->count > 0 && rng_below(&t->random, 2)) {
            const uint64_t any = rng_below(&t->random, t->count);
            t->failures += box_free(&t->box, t->stolen[any]) != LFMA_OK;
            t->stolen[any] = t->stolen[--t->count];
        } else if (t->count < 4096) {
            const uint64_t page = box_alloc(&t->box, (unsigned)rng_below(&t->random, 5));
            if (page != LFMA__NONE) {
                t->stolen[t->count++] = page;
                t->takes++;
            }
        }
    }
}

/* B10, J08: allocations, splits and frees of another owner at each read of the clock; the pass ends, none is lost. */
Test(budget, random_thief)
{
    const uint64_t seed = test_seed(0xb0d6e7);
    static struct thief thief;
    for (unsigned round = 0; round < 50; round++) {
        zone_box box = open_shredded(3000 + round * 131);
        zone_box own = zone_box_open(1, 0);
        thief = (struct thief){ .box = { box.zone, own.owner }, .random = { seed + round } };
        fake_clock clock = { .mode = CLOCK_FROZEN, .on_read = steal_at_random, .argument = &thief };
        const struct pass p = run_pass(&box, (lfma_budget)LFMA_BUDGET_NS((uint64_t)1 << 40), &clock);
        REQUIRE(p.complete, "it ends: seed 0x%" PRIx64 ", round %u", seed, round);
        REQUIRE(thief.takes > 0 && thief.failures == 0, "seed 0x%" PRIx64 ", round %u", seed, round);
        const char *const broken = zone_broken(box.zone);
        REQUIRE(broken == NULL, "%s: seed 0x%" PRIx64 ", round %u", broken, seed, round);
        while (thief.count > 0)
            REQUIRE(box_free(&thief.box, thief.stolen[--thief.count]) == LFMA_OK, "round %u", round);
        (void)zone_join_all(box.zone, box.owner);
        const char *what;
        REQUIRE(zone_is_fresh(box.zone, &what), "%s: seed 0x%" PRIx64 ", round %u", what, seed, round);
        zone_box_close(&own);
        close_sound(&box);
    }
}
