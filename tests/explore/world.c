/* SPDX-License-Identifier: MIT */
/*
 * Oracles: at rest the arena validates, no owner is in flight, and as many pages are allocated as the callers hold; a
 * valid free never fails; NOMEM and FRAGMENTED only if at some instant of the call no run was free; a new owner sees
 * what the last one wrote, with nothing but the allocator to order it (edge E1).
 *
 * With caches: what they keep is with no caller and yet not free for others, so NOMEM and FRAGMENTED are judged by
 * the shared maps alone; but who is told so keeps nothing itself, and nothing is kept for a number that nobody has.
 * At rest the grants and the purses make up what may be kept, and when all of it has been given back the arena is as
 * one without caches.
 */
#include "explore/world.h"

#include "cache/grant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explore/scenarios.h"

#define UNITS_MAX 128u
#define HANDLES 2u /* numbers that no thread has */
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

static unsigned slot_count(void)
{
    return world.arena->threads_max + 1;
}

/* Nothing kept and nobody short: what was done to make a state leaves no trace in the caches. */
static void settle(void)
{
    for (unsigned i = 0; i + 1 < slot_count(); i++)
        (void)lfma__cache_drain(&world.arena->pool, &world.arena->slots[i]);
    lfma__cache_ease(&world.arena->pool);
}

/* The cells of a slot that only figures are made of, and where to look first. */
static void quieten(lfma__slot *slot)
{
    explore_quiet(&slot->owner.zone, sizeof(lfma__owner) - offsetof(lfma__owner, zone));
    explore_quiet(slot->allocs, sizeof slot->allocs);
}

void world_make(const world_shape *shape)
{
    world.shape = shape;
    world.wild_clock = 0;
    world.high_water = 0;
    world.orphans = 0;
    explore_quiet_none();
    explore_threads_begin(EXPLORE_FIXED);
    if (world.arena)
        lfma_arena_destroy_forced(world.arena);
    lfma_arena_config config = LFMA_ARENA_CONFIG_INIT;
    config.bytes = (size_t)shape->pages * WORLD_PAGE;
    config.page_bytes = WORLD_PAGE;
    config.threads_max = EXPLORE_THREADS + (shape->cache_pages ? HANDLES : 0);
    config.flags = shape->cache_pages ? 0 : LFMA_NO_CACHE;
    config.cache_bytes = (size_t)shape->cache_pages * WORLD_PAGE;
    config.clock = clock_now;
    if (lfma_arena_create(&config, &world.arena) != LFMA_OK)
        abort();
    for (unsigned page = 0; page < shape->pages; page += 1u << shape->order_least) {
        if (lfma_alloc(world.arena, (size_t)WORLD_PAGE << shape->order_least) == NULL)
            abort();
    }
    pages_at_start = shape->pages;
    memset(held_at_start, 0xFF, sizeof held_at_start);
    settle();
    for (unsigned i = 0; i < slot_count(); i++)
        quieten(&world.arena->slots[i]);
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
    settle();
}

void world_join(void)
{
    const lfma_budget all = LFMA_BUDGET_ALL;
    if (lfma_coalesce(world.arena, &all, NULL) != LFMA_OK)
        abort();
    if (explore_actor() == EXPLORE_OUTSIDE)
        settle();
}

static const uint32_t numbers[EXPLORE_THREADS] = { 1, 0, 2 }; /* as those of EXPLORE_FIXED */

static void be(unsigned actor)
{
    lfma__thread_self = (lfma__thread)LFMA__THREAD_OF(actor < EXPLORE_THREADS ? numbers[actor] : 0);
}

void world_take(unsigned actor)
{
    be(actor);
    const char *const block = lfma_alloc(world.arena, (size_t)WORLD_PAGE << world.shape->order_least);
    if (block == NULL)
        abort();
    const size_t page = ((uintptr_t)block - world.arena->base) / WORLD_PAGE;
    pages_at_start += (size_t)1 << world.shape->order_least;
    hold(held_at_start, (unsigned)page, world.shape->order_least, true);
    be(EXPLORE_OUTSIDE);
}

void world_give(unsigned actor, unsigned page)
{
    be(actor);
    if (lfma_free(world.arena, address_of(page)) != LFMA_OK)
        abort();
    pages_at_start -= (size_t)1 << world.shape->order_least;
    hold(held_at_start, page, world.shape->order_least, false);
    be(EXPLORE_OUTSIDE);
}

/* A step of a grant on each side. */
static void grow(unsigned actor)
{
    for (unsigned side = 0; side < LFMA__SIDES; side++)
        (void)lfma__cache_fair_count(&world.arena->pool, &world.arena->slots[numbers[actor]], side,
                                     world.shape->order_least);
}

void world_grow(unsigned actor)
{
    for (unsigned step = 0; step < 4; step++)
        grow(actor);
}

void world_share(void)
{
    for (unsigned round = 0; round < 2 * EXPLORE_THREADS; round++)
        grow(round % EXPLORE_THREADS);
}

void world_press(void)
{
    lfma__cache_press(&world.arena->pool);
}

void world_ask(void)
{
    lfma__a64_store_relaxed(&world.arena->pool.way, lfma__cache_way_of(&world.arena->pool) | LFMA__WAY_UNEVEN);
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

/* Does somebody split or join? */
static bool is_in_flight(void)
{
    for (unsigned i = 0; i < slot_count(); i++) {
        if (world.arena->slots[i].owner.word.value & LFMA__IN_FLIGHT_MASK)
            return true;
    }
    return false;
}

/*
 * With caches: the pages that are free in the tables, by word of the page map; and those that an actor has published
 * since it last raised its word. Of its call these are a part that is not over yet.
 */
#define MAP_WORDS 2u
static uint64_t published[MAP_WORDS], unraised[EXPLORE_ACTORS][MAP_WORDS];
static uint64_t raised; /* the sum of all owner words */

/* An actor that splits or joins; and, once it has claimed something for that, holds blocks that are in no bitmap. */
static struct flight {
    bool begun;
    bool holds;
} flights[EXPLORE_ACTORS];

static void read_tables(uint64_t *pages)
{
    lfma__zone *const zone = lfma__arena_zone(world.arena, 0);
    for (unsigned word = 0; word < MAP_WORDS; word++) {
        pages[word] = lfma__zone_table(zone, 7).slices[0].value ? LFMA__WORD_FULL : 0;
        pages[word] |= lfma__zone_table(zone, 6).slices[0].value >> word & 1 ? LFMA__WORD_FULL : 0;
        for (unsigned o = 0; o < 6; o++) {
            const uint64_t slice = lfma__zone_table(zone, o).slices[word >> o].value;
            const unsigned bits = 64u >> o;
            pages[word] |= lfma__word_widen(slice >> (word % (1u << o)) * bits & lfma__word_mask(0, bits), o);
        }
    }
}

static uint64_t sum_of_words(void)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < slot_count(); i++)
        sum += world.arena->slots[i].owner.word.value;
    return sum;
}

/* After each write: what it has published, or taken, or raised. */
static void note_published(void)
{
    uint64_t now[MAP_WORDS];
    const uint64_t sum = sum_of_words();
    uint64_t *const mine = unraised[explore_actor()];
    struct flight *const flight = &flights[explore_actor()];
    read_tables(now);
    if (sum - raised == LFMA__IN_FLIGHT_ONE || sum - raised == LFMA__VERSION_ONE - LFMA__IN_FLIGHT_ONE)
        *flight = (struct flight){ .begun = sum - raised == LFMA__IN_FLIGHT_ONE };
    for (unsigned word = 0; word < MAP_WORDS; word++) {
        flight->holds = flight->holds || (flight->begun && (published[word] & ~now[word]));
        mine[word] = sum == raised ? mine[word] | (now[word] & ~published[word]) : 0;
        for (unsigned i = 0; i < EXPLORE_ACTORS; i++)
            unraised[i][word] &= now[word];
        published[word] = now[word];
    }
    raised = sum;
}

/* A call has returned: what it has published is free for all to find, and should be raised. */
static void returned(void)
{
    if (explore_actor() < EXPLORE_ACTORS)
        memset(unraised[explore_actor()], 0, sizeof unraised[0]);
}

static bool published_run(unsigned order)
{
    uint64_t sure[MAP_WORDS];
    bool any = false;
    for (unsigned word = 0; word < MAP_WORDS; word++) {
        sure[word] = published[word];
        for (unsigned i = 0; i < EXPLORE_ACTORS; i++)
            sure[word] &= ~unraised[i][word];
        any = any || (order <= 6 && lfma__word_runs(sure[word], order) != 0);
    }
    return any || (order <= 7 && (sure[0] & sure[1]) == LFMA__WORD_FULL);
}

static bool flies_with_blocks(void)
{
    for (unsigned i = 0; i < EXPLORE_ACTORS; i++) {
        if (flights[i].holds)
            return true;
    }
    return false;
}

/*
 * Is there surely a run of the order that no caller holds? For the least order: more pages than callers hold, with
 * what running allocations may have taken already, and frees not yet given back; blocks in flight count as free. For
 * larger orders, and where blocks are kept: one in the bitmaps, or, where they are, perhaps in flight.
 */
static bool has_run(unsigned order)
{
    if (world.shape->cache_pages)
        return published_run(order) || flies_with_blocks();
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
    if (world.shape->cache_pages)
        note_published();
    for (unsigned i = 0; i < EXPLORE_ACTORS; i++) {
        if (calls[i].running && !calls[i].was_without && !without_me(i))
            calls[i].was_without = true;
    }
}

void world_reset(void)
{
    memcpy(world.arena, snapshot, snapshot_bytes);
    memset(calls, 0, sizeof calls);
    memset(unraised, 0, sizeof unraised);
    memset(flights, 0, sizeof flights);
    raised = sum_of_words();
    if (world.shape->cache_pages)
        read_tables(published);
    memset(payload, 0, sizeof payload);
    world.wild_clock = 0;
    pages_held = pages_at_start;
    memcpy(held, held_at_start, sizeof held);
    const bool has_caches = world.shape->cache_pages > 0;
    explore_threads_begin(world.shape->new_threads ? EXPLORE_NEW : has_caches ? EXPLORE_NUMBERED : EXPLORE_FIXED);
    if (world.shape->new_threads)
        explore_numbers.high_water.value = world.high_water;
    for (unsigned i = 0; i < EXPLORE_THREADS && has_caches && !world.shape->new_threads; i++)
        explore_thread_knows(i, world.arena->pool.name, explore_thread_number(i) * sizeof(lfma__slot));
}

static struct call *begin_call(unsigned order, bool takes)
{
    struct call *const call = &calls[explore_actor()];
    *call = (struct call){ .running = true, .takes = takes, .order = order };
    world_observe();
    return call;
}

/* As lfma__cache_pages(), without atomics. */
static size_t pages_kept(const lfma__slot *slot)
{
    size_t pages = 0;
    for (unsigned order = 0; order <= world.arena->order_max; order++) {
        for (unsigned side = 0; side < LFMA__SIDES; side++) {
            const lfma__hold *const h = &slot->shelves[order].holds[side];
            pages += (size_t)lfma__popcount64(h->bits.value | h->back.value) << order;
        }
    }
    return pages;
}

static bool is_number_taken(unsigned number)
{
    return explore_numbers.taken[number / 64].value >> number % 64 & 1;
}

/* Who has been told that nothing is free (or that it is in pieces). NULL: it has no cache of its own. */
static void look_for_kept(const lfma__slot *slot)
{
    if (world.shape->cache_pages == 0)
        return;
    if (slot && pages_kept(slot) > 0)
        explore_fail("false NOMEM or FRAGMENTED: its own cache keeps something");
    for (unsigned i = 0; i < world.high_water; i++) {
        if (!is_number_taken(i) && pages_kept(&world.arena->slots[i]) > 0)
            explore_fail("false NOMEM or FRAGMENTED: something is kept for nobody");
    }
}

static void end_call(struct call *call, int code, const lfma__slot *slot)
{
    const bool is_wild = world.wild_clock >> explore_actor() & 1;
    call->running = false;
    returned();
    /*
     * "At some instant" is meant in an order of events that agrees with happens-before (docs/ORDERING.md). With one
     * other thread that is this run's order; with two that nothing orders, weak memory may show them in another one.
     */
    const bool is_judged = explore_now.threads <= 2 || !explore_memory_is_weak();
    if (is_judged && (code == LFMA_E_NOMEM || code == LFMA_E_FRAGMENTED) && !call->was_without)
        explore_fail("false NOMEM or FRAGMENTED: a run was free throughout the call");
    if (code == LFMA_E_NOMEM || code == LFMA_E_FRAGMENTED)
        look_for_kept(slot);
    if (code != LFMA_OK && code != LFMA_E_NOMEM && code != LFMA_E_FRAGMENTED && code != LFMA_E_AGAIN &&
        !(code == LFMA_E_BUDGET && is_wild))
        explore_fail(lfma_error_name(code));
}

uint64_t world_digest(void)
{
    uint64_t digest = explore_mix(pages_held, world.wild_clock);
    for (unsigned i = 0; i < EXPLORE_ACTORS; i++) {
        for (unsigned word = 0; word < MAP_WORDS; word++)
            digest ^= explore_mix(i + 1 + EXPLORE_ACTORS * word, unraised[i][word]);
        digest = explore_mix(digest, (unsigned)flights[i].begun | (unsigned)flights[i].holds << 1);
        digest = explore_mix(digest, (unsigned)calls[i].running | (unsigned)calls[i].takes << 1 |
                                         (unsigned)calls[i].was_without << 2 | calls[i].order << 3);
    }
    return digest;
}

/* K3: what each side may keep is granted, or in the purse; what a slot has reserved is what its holds keep or may. */
static const char *check_grants(void)
{
    for (unsigned side = 0; side < LFMA__SIDES; side++) {
        uint64_t granted = 0, users = 0;
        for (unsigned i = 0; i < slot_count(); i++) {
            const lfma__slot *const slot = &world.arena->slots[i];
            uint64_t reserved = 0;
            for (unsigned order = 0; order <= world.arena->order_max; order++) {
                const lfma__hold *const h = &slot->shelves[order].holds[side];
                const uint64_t room = h->limit + h->popped.value - h->pushed.value;
                reserved += (lfma__popcount64(h->bits.value | h->back.value) + room) << order;
            }
            if (reserved != slot->grants[side].reserved || reserved > slot->grants[side].pages)
                return "K3: more is kept than was reserved, or more reserved than granted";
            granted += slot->grants[side].pages;
            users += slot->grants[side].is_user;
        }
        const struct lfma__purse *const purse = &world.arena->pool.purses[side];
        if (granted + purse->left.value != world.arena->pool.pages_max[side] || users != purse->users.value)
            return "K3: grants and purse are not what may be kept";
    }
    return NULL;
}

/* K1: what was freed into a hold has no state, what was taken ahead has its own. */
static const char *check_states(const lfma__hold *hold, unsigned order)
{
    const lfma__a8 *const states = world.arena->pool.row.states;
    const uint64_t bits = hold->bits.value, back = hold->back.value;
    for (unsigned i = 0; i < 64; i++) {
        const uint64_t page = hold->first.value + ((uint64_t)i << order);
        if ((bits | back) >> i & 1 && states[page].value != (bits >> i & 1 ? LFMA__STATE_ALLOCATED | order : 0))
            return "K1: a kept block has a state, or not, as it should not";
    }
    return (bits & back) == 0 ? NULL : "K1: a block is kept twice";
}

static const char *check_holds(void)
{
    for (unsigned i = 0; i < slot_count(); i++) {
        for (unsigned order = 0; order <= world.arena->order_max; order++) {
            for (unsigned side = 0; side < LFMA__SIDES; side++) {
                const char *const wrong = check_states(&world.arena->slots[i].shelves[order].holds[side], order);
                if (wrong)
                    return wrong;
            }
        }
    }
    return NULL;
}

/* Nothing is kept, and nothing granted, for a number that nobody has, but what was so at the start. */
static const char *check_numbers(void)
{
    for (unsigned i = 0; i + 1 < slot_count(); i++) {
        const lfma__slot *const slot = &world.arena->slots[i];
        const bool uses = slot->grants[LFMA__TAKE].is_user || slot->grants[LFMA__GIVE].is_user;
        if (!is_number_taken(i) && !(world.orphans >> i & 1) && (uses || pages_kept(slot) > 0))
            return "a thread has ended and its cache has not";
    }
    return pages_kept(&world.arena->slots[slot_count() - 1]) == 0 ? NULL : "K2: the shared slot keeps something";
}

static const char *check_caches(void)
{
    const char *wrong = check_grants();
    if (wrong == NULL)
        wrong = check_holds();
    if (wrong == NULL)
        wrong = check_numbers();
    if (wrong)
        return wrong;
    lfma_report report = LFMA_REPORT_INIT;
    settle();
    if (lfma_arena_validate(world.arena, &report) != LFMA_OK)
        return report.text;
    if (report.pages_allocated != pages_held || report.pages_cached != 0)
        return "I1: when nothing is kept, other pages are allocated than the threads hold";
    return check_grants();
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
    if (is_in_flight())
        return "an owner is in flight at rest";
    return world.shape->cache_pages ? check_caches() : NULL;
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

/* Of the running thread; NULL for a signal handler, which has the thread's or the shared one. */
static const lfma__slot *own_slot(void)
{
    const uint32_t index = lfma__thread_self.index;
    return explore_actor() < EXPLORE_THREADS && index < world.arena->threads_max ? &world.arena->slots[index] : NULL;
}

void *world_alloc(unsigned order, unsigned flags)
{
    struct call *const call = begin_call(order, true);
    void *block = NULL;
    const int code = lfma_try_alloc(world.arena, (size_t)WORLD_PAGE << order, flags, &block);
    if (code == LFMA_OK)
        receive(block, order);
    end_call(call, code, own_slot());
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
    end_call(call, LFMA_OK, NULL);
}

void world_prove(void)
{
    struct call *const call = begin_call(world.shape->order_least, false);
    end_call(call, lfma__arena_prove(world.arena, world.shape->order_least), NULL);
}

/* A block that is freed is nobody's from then on; until the call returns its pages count as held. NULL: no cache. */
static void free_by(lfma_cache *cache, void *block, unsigned order)
{
    const size_t page = ((uintptr_t)block - world.arena->base) / WORLD_PAGE;
    (void)hold(held, (unsigned)page, order, false);
    if ((cache ? lfma_cache_free(cache, block) : lfma_free(world.arena, block)) != LFMA_OK)
        explore_fail("a valid free failed");
    pages_held -= (size_t)1 << order;
    returned();
}

static void free_own_by(lfma_cache *cache)
{
    const unsigned actor = explore_actor();
    lfma__a64_store_relaxed(&payload[actor], 1 + actor);
    free_by(cache, address_of(world.shape->own_page[actor]), world.shape->own_order);
}

void world_free_own(void)
{
    free_own_by(NULL);
}

void world_flush(void)
{
    if (lfma_cache_flush(world.arena, NULL) != LFMA_OK)
        explore_fail("flush failed");
    returned();
}

void world_free_block(void *block, unsigned order)
{
    if (block)
        free_by(NULL, block, order);
}

void *world_alloc_short(void)
{
    const unsigned order = world.shape->order_least;
    struct call *const call = begin_call(order, true);
    void *const block = lfma_alloc(world.arena, (size_t)WORLD_PAGE << order);
    if (block)
        receive(block, order);
    end_call(call, LFMA_OK, NULL);
    return block;
}

void world_use_handle(void)
{
    const unsigned order = world.shape->order_least;
    lfma_cache *cache;
    const int made = lfma_cache_create(world.arena, &cache);
    if (made == LFMA_E_LIMIT)
        return;
    struct call *const call = begin_call(order, true);
    void *block;
    const int code = lfma_cache_try_alloc(cache, (size_t)WORLD_PAGE << order, 0, 0, &block);
    if (code == LFMA_OK)
        receive(block, order);
    end_call(call, code, (const lfma__slot *)(const void *)cache);
    free_own_by(cache);
    lfma_cache_destroy(cache);
    returned();
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
    if (name_in(cell, lfma__zone_states(zone), zone->pages, 1, "state", text, size) ||
        name_in(cell, world.arena->slots, slot_count(), sizeof(lfma__slot), "slot", text, size) ||
        name_in(cell, &world.arena->pool, 1, sizeof(lfma__pool), "pool", text, size) ||
        name_in(cell, payload, EXPLORE_ACTORS, 8, "payload", text, size) ||
        name_in(cell, &zone->cursor, 1, 8, "cursor", text, size) ||
        name_in(cell, &explore_numbers, sizeof explore_numbers / 8, 8, "numbers", text, size))
        return;
    snprintf(text, size, "%p", cell);
}
