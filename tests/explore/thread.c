/* SPDX-License-Identifier: MIT */
/*
 * The explorer's stand-in for lfma/os/thread.c: its threads are coroutines of one OS thread, so what is thread-local
 * is swapped when they are. Their numbers are fixed.
 */
#include "explore/explore.h"
#include "explore/internal.h"
#include "os/os.h"

_Thread_local lfma__thread lfma__thread_self = { 0, { 0 } };

/*
 * Thread 0 has number 1 and so on: number 0 starts to look at the lowest slice and would take back what it has just
 * freed; number 1 starts at the second one, and moves from the first word of the map to the second.
 */
static lfma__thread saved[EXPLORE_THREADS + 1] = {
    { 1, { 0 } }, { 0, { 0 } }, { 3, { 0 } }, { 2, { 0 } }, { 0, { 0 } },
};

void explore_switched(unsigned from, unsigned to)
{
    saved[from] = lfma__thread_self;
    if (to == EXPLORE_THREADS) { /* the next run begins with threads that are in no call */
        for (unsigned i = 0; i < EXPLORE_THREADS; i++)
            saved[i].busy = (lfma__a8){ 0 };
    }
    lfma__thread_self = saved[to];
}

void lfma__thread_init(void)
{
}

void lfma__thread_register(lfma__thread *self)
{
    (void)self;
}

uint64_t lfma__thread_high_water(void)
{
    return EXPLORE_THREADS;
}
