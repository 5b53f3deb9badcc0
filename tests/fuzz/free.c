/* SPDX-License-Identifier: MIT */
/* Operations that free, and that ask about a pointer: of every kind. */
#include <inttypes.h>

#include "fuzz/operations.h"
#include "support/payload.h"

void play_free_live(play *p, uint32_t index)
{
    const model_block live = p->world.model.live[index];
    char *const block = p->world.base + live.page * p->world.page_bytes;
    if (p->has_payload && !payload_holds(block, p->world.page_bytes << live.order, p->marks[live.page]))
        play_wrong(p, "the payload at page %" PRIu64 " was written to", live.page);
    p->world.last_code = lfma_free(p->world.arena, block);
    play_trace("    free page %" PRIu64 ": %s", live.page, lfma_error_name(p->world.last_code));
    PLAY_REQUIRE(p, p->world.last_code == LFMA_OK);
    model_drop(&p->world.model, index);
    p->tally.frees++;
    p->freed[p->freed_count++ % FREED_MAX] = live.page;
}

void op_free(play *p, uint8_t a, uint16_t b)
{
    const uint32_t count = p->world.model.live_count;
    (void)a;
    if (count > 0)
        play_free_live(p, b % count);
}

/* Every so many of the live blocks, from some place on. */
void op_drain(play *p, uint8_t a, uint16_t b)
{
    const model *const m = &p->world.model;
    for (uint32_t i = b; i < m->live_count && p->work_left > 0; i += a % 8u) {
        p->work_left--;
        play_free_live(p, i);
    }
    /* The last one takes the place of the one freed; so with a stride of 0 the place is freed until it is empty. */
}

static char global_data[64];

/* A pointer of any kind. */
static char *pointer_of(play *p, uint8_t a, uint16_t b)
{
    const model *const m = &p->world.model;
    const size_t page = p->world.page_bytes;
    char *const base = p->world.base;
    const uint64_t bytes = p->geometry.bytes;
    const model_block live = m->live_count ? m->live[b % m->live_count] : (model_block){ 0, 0 };
    char *const start = base + live.page * page;
    switch (a % 12) {
    case 0:
        return start;
    case 1:
        return start + (b % ((uint64_t)1 << live.order)) * page;
    case 2:
        return start + b % (page << live.order);
    case 3:
        return base +
               (p->freed_count ? p->freed[b % (p->freed_count < FREED_MAX ? p->freed_count : FREED_MAX)] : 0) * page;
    case 4:
        return base + b % m->pages * page;
    case 5:
        return base + ((uint64_t)b << a / 12) % bytes;
    case 6:
        return (char *)((uintptr_t)base - 1 - b);
    case 7:
        return (char *)((uintptr_t)base + bytes + b);
    case 8:
        return (char *)((uintptr_t)base + (uintptr_t)number_of(a / 12 + 42u, b));
    case 9:
        return (char *)(uintptr_t)number_of((uint8_t)(b >> 8), b & 0xFF);
    case 10:
        return b & 1 ? (char *)p->world.arena + b : global_data + b % sizeof global_data;
    default:
        return (char *)((uintptr_t)base + (m->pages + b) * page); /* pages behind the end */
    }
}

/* What a pointer is: its live block, or -1; and what a free of it must return. */
static int64_t what_is(const play *p, const char *pointer, int *ret_code)
{
    const uintptr_t at = (uintptr_t)pointer;
    const uintptr_t base = (uintptr_t)p->world.base;
    const size_t page = p->world.page_bytes;
    const bool is_inside = at >= base && at < base + p->geometry.bytes;
    const int64_t live = is_inside ? model_find(&p->world.model, (at - base) / page) : -1;
    if (!is_inside)
        *ret_code = pointer ? LFMA_E_FOREIGN : LFMA_OK;
    else if ((at - base) % page != 0)
        *ret_code = LFMA_E_UNALIGNED;
    else if (live < 0)
        *ret_code = LFMA_E_DOUBLE_FREE;
    else
        *ret_code = p->world.model.live[live].page == (at - base) / page ? LFMA_OK : LFMA_E_INNER;
    return live;
}

void op_free_any(play *p, uint8_t a, uint16_t b)
{
    int expected;
    char *const pointer = pointer_of(p, a, b);
    const int64_t live = what_is(p, pointer, &expected);
    if (live >= 0 && expected == LFMA_OK) {
        play_free_live(p, (uint32_t)live);
        return;
    }
    play_hold(p);
    p->world.last_code = lfma_free(p->world.arena, pointer);
    play_trace("    free base%+" PRId64 ": %s", (int64_t)((uintptr_t)pointer - (uintptr_t)p->world.base),
               lfma_error_name(p->world.last_code));
    if (p->world.last_code != expected)
        play_wrong(p, "%s instead of %s", lfma_error_name(p->world.last_code), lfma_error_name(expected));
    play_require_same(p, "a refused free");
    p->tally.bad_frees += pointer != NULL;
}

void op_look(play *p, uint8_t a, uint16_t b)
{
    int expected;
    char *const pointer = pointer_of(p, a, b);
    const int64_t index = what_is(p, pointer, &expected);
    const model_block live = index >= 0 ? p->world.model.live[index] : (model_block){ 0, 0 };
    char *const start = index >= 0 ? p->world.base + live.page * p->world.page_bytes : NULL;
    play_hold(p);
    const size_t usable = lfma_usable_size(p->world.arena, pointer);
    char *const block = lfma_block_of(p->world.arena, pointer);
    play_trace("    look at base%+" PRId64 ": %zu bytes", (int64_t)((uintptr_t)pointer - (uintptr_t)p->world.base),
               usable);
    PLAY_REQUIRE(p, usable == (pointer && pointer == start ? p->world.page_bytes << live.order : 0));
    PLAY_REQUIRE(p, block == start);
    play_require_same(p, "a look");
}
