/* SPDX-License-Identifier: MIT */
/* The explorer's memory: cells with their newest value, and in weak memory their history and the threads' views. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explore/door.h"
#include "explore/explore.h"
#include "explore/internal.h"

#define LOCATIONS_MAX 160u
#define MESSAGES_MAX 250u /* of one location in one run; an index fits a view */
#define SLOTS 1024u
#define QUIET_MAX 16u

typedef struct view {
    uint8_t at[LOCATIONS_MAX]; /* the oldest message that may still be read of each location */
} view;

struct message {
    uint64_t value;
    view carried;
};

struct location {
    const void *cell;
    unsigned count;
    unsigned last_sc; /* the last sc write */
    struct message messages[MESSAGES_MAX];
};

static struct memory {
    unsigned stale_max; /* 0: sequentially consistent */
    unsigned stale;
    unsigned count;
    uint16_t slots[SLOTS]; /* location + 1, by a hash of the cell's address */
    view views[EXPLORE_THREADS];
    struct location locations[LOCATIONS_MAX];
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
    return explore_self() == EXPLORE_THREADS || explore_is_quiet(cell);
}

void explore_memory_mode(unsigned stale)
{
    memory.stale_max = stale;
}

void explore_memory_reset(void)
{
    memory.stale = 0;
    if (memory.stale_max == 0)
        return;
    memory.count = 0;
    memset(memory.slots, 0, sizeof memory.slots);
    memset(memory.views, 0, sizeof memory.views);
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
    static const char *const orders[] = { "relaxed", "acquire", "release", "acqrel", "sc" };
    if (explore_is_traced() && explore_self() < EXPLORE_THREADS)
        fprintf(stderr, "  thread %u  %-8s %-7s %p  %016" PRIx64 "  %016" PRIx64 "\n", explore_self(), operation,
                orders[order], cell, value, more);
}

static struct location *find(const void *cell, unsigned size)
{
    size_t slot = ((uintptr_t)cell * 0x9E3779B1u >> 7) % SLOTS;
    while (memory.slots[slot] != 0) {
        struct location *const known = &memory.locations[memory.slots[slot] - 1u];
        if (known->cell == cell)
            return known;
        slot = (slot + 1) % SLOTS;
    }
    if (memory.count == LOCATIONS_MAX) {
        fprintf(stderr, "explorer: more than %u locations in one run\n", LOCATIONS_MAX);
        exit(2);
    }
    struct location *const made = &memory.locations[memory.count++];
    memory.slots[slot] = (uint16_t)memory.count;
    made->cell = cell;
    made->count = 1;
    made->last_sc = 0;
    made->messages[0].value = newest(cell, size);
    memset(&made->messages[0].carried, 0, sizeof(view));
    return made;
}

static unsigned index_of(const struct location *location)
{
    return (unsigned)(location - memory.locations);
}

static void join(view *into, const view *from)
{
    for (unsigned i = 0; i < memory.count; i++) {
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

static bool is_weak(void)
{
    return memory.stale_max > 0;
}

/* Which message a load sees: the newest first. */
static uint64_t weak_load(const void *cell, unsigned size, enum explore_order order)
{
    struct location *const l = find(cell, size);
    view *const mine = &memory.views[explore_self()];
    unsigned oldest = mine->at[index_of(l)];
    if (order == EXPLORE_SC && l->last_sc > oldest)
        oldest = l->last_sc;
    unsigned seen = l->count - 1;
    if (memory.stale < memory.stale_max) {
        const unsigned back = explore_choose(seen - oldest + 1);
        memory.stale += back > 0;
        seen -= back;
    }
    mine->at[index_of(l)] = (uint8_t)seen;
    if (acquires(order))
        join(mine, &l->messages[seen].carried);
    return l->messages[seen].value;
}

static void weak_write(void *cell, unsigned size, uint64_t value, enum explore_order order, bool is_rmw)
{
    struct location *const l = find(cell, size);
    view *const mine = &memory.views[explore_self()];
    if (l->count == MESSAGES_MAX) {
        explore_fail("too many writes of one location for the explorer's memory");
        return;
    }
    const struct message *const before = &l->messages[l->count - 1];
    struct message *const made = &l->messages[l->count];
    if (is_rmw && acquires(order))
        join(mine, &before->carried);
    mine->at[index_of(l)] = (uint8_t)l->count;
    made->value = value;
    memset(&made->carried, 0, sizeof made->carried);
    if (is_rmw) /* the release sequence goes on through read-modify-writes */
        made->carried = before->carried;
    if (releases(order))
        join(&made->carried, mine);
    made->carried.at[index_of(l)] = (uint8_t)l->count;
    if (order == EXPLORE_SC)
        l->last_sc = l->count;
    l->count++;
}

uint64_t explore_load(const void *cell, unsigned size, enum explore_order order)
{
    if (is_plain(cell))
        return newest(cell, size);
    explore_point();
    const uint64_t value = is_weak() ? weak_load(cell, size, order) : newest(cell, size);
    trace("load", cell, order, value, newest(cell, size));
    return value;
}

/* The write of an operation whose scheduling point is behind it. */
static void write_shared(const char *operation, void *cell, unsigned size, uint64_t value, enum explore_order order,
                         bool is_rmw)
{
    if (is_weak())
        weak_write(cell, size, value, order, is_rmw);
    trace(operation, cell, order, newest(cell, size), value);
    write_cell(cell, size, value);
    explore_after();
}

void explore_store(void *cell, unsigned size, uint64_t value, enum explore_order order)
{
    if (is_plain(cell)) {
        write_cell(cell, size, value);
        return;
    }
    explore_point();
    write_shared("store", cell, size, value, order, false);
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
    const bool plain = is_plain(cell);
    if (!plain)
        explore_point();
    const uint64_t old = newest(cell, size);
    if (plain)
        write_cell(cell, size, apply(kind, old, argument));
    else
        write_shared("rmw", cell, size, apply(kind, old, argument), order, true);
    return old;
}

bool explore_cas(void *cell, unsigned size, uint64_t *expected, uint64_t desired, enum explore_order order)
{
    const bool plain = is_plain(cell);
    if (!plain)
        explore_point();
    const uint64_t old = newest(cell, size);
    if (old != *expected) {
        trace("cas fail", cell, order, old, desired);
        *expected = old;
        return false;
    }
    if (plain)
        write_cell(cell, size, desired);
    else
        write_shared("cas", cell, size, desired, order, true);
    return true;
}
