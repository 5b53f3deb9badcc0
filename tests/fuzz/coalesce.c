/* SPDX-License-Identifier: MIT */
/* Operations that coalesce. */
#include <inttypes.h>

#include "fuzz/operations.h"

#define CREEP_PAGES_MAX 1024u
#define CREEP_ZONES_MAX 32u

static lfma_budget budget_of(uint8_t a, uint16_t b)
{
    switch (a % 8) {
    case 0:
        return (lfma_budget)LFMA_BUDGET_ALL;
    case 1:
        return b & 1 ? (lfma_budget){ 0, b } : (lfma_budget){ b, 0 };
    case 2:
        return (lfma_budget)LFMA_BUDGET_NS(b);
    case 3:
        return (lfma_budget){ b, b >> a / 16 };
    default:
        return (lfma_budget)LFMA_BUDGET_STEPS((uint64_t)b >> a / 16);
    }
}

static uint64_t count_free_blocks(play *p)
{
    lfma_report report = LFMA_REPORT_INIT;
    if (lfma_arena_validate(p->world.arena, &report) != LFMA_OK)
        play_wrong(p, "not sound");
    return report.blocks_free;
}

/* A pass with a budget that is not nothing: did it end in time, and did it get as far as it says? */
static void check_pass(play *p, lfma_budget budget, const lfma_coalesce_result *r, uint64_t blocks_fewer)
{
    const uint64_t enough = geometry_steps(&p->geometry);
    const bool is_timed = budget.ns != LFMA_UNLIMITED && p->world.clock.mode != CLOCK_FROZEN;
    if (budget.ns != LFMA_UNLIMITED && budget.steps == LFMA_UNLIMITED)
        budget.steps = budget.ns > 16 ? budget.ns : 16; /* the step cap */
    PLAY_REQUIRE(p, r->conflicts == 0 && r->steps <= enough);
    PLAY_REQUIRE(p, r->steps < budget.steps || r->steps - budget.steps < 16); /* at most the join of one block */
    PLAY_REQUIRE(p, r->complete || is_timed || budget.steps < enough);
    PLAY_REQUIRE(p, blocks_fewer >= r->blocks_joined && (blocks_fewer == 0) == (r->blocks_joined == 0));
    PLAY_REQUIRE(p, r->blocks_joined == 0
                        ? r->bytes_max == 0
                        : r->bytes_max > p->world.page_bytes && r->bytes_max <= p->geometry.block_bytes &&
                              (r->bytes_max & (r->bytes_max - 1)) == 0);
    if (r->complete && !world_check_joined(&p->world))
        play_wrong(p, "after a complete pass");
}

static void coalesce(play *p, const lfma_budget *budget, lfma_coalesce_result *r)
{
    const lfma_budget b = budget ? *budget : p->config.coalesce;
    const uint64_t blocks = count_free_blocks(p);
    play_hold(p);
    PLAY_REQUIRE(p, lfma_coalesce(p->world.arena, budget, r) == LFMA_OK);
    play_trace("    coalesce, %" PRIu64 " ns, %" PRIu64 " steps: %" PRIu64 " joined in %" PRIu64 " steps%s", b.ns,
               b.steps, r->blocks_joined, r->steps, r->complete ? ", complete" : "");
    if (b.ns == 0 || b.steps == 0) {
        PLAY_REQUIRE(p, r->steps == 0 && r->blocks_joined == 0 && !r->complete);
        play_require_same(p, "a pass without a budget");
    } else {
        check_pass(p, b, r, blocks - count_free_blocks(p));
    }
}

void op_coalesce(play *p, uint8_t a, uint16_t b)
{
    const lfma_budget budget = budget_of(a, b);
    lfma_coalesce_result result = LFMA_COALESCE_RESULT_INIT;
    coalesce(p, a & 8 ? NULL : &budget, &result);
}

void op_join_all(play *p, uint8_t a, uint16_t b)
{
    (void)a;
    (void)b;
    play_trace("    coalesce all");
    play_join_all(p);
}

/* Is the arena small enough for an operation that may take thousands of calls? */
static bool may_creep(play *p)
{
    const unsigned cost = 256;
    if (p->geometry.pages > CREEP_PAGES_MAX || p->geometry.zones > CREEP_ZONES_MAX || p->work_left < cost)
        return false;
    p->work_left -= cost;
    return true;
}

/* Any budget, spent again and again, in the end joins all: then no call joins for as long as two rounds take. */
void op_creep(play *p, uint8_t a, uint16_t b)
{
    const lfma_budget budget = LFMA_BUDGET_STEPS(1 + (b % 64u >> a % 8u));
    const uint64_t quiet = geometry_steps(&p->geometry) - 16 * p->geometry.pages;
    if (!may_creep(p))
        return;
    play_trace("    coalesce %" PRIu64 " steps at a time, until all is joined", budget.steps);
    for (uint64_t steps = 0; steps < quiet;) {
        lfma_coalesce_result result = LFMA_COALESCE_RESULT_INIT;
        PLAY_REQUIRE(p, lfma_coalesce(p->world.arena, &budget, &result) == LFMA_OK);
        PLAY_REQUIRE(p, result.steps > 0 || p->world.order_max == 0);
        steps = result.blocks_joined ? 0 : steps + result.steps + (result.steps == 0);
    }
    if (!world_check_joined(&p->world))
        play_wrong(p, "after many small passes");
}

/* LFMA_E_BUDGET says: call again. In the end that must help. */
void op_insist(play *p, uint8_t a, uint16_t b)
{
    const size_t bytes = play_usual_bytes(p, a, b);
    const lfma_budget budget = p->config.coalesce;
    if (budget.ns == 0 || budget.steps == 0 || !may_creep(p))
        return;
    void *block = NULL;
    const uint64_t calls_max = geometry_steps(&p->geometry); /* a call spends a step at least */
    for (uint64_t calls = 0;; calls++) {
        p->world.last_code = lfma_try_alloc(p->world.arena, bytes, 0, &block);
        if (p->world.last_code != LFMA_E_BUDGET)
            break;
        PLAY_REQUIRE(p, calls < calls_max);
        p->tally.failed[-LFMA_E_BUDGET]++;
    }
    play_trace("    alloc %zu bytes, again and again: %s", bytes, lfma_error_name(p->world.last_code));
    play_settle(p, bytes, play_order_for(p, bytes, 0), 0, block);
}
