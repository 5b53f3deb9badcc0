/* SPDX-License-Identifier: MIT */
/* Caches that are no thread's, and the giving back of what is kept. A cache is a slot whose number no thread has. */
#include "arena/arena.h"

static inline lfma__slot *slot_of(lfma_cache *cache)
{
    return (lfma__slot *)(void *)cache;
}

int lfma_cache_create(lfma_arena *arena, lfma_cache **ret_cache)
{
    if (!arena || !ret_cache)
        return LFMA_E_INVALID;
    const uint32_t number = lfma__thread_take_number();
    if (number == LFMA__NO_NUMBER)
        return LFMA_E_LIMIT;
    if (number >= arena->threads_max) {
        lfma__thread_give_back_number(number);
        return LFMA_E_LIMIT;
    }
    lfma__slot *const slot = &arena->slots[number];
    slot->cache_of = arena;
    slot->cache_number = number;
    *ret_cache = (lfma_cache *)(void *)slot;
    return LFMA_OK;
}

void lfma_cache_destroy(lfma_cache *cache)
{
    if (!cache)
        return;
    lfma__slot *const slot = slot_of(cache);
    (void)lfma__cache_drain(&slot->cache_of->pool, slot);
    slot->cache_of = NULL;
    lfma__thread_give_back_number(slot->cache_number);
}

void lfma__arena_forget_caches(lfma_arena *arena)
{
    for (uint32_t i = 0; i < arena->threads_max; i++) {
        if (arena->slots[i].cache_of)
            lfma__thread_give_back_number(arena->slots[i].cache_number);
    }
}

void lfma__arena_remember_caches(lfma_arena *arena)
{
    for (uint32_t i = 0; i < arena->threads_max; i++) {
        if (arena->slots[i].cache_of)
            (void)lfma__thread_take_this_number(arena->slots[i].cache_number);
    }
}

int lfma_cache_try_alloc(lfma_cache *cache, size_t bytes, size_t alignment, unsigned flags, void **ret_block)
{
    unsigned order;
    if (!cache || !ret_block)
        return LFMA_E_INVALID;
    lfma__slot *const slot = slot_of(cache);
    if (!lfma__arena_order(slot->cache_of, bytes, alignment, flags, &order))
        return LFMA_E_INVALID;
    return lfma__arena_alloc(slot->cache_of, slot, slot->cache_number, bytes, order, flags, ret_block);
}

void *lfma_cache_alloc(lfma_cache *cache, size_t bytes)
{
    void *block = NULL;
    return lfma_cache_try_alloc(cache, bytes, 0, 0, &block) == LFMA_OK ? block : NULL;
}

int lfma_cache_free(lfma_cache *cache, void *block)
{
    if (!cache)
        return LFMA_E_INVALID;
    return block ? lfma__arena_free(slot_of(cache)->cache_of, slot_of(cache), block) : LFMA_OK;
}

int lfma_cache_flush(lfma_arena *arena, lfma_cache *cache)
{
    if (!arena || (cache && slot_of(cache)->cache_of != arena))
        return LFMA_E_INVALID;
    if (cache) {
        (void)lfma__cache_drain(&arena->pool, slot_of(cache));
        return LFMA_OK;
    }
    const lfma__caller caller = lfma__arena_enter(arena);
    (void)lfma__cache_drain(&arena->pool, caller.slot);
    lfma__arena_leave(arena, caller);
    return LFMA_OK;
}

uint64_t lfma__arena_drain_orphans(lfma_arena *arena)
{
    uint64_t pages = 0;
    const uint64_t high_water = lfma__thread_high_water();
    for (uint32_t i = 0; i < arena->threads_max && i < high_water; i++) {
        lfma__slot *const slot = &arena->slots[i];
        if (lfma__cache_pages(slot) == 0 || !lfma__thread_take_this_number(i))
            continue;
        pages += lfma__cache_drain(&arena->pool, slot);
        lfma__thread_give_back_number(i);
    }
    return pages;
}
