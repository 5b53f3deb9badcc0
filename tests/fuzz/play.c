/* SPDX-License-Identifier: MIT */
/* Beginning, end, and what is compared at any time. The operations are in operations.c. */
#include "fuzz/play.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "arena/arena.h"
#include "fuzz/maps.h"
#include "fuzz/operations.h"

#define COPY_BYTES_MAX ((size_t)128 << 10) /* larger zones are not compared */
#define PAYLOAD_BYTES_MAX ((size_t)1 << 20)
#define VALIDATED_AT_ONCE 600u /* pages; larger arenas are validated after some operations only */
#define VALIDATE_SELDOM 16u

uint64_t play_operations;

static unsigned char copy[COPY_BYTES_MAX];
static unsigned char fresh[COPY_BYTES_MAX];

void play_wrong(const play *p, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "fuzz: operation %u: ", p->operations);
    (void)vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "%s%s\n", p->world.why[0] ? ": " : "", p->world.why);
    abort();
}

void play_trace(const char *format, ...)
{
    static int wanted = -1;
    if (wanted < 0)
        wanted = getenv("LFMA_FUZZ_TRACE") != NULL;
    if (!wanted)
        return;
    va_list arguments;
    va_start(arguments, format);
    (void)vprintf(format, arguments);
    va_end(arguments);
    (void)putchar('\n');
    (void)fflush(stdout);
}

/* ------------------------------------------------------------------------------------------------ begin */

static bool is_copied(const play *p)
{
    return arena_copy_bytes(p->world.arena) <= sizeof copy;
}

static void check_geometry(play *p)
{
    const geometry *const g = &p->geometry;
    const lfma_arena_stats_t s = arena_stats(p->world.arena);
    PLAY_REQUIRE(p, s.bytes == g->bytes && s.page_bytes == g->page_bytes);
    PLAY_REQUIRE(p, s.block_bytes_max == g->block_bytes);
    PLAY_REQUIRE(p, s.zone_bytes == g->zone_bytes && s.zones == g->zones);
    PLAY_REQUIRE(p, (uintptr_t)s.base % g->block_bytes == 0);
    PLAY_REQUIRE(p, s.free_bytes == g->bytes && s.allocated_bytes == 0 && s.allocs == 0);
    PLAY_REQUIRE(p, (uint64_t)maps_bytes() >= s.bytes + s.metadata_bytes);
}

/* Can a pass inside an allocation end before the whole arena was walked? */
static bool may_run_out(const play *p)
{
    lfma_budget b = p->config.coalesce;
    if (b.ns != LFMA_UNLIMITED && b.steps == LFMA_UNLIMITED)
        b.steps = b.ns; /* the step cap */
    return b.ns == 0 || b.steps < geometry_steps(&p->geometry) ||
           (b.ns != LFMA_UNLIMITED && p->world.clock.mode != CLOCK_FROZEN);
}

void play_open(play *p)
{
    lfma_arena *arena = NULL;
    maps_watch(0, UINT64_MAX);
    const int code = lfma_arena_create(&p->config, &arena);
    if (code != LFMA_OK)
        play_wrong(p, "an arena that was made before cannot be made: %s", lfma_error_name(code));
    play_adopt(p, arena);
}

void play_adopt(play *p, lfma_arena *arena)
{
    world_adopt(&p->world, arena);
    p->world.may_run_out = may_run_out(p);
    check_geometry(p);
    memset(&p->tally, 0, sizeof p->tally);
    p->freed_count = 0;
    if (is_copied(p))
        arena_copy_to(arena, fresh);
    p->next_mark = 0;
    p->validate_every = p->geometry.pages > VALIDATED_AT_ONCE ? VALIDATE_SELDOM : 1;
    p->has_payload = p->wants_payload && p->geometry.bytes <= PAYLOAD_BYTES_MAX;
    if (!p->has_payload && mprotect(p->world.base, p->geometry.bytes, PROT_NONE) != 0)
        play_wrong(p, "mprotect");
}

/* -------------------------------------------------------------------------------------------- any time */

void play_check(play *p)
{
    if (!world_check_sound(&p->world))
        play_wrong(p, "not sound");
}

/* All figures, exactly; but those of coalescing, of which only limits are known. */
void play_check_stats(play *p)
{
    const tally *const t = &p->tally;
    const lfma_arena_stats_t s = arena_stats(p->world.arena);
    const size_t page = p->world.page_bytes;
    size_t free_bytes = 0, largest = 0;
    for (unsigned order = 0; order < LFMA_ORDERS; order++) {
        PLAY_REQUIRE(p, s.allocs_of_order[order] == t->allocs_of_order[order]);
        free_bytes += s.free_blocks[order] * page << order;
        largest = s.free_blocks[order] ? page << order : largest;
    }
    PLAY_REQUIRE(p, s.base == p->world.base && s.bytes == p->geometry.bytes);
    PLAY_REQUIRE(p, s.free_bytes == p->world.model.pages_free * page && s.free_bytes == free_bytes);
    PLAY_REQUIRE(p, s.allocated_bytes == s.bytes - s.free_bytes && s.largest_free_bytes == largest);
    PLAY_REQUIRE(p, s.allocs == t->allocs && s.frees == t->frees && s.bad_frees == t->bad_frees);
    PLAY_REQUIRE(p, s.bytes_requested == t->bytes_requested && s.bytes_reserved == t->bytes_reserved);
    PLAY_REQUIRE(p, s.failed_nomem == t->failed[-LFMA_E_NOMEM]);
    PLAY_REQUIRE(p, s.failed_fragmented == t->failed[-LFMA_E_FRAGMENTED]);
    PLAY_REQUIRE(p, s.failed_budget == t->failed[-LFMA_E_BUDGET]);
    PLAY_REQUIRE(p, s.failed_never == t->failed[-LFMA_E_NEVER]);
    /* Nobody else is there: no conflict, no missing hint, nothing on the move. */
    PLAY_REQUIRE(p, s.failed_again == 0 && s.join_conflicts == 0 && s.hints_repaired == 0);
    PLAY_REQUIRE(p, s.splits <= s.allocs);
}

/* ------------------------------------------------------------------------------ a call that changes nothing */

void play_hold(const play *p)
{
    if (is_copied(p))
        arena_copy_to(p->world.arena, copy);
}

void play_require_same(const play *p, const char *what)
{
    if (is_copied(p) && !arena_is_copy(p->world.arena, copy))
        play_wrong(p, "%s has changed a bit", what);
}

/* -------------------------------------------------------------------------------------------------- end */

void play_join_all(play *p)
{
    const lfma_budget all = LFMA_BUDGET_ALL;
    lfma_coalesce_result result = LFMA_COALESCE_RESULT_INIT;
    PLAY_REQUIRE(p, lfma_coalesce(p->world.arena, &all, &result) == LFMA_OK);
    PLAY_REQUIRE(p, result.complete && result.conflicts == 0 && result.steps <= geometry_steps(&p->geometry));
    if (!world_check_joined(&p->world))
        play_wrong(p, "after a complete pass");
}

void play_destroy(play *p)
{
    PLAY_REQUIRE(p, lfma_arena_destroy(p->world.arena) == LFMA_OK);
    p->world.arena = NULL;
    PLAY_REQUIRE(p, maps_bytes() == 0);
}

void play_all(play *p, input *in)
{
    while (in->size >= 4) {
        const uint8_t kind = input_byte(in);
        const uint8_t a = input_byte(in);
        const uint16_t b = input_pair(in);
        p->operations++;
        play_operations++;
        play_operate(p, kind, a, b);
        if (p->operations % p->validate_every == 0)
            play_check(p);
    }
}

/*
 * Bit for bit as in the beginning, the coalescer's cursor and the gaps between tables too; but for states that free
 * blocks may keep (I7) where an arena is not hardened.
 */
static void require_fresh(const play *p)
{
    lfma_arena *const arena = p->world.arena;
    for (uint32_t i = 0; is_copied(p) && i < arena->pool.row.count; i++) {
        const lfma__zone *const zone = lfma__arena_zone(arena, i);
        const size_t to_states = (size_t)((const char *)arena->pool.row.states - (const char *)zone);
        const size_t bytes = to_states < arena->pool.row.stride ? to_states : (size_t)arena->pool.row.stride;
        if (memcmp(zone, fresh + i * arena->pool.row.stride, bytes) != 0)
            play_wrong(p, "emptied and joined, but zone %u is not bit for bit a fresh one", i);
    }
    const unsigned char *const states = (const unsigned char *)arena->pool.row.states;
    for (uint64_t page = 0; is_copied(p) && arena->pool.hardened && page < p->geometry.pages; page++) {
        if (states[page] != 0)
            play_wrong(p, "emptied, but a page of a hardened arena has a state");
    }
}

void play_end(play *p)
{
    play_trace("free all, coalesce all");
    play_check(p);
    play_check_stats(p);
    while (p->world.model.live_count > 0)
        play_free_live(p, p->world.model.live_count - 1);
    play_check(p);
    play_join_all(p);
    if (!arena_is_sound(p->world.arena) || !arena_is_fresh(p->world.arena))
        play_wrong(p, "emptied and joined, but not as fresh");
    require_fresh(p);
    play_check_stats(p);
    play_destroy(p);
}
