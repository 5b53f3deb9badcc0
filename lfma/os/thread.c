/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <pthread.h>

#include "os/numbers.h"
#include "os/os.h"

_Thread_local lfma__thread lfma__thread_self = { LFMA__THREAD_NEW, { 0 } };

static lfma__numbers numbers;

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool have_key;

/*
 * At thread exit. A destructor that runs later and calls again finds LFMA__THREAD_SHARED: no number is taken by a
 * thread that is already ending, for nothing would give it back.
 */
static void give_back(void *thread)
{
    lfma__thread *self = thread;
    const uint32_t index = self->index;
    self->index = LFMA__THREAD_SHARED;
    if (index < LFMA__THREADS_MAX)
        lfma__numbers_give_back(&numbers, index);
}

static void make_key(void)
{
    have_key = pthread_key_create(&key, give_back) == 0;
}

void lfma__thread_init(void)
{
    const int saved = errno;
    (void)pthread_once(&key_once, make_key);
    errno = saved;
}

void lfma__thread_register(lfma__thread *self)
{
    self->index = LFMA__THREAD_SHARED; /* for a signal handler that calls meanwhile */
    lfma__signal_fence();
    if (!have_key)
        return;
    const uint32_t index = lfma__numbers_take(&numbers);
    if (index == LFMA__NO_NUMBER)
        return;
    const int saved = errno; /* it may allocate */
    const int failed = pthread_setspecific(key, self);
    errno = saved;
    if (failed) {
        lfma__numbers_give_back(&numbers, index);
        return;
    }
    lfma__signal_fence();
    self->index = index;
}

uint64_t lfma__thread_high_water(void)
{
    return lfma__numbers_high_water(&numbers);
}
