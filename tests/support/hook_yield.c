/* SPDX-License-Identifier: MIT */
/*
 * The other side of support/hook.h, for stress programs: before one atomic operation in some the thread gives way, so
 * that others act between any two steps of a call, also where there are few processors.
 */
#include <sched.h>

#include "support/env.h"
#include "support/hook.h"

#define ONE_IN 128u /* a call makes about a dozen operations */

bool hook_before(const void *cell, enum hook_kind kind)
{
    static _Thread_local rng random;
    (void)cell;
    (void)kind;
    if (random.state == 0) /* the address is another one in each thread */
        random.state = (uint64_t)(uintptr_t)&random;
    if (rng_below(&random, ONE_IN) == 0)
        (void)sched_yield();
    return false;
}
