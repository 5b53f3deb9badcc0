/* SPDX-License-Identifier: MIT */
/* Threads that come and go: a number has one holder at a time, who goes on where the last one left its things. */
#include <string.h>

#include "explore/scenarios.h"

#define LIVES_MAX 2u

static lfma__numbers numbers;
static lfma__a64 things[EXPLORE_THREADS + 1]; /* of each number: written by load and store */
static unsigned holders[EXPLORE_THREADS + 1];
static unsigned lives;

static void live(void)
{
    const uint32_t number = lfma__numbers_take(&numbers);
    if (number > EXPLORE_THREADS || holders[number]++ > 0) {
        explore_fail("E5: a number with two holders, or out of order");
        return;
    }
    lfma__a64_store_relaxed(&things[number], lfma__a64_load_relaxed(&things[number]) + 1);
    if (lfma__numbers_high_water(&numbers) <= number)
        explore_fail("a number above the high-water mark");
    lives++;
    holders[number]--;
    lfma__numbers_give_back(&numbers, number);
}

static void op_once(void)
{
    live();
}

static void op_twice(void)
{
    live();
    live();
}

static void state_none(void)
{
}

static void state_one(void) /* has the lowest number for good */
{
    numbers.taken[0].value = 1;
    numbers.high_water.value = 1;
}

static void setup(void)
{
    explore_quiet_none();
}

static void reset(void)
{
    memset(&numbers, 0, sizeof numbers);
    memset(things, 0, sizeof things);
    memset(holders, 0, sizeof holders);
    lives = 0;
    explore_now.family->states[explore_now.state].make();
}

static uint64_t digest(void)
{
    uint64_t digest_ = lives;
    for (unsigned i = 0; i <= EXPLORE_THREADS; i++)
        digest_ = explore_mix(digest_, holders[i]);
    return digest_;
}

static const char *check(void)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i <= EXPLORE_THREADS; i++)
        sum += things[i].value;
    if (sum != lives)
        return "E5: the next holder did not see what the last one wrote";
    return numbers.taken[0].value >> 1 == 0 ? NULL : "a number was not given back";
}

static const explore_state states[] = { { "none", state_none }, { "one", state_one } };
static const explore_op ops[] = { { "once", op_once }, { "twice", op_twice } };

const explore_family numbers_family = {
    .name = "numbers",
    .states = states,
    .state_count = EXPLORE_COUNT(states),
    .ops = ops,
    .op_count = EXPLORE_COUNT(ops),
    .third = 0,
    .beside = EXPLORE_NONE,
    .scenario = { .setup = setup, .reset = reset, .digest = digest, .check = check },
};
