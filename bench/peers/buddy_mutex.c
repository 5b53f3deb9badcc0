/* SPDX-License-Identifier: MIT */
/* The control group under a default POSIX mutex. */
#include <pthread.h>

#include "common/die.h"

typedef pthread_mutex_t buddy_lock_t;

static inline void buddy_lock_init(buddy_lock_t *lock)
{
    check(pthread_mutex_init(lock, NULL), "pthread_mutex_init");
}

static inline void buddy_lock(buddy_lock_t *lock)
{
    const int error = pthread_mutex_lock(lock);
    if (__builtin_expect(error != 0, 0))
        check(error, "pthread_mutex_lock");
}

static inline void buddy_unlock(buddy_lock_t *lock)
{
    const int error = pthread_mutex_unlock(lock);
    if (__builtin_expect(error != 0, 0))
        check(error, "pthread_mutex_unlock");
}

static inline void buddy_lock_fini(buddy_lock_t *lock)
{
    check(pthread_mutex_destroy(lock), "pthread_mutex_destroy");
}

#include "peers/buddy_core.h"

const struct peer peer_buddy_mutex = {
    .name = "buddy-mutex",
    .summary = "linked-list buddy, immediate merging, pthread_mutex",
    .init = buddy_init,
    .alloc = buddy_alloc,
    .free = buddy_free,
    .fini = buddy_fini,
    .base = buddy_base,
};
