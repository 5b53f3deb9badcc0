/* SPDX-License-Identifier: MIT */
#include "common/usage.h"

#include <errno.h>
#include <sys/resource.h>

#include "common/die.h"

struct usage usage_now(void)
{
    struct rusage r;
    if (getrusage(RUSAGE_SELF, &r) != 0)
        check(errno, "getrusage");
    return (struct usage){
        .minor_faults = (uint64_t)r.ru_minflt,
        .switches_voluntary = (uint64_t)r.ru_nvcsw,
        .switches_involuntary = (uint64_t)r.ru_nivcsw,
        .peak_rss_kib = (uint64_t)r.ru_maxrss,
    };
}

struct usage usage_between(const struct usage *before, const struct usage *after)
{
    return (struct usage){
        .minor_faults = after->minor_faults - before->minor_faults,
        .switches_voluntary = after->switches_voluntary - before->switches_voluntary,
        .switches_involuntary = after->switches_involuntary - before->switches_involuntary,
        .peak_rss_kib = after->peak_rss_kib,
    };
}
