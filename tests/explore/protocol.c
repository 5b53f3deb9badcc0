/* SPDX-License-Identifier: MIT */
/*
 * The double check by itself, right and in the ways that are known to be wrong: what shows that the explorer can see
 * a lost block. A word of blocks, a hint over it, as in bitmap/table.h.
 */
#include "explore/scenarios.h"

enum { NONE, AFTER, BEFORE }; /* when the claimer looks again */

static struct {
    lfma__a64 word;
    lfma__a64 hint;
    enum explore_order order; /* of all steps */
    enum explore_order load;
    int check;
} p;

static void begin(void)
{
    p.word.value = 1;
    p.hint.value = 1;
}

static uint64_t step_or(lfma__a64 *cell, uint64_t bits)
{
    return explore_rmw(cell, 8, EXPLORE_OR, bits, p.order);
}

static uint64_t step_and(lfma__a64 *cell, uint64_t bits)
{
    return explore_rmw(cell, 8, EXPLORE_AND, bits, p.order);
}

/* Claim the last block, and clear the hint. */
static void claim(void)
{
    if (step_and(&p.word, ~(uint64_t)1) != 1)
        return;
    if (p.check == BEFORE && explore_load(&p.word, 8, p.load) != 0)
        return;
    (void)step_and(&p.hint, 0);
    if (p.check == AFTER && explore_load(&p.word, 8, p.load) != 0)
        (void)step_or(&p.hint, 1);
}

static void publish(void)
{
    (void)step_or(&p.word, 2);
    if (explore_load(&p.hint, 8, p.load) == 0)
        (void)step_or(&p.hint, 1);
}

static const char *check(void)
{
    return p.word.value != 0 && p.hint.value == 0 ? "a free block without a hint" : NULL;
}

static void right(void)
{
    p.order = EXPLORE_SC;
    p.load = EXPLORE_SC;
    p.check = AFTER;
}

static void no_check(void)
{
    right();
    p.check = NONE;
}

static void check_before(void)
{
    right();
    p.check = BEFORE;
}

static void acquire_release(void)
{
    right();
    p.order = EXPLORE_ACQREL;
    p.load = EXPLORE_ACQUIRE;
}

static void acquire_loads(void)
{
    right();
    p.load = EXPLORE_ACQUIRE;
}

#define PROTOCOL(setup_, bug_)                                                                                       \
    {                                                                                                                \
        .name = "protocol-" #setup_, .setup = setup_, .reset = begin, .threads = 2, .thread = { claim, publish },    \
        .check = check, .bug = bug_                                                                                  \
    }

const explore_scenario protocol_scenarios[] = {
    PROTOCOL(right, NULL),
    PROTOCOL(no_check, "always"),
    PROTOCOL(check_before, "always"),
    PROTOCOL(acquire_release, "weak"),
    PROTOCOL(acquire_loads, "weak"),
};
const unsigned protocol_scenario_count = sizeof protocol_scenarios / sizeof protocol_scenarios[0];
