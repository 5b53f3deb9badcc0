/* SPDX-License-Identifier: MIT */
/*
 * Oracles: at rest the arena validates, no owner is in flight, and as many pages are allocated as the callers hold; a
 * valid free never fails; NOMEM and FRAGMENTED only if at some instant of the call no run was free; a new owner sees
 * what the last one wrote, with nothing but the allocator to order it (edge E1).
 */
#include "explore/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explore/scenarios.h"

#define UNITS_MAX 128u
#define CLOCK_STILL 1u
#define CLOCK_LATE ((uint64_t)1 << 40)

struct world world;

static char *snapshot;
static size_t snapshot_bytes;
static size_t pages_at_start;

static struct call {
    bool running;
    bool takes;       /* and does not only look */
    bool was_without; /* at some instant no run of the order was free */
    unsigned order;
} calls[EXPLORE_ACTORS];

static size_t pages_held; /* by callers, as their calls returned */

/* Who holds what, a bit for each 2^order_least pages: set when one is received, cleared before it is freed. */
static uint64_t held[UNITS_MAX / 64], held_at_start[UNITS_MAX / 64];

/* What the actors wrote to their blocks before they freed them. */
static lfma__a64 payload[EXPLORE_ACTORS];

/* ------------------------------------------------------------------------------------------------------ making */

static uint64_t clock_now(void *context)
{
    (void)context;
    const unsigned actor = explore_actor();
    if (actor == EXPLORE_OUTSIDE || !(world.wild_clock >> actor & 1))
        return CLOCK_STILL;
    static const uint64_t times[] = { CLOCK_STILL, CLOCK_LATE, 0 };
    return times[explore_pick(3)];
}

static void *address_of(unsigned page)
{
    return (void *)(world.arena->base + (uintptr_t)page * WORLD_PAGE);
}

/* Note that 2^order pages are held, or no longer; false if a part of them was so already. */
static bool hold(uint64_t *units, unsigned page, unsigned order, bool is_held)
{
    const unsigned first = page >> world.shape->order_least;
    bool right = true;
    for (unsigned i = first; i < first + (1u << (order - world.shape->order_least)); i++) {
        const uint64_t bit = (uint64_t)1 << i % 64;
        right = right && ((units[i / 64] & bit) != 0) != is_held;
        units[i / 64] ^= ((units[i / 64] & bit) != 0) != is_held ? bit : 0;
    }
    return right;
}

void world_make(const world_shape *shape)
{
    world.shape = shape;
    world.wild_clock = 0;
    explore_quiet_none();
    explore_threads_begin(false);
    if (world.arena)
        lfma_arena_destroy_forced(world.arena);
    lfma_arena_config config = LFMA_ARENA_CONFIG_INIT;
    config.bytes = (size_t)shape->pages * WORLD_PAGE;
    config.page_bytes = WORLD_PAGE;
    config.threads_max = EXPLORE_THREADS;
    config.flags = LFMA_NO_CACHE;
    config.clock = clock_now;
    if (lfma_arena_create(&config, &world.arena) != LFMA_OK)
        abort();
    for (unsigned page = 0; page < shape->pages; page += 1u << shape->order_least) {
        if (lfma_alloc(world.arena, (size_t)WORLD_PAGE << shape->order_least) == NULL)
            abort();
    }
    pages_at_start = shape->pages;
    memset(held_at_start, 0xFF, sizeof held_at_start);
    for (unsigned i = 0; i <= EXPLORE_THREADS; i++)
        explore_quiet(&world.arena->slots[i].owner.zone, sizeof(lfma__slot) - offsetof(lfma__slot, owner.zone));
    explore_quiet(&lfma__thread_self, sizeof lfma__thread_self);
}

void world_free(unsigned first_page, unsigned pages)
{
    const unsigned block = 1u << world.shape->order_least;
    for (unsigned page = first_page; page < first_page + pages; page += block) {
        if (lfma_free(world.arena, address_of(page)) != LFMA_OK)
            abort();
        pages_at_start -= block;
        hold(held_at_start, page, world.shape->order_least, false);
    }
}

void world_join(void)
{
    const lfma_budget all = LFMA_BUDGET_ALL;
    if (lfma_coalesce(world.arena, &all, NULL) != LFMA_OK)
        abort();
}

void world_made(void)
{
    free(snapshot);
    snapshot_bytes = (size_t)world.arena->metadata_bytes;
    snapshot = malloc(snapshot_bytes);
    if (snapshot == NULL)
        abort();
    memcpy(snapshot, world.arena, snapshot_bytes);
}

void world_reset(void)
{
    memcpy(world.arena, snapshot, snapshot_bytes);
    memset(calls, 0, sizeof calls);
    memset(payload, 0, sizeof payload);
    world.wild_clock = 0;
    pages_held = pages_at_start;
    memcpy(held, held_at_start, sizeof held);
    explore_threads_begin(world.shape->new_threads);
}

/* ----------------------------------------------------------------------------------------------------- oracles */

/* Is a run of the order in the bitmaps? */
static bool run_is_free(unsigned order)
{
    lfma__zone *const zone = lfma__arena_zone(world.arena, 0);
    for (unsigned o = order; o <= zone->order_max; o++) {
        const lfma__table t = lfma__zone_table(zone, o);
        for (uint64_t i = 0; i < t.slice_count; i++) {
            if (t.slices[i].value)
                return true;
        }
    }
    for (unsigned word = 0; word < (zone->pages + 63) / 64; word++) {
        uint64_t pages = 0;
        for (unsigned o = 0; o < 6; o++) {
            const uint64_t slice = lfma__zone_table(zone, o).slices[word >> o].value;
            const unsigned bits = 64u >> o;
            pages |= lfma__word_widen(slice >> (word % (1u << o)) * bits & lfma__word_mask(0, bits), o);
        }
        if (order <= 6 && lfma__word_runs(pages, order) != 0)
            return true;
    }
    return false;
}

/*
 * Is there surely a run of the order that no caller holds? For the least order: more pages than callers hold, with
 * what running allocations may have taken already, and frees not yet given back; blocks in flight count as free. For
 * larger orders: one in the bitmaps.
 */
static bool has_run(unsigned order)
{
    size_t taken = pages_held;
    for (unsigned i = 0; i < EXPLORE_ACTORS; i++)
        taken += calls[i].running && calls[i].takes ? (size_t)1 << calls[i].order : 0;
    const size_t run = (size_t)1 << order;
    return order <= world.shape->order_least ? taken + run <= world.shape->pages : run_is_free(order);
}

/* As has_run(), for a call that itself has taken nothing. */
static bool without_me(unsigned actor)
{
    const bool takes = calls[actor].takes;
    calls[actor].takes = false;
    const bool has = has_run(calls[actor].order);
    calls[actor].takes = takes;
    return has;
}

void world_observe(void)
{
    for (unsigned i = 0; i < EXPLORE_ACTORS; i++) {
        if (calls[i].running && !calls[i].was_without && !without_me(i))
            calls[i].was_without = true;
    }
}

static struct call *begin_call(unsigned order, bool takes)
{
    struct call *const call = &calls[explore_actor()];
    *call = (struct call){ .running = true, .takes = takes, .order = order };
    world_observe();
    return call;
}

static void end_call(struct call *call, int code)
{
    const bool is_wild = world.wild_clock >> explore_actor() & 1;
    call->running = false;
    /*
     * "At some instant" is meant in an order of events that agrees with happens-before (docs/ORDERING.md). With one
     * other thread that is this run's order; with two that nothing orders, weak memory may show them in another one.
     */
    const bool is_judged = explore_now.threads <= 2 || !explore_memory_is_weak();
    if (is_judged && (code == LFMA_E_NOMEM || code == LFMA_E_FRAGMENTED) && !call->was_without)
        explore_fail("false NOMEM or FRAGMENTED: a run was free throughout the call");
    if (code != LFMA_OK && code != LFMA_E_NOMEM && code != LFMA_E_FRAGMENTED && code != LFMA_E_AGAIN &&
        !(code == LFMA_E_BUDGET && is_wild))
        explore_fail(lfma_error_name(code));
}

uint64_t world_digest(void)
{
    uint64_t digest = explore_mix(pages_held, world.wild_clock);
    for (unsigned i = 0; i < EXPLORE_ACTORS; i++)
        digest = explore_mix(digest, (unsigned)calls[i].running | (unsigned)calls[i].takes << 1 |
                                         (unsigned)calls[i].was_without << 2 | calls[i].order << 3);
    return digest;
}

const char *world_check(void)
{
    if (explore_was_killed()) /* the dead leave blocks in flight, words raised, hints missing: bounded by its call */
        return NULL;
    lfma_report report = LFMA_REPORT_INIT;
    if (lfma_arena_validate(world.arena, &report) != LFMA_OK)
        return report.text;
    if (report.pages_allocated != pages_held)
        return "I1: other pages are allocated than the threads hold";
    for (unsigned i = 0; i <= EXPLORE_THREADS; i++) {
        if (world.arena->slots[i].owner.word.value & LFMA__IN_FLIGHT_MASK)
            return "an owner is in flight at rest";
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------- calls */

/* Each block has one holder, and the new one sees the last one's writes. */
static void receive(const void *block, unsigned order)
{
    const size_t first = ((uintptr_t)block - world.arena->base) / WORLD_PAGE;
    pages_held += (size_t)1 << order;
    if (!hold(held, (unsigned)first, order, true))
        explore_fail("I2: a block was handed out that somebody holds");
    for (unsigned i = 0; i < EXPLORE_ACTORS; i++) {
        if (world.shape->own_page[i] >= first && world.shape->own_page[i] < first + ((size_t)1 << order) &&
            lfma__a64_load_relaxed(&payload[i]) != payload[i].value)
            explore_fail("E1: a new owner does not see what the last one wrote");
    }
}

void *world_alloc(unsigned order, unsigned flags)
{
    struct call *const call = begin_call(order, true);
    void *block = NULL;
    const int code = lfma_try_alloc(world.arena, (size_t)WORLD_PAGE << order, flags, &block);
    if (code == LFMA_OK)
        receive(block, order);
    end_call(call, code);
    return block;
}

void world_scan(unsigned order)
{
    struct call *const call = begin_call(order, true);
    const lfma__caller caller = lfma__arena_enter(world.arena);
    const uint64_t page = lfma__zone_alloc_scan(lfma__arena_zone(world.arena, 0), &caller.slot->owner, order);
    lfma__arena_leave(world.arena, caller);
    if (page != LFMA__NONE)
        receive(address_of((unsigned)page), order);
    end_call(call, LFMA_OK);
}

void world_prove(void)
{
    struct call *const call = begin_call(world.shape->order_least, false);
    end_call(call, lfma__arena_prove(world.arena, world.shape->order_least));
}

void world_free_own(void)
{
    const unsigned actor = explore_actor();
    lfma__a64_store_relaxed(&payload[actor], 1 + actor);
    (void)hold(held, world.shape->own_page[actor], world.shape->own_order, false);
    if (lfma_free(world.arena, address_of(world.shape->own_page[actor])) != LFMA_OK)
        explore_fail("a valid free failed");
    pages_held -= (size_t)1 << world.shape->own_order;
}

/* ------------------------------------------------------------------------------------------------------- names */

static bool name_in(const void *cell, const void *first, uint64_t count, size_t size_of_one, const char *what,
                    char *text, size_t size)
{
    const uintptr_t offset = (uintptr_t)cell - (uintptr_t)first;
    if (offset >= count * size_of_one)
        return false;
    snprintf(text, size, "%s[%u]", what, (unsigned)(offset / size_of_one));
    return true;
}

void world_name_of(const void *cell, char *text, size_t size)
{
    lfma__zone *const zone = lfma__arena_zone(world.arena, 0);
    char what[24];
    for (unsigned o = 0; o <= zone->order_max; o++) {
        const lfma__table t = lfma__zone_table(zone, o);
        snprintf(what, sizeof what, "order %u slice", o);
        if (name_in(cell, t.slices, t.slice_count, 8, what, text, size))
            return;
        snprintf(what, sizeof what, "order %u search", o);
        if (name_in(cell, t.search, lfma__words_for(t.slice_count), 8, what, text, size))
            return;
    }
    if (name_in(cell, lfma__zone_page_map(zone), zone->page_words, 8, "page map", text, size) ||
        name_in(cell, lfma__zone_states(zone), zone->pages, 1, "state", text, size) ||
        name_in(cell, world.arena->slots, EXPLORE_THREADS + 1, sizeof(lfma__slot), "slot", text, size) ||
        name_in(cell, payload, EXPLORE_ACTORS, 8, "payload", text, size) ||
        name_in(cell, &zone->cursor, 1, 8, "cursor", text, size) ||
        name_in(cell, &explore_numbers, sizeof explore_numbers / 8, 8, "numbers", text, size))
        return;
    snprintf(text, size, "%p", cell);
}
