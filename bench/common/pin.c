/* SPDX-License-Identifier: MIT */
#include "common/pin.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include "common/die.h"

static cpu_set_t allowed;
static unsigned cpus_count;
static bool pinning;

void pin_init(bool enabled)
{
    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        check(errno, "sched_getaffinity");
    cpus_count = (unsigned)CPU_COUNT(&allowed);
    pinning = enabled && cpus_count >= 2;
}

unsigned pin_cpus(void)
{
    return cpus_count;
}

bool pin_enabled(void)
{
    return pinning;
}

/* The CPU that is `index` places before the last allowed one. */
static int cpu_from_last(unsigned index)
{
    unsigned skip = index % cpus_count;
    for (int cpu = CPU_SETSIZE - 1; cpu >= 0; cpu--) {
        if (CPU_ISSET((size_t)cpu, &allowed) && skip-- == 0)
            return cpu;
    }
    return 0;
}

static void bind(const cpu_set_t *set)
{
    check(pthread_setaffinity_np(pthread_self(), sizeof *set, set), "pthread_setaffinity_np");
}

void pin_worker(unsigned index)
{
    if (!pinning)
        return;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu_from_last(index), &set);
    bind(&set);
}

void pin_producer(void)
{
    pin_worker(0);
}

void pin_consumer(void)
{
    if (!pinning)
        return;
    cpu_set_t set = allowed;
    CPU_CLR((size_t)cpu_from_last(0), &set);
    bind(&set);
}
