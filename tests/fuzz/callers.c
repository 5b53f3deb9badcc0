/* SPDX-License-Identifier: MIT */
#include "fuzz/callers.h"

#include <stdlib.h>

#include "os/os.h"

static lfma__thread threads[CALLERS];

static void register_all(void)
{
    lfma__thread_init();
    for (unsigned i = 0; i < CALLERS; i++) {
        threads[i] = (lfma__thread){ LFMA__THREAD_NEW, { 0 } };
        lfma__thread_register(&threads[i]);
        if (threads[i].index >= LFMA__THREADS_MAX)
            abort();
    }
}

void callers_choose(unsigned caller)
{
    if (threads[CALLERS - 1].index == 0)
        register_all();
    lfma__thread_self.index = threads[caller].index;
    lfma__a8_store_relaxed(&lfma__thread_self.busy, caller == CALLERS - 1);
}
