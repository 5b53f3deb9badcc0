/* SPDX-License-Identifier: MIT */
#include "support/history.h"

#include <inttypes.h>
#include <lfma/lfma.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool wrong(world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool wrong(world *w, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(w->why, sizeof w->why, format, arguments);
    va_end(arguments);
    return false;
}

void world_open(world *w, const arena_plan *plan)
{
    arena_plan own = *plan;
    w->plan = plan;
    w->clock = (fake_clock){ .mode = CLOCK_FROZEN };
    own.clock = fake_clock_read;
    own.clock_context = &w->clock;
    world_adopt(w, arena_open(&own));
}

void world_adopt(world *w, lfma_arena *arena)
{
    w->arena = arena;
    const lfma_arena_stats_t s = arena_stats(w->arena);
    w->base = s.base;
    w->page_bytes = s.page_bytes;
    w->order_max = (unsigned)__builtin_ctzll(s.block_bytes_max / s.page_bytes);
    w->may_run_out = false;
    w->why[0] = '\0';
    model_init(&w->model, s.bytes / s.page_bytes, s.zone_bytes / s.page_bytes);
}

void world_close(world *w)
{
    lfma_arena_destroy_forced(w->arena);
    w->arena = NULL;
}

/* The code with which an allocation fails; LFMA_OK: it must not, but where a pass may be needed and is bounded. */
static int expected_code(const world *w, unsigned order)
{
    if (order > w->order_max)
        return LFMA_E_NEVER;
    if (w->model.pages_free < (uint64_t)1 << order)
        return LFMA_E_NOMEM;
    return model_has_run(&w->model, order) ? LFMA_OK : LFMA_E_FRAGMENTED;
}

bool world_check_alloc(world *w, unsigned order, unsigned flags, const char *block)
{
    if (w->last_code != LFMA_OK) {
        const int expected = expected_code(w, order);
        const bool bounded = w->may_run_out || (flags & LFMA_ALLOC_NO_COALESCE);
        const bool may_need_budget = bounded && expected == LFMA_OK && order > 0;
        if (w->last_code != expected && !(may_need_budget && w->last_code == LFMA_E_BUDGET))
            return wrong(w, "order %u: %s instead of %s", order, lfma_error_name(w->last_code),
                         lfma_error_name(expected));
        if (w->last_code == LFMA_E_BUDGET && arena_stats(w->arena).largest_free_bytes >= w->page_bytes << order)
            return wrong(w, "order %u: LFMA_E_BUDGET although a block of the size is free", order);
        return block == NULL || wrong(w, "output written on failure");
    }
    /* That it was to succeed needs no look at the model: a block that it can take was a free run. */
    const size_t offset = (size_t)(block - w->base);
    if (order > w->order_max || offset % w->page_bytes != 0 || !model_take(&w->model, offset / w->page_bytes, order))
        return wrong(w, "order %u: a block at page %zu overlaps or does not fit", order, offset / w->page_bytes);
    if (lfma_usable_size(w->arena, block) != w->page_bytes << order)
        return wrong(w, "usable size %zu", lfma_usable_size(w->arena, block));
    return true;
}

static bool apply_alloc(world *w, operation op)
{
    const unsigned flags = op.kind == OP_ALLOC_NO_JOIN ? LFMA_ALLOC_NO_COALESCE : 0;
    const size_t most = w->page_bytes << op.order;
    const size_t least = op.order == 0 ? 1 : most / 2 + 1;
    const size_t bytes = least + op.any % (most - least + 1);
    void *block = NULL;
    w->last_code = lfma_try_alloc(w->arena, bytes, flags, &block);
    return world_check_alloc(w, op.order, flags, block);
}

static bool apply_alloc_aligned(world *w, operation op)
{
    const unsigned at = (unsigned)(op.any % 16);
    void *block = NULL;
    w->last_code = lfma_try_alloc_aligned(w->arena, w->page_bytes << op.order, w->page_bytes << at, 0, &block);
    if (w->last_code == LFMA_OK && (uintptr_t)block % (w->page_bytes << at) != 0)
        return wrong(w, "not at a multiple of %zu", w->page_bytes << at);
    return world_check_alloc(w, at > op.order ? at : op.order, 0, block);
}

static bool apply_free(world *w, operation op)
{
    w->last_code = LFMA_OK;
    if (w->model.live_count == 0)
        return true;
    const uint32_t index = (uint32_t)(op.any % w->model.live_count);
    w->last_code = lfma_free(w->arena, w->base + w->model.live[index].page * w->page_bytes);
    if (w->last_code != LFMA_OK)
        return wrong(w, "a right free: %s", lfma_error_name(w->last_code));
    model_drop(&w->model, index);
    return true;
}

static bool apply_bad_free(world *w, operation op)
{
    const uint64_t bytes = w->model.pages * w->page_bytes;
    const uint64_t offset = op.any % (bytes + 2 * w->page_bytes);
    const uint64_t page = offset / w->page_bytes;
    const int64_t owner = page < w->model.pages ? model_find(&w->model, page) : -1;
    int expected = LFMA_E_DOUBLE_FREE;
    if (offset >= bytes)
        expected = LFMA_E_FOREIGN;
    else if (offset % w->page_bytes != 0)
        expected = LFMA_E_UNALIGNED;
    else if (owner >= 0 && w->model.live[owner].page == page)
        return true; /* a right one */
    else if (owner >= 0)
        expected = LFMA_E_INNER;
    w->last_code = lfma_free(w->arena, w->base + offset);
    if (w->last_code != expected)
        return wrong(w, "free of byte %" PRIu64 ": %s instead of %s", offset, lfma_error_name(w->last_code),
                     lfma_error_name(expected));
    const char *const start = owner >= 0 ? w->base + w->model.live[owner].page * w->page_bytes : NULL;
    if ((char *)lfma_block_of(w->arena, w->base + offset) != start)
        return wrong(w, "block of byte %" PRIu64, offset);
    return true;
}

/* After a complete pass every aligned free run is one block. */
bool world_check_joined(world *w)
{
    uint64_t counts[LFMA_ORDERS] = { 0 };
    model_decompose(&w->model, w->order_max, counts);
    const lfma_arena_stats_t s = arena_stats(w->arena);
    for (unsigned order = 0; order <= w->order_max; order++) {
        if (s.free_blocks[order] != counts[order])
            return wrong(w, "joined: %" PRIu64 " blocks of order %u instead of %" PRIu64, s.free_blocks[order], order,
                         counts[order]);
    }
    return true;
}

static bool apply_coalesce(world *w, operation op)
{
    const lfma_budget budget = { LFMA_UNLIMITED, op.any ? op.any : LFMA_UNLIMITED };
    lfma_coalesce_result result = LFMA_COALESCE_RESULT_INIT;
    w->last_code = lfma_coalesce(w->arena, &budget, &result);
    if (w->last_code != LFMA_OK)
        return wrong(w, "coalesce: %s", lfma_error_name(w->last_code));
    if (op.any == 0 && !result.complete)
        return wrong(w, "an unlimited pass is not complete");
    return result.complete ? world_check_joined(w) : true;
}

bool world_check_sound(world *w)
{
    lfma_report report = LFMA_REPORT_INIT;
    if (lfma_arena_validate(w->arena, &report) != LFMA_OK)
        return wrong(w, "%s: %s: zone %zu, page %zu, order %u", report.invariant, report.text, report.zone,
                     report.page, report.order);
    if (report.pages_free != w->model.pages_free || report.blocks_allocated != w->model.live_count)
        return wrong(w, "%zu pages free, not %" PRIu64 "; %zu blocks out, not %u", report.pages_free,
                     w->model.pages_free, report.blocks_allocated, w->model.live_count);
    return true;
}

bool world_apply(world *w, operation op)
{
    bool right = false;
    switch (op.kind) {
    case OP_ALLOC:
    case OP_ALLOC_NO_JOIN:
        right = apply_alloc(w, op);
        break;
    case OP_ALLOC_ALIGNED:
        right = apply_alloc_aligned(w, op);
        break;
    case OP_FREE:
        right = apply_free(w, op);
        break;
    case OP_BAD_FREE:
        right = apply_bad_free(w, op);
        break;
    case OP_COALESCE:
        right = apply_coalesce(w, op);
        break;
    }
    return right && world_check_sound(w);
}

bool world_end(world *w)
{
    while (w->model.live_count > 0) {
        if (!world_apply(w, (operation){ OP_FREE, 0, 0 }))
            return false;
    }
    if (!world_apply(w, (operation){ OP_COALESCE, 0, 0 }))
        return false;
    return arena_is_fresh(w->arena) || wrong(w, "emptied and joined, but not as fresh");
}

/* Where a history fails: the number of operations up to and with the failing one; 0 if it does not. */
static size_t replay(const operation *ops, size_t count, const operation *without, size_t without_count,
                     const arena_plan *plan, world *w)
{
    world_open(w, plan);
    size_t done = 0;
    bool right = true;
    while (done < count && right) {
        if (!(ops + done >= without && ops + done < without + without_count))
            right = world_apply(w, ops[done]);
        done++;
    }
    if (right)
        right = world_end(w);
    world_close(w);
    return right ? 0 : done;
}

size_t history_shrink(operation *ops, size_t count, const arena_plan *plan, world *w)
{
    size_t fails_at = replay(ops, count, NULL, 0, plan, w);
    if (fails_at == 0)
        return count; /* not by replay alone; keep all */
    count = fails_at;
    for (size_t chunk = count / 2; chunk > 0; chunk /= 2) {
        for (size_t first = 0; first < count;) {
            const size_t n = chunk < count - first ? chunk : count - first;
            fails_at = replay(ops, count, ops + first, n, plan, w);
            if (fails_at == 0) {
                first += n;
                continue;
            }
            memmove(ops + first, ops + first + n, (count - first - n) * sizeof *ops);
            count -= n;
        }
    }
    (void)replay(ops, count, NULL, 0, plan, w); /* for w->why */
    return count;
}

void history_print(const operation *ops, size_t count, char *ret_text, size_t size)
{
    static const char *const names[] = {
        "alloc", "alloc, no joining", "alloc aligned", "free", "bad free", "coalesce"
    };
    size_t used = 0;
    ret_text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        const int n = snprintf(ret_text + used, size - used, "%s%s order %u any %" PRIu64, i ? "; " : "",
                               names[ops[i].kind], ops[i].order, ops[i].any);
        if (n < 0 || (size_t)n >= size - used)
            break;
        used += (size_t)n;
    }
}
