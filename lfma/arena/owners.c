/* SPDX-License-Identifier: MIT */
/* Which owner slot a call uses, and the reading of all of them. */
#include "arena/arena.h"

LFMA_COLD lfma__caller lfma__arena_enter_slow(lfma_arena *arena, lfma__thread *thread)
{
    const lfma__caller shared = { &arena->owners[arena->threads_max], NULL };
    if (lfma__a8_load_relaxed(&thread->busy)) /* E0: as in lfma__arena_enter */
        return shared;
    if (thread->index == LFMA__THREAD_NEW)
        lfma__thread_register(thread);
    if (thread->index >= arena->threads_max)
        return shared;
    lfma__a8_store_relaxed(&thread->busy, 1); /* E0: as in lfma__arena_enter */
    lfma__signal_fence();
    return (lfma__caller){ &arena->owners[thread->index], thread };
}

lfma__owners_seen lfma__arena_read_owners(lfma_arena *arena)
{
    uint64_t count = lfma__thread_high_water();
    if (count > arena->threads_max)
        count = arena->threads_max;
    /* The shared slot lies behind the others; a thread that came since adds to the sum by its first word. */
    lfma__owners_seen seen = { .sum = count, .in_flight = false };
    for (uint64_t i = 0; i <= count; i++) {
        const lfma__owner *owner = &arena->owners[i < count ? i : arena->threads_max];
        const uint64_t word = lfma__a64_load_acquire(&owner->word); /* E3.acquire */
        seen.sum += word;
        seen.in_flight = seen.in_flight || (word & LFMA__IN_FLIGHT_MASK) != 0;
    }
    return seen;
}
