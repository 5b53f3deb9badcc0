/* SPDX-License-Identifier: MIT */
/* Free, and what an address says about its block. */
#include "arena/arena.h"

/* The place of a block's start; NULL zone, and the reason, if the address cannot be one. */
static inline lfma__place place_of(lfma_arena *arena, const void *block, int *code)
{
    const uint64_t offset = lfma__arena_offset(arena, block);
    *code = LFMA_OK;
    if (LFMA_UNLIKELY(offset >= arena->bytes))
        *code = LFMA_E_FOREIGN;
    else if (LFMA_UNLIKELY((offset & (((uint64_t)1 << arena->page_shift) - 1)) != 0))
        *code = LFMA_E_UNALIGNED;
    else
        return lfma__arena_place(arena, offset);
    return (lfma__place){ NULL, 0 };
}

int lfma_free(lfma_arena *arena, void *block)
{
    if (LFMA_UNLIKELY(!arena))
        return LFMA_E_INVALID;
    if (LFMA_UNLIKELY(!block))
        return LFMA_OK;
    const lfma__caller caller = lfma__arena_enter(arena);
    int code;
    const lfma__place place = place_of(arena, block, &code);
    if (LFMA_LIKELY(code == LFMA_OK))
        code = lfma__zone_free(place.zone, caller.owner, place.page, arena->hardened);
    lfma__owner_count(caller.owner, code == LFMA_OK ? LFMA__FREES : LFMA__BAD_FREES, 1);
    lfma__arena_leave(caller);
    return code;
}

size_t lfma_usable_size(lfma_arena *arena, const void *block)
{
    int code = LFMA_E_INVALID;
    if (!arena || !block)
        return 0;
    const lfma__place place = place_of(arena, block, &code);
    const int order = code == LFMA_OK ? lfma__zone_order_at(place.zone, place.page) : -1;
    return order < 0 ? 0 : (size_t)1 << ((unsigned)order + arena->page_shift);
}

void *lfma_block_of(lfma_arena *arena, const void *inner)
{
    if (!arena || !inner)
        return NULL;
    const uint64_t offset = lfma__arena_offset(arena, inner);
    if (offset >= arena->bytes)
        return NULL;
    const lfma__place place = lfma__arena_place(arena, offset);
    const uint64_t page = lfma__zone_block_of(place.zone, place.page);
    if (page == LFMA__NONE)
        return NULL;
    const uint64_t zone_start = offset >> arena->zone_shift << arena->zone_shift;
    return (void *)(arena->base + zone_start + (page << arena->page_shift));
}
