/* SPDX-License-Identifier: MIT */
/*
 * Very many very short races that start at an edge (no block, the last block, one pair, one large block, hints stale)
 * and are checked at rest after one operation of each thread, before a later operation could heal the damage: all
 * pairs of {alloc, split, free, coalesce, coalesce for a block, join pairs, scan}. A05, A12, A23, B09, B10, B11
 */
#include "support/check.h"
#include "support/threads.h"
#include "support/zones.h"

#include <lfma/lfma.h>
#include <stdio.h>

#define PAGES 8u
#define OPS 8u
#define NOTHING UINT64_MAX

enum op { ALLOC_PAGE, ALLOC_PAIR, ALLOC_ALL, FREE, COALESCE, COALESCE_FOR_A_PAIR, JOIN_PAIRS, SCAN };

/* What one thread brings to a round and takes from it. */
struct part {
    lfma__owner *owner;
    atomic_uint op, delay;
    _Atomic(uint64_t) page;  /* its page before the round; NOTHING afterwards if it freed it */
    _Atomic(uint64_t) block; /* what it allocated */
    atomic_uint order;
    atomic_int code;
};

struct edges {
    zone_box box; /* of the leader, who prepares and checks */
    start_line line;
    atomic_bool over;
    unsigned count;
    struct part parts[4];
    uint64_t rounds[OPS][OPS];
};

static uint64_t still(void *context)
{
    (void)context;
    return 0;
}

static uint64_t coalesce(lfma__zone *zone, lfma__owner *owner, unsigned want)
{
    lfma__meter meter;
    lfma__meter_start(&meter, (lfma_budget)LFMA_BUDGET_ALL, still, NULL);
    lfma__join join = { .meter = &meter, .owner = owner, .want = want };
    (void)lfma__zone_coalesce(zone, &join);
    if (join.kept_page != LFMA__NONE)
        lfma__zone_hand_out(zone, owner, join.kept_page, join.kept_order, want);
    return join.kept_page;
}

static void got(struct part *p, uint64_t block, unsigned order)
{
    if (block != LFMA__NONE) {
        atomic_store(&p->block, block);
        atomic_store(&p->order, order);
    }
}

static void perform(lfma__zone *zone, struct part *p)
{
    switch ((enum op)atomic_load(&p->op)) {
    case ALLOC_PAGE:
        got(p, lfma__zone_alloc(zone, p->owner, 0, 0), 0);
        break;
    case ALLOC_PAIR:
        got(p, lfma__zone_alloc(zone, p->owner, 1, 0), 1);
        break;
    case ALLOC_ALL:
        got(p, lfma__zone_alloc(zone, p->owner, 3, 0), 3);
        break;
    case FREE:
        if (atomic_load(&p->page) != NOTHING) {
            atomic_store(&p->code, zone_free(zone, p->owner, atomic_load(&p->page), false));
            atomic_store(&p->page, NOTHING);
        }
        break;
    case COALESCE:
        (void)coalesce(zone, p->owner, LFMA__WANT_NOTHING);
        break;
    case COALESCE_FOR_A_PAIR:
        got(p, coalesce(zone, p->owner, 1), 1);
        break;
    case JOIN_PAIRS:
        (void)lfma__zone_join_pairs(zone, p->owner, 0);
        break;
    case SCAN:
        got(p, lfma__zone_alloc_scan(zone, p->owner, 0), 0);
        break;
    }
}

/*
 * The leader starts from a zone that is all allocated singly, its hints stale, and frees what the round's edge wants;
 * each thread gets a page. Returns the pages that the leader holds, a bit each.
 */
static unsigned prepare(struct edges *e, rng *random)
{
    const zone_box *const box = &e->box;
    unsigned held = 0;
    (void)zone_join_all(box->zone, box->owner);
    if (rng_below(random, 4) > 0) {
        for (unsigned n = 0; n < PAGES; n++)
            held |= 1u << box_alloc(box, 0); /* no failing allocation, so the hints stay */
        CHECK(held == 0xFF);
    }
    const unsigned first = (unsigned)rng_below(random, (PAGES - e->count) / 2 + 1) * 2;
    for (unsigned i = 0; i < e->count; i++) {
        struct part *const p = &e->parts[i];
        atomic_store(&p->page, held ? first + i : NOTHING); /* buddies, when there are two threads */
        if (held)
            held &= ~(1u << (first + i));
        atomic_store(&p->block, NOTHING);
        atomic_store(&p->code, 0);
        atomic_store(&p->op, (unsigned)rng_below(random, OPS));
        atomic_store(&p->delay, (unsigned)rng_below(random, 40));
    }
    unsigned frees = (unsigned)rng_below(random, 4); /* none, the last block, two … */
    for (unsigned page = 0; page < PAGES && frees > 0; page++) {
        if (held >> page & 1) {
            CHECK_CODE(box_free(box, page), LFMA_OK);
            held &= ~(1u << page);
            frees--;
        }
    }
    return held;
}

/* At rest: sound, nothing in flight, and every page is accounted for. Then all is given back. */
static void check(struct edges *e, unsigned held)
{
    unsigned allocated = held;
    for (unsigned i = 0; i < e->count; i++) {
        struct part *const p = &e->parts[i];
        CHECK_CODE(atomic_load(&p->code), LFMA_OK);
        CHECK((lfma__a64_load_relaxed(&p->owner->word) & LFMA__IN_FLIGHT_MASK) == 0);
        const unsigned page = atomic_load(&p->page) == NOTHING ? 0 : 1u << atomic_load(&p->page);
        unsigned block = 0;
        if (atomic_load(&p->block) != NOTHING)
            block = ((1u << (1u << atomic_load(&p->order))) - 1) << atomic_load(&p->block);
        CHECK((allocated & page) == 0 && (allocated & block) == 0 && (page & block) == 0);
        allocated |= page | block;
    }
    lfma_report report = LFMA_REPORT_INIT;
    if (!lfma__zone_validate(e->box.zone, NULL, &report)) {
        fprintf(stderr, "%s: %s: page %zu, order %u; operations %u and %u\n", report.invariant, report.text,
                report.page, report.order, atomic_load(&e->parts[0].op), atomic_load(&e->parts[1].op));
        check_failed(__FILE__, __LINE__, "sound at rest", 0);
    }
    CHECK(report.pages_allocated == lfma__popcount64(allocated));
    for (unsigned page = 0; page < PAGES; page++) {
        if (held >> page & 1)
            CHECK_CODE(box_free(&e->box, page), LFMA_OK);
    }
    for (unsigned i = 0; i < e->count; i++) {
        struct part *const p = &e->parts[i];
        if (atomic_load(&p->page) != NOTHING)
            CHECK_CODE(box_free(&e->box, atomic_load(&p->page)), LFMA_OK);
        if (atomic_load(&p->block) != NOTHING)
            CHECK_CODE(box_free(&e->box, atomic_load(&p->block)), LFMA_OK);
    }
}

static void body(crew_member *self)
{
    struct edges *const e = self->context;
    struct part *const mine = &e->parts[self->index];
    for (;;) {
        unsigned held = 0;
        if (self->index == 0) {
            held = prepare(e, &self->rng);
            atomic_store(&e->over, !crew_goes_on(self));
        }
        start_line_wait(&e->line);
        if (atomic_load(&e->over))
            return;
        for (atomic_uint spin = atomic_load(&mine->delay); spin > 0;)
            spin--;
        perform(e->box.zone, mine);
        start_line_wait(&e->line);
        if (self->index == 0) {
            check(e, held);
            self->operations++;
            e->rounds[atomic_load(&e->parts[0].op)][atomic_load(&e->parts[1].op)]++;
        }
    }
}

static void run(unsigned threads, const stress_args *args)
{
    static crew c;
    static struct edges e;
    e = (struct edges){ .box = zone_box_open(PAGES, 31), .count = threads };
    start_line_init(&e.line, threads);
    zone_box owners[4];
    for (unsigned i = 0; i < threads; i++) {
        owners[i] = zone_box_open(1, 0);
        e.parts[i].owner = owners[i].owner;
    }
    crew_run(&c, threads, 1, body, &e, stress_part(args, 2));
    uint64_t least = UINT64_MAX;
    for (unsigned i = 0; i < OPS * OPS; i++)
        least = e.rounds[i / OPS][i % OPS] < least ? e.rounds[i / OPS][i % OPS] : least;
    printf("  %u threads: %llu rounds, each pair at least %llu times\n", threads, (unsigned long long)c.operations,
           (unsigned long long)least);
    CHECK(c.operations > 0);
    for (unsigned i = 0; i < threads; i++)
        zone_box_close(&owners[i]);
    zone_box_close(&e.box);
}

int main(int argc, char **argv)
{
    const stress_args args = stress_begin(argc, argv, 8, 2);
    run(2, &args);
    run(3, &args);
    return 0;
}
