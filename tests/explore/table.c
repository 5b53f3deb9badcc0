/* SPDX-License-Identifier: MIT */
/*
 * Scenarios over one free table of 4,160 blocks: 65 slices, two search words, a summary. All pairs, and triples with
 * a second publisher, of its operations, from states at an edge. At rest each block is free or held by one thread,
 * and every free block can be reached by hints.
 */
#include <string.h>

#include "explore/scenarios.h"

#define SLICES 65u
#define LAST (SLICES * LFMA__WORD_BITS - 1) /* the block that is alone under the second search word */

static struct {
    lfma__a64 summary[1];
    lfma__a64 search[2];
    lfma__a64 slices[SLICES];
} words, start;

static uint64_t held[EXPLORE_ACTORS];

static lfma__table table(void)
{
    return (lfma__table){
        .search = words.search, .slices = words.slices, .slice_count = SLICES, .summary = words.summary
    };
}

/* ---------------------------------------------------------------------------------------------------- states */

static void set(lfma__a64 *bits, uint64_t index)
{
    bits[index / LFMA__WORD_BITS].value |= (uint64_t)1 << index % LFMA__WORD_BITS;
}

static void hint(uint64_t slice)
{
    set(start.search, slice);
    set(start.summary, slice / LFMA__WORD_BITS);
}

static void state_empty(void)
{
}

static void state_last(void)
{
    set(start.slices, LAST);
    hint(LAST / LFMA__WORD_BITS);
}

static void state_stale(void) /* hints over nothing */
{
    hint(0);
    hint(LAST / LFMA__WORD_BITS);
}

static void state_stale_summary(void)
{
    set(start.summary, 0);
    set(start.summary, 1);
}

static void state_unhinted(void) /* as a thread leaves it that died between F1 and F2 */
{
    set(start.slices, LAST);
    set(start.slices, 1);
    hint(0);
}

static void state_hidden(void) /* as unhinted, and nothing else is free */
{
    set(start.slices, LAST);
    set(start.slices, LAST - 8);
}

static const explore_state states[] = {
    { "empty", state_empty },       { "last", state_last },
    { "stale", state_stale },       { "stale-summary", state_stale_summary },
    { "unhinted", state_unhinted }, { "hidden", state_hidden },
};

/* ------------------------------------------------------------------------------------------------ operations */

static void op_claim(void)
{
    held[explore_actor()] = lfma__table_claim(table(), 0);
}

static void op_claim_high(void)
{
    held[explore_actor()] = lfma__table_claim(table(), LFMA__WORD_BITS);
}

static void op_scan(void)
{
    uint64_t repaired = 0;
    held[explore_actor()] = lfma__table_claim_scan(table(), 0, &repaired);
}

/* Each thread has blocks of its own to publish, next to the last one. */
static void op_publish(void)
{
    if (lfma__table_publish(table(), LAST - 1 - explore_actor()))
        explore_fail("a block was free already");
}

static void op_publish_low(void)
{
    if (lfma__table_publish(table(), 2 + explore_actor()))
        explore_fail("a block was free already");
}

/* As a join does. */
static void op_publish_bits(void)
{
    const uint64_t block = LAST - 1 - explore_actor();
    lfma__table_publish_bits(table(), block / LFMA__WORD_BITS, (uint64_t)1 << block % LFMA__WORD_BITS);
}

static void op_tidy(void)
{
    lfma__table_tidy(table(), 64);
    lfma__table_tidy(table(), 0);
}

static const explore_op ops[] = {
    { "claim", op_claim },     { "claim-high", op_claim_high },   { "scan", op_scan },
    { "publish", op_publish }, { "publish-low", op_publish_low }, { "publish-bits", op_publish_bits },
    { "tidy", op_tidy },
};

/* -------------------------------------------------------------------------------------------------- scenarios */

static void setup(void)
{
    memset(&start, 0, sizeof start);
    states[explore_now.state].make();
    explore_quiet_none();
}

static void reset(void)
{
    words = start;
    for (unsigned i = 0; i < EXPLORE_THREADS; i++)
        held[i] = LFMA__NONE;
}

/* Does a scan come to the last slice? It stops at the first block that it gets. */
static bool is_scanned(void)
{
    bool has_scan = false;
    for (unsigned i = 0; i < explore_now.threads; i++) {
        has_scan = has_scan || ops[explore_now.ops[i]].run == op_scan;
        if (ops[explore_now.ops[i]].run == op_publish_low)
            return false;
    }
    return has_scan;
}

static bool is_free(uint64_t block)
{
    return words.slices[block / LFMA__WORD_BITS].value >> block % LFMA__WORD_BITS & 1;
}

static const char *check(void)
{
    unsigned free = 0, free_at_start = 0, published = 0, taken = 0;
    for (uint64_t slice = 0; slice < SLICES; slice++) {
        free += lfma__popcount64(words.slices[slice].value);
        free_at_start += lfma__popcount64(start.slices[slice].value);
        const bool hinted = words.search[slice / 64].value >> slice % 64 & 1;
        /* Only a scan finds what the dead have left. */
        void (*const made)(void) = states[explore_now.state].make;
        const bool may_stay_so = slice == SLICES - 1 &&
                                 (made == state_unhinted || (made == state_hidden && !is_scanned()));
        if (words.slices[slice].value && !hinted && !may_stay_so)
            return "I4: a slice with a free block has no search bit";
    }
    for (unsigned word = 0; word < 2; word++) {
        if (words.search[word].value && !(words.summary[0].value >> word & 1))
            return "I4: a search word with hints has no summary bit";
    }
    for (unsigned i = 0; i < explore_now.threads; i++) {
        void (*const run)(void) = ops[explore_now.ops[i]].run;
        published += run == op_publish || run == op_publish_low || run == op_publish_bits;
        if (held[i] == LFMA__NONE)
            continue;
        taken++;
        if (is_free(held[i]))
            return "I1: a block is both free and held";
        for (unsigned j = 0; j < i; j++) {
            if (held[j] == held[i])
                return "I2: two threads hold one block";
        }
    }
    return free + taken == free_at_start + published ? NULL : "I1: a block was lost";
}

const explore_family table_family = {
    .name = "table",
    .states = states,
    .state_count = EXPLORE_COUNT(states),
    .ops = ops,
    .op_count = EXPLORE_COUNT(ops),
    .third = 3, /* publish */
    .beside = EXPLORE_NONE,
    .scenario = { .setup = setup, .reset = reset, .check = check },
};
