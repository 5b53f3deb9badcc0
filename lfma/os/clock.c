/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <time.h>

#include "os/os.h"

uint64_t lfma__os_clock(void *context)
{
    (void)context;
    struct timespec now;
    const int saved = errno;
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) {
        errno = saved;
        return 0; /* a clock that stands still: the step cap ends what it was to bound */
    }
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
