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

/*
 * What is the thread's in a certain thing, such as its slot in an arena: found by the thing's name, a number whose
 * bits 4 and 5 say which ticket it uses. The ticket says LFMA__TICKET_BUSY while the thread is at it, so that a
 * signal handler that interrupts it there keeps off. One that comes just before may use the ticket for another thing,
 * and leaves it with that one's name: what the ticket says besides the name must be true of all of them.
 */
typedef struct lfma__ticket {
    lfma__a64 name;
    uint64_t mine; /* how far the thread's part lies from the first one: the same in all things */
} lfma__ticket;

#define LFMA__TICKETS 4u
#define LFMA__TICKET_NONE UINT64_MAX
#define LFMA__TICKET_BUSY ((uint64_t)0)
#define LFMA__TICKET_BITS ((uint64_t)0x30)

_Static_assert(sizeof(lfma__ticket) == 16 && LFMA__TICKETS * sizeof(lfma__ticket) == LFMA__TICKET_BITS + 16,
               "the bits of a name are its ticket's place");

typedef struct lfma__thread {
    _Alignas(LFMA__TICKETS * 16) lfma__ticket tickets[LFMA__TICKETS];
    uint32_t index; /* 0 … LFMA__THREADS_MAX - 1, or one of the two above */
} lfma__thread;

#define LFMA__TICKET_UNUSED                                                                                          \
    {                                                                                                                \
        { LFMA__TICKET_NONE }, 0                                                                                     \
    }
#define LFMA__THREAD_OF(index_)                                                                                      \
    {                                                                                                                \
        { LFMA__TICKET_UNUSED, LFMA__TICKET_UNUSED, LFMA__TICKET_UNUSED, LFMA__TICKET_UNUSED }, index_               \
    }
#define LFMA__THREAD_INIT LFMA__THREAD_OF(LFMA__THREAD_NEW)

extern _Thread_local lfma__thread lfma__thread_self;

static inline lfma__ticket *lfma__thread_ticket(lfma__thread *thread, uint64_t name)
{
    return (lfma__ticket *)(void *)((char *)thread->tickets + (name & LFMA__TICKET_BITS));
}

/* E0, all: of this thread and its signal handlers alone; the signal fences keep them around the call. */
static inline uint64_t lfma__ticket_name(const lfma__ticket *ticket)
{
    return lfma__a64_load_relaxed(&ticket->name); /* E0: as above */
}

static inline void lfma__ticket_enter(lfma__ticket *ticket)
{
    lfma__a64_store_relaxed(&ticket->name, LFMA__TICKET_BUSY); /* E0: as above */
    lfma__signal_fence();
}

static inline void lfma__ticket_leave(lfma__ticket *ticket, uint64_t name)
{
    lfma__signal_fence();
    lfma__a64_store_relaxed(&ticket->name, name); /* E0: as above */
}

/*
 * Prepare for registering threads; idempotent. Makes a pthread key, so not for signal handlers. When a thread ends,
 * `at_exit` is called with its number, which it then gives back, under the lock. In the child of a fork() all numbers
 * but its one thread's are free; then `in_child` is called, under the lock, to take again those that no thread had.
 */
typedef void lfma__thread_exit_fn(uint32_t index);
typedef void lfma__thread_fork_fn(void);
void lfma__thread_init(lfma__thread_exit_fn *at_exit, lfma__thread_fork_fn *in_child);

/* The one lock of the library: for who creates or destroys an arena, and for threads that end. */
void lfma__thread_lock(void);
void lfma__thread_unlock(void);

/* Give the calling thread its number. Called once a thread, from its first call. */
void lfma__thread_register(lfma__thread *self);

/* Take a number that is no thread's: LFMA__NO_NUMBER if there is none, or the one wanted is somebody's. */
uint32_t lfma__thread_take_number(void);
bool lfma__thread_take_this_number(uint32_t number);
void lfma__thread_give_back_number(uint32_t number);

/* One past the highest number that was ever given. */
uint64_t lfma__thread_high_water(void);

#endif
