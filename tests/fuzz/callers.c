/* SPDX-License-Identifier: MIT */
#include "fuzz/callers.h"

#include <stdlib.h>

#include "arena/arena.h"

static lfma__thread threads[CALLERS];

static void register_all(void)
{
    lfma__arena_prepare();
    for (unsigned i = 0; i < CALLERS; i++) {
        threads[i] = (lfma__thread)LFMA__THREAD_INIT;
        lfma__thread_register(&threads[i]);
        if (threads[i].index >= LFMA__THREADS_MAX)
            abort();
    }
}

void callers_choose(unsigned caller)
{
    if (threads[CALLERS - 1].index == 0)
        register_all();
    lfma__thread_self = threads[caller];
    for (unsigned i = 0; i < LFMA__TICKETS && caller == CALLERS - 1; i++)
        lfma__ticket_enter(&lfma__thread_self.tickets[i]);
}
