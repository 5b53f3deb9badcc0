/* SPDX-License-Identifier: MIT */
/* The explorer's memory: cells with their newest value, and in weak memory their history and the threads' views. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explore/door.h"
#include "explore/explore.h"
#include "explore/internal.h"

#define LOCATIONS_MAX 2048u
#define SHARED_MAX 512u    /* locations that threads share */
#define MESSAGES_MAX 4096u /* of one run */
#define INDEX_MAX 250u     /* of one location's messages: fits a view */
#define SPURIOUS_MAX 2u    /* a weak compare-exchange that failed for ever would not be lock-free */
#define SLOTS 8192u
#define QUIET_MAX 16u
#define NO_MESSAGE UINT32_MAX

/* The oldest message that may still be read of each shared location. */
typedef union view {
    uint8_t at[SHARED_MAX];
    uint64_t words[SHARED_MAX / 8];
} view;

struct message {
    uint64_t value;
    uint32_t before; /* of the same location */
    view carried;
};

/*
 * A location is shared when one actor writes it and another one reads or writes it. Only then an operation on it is a
 * scheduling point: others commute with whatever the other threads do. Which ones are is found out on the way: when
 * a run finds another one, the search begins anew.
 *
 * Message 0 of a location is what it held at the start of the run; the others are in the pool.
 */
struct location {
    const void *cell;
    unsigned char readers, writers; /* 1 bit an actor */
    bool conflicts;                 /* found to be shared */
    bool shared;                    /* and treated so since the search began */
    unsigned index;                 /* of shared ones, in views */
    unsigned count;                 /* of messages; 0: not touched in this run */
    unsigned last_sc;               /* the last sc write */
    uint32_t last;                  /* in the pool; NO_MESSAGE: only message 0 */
    uint64_t start;
    uint64_t history; /* a digest of the messages */
};

static struct memory {
    unsigned stale_max; /* 0: sequentially consistent */
    unsigned stale;
    unsigned spurious;     /* failures of weak compare-exchanges in this run */
    bool all_shared;       /* replays and random runs take every location for shared */
    bool is_new;           /* a location was found to be shared */
    unsigned count;        /* of locations */
    unsigned shared;       /* of those */
    uint32_t messages;     /* in the pool */
    uint64_t newest;       /* a digest of the cells' newest values, against the start of the run */
    uint64_t histories;    /* a digest of all messages */
    uint16_t slots[SLOTS]; /* location + 1, by a hash of the cell's address */
    view views[EXPLORE_THREADS];
    struct location locations[LOCATIONS_MAX];
    struct message pool[MESSAGES_MAX];
} memory;

static struct range {
    uintptr_t first;
    size_t bytes;
} quiet[QUIET_MAX];
static unsigned quiet_count;

void explore_quiet(const void *first, size_t bytes)
{
    if (quiet_count == QUIET_MAX) {
        fprintf(stderr, "explorer: more than %u quiet ranges\n", QUIET_MAX);
        exit(2);
    }
    quiet[quiet_count++] = (struct range){ (uintptr_t)first, bytes };
}

void explore_quiet_none(void)
{
    quiet_count = 0;
}

bool explore_is_quiet(const void *cell)
{
    for (unsigned i = 0; i < quiet_count; i++) {
        if ((uintptr_t)cell - quiet[i].first < quiet[i].bytes)
            return true;
    }
    return false;
}

/* Outside of runs, and for cells of one thread, memory is just memory. */
static bool is_plain(const void *cell)
{
    return explore_self() == EXPLORE_OUTSIDE || explore_is_quiet(cell);
}

void explore_memory_begin(unsigned stale, bool all_shared)
{
    memory.stale_max = stale;
    memory.all_shared = all_shared;
    memory.is_new = false;
    memory.count = 0;
    memory.shared = 0;
    memset(memory.slots, 0, sizeof memory.slots);
}

bool explore_memory_again(void)
{
    const bool again = memory.is_new;
    memory.is_new = false;
    memory.shared = 0;
    for (unsigned i = 0; i < memory.count; i++) {
        struct location *const l = &memory.locations[i];
        l->shared = l->conflicts;
        if (l->shared)
            l->index = memory.shared++;
    }
    if (memory.shared > SHARED_MAX) {
        fprintf(stderr, "explorer: more than %u shared locations\n", SHARED_MAX);
        exit(2);
    }
    return again;
}

void explore_memory_reset(void)
{
    memory.stale = 0;
    memory.spurious = 0;
    memory.messages = 0;
    memory.newest = 0;
    memory.histories = 0;
    memset(memory.views, 0, sizeof memory.views);
    for (unsigned i = 0; i < memory.count; i++)
        memory.locations[i].count = 0;
}

bool explore_memory_is_weak(void)
{
    return memory.stale_max > 0;
}

/* Zeros do not count: locations that are numbered later are then at their start in all states before. */
static uint64_t digest_view(const view *v)
{
    uint64_t digest = 0;
    for (unsigned i = 0; i < (memory.shared + 7) / 8; i++) {
        if (v->words[i])
            digest ^= explore_mix(i + 1, v->words[i]);
    }
    return digest;
}

uint64_t explore_memory_digest(void)
{
    if (!explore_memory_is_weak())
        return memory.newest + memory.spurious;
    if (memory.stale == memory.stale_max && memory.stale_max != EXPLORE_UNLIMITED)
        return explore_mix(memory.newest, memory.stale + 1) +
               memory.spurious; /* from here on the newest values alone are read */
    uint64_t digest = explore_mix(memory.histories, memory.stale_max == EXPLORE_UNLIMITED ? 0 : memory.stale) +
                      memory.spurious;
    for (unsigned i = 0; i < EXPLORE_THREADS; i++)
        digest = explore_mix(digest, digest_view(&memory.views[i]));
    return digest;
}

static uint64_t newest(const void *cell, unsigned size)
{
    uint64_t wide;
    uint8_t narrow;
    if (size == 8) {
        memcpy(&wide, cell, 8);
        return wide;
    }
    memcpy(&narrow, cell, 1);
    return narrow;
}

static void write_cell(void *cell, unsigned size, uint64_t value)
{
    const uint8_t narrow = (uint8_t)value;
    if (size == 8)
        memcpy(cell, &value, 8);
    else
        memcpy(cell, &narrow, 1);
}

static void trace(const char *operation, const void *cell, enum explore_order order, uint64_t value, uint64_t more)
{
    if (explore_is_traced() && explore_self() != EXPLORE_OUTSIDE)
        explore_trace(operation, cell, order, value, more);
}

/* The first touch in a run makes message 0. */
static struct location *touched(struct location *l, unsigned size)
{
    if (l->count == 0) {
        l->start = newest(l->cell, size);
        l->history = 0;
        l->last = NO_MESSAGE;
        l->count = 1;
        l->last_sc = 0;
    }
    return l;
}

static struct location *find(const void *cell, unsigned size)
{
    size_t slot = ((uintptr_t)cell * 0x9E3779B1u >> 7) % SLOTS;
    while (memory.slots[slot] != 0) {
        struct location *const known = &memory.locations[memory.slots[slot] - 1u];
        if (known->cell == cell)
            return touched(known, size);
        slot = (slot + 1) % SLOTS;
    }
    if (memory.count == LOCATIONS_MAX || memory.shared == SHARED_MAX) {
        fprintf(stderr, "explorer: more locations in one scenario than it has room for\n");
        exit(2);
    }
    struct location *const made = &memory.locations[memory.count++];
    memory.slots[slot] = (uint16_t)memory.count;
    *made = (struct location){ .cell = cell, .conflicts = memory.all_shared, .shared = memory.all_shared };
    if (made->shared)
        made->index = memory.shared++;
    return touched(made, size);
}

/* Is this access a scheduling point? Notes who makes it. */
static struct location *shared_location(const void *cell, unsigned size, bool writes)
{
    if (is_plain(cell))
        return NULL;
    explore_count();
    struct location *const l = find(cell, size);
    const unsigned char me = (unsigned char)(1u << explore_actor());
    l->readers |= me;
    if (writes)
        l->writers |= me;
    if (!l->conflicts && l->writers && ((l->readers & (l->readers - 1)) != 0)) {
        l->conflicts = true;
        memory.is_new = true;
    }
    return l->shared ? l : NULL;
}

static void join(view *into, const view *from)
{
    for (unsigned i = 0; i < memory.shared; i++) {
        if (from->at[i] > into->at[i])
            into->at[i] = from->at[i];
    }
}

static bool acquires(enum explore_order order)
{
    return order == EXPLORE_ACQUIRE || order == EXPLORE_ACQREL || order == EXPLORE_SC;
}

static bool releases(enum explore_order order)
{
    return order == EXPLORE_RELEASE || order == EXPLORE_ACQREL || order == EXPLORE_SC;
}

/* Which message a load sees: the newest first. */
static uint64_t weak_load(struct location *l, enum explore_order order)
{
    view *const mine = &memory.views[explore_self()];
    unsigned oldest = mine->at[l->index];
    if (order == EXPLORE_SC && l->last_sc > oldest)
        oldest = l->last_sc;
    unsigned seen = l->count - 1;
    uint32_t message = l->last;
    if (memory.stale < memory.stale_max) {
        unsigned back = explore_choose('v', seen - oldest + 1);
        if (memory.stale_max != EXPLORE_UNLIMITED)
            memory.stale += back > 0;
        for (; back > 0; back--, seen--)
            message = memory.pool[message].before;
    }
    mine->at[l->index] = (uint8_t)seen;
    if (message == NO_MESSAGE)
        return l->start;
    if (acquires(order))
        join(mine, &memory.pool[message].carried);
    return memory.pool[message].value;
}

static void weak_write(struct location *l, uint64_t value, enum explore_order order, bool is_rmw)
{
    view *const mine = &memory.views[explore_self()];
    if (l->count == INDEX_MAX || memory.messages == MESSAGES_MAX) {
        explore_fail("too many writes in one run for the explorer's memory");
        return;
    }
    const struct message *const before = l->last == NO_MESSAGE ? NULL : &memory.pool[l->last];
    struct message *const made = &memory.pool[memory.messages];
    if (is_rmw && before && acquires(order))
        join(mine, &before->carried);
    mine->at[l->index] = (uint8_t)l->count;
    made->value = value;
    made->before = l->last;
    const size_t view_bytes = ((size_t)memory.shared + 7) / 8 * 8;
    if (is_rmw && before) /* the release sequence goes on through read-modify-writes */
        memcpy(&made->carried, &before->carried, view_bytes);
    else
        memset(&made->carried, 0, memory.all_shared ? sizeof made->carried : view_bytes);
    if (releases(order))
        join(&made->carried, mine);
    made->carried.at[l->index] = (uint8_t)l->count;
    if (order == EXPLORE_SC)
        l->last_sc = l->count;
    l->last = memory.messages++;
    l->count++;
    memory.histories ^= l->history;
    l->history = explore_mix(explore_mix(l->history + l->index + 1, value), digest_view(&made->carried));
    l->history = explore_mix(l->history, l->last_sc);
    memory.histories ^= l->history;
}

uint64_t explore_load(const void *cell, unsigned size, enum explore_order order)
{
    struct location *const l = shared_location(cell, size, false);
    if (l == NULL)
        return newest(cell, size);
    explore_point();
    const uint64_t value = explore_memory_is_weak() ? weak_load(l, order) : newest(cell, size);
    explore_saw(value);
    trace("load", cell, order, value, newest(cell, size));
    return value;
}

/* The write of an operation whose scheduling point is behind it; NULL: it had none. */
static void write_at(struct location *l, const char *operation, void *cell, unsigned size, uint64_t value,
                     enum explore_order order, bool is_rmw)
{
    if (l == NULL) {
        write_cell(cell, size, value);
    } else {
        const uint64_t old = newest(cell, size);
        if (explore_memory_is_weak())
            weak_write(l, value, order, is_rmw);
        trace(operation, cell, order, old, value);
        memory.newest ^= explore_mix((uintptr_t)cell, old) ^ explore_mix((uintptr_t)cell, value);
        write_cell(cell, size, value);
        explore_saw(is_rmw ? old : 0);
    }
    if (!is_plain(cell))
        explore_after();
}

void explore_store(void *cell, unsigned size, uint64_t value, enum explore_order order)
{
    struct location *const l = shared_location(cell, size, true);
    if (l)
        explore_point();
    write_at(l, "store", cell, size, value, order, false);
}

static uint64_t apply(enum explore_rmw kind, uint64_t old, uint64_t argument)
{
    switch (kind) {
    case EXPLORE_ADD:
        return old + argument;
    case EXPLORE_OR:
        return old | argument;
    case EXPLORE_AND:
        return old & argument;
    case EXPLORE_EXCHANGE:
    default:
        return argument;
    }
}

uint64_t explore_rmw(void *cell, unsigned size, enum explore_rmw kind, uint64_t argument, enum explore_order order)
{
    struct location *const l = shared_location(cell, size, true);
    if (l)
        explore_point();
    const uint64_t old = newest(cell, size);
    write_at(l, "rmw", cell, size, apply(kind, old, argument), order, true);
    return old;
}

static bool fails_for_no_reason(void)
{
    if (memory.spurious == SPURIOUS_MAX || explore_choose('s', 2) == 0)
        return false;
    memory.spurious++;
    return true;
}

bool explore_cas(void *cell, unsigned size, uint64_t *expected, uint64_t desired, enum explore_order order,
                 bool may_fail)
{
    struct location *const l = shared_location(cell, size, true);
    if (l)
        explore_point();
    const uint64_t old = newest(cell, size);
    if (old == *expected && !(may_fail && l && fails_for_no_reason())) {
        write_at(l, "cas", cell, size, desired, order, true);
        return true;
    }
    if (l) {
        memory.views[explore_self()].at[l->index] = (uint8_t)(l->count - 1); /* it has read the newest */
        explore_saw(old);
        explore_saw(false);
        trace("cas fail", cell, order, old, desired);
    }
    *expected = old;
    return false;
}
