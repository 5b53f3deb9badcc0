/* SPDX-License-Identifier: MIT */
/* Which owner slot a call uses, and the reading of all of them. */
#include "arena/arena.h"

/* Without a ticket: this thread's first call here, or since it was elsewhere, or by a handler that interrupts one. */
LFMA_COLD lfma__caller lfma__arena_enter_first(lfma_arena *arena, lfma__thread *thread)
{
    lfma__ticket *const ticket = lfma__thread_ticket(thread, arena->pool.name);
    const lfma__caller shared = { &arena->slots[arena->threads_max], NULL, LFMA__THREAD_SHARED };
    if (LFMA_UNLIKELY(lfma__ticket_name(ticket) == LFMA__TICKET_BUSY))
        return shared;
    if (LFMA_UNLIKELY(thread->index == LFMA__THREAD_NEW))
        lfma__thread_register(thread);
    if (LFMA_UNLIKELY(thread->index >= arena->threads_max))
        return shared;
    lfma__ticket_enter(ticket);
    ticket->mine = thread->index * sizeof *arena->slots;
    return (lfma__caller){ &arena->slots[thread->index], ticket, thread->index };
}

lfma__owners_seen lfma__arena_read_owners(lfma_arena *arena)
{
    uint64_t count = lfma__thread_high_water();
    if (count > arena->threads_max)
        count = arena->threads_max;
    /* The shared slot lies behind the others; a thread that came since adds to the sum by its first word. */
    lfma__owners_seen seen = { .sum = count, .in_flight = false };
    for (uint64_t i = 0; i <= count; i++) {
        const lfma__owner *owner = &arena->slots[i < count ? i : arena->threads_max].owner;
        const uint64_t word = lfma__a64_load_acquire(&owner->word); /* E3.acquire */
        seen.sum += word;
        seen.in_flight = seen.in_flight || (word & LFMA__IN_FLIGHT_MASK) != 0;
    }
    return seen;
}
