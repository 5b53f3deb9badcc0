/* SPDX-License-Identifier: MIT */
#include "support/clock.h"

uint64_t fake_clock_read(void *context)
{
    fake_clock *const c = context;
    c->reads++;
    switch (c->mode) {
    case CLOCK_FROZEN:
        break;
    case CLOCK_TICKING:
        c->now_ns += c->tick_ns;
        break;
    case CLOCK_BACKWARDS:
        c->now_ns -= c->tick_ns;
        break;
    case CLOCK_JUMPING:
        c->now_ns = c->reads % 2 ? UINT64_MAX - c->reads : c->reads;
        break;
    }
    if (c->on_read)
        c->on_read(c->argument, c->reads);
    return c->now_ns;
}
