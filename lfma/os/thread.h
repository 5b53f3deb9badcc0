/* SPDX-License-Identifier: MIT */
/*
 * Which thread is this: a small number that no other live thread has, given at its first call and given back when it
 * ends. Every pthread gets one without asking; past LFMA__THREADS_MAX, or without a pthread key, threads get none
 * (LFMA__THREAD_SHARED), and their callers fall back to something shared.
 */
#ifndef LFMA_OS_THREAD_H
#define LFMA_OS_THREAD_H

#include "os/numbers.h"

#define LFMA__THREADS_MAX LFMA__NUMBERS
#define LFMA__THREAD_NEW UINT32_MAX          /* not registered yet */
#define LFMA__THREAD_SHARED (UINT32_MAX - 1) /* never gets a number */

typedef struct lfma__thread {
    uint32_t index; /* 0 … LFMA__THREADS_MAX - 1, or one of the two above */
    lfma__a8 busy;  /* 1 while a call of this thread runs: a signal handler's call must not use what it uses */
} lfma__thread;

extern _Thread_local lfma__thread lfma__thread_self;

/* Prepare for registering threads; idempotent. Makes a pthread key, so not for signal handlers. */
void lfma__thread_init(void);

/* Give the calling thread its number. Called once a thread, from its first call. */
void lfma__thread_register(lfma__thread *self);

/* One past the highest number that was ever given. */
uint64_t lfma__thread_high_water(void);

#endif
