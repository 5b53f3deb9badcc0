/* SPDX-License-Identifier: MIT */
/* The other operations, and the table of all. */
#include "fuzz/operations.h"

#include "arena/arena.h"
#include "fuzz/callers.h"

static void op_stats(play *p, uint8_t a, uint16_t b)
{
    (void)a;
    (void)b;
    play_trace("    stats, validate");
    play_hold(p);
    play_check_stats(p);
    play_check(p);
    PLAY_REQUIRE(p, lfma_arena_validate(p->world.arena, NULL) == LFMA_OK);
    play_require_same(p, "a figure");
}

/* Busy while blocks are out; else the next arena is begun. */
static void op_destroy(play *p, uint8_t a, uint16_t b)
{
    (void)a;
    (void)b;
    if (p->world.model.live_count == 0) {
        play_trace("    destroy, create");
        play_check_stats(p);
        play_destroy(p);
        play_open(p);
        return;
    }
    play_trace("    destroy: LFMA_E_BUSY");
    play_hold(p);
    PLAY_REQUIRE(p, lfma_arena_destroy(p->world.arena) == LFMA_E_BUSY);
    play_require_same(p, "a refused destroy");
}

/* Arguments that no call takes. */
static void op_invalid(play *p, uint8_t a, uint16_t b)
{
    lfma_arena *const arena = a & 0x80 ? NULL : p->world.arena;
    const size_t wrong = b == sizeof(lfma_coalesce_result) || b == sizeof(lfma_report) ||
                                 b == sizeof(lfma_arena_stats_t)
                             ? SIZE_MAX
                             : b;
    lfma_coalesce_result result = { .size = wrong };
    lfma_arena_stats_t stats = { .size = wrong };
    lfma_report report = { .size = wrong };
    void *block = NULL;
    play_trace("    arguments that are invalid: sizes of %zu%s", wrong, arena ? "" : ", no arena");
    play_hold(p);
    PLAY_REQUIRE(p, lfma_coalesce(arena, NULL, &result) == LFMA_E_INVALID && result.steps == 0);
    PLAY_REQUIRE(p, lfma_arena_stats(arena, &stats) == LFMA_E_INVALID && stats.bytes == 0);
    PLAY_REQUIRE(p, lfma_arena_stats(arena, NULL) == LFMA_E_INVALID);
    PLAY_REQUIRE(p, lfma_arena_validate(arena, &report) == LFMA_E_INVALID && report.pages_free == 0);
    PLAY_REQUIRE(p, lfma_try_alloc(arena, b, 0, NULL) == LFMA_E_INVALID);
    PLAY_REQUIRE(p, lfma_try_alloc_aligned(arena, 1, b, 0, NULL) == LFMA_E_INVALID);
    PLAY_REQUIRE(p, lfma_try_alloc(NULL, b, 0, &block) == LFMA_E_INVALID && block == NULL);
    PLAY_REQUIRE(p, lfma_free(arena, NULL) == (arena ? LFMA_OK : LFMA_E_INVALID));
    PLAY_REQUIRE(p, lfma_usable_size(arena, NULL) == 0 && lfma_block_of(arena, NULL) == NULL);
    PLAY_REQUIRE(p, lfma_free(NULL, p->world.base) == LFMA_E_INVALID);
    PLAY_REQUIRE(p, lfma_strerror((int16_t)b) != NULL && lfma_error_name((int16_t)b) != NULL);
    play_require_same(p, "a refused call");
}

/*
 * One bit that must not be so: in a block bitmap, or a live block's state. Then as it was. A block's own bit makes a
 * live block free or the reverse (I7): that only the count tells.
 */
static void op_flip(play *p, uint8_t a, uint16_t b)
{
    const model *const m = &p->world.model;
    lfma__zone *const zone = lfma__arena_zone(p->world.arena, b % p->geometry.zones);
    const lfma__table table = lfma__zone_table(zone, a / 8 % (zone->order_max + 1));
    unsigned char *at = (unsigned char *)(table.slices + (b >> 8) % table.slice_count);
    if ((a & 3) == 2 && m->live_count > 0) {
        const uint64_t page = m->live[b % m->live_count].page;
        const lfma__place place = lfma__row_place(&p->world.arena->pool.row, page);
        at = (unsigned char *)(lfma__zone_states(place.zone) + place.page);
    }
    if ((a & 3) != 2)
        at += b % 8; /* of the word's bytes */
    else if (m->live_count == 0)
        return;
    const unsigned char bit = (unsigned char)(1u << (b >> 4) % 8);
    lfma_report report = LFMA_REPORT_INIT;
    *at ^= bit;
    const int code = lfma_arena_validate(p->world.arena, &report);
    *at ^= bit;
    play_trace("    one bit wrong: %s: %s", lfma_error_name(code), report.text ? report.text : "by the count");
    if (code == LFMA_OK)
        PLAY_REQUIRE(p, report.blocks_allocated != m->live_count);
    else
        PLAY_REQUIRE(p, code == LFMA_E_BROKEN && report.invariant && report.text);
}

struct named {
    operation_fn *perform;
    const char *name;
};
#define OP(name)                                                                                                     \
    {                                                                                                                \
        op_##name, #name                                                                                             \
    }

/* By what a fuzzer's byte is modulo 32: those that make states come more than once. */
/* clang-format off */
static const struct named often[] = {
    OP(alloc), OP(alloc), OP(alloc), OP(alloc), OP(alloc), OP(alloc), OP(alloc_no_coalesce), OP(alloc_no_coalesce),
    OP(alloc_odd), OP(alloc_aligned), OP(alloc_at_odd), OP(alloc_flags), OP(alloc_plain), OP(fill), OP(fill),
    OP(free), OP(free), OP(free), OP(free), OP(free), OP(free), OP(drain), OP(drain), OP(free_any), OP(free_any),
    OP(look), OP(creep), OP(insist), OP(coalesce), OP(coalesce), OP(stats),
};
static const struct named seldom[] = { OP(destroy), OP(invalid), OP(flip), OP(join_all) };
/* clang-format on */

#define OFTEN (sizeof often / sizeof often[0])
#define SELDOM (sizeof seldom / sizeof seldom[0])

void play_operate(play *p, uint8_t kind, uint8_t a, uint16_t b)
{
    const bool is_seldom = kind % 32u >= OFTEN;
    const struct named *const chosen = is_seldom ? &seldom[a % SELDOM] : &often[kind % 32u];
    play_trace("%u, caller %u: %s", p->operations, kind / 32u, chosen->name);
    callers_choose(kind / 32u);
    chosen->perform(p, is_seldom ? (uint8_t)(a / SELDOM) : a, b);
    callers_choose(0);
}
