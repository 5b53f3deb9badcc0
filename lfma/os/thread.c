/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <pthread.h>

#include "os/os.h"

#define INDEX_WORDS (LFMA__THREADS_MAX / 64u)

_Thread_local lfma__thread lfma__thread_self = { LFMA__THREAD_NEW, { 0 } };

static lfma__a64 taken[INDEX_WORDS]; /* 1 bit a number: 1 = some live thread has it */
static lfma__a64 high_water;

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
    if (index < LFMA__THREADS_MAX) {
        const uint64_t bit = (uint64_t)1 << index % 64u;
        /* E5.release: the owner words that this thread wrote come before those of the number's next holder. */
        (void)lfma__a64_and_release(&taken[index / 64u], ~bit);
    }
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

static uint32_t take_index(void)
{
    for (uint32_t w = 0; w < INDEX_WORDS; w++) {
        uint64_t used; /* E0: only picks a bit to try */
        while ((used = lfma__a64_load_relaxed(&taken[w])) != UINT64_MAX) {
            const unsigned bit = lfma__ctz64(~used);
            /* E5.acquire: the last holder's owner words are seen. */
            if (!lfma__a64_set_bit_sc(&taken[w], bit))
                return w * 64u + bit;
        }
    }
    return LFMA__THREAD_SHARED;
}

static void raise_high_water(uint64_t count)
{
    uint64_t seen = lfma__a64_load_relaxed(&high_water); /* E0: a maximum; the exchange decides */
    /* E4.release by way of the claims that follow: whoever sees one of them sees this too. */
    while (seen < count && !lfma__a64_cas_relaxed(&high_water, &seen, count)) {
    }
}

void lfma__thread_register(lfma__thread *self)
{
    self->index = LFMA__THREAD_SHARED; /* for a signal handler that calls meanwhile */
    lfma__signal_fence();
    if (!have_key)
        return;
    const uint32_t index = take_index();
    if (index == LFMA__THREAD_SHARED)
        return;
    const int saved = errno; /* it may allocate */
    const int failed = pthread_setspecific(key, self);
    errno = saved;
    if (failed) {
        (void)lfma__a64_and_release(&taken[index / 64u], ~((uint64_t)1 << index % 64u)); /* E5.release */
        return;
    }
    raise_high_water((uint64_t)index + 1);
    lfma__signal_fence();
    self->index = index;
}

uint64_t lfma__thread_high_water(void)
{
    return lfma__a64_load_relaxed(&high_water); /* E0: ordered by what the caller has acquired before (E4) */
}
