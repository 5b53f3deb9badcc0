/* SPDX-License-Identifier: MIT */
/*
 * The explorer's stand-in for lfma/os/thread.c: its threads are coroutines of one OS thread, so what is thread-local
 * is swapped when they are. Their numbers are fixed, or taken at their first call as in the library.
 */
#include <string.h>

#include "explore/internal.h"
#include "explore/scenarios.h"
#include "os/os.h"

_Thread_local lfma__thread lfma__thread_self = LFMA__THREAD_OF(0);

lfma__numbers explore_numbers;
static enum explore_threads threads;
static lfma__thread saved[EXPLORE_OUTSIDE + 1];
static lfma__thread_exit_fn *at_thread_exit;

void explore_threads_begin(enum explore_threads kind)
{
    /*
     * Thread 0 has number 1 and so on: number 0 starts to look at the lowest slice and would take back what it has
     * just freed; number 1 starts at the second one, and moves from the first word of the map to the second.
     */
    static const uint32_t fixed[EXPLORE_THREADS] = { 1, 0, 2 };
    threads = kind;
    memset(&explore_numbers, 0, sizeof explore_numbers);
    if (kind == EXPLORE_NUMBERED) {
        explore_numbers.taken[0].value = ((uint64_t)1 << EXPLORE_THREADS) - 1;
        explore_numbers.high_water.value = EXPLORE_THREADS;
    }
    for (unsigned i = 0; i <= EXPLORE_OUTSIDE; i++) {
        const uint32_t index = i >= EXPLORE_THREADS ? 0 : kind == EXPLORE_NEW ? LFMA__THREAD_NEW : fixed[i];
        saved[i] = (lfma__thread)LFMA__THREAD_OF(index);
    }
    lfma__thread_self = saved[EXPLORE_OUTSIDE];
}

void explore_thread_knows(unsigned thread, uint64_t name, uint64_t mine)
{
    *lfma__thread_ticket(&saved[thread], name) = (lfma__ticket){ { name }, mine };
}

uint32_t explore_thread_number(unsigned thread)
{
    return saved[thread].index;
}

void explore_thread_end(void)
{
    const uint32_t index = lfma__thread_self.index;
    lfma__thread_self = (lfma__thread)LFMA__THREAD_INIT;
    if (index < LFMA__THREADS_MAX) {
        at_thread_exit(index);
        lfma__numbers_give_back(&explore_numbers, index);
    }
}

void explore_switched(unsigned from, unsigned to)
{
    saved[from] = lfma__thread_self;
    lfma__thread_self = saved[to];
}

void lfma__thread_init(lfma__thread_exit_fn *at_exit, lfma__thread_fork_fn *in_child)
{
    at_thread_exit = at_exit;
    (void)in_child;
}

void lfma__thread_lock(void)
{
}

void lfma__thread_unlock(void)
{
}

uint32_t lfma__thread_take_number(void)
{
    return lfma__numbers_take(&explore_numbers);
}

bool lfma__thread_take_this_number(uint32_t number)
{
    return threads != EXPLORE_FIXED && lfma__numbers_take_this(&explore_numbers, number);
}

void lfma__thread_give_back_number(uint32_t number)
{
    lfma__numbers_give_back(&explore_numbers, number);
}

void lfma__thread_register(lfma__thread *self)
{
    self->index = lfma__numbers_take(&explore_numbers);
}

uint64_t lfma__thread_high_water(void)
{
    return threads != EXPLORE_FIXED ? lfma__numbers_high_water(&explore_numbers) : EXPLORE_THREADS;
}
