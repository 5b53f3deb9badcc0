/* SPDX-License-Identifier: MIT */
/* Operations that allocate. */
#include <inttypes.h>

#include "arena/arena.h"
#include "fuzz/operations.h"
#include "support/payload.h"

static bool is_alignment(size_t alignment)
{
    size_t power = 1;
    while (power != 0 && power != alignment)
        power *= 2;
    return alignment == 0 || power == alignment;
}

unsigned play_order_for(const play *p, size_t bytes, size_t alignment)
{
    const size_t page = p->world.page_bytes;
    uint64_t pages = bytes / page + (bytes % page != 0);
    if (alignment / page > pages)
        pages = alignment / page;
    unsigned order = 0;
    while ((uint64_t)1 << order < pages)
        order++;
    return order;
}

void play_settle(play *p, size_t bytes, unsigned order, unsigned flags, char *block)
{
    tally *const t = &p->tally;
    if (!world_check_alloc(&p->world, order, flags, block))
        play_wrong(p, "%zu bytes", bytes);
    if (p->world.last_code != LFMA_OK) {
        t->failed[-p->world.last_code]++;
        return;
    }
    const size_t usable = p->world.page_bytes << order;
    t->allocs++;
    t->allocs_of_order[order]++;
    t->bytes_requested += bytes;
    t->bytes_reserved += usable;
    PLAY_REQUIRE(p, (uintptr_t)block % usable == 0);
    if (p->has_payload) {
        const size_t page = (size_t)(block - p->world.base) / p->world.page_bytes;
        p->marks[page] = ++p->next_mark * 0x9E3779B97F4A7C15u;
        payload_write(block, usable, p->marks[page]);
    }
}

static void alloc_any(play *p, size_t bytes, size_t alignment, bool aligned, unsigned flags)
{
    void *block = NULL;
    const bool is_valid = bytes > 0 && (flags & ~(unsigned)LFMA_ALLOC_NO_COALESCE) == 0 && is_alignment(alignment);
    const unsigned order = is_valid ? play_order_for(p, bytes, alignment) : 0;
    const bool is_refused = !is_valid || order > p->world.order_max;
    if (is_refused)
        play_hold(p);
    if (aligned)
        p->world.last_code = lfma_try_alloc_aligned(p->world.arena, bytes, alignment, flags, &block);
    else
        p->world.last_code = lfma_try_alloc(p->world.arena, bytes, flags, &block);
    play_trace("    alloc %zu bytes at %zu, flags 0x%x: %s, page %" PRId64, bytes, alignment, flags,
               lfma_error_name(p->world.last_code),
               block ? ((char *)block - p->world.base) / (int64_t)p->world.page_bytes : -1);
    if (is_valid)
        play_settle(p, bytes, order, flags, block);
    else
        PLAY_REQUIRE(p, p->world.last_code == LFMA_E_INVALID && block == NULL);
    if (is_refused)
        play_require_same(p, "a refused allocation");
}

size_t play_usual_bytes(const play *p, uint8_t a, uint16_t b)
{
    const unsigned order = a % (p->world.order_max + 2u);
    const size_t most = p->world.page_bytes << order;
    const size_t least = order == 0 ? 1 : most / 2 + 1;
    return most - b % (most - least + 1);
}

void op_alloc(play *p, uint8_t a, uint16_t b)
{
    alloc_any(p, play_usual_bytes(p, a, b), 0, false, 0);
}

void op_alloc_no_coalesce(play *p, uint8_t a, uint16_t b)
{
    const uint64_t runs = arena_stats(p->world.arena).coalesce_runs;
    alloc_any(p, play_usual_bytes(p, a, b), 0, a & 0x80, LFMA_ALLOC_NO_COALESCE);
    PLAY_REQUIRE(p, arena_stats(p->world.arena).coalesce_runs == runs);
}

void op_alloc_odd(play *p, uint8_t a, uint16_t b)
{
    alloc_any(p, (size_t)number_of(a, b), 0, b & 1, 0);
}

void op_alloc_aligned(play *p, uint8_t a, uint16_t b)
{
    alloc_any(p, play_usual_bytes(p, a, 0), (size_t)1 << b % 64, true, b & 0x8000 ? LFMA_ALLOC_NO_COALESCE : 0);
}

void op_alloc_at_odd(play *p, uint8_t a, uint16_t b)
{
    alloc_any(p, 1, (size_t)number_of(a, b), true, 0);
}

void op_alloc_flags(play *p, uint8_t a, uint16_t b)
{
    alloc_any(p, p->world.page_bytes, 0, a & 0x80, (unsigned)number_of(a & 0x1F, b));
}

/* The calls that return no code: the counters tell it. */
static int failure_counted(play *p)
{
    const lfma_arena_stats_t s = arena_stats(p->world.arena);
    const uint64_t *const failed = p->tally.failed;
    if (s.failed_nomem > failed[-LFMA_E_NOMEM])
        return LFMA_E_NOMEM;
    if (s.failed_fragmented > failed[-LFMA_E_FRAGMENTED])
        return LFMA_E_FRAGMENTED;
    if (s.failed_budget > failed[-LFMA_E_BUDGET])
        return LFMA_E_BUDGET;
    return s.failed_never > failed[-LFMA_E_NEVER] ? LFMA_E_NEVER : LFMA_E_INVALID;
}

void op_alloc_plain(play *p, uint8_t a, uint16_t b)
{
    const bool aligned = a & 0x80;
    const size_t alignment = aligned ? (size_t)1 << b % 64 : 0;
    const size_t bytes = play_usual_bytes(p, a, b);
    char *const block = aligned ? lfma_alloc_aligned(p->world.arena, bytes, alignment)
                                : lfma_alloc(p->world.arena, bytes);
    p->world.last_code = block ? LFMA_OK : failure_counted(p);
    play_trace("    lfma_alloc%s %zu bytes: %s", aligned ? "_aligned" : "", bytes,
               lfma_error_name(p->world.last_code));
    play_settle(p, bytes, play_order_for(p, bytes, alignment), 0, block);
}

/* Blocks of one size until there is no more, or enough. */
void op_fill(play *p, uint8_t a, uint16_t b)
{
    for (unsigned n = b % 1024u + 1; n > 0 && p->work_left > 0; n--) {
        p->work_left--;
        alloc_any(p, play_usual_bytes(p, a, 0), 0, false, 0);
        if (p->world.last_code != LFMA_OK)
            break;
    }
}
