/* SPDX-License-Identifier: MIT */
#include "support/steps.h"

#include "support/hook.h"

static struct {
    uint64_t count;
    uint64_t changes;
    uint64_t at;
    void (*interrupt)(void *argument);
    void *argument;
    bool fail_exchanges;
    bool failed_last;
} steps;

void steps_begin(uint64_t at, void (*interrupt)(void *argument), void *argument)
{
    steps.count = 0;
    steps.changes = 0;
    steps.at = at;
    steps.interrupt = interrupt;
    steps.argument = argument;
}

uint64_t steps_end(void)
{
    steps.at = 0;
    return steps.count;
}

uint64_t steps_changes(void)
{
    return steps.changes;
}

void steps_fail_exchanges(bool on)
{
    steps.fail_exchanges = on;
    steps.failed_last = false;
}

static bool exchange_fails(void)
{
    steps.failed_last = steps.fail_exchanges && !steps.failed_last;
    return steps.failed_last;
}

bool hook_before(const void *cell, enum hook_kind kind)
{
    (void)cell;
    steps.count++;
    steps.changes += kind == HOOK_CHANGE || kind == HOOK_EXCHANGE;
    if (steps.at != 0 && steps.count == steps.at) {
        const uint64_t count = steps.count, changes = steps.changes;
        steps.at = 0; /* once: what runs within is not interrupted */
        steps.interrupt(steps.argument);
        steps.count = count;
        steps.changes = changes;
    }
    return kind == HOOK_EXCHANGE && exchange_fails();
}
