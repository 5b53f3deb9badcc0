/* SPDX-License-Identifier: MIT */
/* Free, and what an address says about its block. */
#include "arena/arena.h"

/* The page of a block's start, in the arena; LFMA__NONE, and the reason, if the address cannot be one. */
static inline uint64_t page_of(const lfma_arena *arena, const void *block, int *code)
{
    const uint64_t offset = lfma__arena_offset(arena, block);
    if (LFMA_UNLIKELY(offset >= arena->bytes))
        *code = LFMA_E_FOREIGN;
    else if (LFMA_UNLIKELY((offset & (((uint64_t)1 << arena->page_shift) - 1)) != 0))
        *code = LFMA_E_UNALIGNED;
    else
        return offset >> arena->page_shift;
    return LFMA__NONE;
}

static LFMA_COLD int why_not(const lfma__pool *pool, uint64_t page)
{
    const lfma__place place = lfma__row_place(&pool->row, page);
    return lfma__zone_why_not(place.zone, place.page);
}

static inline int free_page(lfma__pool *pool, lfma__slot *slot, uint64_t page)
{
    const bool hardened = pool->hardened;
    const unsigned state = hardened ? lfma__state_take(pool->row.states, page)
                                    : lfma__state_get(pool->row.states, page);
    if (LFMA_UNLIKELY(state == 0))
        return why_not(pool, page);
    const unsigned order = (unsigned)lfma__state_order(state);
    int code;
    lfma__cache_mind_way(pool, slot);
    if (lfma__cache_may_keep(pool, slot, LFMA__GIVE, order)) {
        if (lfma__cache_push(slot, order, page)) { /* which counts it */
            if (!hardened)
                lfma__state_clear(pool->row.states, page);
            return LFMA_OK;
        }
        code = lfma__cache_gather(pool, slot, order, page);
    } else {
        const lfma__place place = lfma__row_place(&pool->row, page);
        code = lfma__zone_publish(place.zone, &slot->owner, place.page, order);
    }
    if (LFMA_LIKELY(code == LFMA_OK))
        lfma__owner_count(&slot->owner, LFMA__FREES, 1);
    return code;
}

int lfma__arena_free(lfma_arena *arena, lfma__slot *slot, const void *block)
{
    int code = LFMA_OK;
    const uint64_t page = page_of(arena, block, &code);
    if (LFMA_LIKELY(page != LFMA__NONE))
        code = free_page(&arena->pool, slot, page);
    if (LFMA_UNLIKELY(code != LFMA_OK))
        lfma__owner_count(&slot->owner, LFMA__BAD_FREES, 1);
    return code;
}

/* The whole way. */
static LFMA_NOINLINE int free_fully(lfma_arena *arena, void *block)
{
    if (!block)
        return LFMA_OK;
    const lfma__caller caller = lfma__arena_enter(arena);
    const int code = lfma__arena_free(arena, caller.slot, block);
    lfma__arena_leave(arena, caller);
    return code;
}

/*
 * The short way: into a slice that is held. Of other threads' words it reads one that seldom changes, the slice, and
 * the block's state, and writes none but the last; it makes no call but at its end, so that it needs no stack.
 */
int lfma_free(lfma_arena *arena, void *block)
{
    if (LFMA_UNLIKELY(!arena))
        return LFMA_E_INVALID;
    lfma__pool *const pool = &arena->pool;
    const uint64_t name = lfma__cache_way(pool);
    lfma__ticket *const ticket = lfma__thread_ticket(&lfma__thread_self, name);
    const uint64_t page = lfma__rotate_right(lfma__arena_offset(arena, block), arena->page_shift);
    if (LFMA_UNLIKELY(lfma__ticket_name(ticket) != name || page >= arena->pages)) /* or not a multiple of one */
        return free_fully(arena, block);
    const unsigned state = lfma__state_get(pool->row.states, page);
    if (LFMA_UNLIKELY(state == 0))
        return free_fully(arena, block);
    lfma__slot *const slot = lfma__arena_slot(arena, ticket);
    lfma__ticket_enter(ticket);
    if (LFMA_UNLIKELY(!lfma__cache_push(slot, lfma__state_order(state), page))) {
        lfma__arena_leave_short(arena, ticket);
        return free_fully(arena, (void *)(arena->base + (page << arena->page_shift))); /* `block` needs a register */
    }
    lfma__state_clear(pool->row.states, page);
    lfma__arena_leave_short(arena, ticket);
    return LFMA_OK;
}

size_t lfma_usable_size(lfma_arena *arena, const void *block)
{
    int code;
    if (!arena || !block)
        return 0;
    const uint64_t page = page_of(arena, block, &code);
    if (page == LFMA__NONE)
        return 0;
    const lfma__place place = lfma__row_place(&arena->pool.row, page);
    const int order = lfma__zone_order_at(place.zone, place.page);
    return order < 0 ? 0 : (size_t)1 << ((unsigned)order + arena->page_shift);
}

void *lfma_block_of(lfma_arena *arena, const void *inner)
{
    if (!arena || !inner)
        return NULL;
    const uint64_t offset = lfma__arena_offset(arena, inner);
    if (offset >= arena->bytes)
        return NULL;
    const uint64_t page = offset >> arena->page_shift;
    const lfma__place place = lfma__row_place(&arena->pool.row, page);
    const uint64_t start = lfma__zone_block_of(place.zone, place.page);
    return start == LFMA__NONE ? NULL : (void *)(arena->base + ((page - place.page + start) << arena->page_shift));
}
