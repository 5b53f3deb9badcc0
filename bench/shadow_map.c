/* SPDX-License-Identifier: MIT */
#include "shadow_map.h"

#include <string.h>

#include "common/die.h"

void shadow_reset(struct shadow_map *map, const void *base)
{
    memset(map->taken, 0, sizeof map->taken);
    map->base = base;
}

static size_t page_of(const struct shadow_map *map, const void *block, unsigned order)
{
    const size_t offset = (size_t)((const char *)block - map->base);
    const size_t page = offset / PEER_PAGE_BYTES, pages = (size_t)1 << order;
    if (offset % PEER_PAGE_BYTES != 0 || page >= PEER_PAGES || page % pages != 0)
        die("an allocator returned %p: not an aligned block of %zu pages in its arena", block, pages);
    return page;
}

/* The bits of an aligned run in its word; a run of 64 pages or more is whole words. */
static uint64_t run_mask(size_t page, unsigned order)
{
    return order >= 6 ? UINT64_MAX : (((uint64_t)1 << (1u << order)) - 1) << (page % 64);
}

static size_t run_words(unsigned order)
{
    return order > 6 ? (size_t)1 << (order - 6) : 1;
}

void shadow_take(struct shadow_map *map, const void *block, unsigned order)
{
    const size_t page = page_of(map, block, order);
    const uint64_t mask = run_mask(page, order);
    for (size_t i = 0; i < run_words(order); i++) {
        uint64_t *word = &map->taken[page / 64 + i];
        if ((*word & mask) != 0)
            die("an allocator handed out page %zu twice", page);
        *word |= mask;
    }
}

void shadow_release(struct shadow_map *map, const void *block, unsigned order)
{
    const size_t page = page_of(map, block, order);
    const uint64_t mask = run_mask(page, order);
    for (size_t i = 0; i < run_words(order); i++)
        map->taken[page / 64 + i] &= ~mask;
}

/* Bits of a word at which an aligned free run of 2^order pages begins, order at most 6. */
static uint64_t run_starts(uint64_t taken, unsigned order)
{
    static const uint64_t aligned[] = {
        UINT64_MAX,          0x5555555555555555u, 0x1111111111111111u, 0x0101010101010101u,
        0x0001000100010001u, 0x0000000100000001u, 0x0000000000000001u,
    };
    uint64_t free_runs = ~taken;
    for (unsigned k = 0; k < order; k++)
        free_runs &= free_runs >> (1u << k);
    return free_runs & aligned[order];
}

bool shadow_has_room(const struct shadow_map *map, unsigned order)
{
    const size_t step = run_words(order);
    for (size_t first = 0; first < SHADOW_WORDS; first += step) {
        if (order <= 6) {
            if (run_starts(map->taken[first], order) != 0)
                return true;
            continue;
        }
        uint64_t any = 0;
        for (size_t i = 0; i < step && any == 0; i++)
            any = map->taken[first + i];
        if (any == 0)
            return true;
    }
    return false;
}

int shadow_largest_order(const struct shadow_map *map)
{
    int order = 0;
    for (size_t pages = PEER_PAGES; pages > 1; pages /= 2)
        order++;
    while (order >= 0 && !shadow_has_room(map, (unsigned)order))
        order--;
    return order;
}
