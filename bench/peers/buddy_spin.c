/* SPDX-License-Identifier: MIT */
/* The control group under CK's fetch-and-store spinlock: test-and-set, then read until it looks free. */
#include <ck_spinlock.h>

typedef ck_spinlock_fas_t buddy_lock_t;

#define buddy_lock_init(lock) ck_spinlock_fas_init(lock)
#define buddy_lock(lock) ck_spinlock_fas_lock(lock)
#define buddy_unlock(lock) ck_spinlock_fas_unlock(lock)
#define buddy_lock_fini(lock) ((void)(lock))

#include "peers/buddy_core.h"

const struct peer peer_buddy_spin = {
    .name = "buddy-spin",
    .summary = "linked-list buddy, immediate merging, ck_spinlock_fas",
    .init = buddy_init,
    .alloc = buddy_alloc,
    .free = buddy_free,
    .fini = buddy_fini,
    .base = buddy_base,
};
