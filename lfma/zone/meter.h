/* SPDX-License-Identifier: MIT */
/*
 * A meter: how much of a coalescing budget is spent, in steps and in nanoseconds of a clock that is handed in.
 *
 * The clock is read at most once in LFMA__STEPS_PER_READ steps. A clock that stands still, runs backwards or jumps
 * only ends the work early or leaves it to the step cap: one step a nanosecond of the budget.
 */
#ifndef LFMA_ZONE_METER_H
#define LFMA_ZONE_METER_H

#include <lfma/lfma.h>

#include "base/base.h"

#define LFMA__STEPS_PER_READ 16u

typedef struct lfma__meter {
    lfma_clock_fn *clock;
    void *context;
    uint64_t start_ns;
    uint64_t limit_ns;
    uint64_t limit_steps;
    uint64_t steps;
    uint64_t next_read; /* the step count from which on the clock is read again */
    bool spent;
} lfma__meter;

static inline uint64_t lfma__meter_elapsed(const lfma__meter *m)
{
    const uint64_t now = m->clock(m->context);
    return now > m->start_ns ? now - m->start_ns : 0;
}

static inline void lfma__meter_start(lfma__meter *m, lfma_budget budget, lfma_clock_fn *clock, void *context)
{
    *m = (lfma__meter){ .clock = clock, .context = context, .limit_ns = budget.ns, .limit_steps = budget.steps };
    m->next_read = LFMA__STEPS_PER_READ;
    m->spent = budget.ns == 0 || budget.steps == 0;
    if (budget.ns != LFMA_UNLIMITED && budget.steps == LFMA_UNLIMITED)
        m->limit_steps = budget.ns > LFMA__STEPS_PER_READ ? budget.ns : LFMA__STEPS_PER_READ;
    m->start_ns = clock(context);
}

/* Account for steps; true when the budget is spent. */
static inline bool lfma__meter_spend(lfma__meter *m, uint64_t steps)
{
    m->steps += steps;
    if (m->steps >= m->limit_steps)
        m->spent = true;
    else if (m->limit_ns != LFMA_UNLIMITED && m->steps >= m->next_read) {
        m->next_read = m->steps + LFMA__STEPS_PER_READ;
        m->spent = lfma__meter_elapsed(m) >= m->limit_ns;
    }
    return m->spent;
}

#endif
