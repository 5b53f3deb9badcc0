/* SPDX-License-Identifier: MIT */
/* The arenas of this process: what a thread that ends has kept in them is given back. Under the one lock
 * (os/thread.h). */
#include "arena/arena.h"

static lfma_arena *first;

static void thread_ended(uint32_t index)
{
    for (lfma_arena *arena = first; arena; arena = arena->next) {
        if (index < arena->threads_max)
            (void)lfma__cache_drain(&arena->pool, &arena->slots[index]);
    }
}

static void process_forked(void)
{
    for (lfma_arena *arena = first; arena; arena = arena->next)
        lfma__arena_remember_caches(arena);
}

void lfma__arena_prepare(void)
{
    lfma__thread_init(thread_ended, process_forked);
}

void lfma__arena_register(lfma_arena *arena)
{
    lfma__thread_lock();
    arena->next = first;
    if (first)
        first->last = arena;
    first = arena;
    lfma__thread_unlock();
}

void lfma__arena_unregister(lfma_arena *arena)
{
    lfma__thread_lock();
    if (arena->last)
        arena->last->next = arena->next;
    else
        first = arena->next;
    if (arena->next)
        arena->next->last = arena->last;
    lfma__thread_unlock();
}
