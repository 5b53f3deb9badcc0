/* SPDX-License-Identifier: MIT */
/*
 * Pointers from one producer to several consumers: Concurrency Kit's ring. Its atomics are inline assembly, which
 * ThreadSanitizer does not see, so a build with it takes slots with C11 exchanges instead.
 */
#ifndef LFMA_TESTS_SUPPORT_CHANNEL_H
#define LFMA_TESTS_SUPPORT_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>

#define CHANNEL_SIZE 256u

#if defined(__SANITIZE_THREAD__)
#define CHANNEL_C11 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CHANNEL_C11 1
#endif
#endif

#ifdef CHANNEL_C11
#include <stdatomic.h>

typedef struct channel {
    _Atomic(void *) slots[CHANNEL_SIZE];
} channel;

static inline void channel_init(channel *c)
{
    for (size_t i = 0; i < CHANNEL_SIZE; i++)
        atomic_init(&c->slots[i], NULL);
}

static inline bool channel_put(channel *c, void *pointer)
{
    for (size_t i = 0; i < CHANNEL_SIZE; i++) {
        void *empty = NULL;
        if (atomic_compare_exchange_strong(&c->slots[i], &empty, pointer))
            return true;
    }
    return false;
}

static inline void *channel_get(channel *c)
{
    for (size_t i = 0; i < CHANNEL_SIZE; i++) {
        if (atomic_load_explicit(&c->slots[i], memory_order_relaxed)) {
            void *const pointer = atomic_exchange(&c->slots[i], NULL);
            if (pointer)
                return pointer;
        }
    }
    return NULL;
}
#else
/* The header converts signs and drops qualifiers; its warnings are not this project's. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wcast-qual"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wundef"
#include <ck_ring.h>
#pragma GCC diagnostic pop

typedef struct channel {
    ck_ring_t ring;
    ck_ring_buffer_t buffer[CHANNEL_SIZE];
} channel;

static inline void channel_init(channel *c)
{
    ck_ring_init(&c->ring, CHANNEL_SIZE);
}

static inline bool channel_put(channel *c, void *pointer)
{
    return ck_ring_enqueue_spmc(&c->ring, c->buffer, pointer);
}

static inline void *channel_get(channel *c)
{
    void *pointer = NULL;
    return ck_ring_dequeue_spmc(&c->ring, c->buffer, &pointer) ? pointer : NULL;
}
#endif

#endif
