/* SPDX-License-Identifier: MIT */
#include "common/timer.h"

#if TIMER_HAS_TSC
#include <cpuid.h>
#endif

bool timer_uses_tsc = false;

static double ns_per_tick = 1.0;

#if TIMER_HAS_TSC
/* The counter serves only if it runs at one rate in every power state and rdtscp exists. */
static bool tsc_is_invariant(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(0x80000007u, &a, &b, &c, &d) || (d & (1u << 8)) == 0)
        return false;
    return __get_cpuid(0x80000001u, &a, &b, &c, &d) && (d & (1u << 27)) != 0;
}
#endif

void timer_init(void)
{
#if TIMER_HAS_TSC
    if (!tsc_is_invariant())
        return;
    timer_uses_tsc = true;
    const uint64_t ns_before = now_ns(), ticks_before = ticks_now();
    uint64_t ns_after = ns_before;
    while (ns_after - ns_before < 5000000u)
        ns_after = now_ns();
    const uint64_t ticks_after = ticks_now();
    if (ticks_after <= ticks_before) {
        timer_uses_tsc = false;
        return;
    }
    ns_per_tick = (double)(ns_after - ns_before) / (double)(ticks_after - ticks_before);
#endif
}

uint64_t ticks_to_ns(uint64_t ticks)
{
    return (uint64_t)((double)ticks * ns_per_tick + 0.5);
}

uint64_t ns_to_ticks(uint64_t ns)
{
    return (uint64_t)((double)ns / ns_per_tick + 0.5);
}
