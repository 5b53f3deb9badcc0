/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <pthread.h>

#include "os/numbers.h"
#include "os/os.h"

_Thread_local lfma__thread lfma__thread_self = LFMA__THREAD_INIT;

static lfma__numbers numbers;

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool have_key;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static lfma__thread_exit_fn *at_thread_exit;
static lfma__thread_fork_fn *in_forked_child;

/*
 * At thread exit. A destructor that runs later and calls again finds LFMA__THREAD_SHARED: no number is taken by a
 * thread that is already ending, for nothing would give it back.
 */
static void give_back(void *thread)
{
    lfma__thread *self = thread;
    const uint32_t index = self->index;
    self->index = LFMA__THREAD_SHARED;
    for (unsigned i = 0; i < LFMA__TICKETS; i++)
        lfma__ticket_leave(&self->tickets[i], LFMA__TICKET_NONE);
    if (index >= LFMA__THREADS_MAX)
        return;
    lfma__thread_lock();
    at_thread_exit(index);
    lfma__thread_unlock();
    lfma__numbers_give_back(&numbers, index);
}

void lfma__thread_lock(void)
{
    (void)pthread_mutex_lock(&mutex); /* cannot fail: initialised, and never locked twice by one thread */
}

void lfma__thread_unlock(void)
{
    (void)pthread_mutex_unlock(&mutex);
}

/* In the child of a fork there is one thread: the others' numbers are free, and with them what their caches keep. */
static void in_child(void)
{
    lfma__numbers_forget_others(&numbers, lfma__thread_self.index);
    in_forked_child();
    lfma__thread_unlock();
}

static void make_key(void)
{
    /* Without the handlers, a child would find the lock taken that another thread held. */
    have_key = pthread_atfork(lfma__thread_lock, lfma__thread_unlock, in_child) == 0 &&
               pthread_key_create(&key, give_back) == 0;
}

void lfma__thread_init(lfma__thread_exit_fn *at_exit, lfma__thread_fork_fn *in_child_too)
{
    const int saved = errno;
    lfma__thread_lock();
    at_thread_exit = at_exit;
    in_forked_child = in_child_too;
    lfma__thread_unlock();
    (void)pthread_once(&key_once, make_key);
    errno = saved;
}

uint32_t lfma__thread_take_number(void)
{
    return lfma__numbers_take(&numbers);
}

bool lfma__thread_take_this_number(uint32_t number)
{
    return lfma__numbers_take_this(&numbers, number);
}

void lfma__thread_give_back_number(uint32_t number)
{
    lfma__numbers_give_back(&numbers, number);
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
