/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "explore/scenarios.h"

const explore_family *const explore_families[] = {
    &table_family,   &numbers_family, &arena_family, &words_family,  &scarce_family, &game_6_family,
    &game_12_family, &new_family,     &cache_family, &cached_family, &lives_family,
};
const unsigned explore_family_count = EXPLORE_COUNT(explore_families);

struct explore_now explore_now;

static void run(unsigned actor)
{
    explore_now.family->ops[explore_now.ops[actor]].run();
}

static void run_0(void)
{
    run(0);
}

static void run_1(void)
{
    run(1);
}

static void run_2(void)
{
    run(2);
}

static void run_handler(void)
{
    run(EXPLORE_HANDLER);
}

static void name(char *text, size_t size, bool kill)
{
    const explore_family *const f = explore_now.family;
    const unsigned *const ops = explore_now.ops;
    const bool nested = ops[EXPLORE_HANDLER] != EXPLORE_NONE;
    int used = snprintf(text, size, "%s-%s-%s", f->name, f->states[explore_now.state].name, f->ops[ops[0]].name);
    if (nested)
        used += snprintf(text + used, size - (size_t)used, "!%s", f->ops[ops[EXPLORE_HANDLER]].name);
    for (unsigned i = 1; i < explore_now.threads; i++)
        used += snprintf(text + used, size - (size_t)used, "%c%s", kill ? '~' : '-', f->ops[ops[i]].name);
}

/* The i-th pair a <= b. */
static void pair(unsigned count, unsigned i, unsigned *a, unsigned *b)
{
    *a = 0;
    while (i >= count - *a) {
        i -= count - *a;
        ++*a;
    }
    *b = *a + i;
}

bool explore_make(const explore_family *family, unsigned i, explore_scenario *ret_scenario)
{
    static char text[96];
    const unsigned n = family->op_count;
    const unsigned pairs = n * (n + 1) / 2;
    const unsigned m = n - family->readers;
    const unsigned triples = family->third == EXPLORE_NONE ? 0 : m * (m + 1) / 2;
    const unsigned nested = family->beside == EXPLORE_NONE ? 0 : m * m;
    const unsigned killed = family->kills ? m * m : 0;
    const unsigned of_state = pairs + triples + nested + killed;
    if (i / of_state >= family->state_count)
        return false;

    struct explore_now now = { .family = family, .state = i / of_state, .threads = 2 };
    now.ops[EXPLORE_HANDLER] = EXPLORE_NONE;
    i %= of_state;
    *ret_scenario = family->scenario;
    if (i < pairs) {
        pair(n, i, &now.ops[0], &now.ops[1]);
    } else if (i < pairs + triples) {
        pair(m, i - pairs, &now.ops[0], &now.ops[1]);
        now.ops[2] = family->third;
        now.threads = 3;
    } else if (i < pairs + triples + nested) {
        i -= pairs + triples;
        now.ops[0] = i / m;
        now.ops[EXPLORE_HANDLER] = i % m;
        now.ops[1] = family->beside;
        ret_scenario->handler = run_handler;
    } else {
        i -= pairs + triples + nested;
        now.ops[0] = i / m;
        now.ops[1] = i % m;
        ret_scenario->kill = true;
    }
    explore_now = now;
    name(text, sizeof text, ret_scenario->kill);
    ret_scenario->name = text;
    ret_scenario->threads = now.threads;
    ret_scenario->thread[0] = run_0;
    ret_scenario->thread[1] = run_1;
    ret_scenario->thread[2] = run_2;
    return true;
}
