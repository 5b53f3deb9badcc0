/* SPDX-License-Identifier: MIT */
/*
 * Protocols by themselves, right and in the ways that are known to be wrong: what shows that the explorer can see
 * a lost block and a false NOMEM. First the double check: a word of blocks, a hint over it, as in bitmap/table.h.
 */
#include <string.h>

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

/* ------------------------------------------------------------------------------------------ the proof of NOMEM */

/*
 * Two slices of which one holds a block. The mover holds another one: it publishes that and claims what was free,
 * so at every instant one is free. The looker reads the owner words, the slices, and the words again
 * (docs/ORDERING.md, E3 and E4), and must not find that none was.
 */
static struct {
    lfma__a64 slices[2];
    lfma__a64 owners[2];
    enum explore_order scan;
    bool raises_late, raises_if_empty, marks_after, splits;
    bool proved; /* wrongly */
} q;

static void q_begin(void)
{
    q.slices[0].value = 0;
    q.slices[1].value = 1;
    memset(q.owners, 0, sizeof q.owners);
    q.proved = false;
}

static void q_advance(lfma__a64 *owner, uint64_t by)
{
    explore_store(owner, 8, explore_load(owner, 8, EXPLORE_RELAXED) + by, EXPLORE_RELEASE);
}

static uint64_t q_owners(void)
{
    return explore_load(&q.owners[0], 8, EXPLORE_ACQUIRE) + explore_load(&q.owners[1], 8, EXPLORE_ACQUIRE);
}

#define RAISE 2u
#define MARK 1u

static void q_move(void)
{
    const uint64_t before = explore_rmw(&q.slices[0], 8, EXPLORE_OR, 1, EXPLORE_SC);
    if (!q.raises_late && (!q.raises_if_empty || before == 0))
        q_advance(&q.owners[0], RAISE);
    (void)explore_rmw(&q.slices[1], 8, EXPLORE_AND, 0, EXPLORE_ACQREL);
    if (q.raises_late)
        q_advance(&q.owners[0], RAISE);
}

/* A third thread gives its block back, to the slice where the mover gives its own. */
static void q_give(void)
{
    const uint64_t before = explore_rmw(&q.slices[0], 8, EXPLORE_OR, 2, EXPLORE_SC);
    if (!q.raises_if_empty || before == 0)
        q_advance(&q.owners[1], RAISE);
}

/* Take the block out of one slice and put it into the other: in flight in between. */
static void q_split(void)
{
    if (!q.marks_after)
        q_advance(&q.owners[0], MARK);
    (void)explore_rmw(&q.slices[1], 8, EXPLORE_AND, 0, EXPLORE_ACQREL);
    if (q.marks_after)
        q_advance(&q.owners[0], MARK);
    (void)explore_rmw(&q.slices[0], 8, EXPLORE_OR, 1, EXPLORE_SC);
    q_advance(&q.owners[0], RAISE - MARK);
}

static void q_look(void)
{
    const uint64_t before = q_owners();
    const uint64_t free = explore_load(&q.slices[0], 8, q.scan) | explore_load(&q.slices[1], 8, q.scan);
    const uint64_t after = q_owners();
    q.proved = free == 0 && before == after && before % RAISE == 0;
}

static const char *q_check(void)
{
    return q.proved ? "NOMEM though a block was free, or in flight, throughout" : NULL;
}

static void proof(void)
{
    q.scan = EXPLORE_ACQUIRE;
    q.raises_late = q.raises_if_empty = q.marks_after = false;
}

static void proof_relaxed(void)
{
    proof();
    q.scan = EXPLORE_RELAXED;
}

static void proof_raised_late(void)
{
    proof();
    q.raises_late = true;
}

static void proof_raised_if_empty(void)
{
    proof();
    q.raises_if_empty = true;
}

static void proof_marked_after(void)
{
    proof();
    q.marks_after = true;
}

#define PROTOCOL(setup_, bug_)                                                                                       \
    {                                                                                                                \
        .name = "protocol-" #setup_, .setup = setup_, .reset = begin, .threads = 2, .thread = { claim, publish },    \
        .check = check, .bug = bug_                                                                                  \
    }
#define PROOF(name_, setup_, mover_, bug_)                                                                           \
    {                                                                                                                \
        .name = "protocol-" name_, .setup = setup_, .reset = q_begin, .threads = 3,                                  \
        .thread = { mover_, q_look, q_give }, .check = q_check, .bug = bug_                                          \
    }

const explore_scenario protocol_scenarios[] = {
    PROTOCOL(right, NULL),
    PROTOCOL(no_check, "always"),
    PROTOCOL(check_before, "always"),
    PROTOCOL(acquire_release, "weak"),
    PROTOCOL(acquire_loads, "weak"),
    PROOF("proof_of_move", proof, q_move, NULL),
    PROOF("proof_of_split", proof, q_split, NULL),
    PROOF("proof_relaxed", proof_relaxed, q_move, "weak"),
    PROOF("proof_raised_late", proof_raised_late, q_move, "always"),
    PROOF("proof_raised_if_empty", proof_raised_if_empty, q_move, "always"),
    PROOF("proof_marked_after", proof_marked_after, q_split, "always"),
};
const unsigned protocol_scenario_count = sizeof protocol_scenarios / sizeof protocol_scenarios[0];
