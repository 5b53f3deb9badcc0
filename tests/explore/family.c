/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "explore/scenarios.h"

struct explore_now explore_now;

static void run_0(void)
{
    explore_now.family->ops[explore_now.ops[0]].run();
}

static void run_1(void)
{
    explore_now.family->ops[explore_now.ops[1]].run();
}

static void run_2(void)
{
    explore_now.family->ops[explore_now.ops[2]].run();
}

bool explore_make(const explore_family *family, unsigned i, explore_scenario *ret_scenario)
{
    static char name[96];
    const unsigned pairs = family->op_count * (family->op_count + 1) / 2;
    if (i / (2 * pairs) >= family->state_count)
        return false;
    /* The pairs a <= b in order; then the same again with a third thread. */
    unsigned a = 0, rest = i % pairs;
    while (rest >= family->op_count - a) {
        rest -= family->op_count - a;
        a++;
    }
    const unsigned threads = i % (2 * pairs) < pairs ? 2 : 3;
    explore_now = (struct explore_now){
        .family = family, .state = i / (2 * pairs), .threads = threads, .ops = { a, a + rest, family->third }
    };
    snprintf(name, sizeof name, "%s-%s-%s-%s%s%s", family->name, family->states[explore_now.state].name,
             family->ops[a].name, family->ops[a + rest].name, threads == 3 ? "-" : "",
             threads == 3 ? family->ops[family->third].name : "");
    *ret_scenario = family->scenario;
    ret_scenario->name = name;
    ret_scenario->threads = threads;
    ret_scenario->thread[0] = run_0;
    ret_scenario->thread[1] = run_1;
    ret_scenario->thread[2] = run_2;
    return true;
}
