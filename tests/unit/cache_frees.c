/* SPDX-License-Identifier: MIT */
/* Frees that are wrong, by caches: each is refused, and no block is delivered twice for it. */
#include "arena/arena.h"
#include "support/arenas.h"
#include "support/unit.h"

#include <lfma/lfma.h>
#include <string.h>

#define PAGE ((size_t)64)
#define PAGES 1024u

static char *blocks[PAGES];

struct scene {
    lfma_arena *arena;
    lfma_cache *mine, *others;
};

/* Two caches that have been used and keep nothing: a slice is more than what a hold may keep. */
static struct scene open_scene(uint32_t flags)
{
    struct scene s = { .arena = ARENA(.pages = PAGES, .caches = true, .cache_pages = 160, .flags = flags) };
    REQUIRE_CODE(lfma_cache_create(s.arena, &s.mine), LFMA_OK);
    REQUIRE_CODE(lfma_cache_create(s.arena, &s.others), LFMA_OK);
    for (unsigned n = 0; n < 2; n++) {
        arena_grow_grants(s.arena, s.mine);
        arena_grow_grants(s.arena, s.others);
    }
    return s;
}

/* All pages are delivered, each once; then everything is given back. */
static void close_scene(struct scene *s)
{
    static unsigned char out[PAGES];
    for (unsigned n = 0; n < PAGES; n++)
        out[n] = 0;
    REQUIRE_CODE(lfma_cache_flush(s->arena, NULL), LFMA_OK);
    REQUIRE_CODE(lfma_cache_flush(s->arena, s->mine), LFMA_OK);
    REQUIRE_CODE(lfma_cache_flush(s->arena, s->others), LFMA_OK);
    REQUIRE(arena_is_sound(s->arena), "after the flush");
    for (unsigned n = 0; n < PAGES; n++) {
        char *const block = n % 2 ? lfma_cache_alloc(s->mine, PAGE) : lfma_cache_alloc(s->others, PAGE);
        REQUIRE(block != NULL || n > 0, "page %u", n);
        if (!block)
            break;
        const size_t page = (size_t)(block - (char *)s->arena->base) / PAGE;
        REQUIRE(!out[page]++, "page %zu twice", page);
    }
    lfma_arena_destroy_forced(s->arena);
}

/* Single pages side by side, of whole slices, all out. */
static void take_all(const struct scene *s)
{
    for (unsigned n = 0; n < PAGES; n++) {
        char *const block = lfma_cache_alloc(s->others, PAGE);
        REQUIRE(block != NULL, "page %u", n);
        blocks[(size_t)(block - (char *)s->arena->base) / PAGE] = block;
    }
    REQUIRE_CODE(lfma_cache_flush(s->arena, s->others), LFMA_OK);
    arena_grow_grants(s->arena, s->others);
    lfma__cache_ease(&s->arena->pool);
}

/* The first pages of a hold: which of its blocks, by page. */
static uint64_t held(const lfma_cache *cache, unsigned side, uint64_t *ret_first)
{
    const lfma__hold *const hold = &((const lfma__slot *)(const void *)cache)->shelves[0].holds[side];
    *ret_first = lfma__a64_load_relaxed(&hold->first);
    return lfma__hold_all(hold);
}

/* What the cache keeps is free: each block of either hold is refused, by any entry, and nothing moves. */
static void refuse_all_held(const struct scene *s, unsigned side)
{
    uint64_t first;
    const uint64_t bits = held(s->mine, side, &first);
    REQUIRE(bits != 0, "nothing is held on side %u", side);
    for (uint64_t rest = bits; rest; rest &= rest - 1) {
        char *const block = (char *)s->arena->base + (first + lfma__ctz64(rest)) * PAGE;
        REQUIRE_CODE(lfma_cache_free(s->mine, block), LFMA_E_DOUBLE_FREE);
        uint64_t now;
        REQUIRE(held(s->mine, side, &now) == bits && now == first, "a hold has changed");
        REQUIRE(arena_is_sound(s->arena), "side %u", side);
    }
}

/* Freed and kept, on either side; claimed ahead, and never handed out. */
Test(cache_frees, what_the_own_cache_keeps)
{
    for (uint32_t flags = 0; flags <= LFMA_HARDENED; flags += LFMA_HARDENED) {
        struct scene s = open_scene(flags);
        take_all(&s);
        for (unsigned n = 0; n < 10; n++)
            REQUIRE_CODE(lfma_cache_free(s.mine, blocks[n]), LFMA_OK); /* gathered */
        REQUIRE(arena_stats(s.arena).cached_bytes == 10 * PAGE, "kept: %zu",
                (size_t)arena_stats(s.arena).cached_bytes / PAGE);
        refuse_all_held(&s, LFMA__GIVE);
        REQUIRE(lfma_cache_alloc(s.mine, PAGE) != NULL, "one of them"); /* turned to the other side */
        refuse_all_held(&s, LFMA__TAKE);
        close_scene(&s);

        s = open_scene(flags);
        take_all(&s);
        for (unsigned n = 0; n < 200; n++)
            REQUIRE_CODE(lfma_cache_free(s.others, blocks[n]), LFMA_OK);
        REQUIRE_CODE(lfma_cache_flush(s.arena, s.others), LFMA_OK);
        REQUIRE(lfma_cache_alloc(s.mine, PAGE) != NULL, "filled");
        refuse_all_held(&s, LFMA__TAKE);
        close_scene(&s);
    }
}

/* K1: both holds on one slice, one with blocks that were claimed ahead and have their states, the other with room. */
Test(cache_frees, claimed_ahead_while_the_other_hold_gathers_there)
{
    for (uint32_t flags = 0; flags <= LFMA_HARDENED; flags += LFMA_HARDENED) {
        struct scene s = open_scene(flags);
        take_all(&s);
        for (unsigned n = 0; n < 8; n++)
            REQUIRE_CODE(lfma_cache_free(s.others, blocks[n]), LFMA_OK);
        REQUIRE_CODE(lfma_cache_flush(s.arena, s.others), LFMA_OK);
        REQUIRE(lfma_cache_alloc(s.mine, PAGE) == blocks[0], "claimed ahead");
        lfma__hold *const take = &((lfma__slot *)(void *)s.mine)->shelves[0].holds[LFMA__TAKE];
        unsigned next = 8;
        while (lfma__hold_room(take) > 0) /* full of what fits: the next one goes to the other hold */
            REQUIRE_CODE(lfma_cache_free(s.mine, blocks[next++]), LFMA_OK);
        REQUIRE(next < 63, "%u: the slice is full", next);
        REQUIRE_CODE(lfma_cache_free(s.mine, blocks[next]), LFMA_OK);
        refuse_all_held(&s, LFMA__TAKE);
        refuse_all_held(&s, LFMA__GIVE);
        close_scene(&s);
    }
}

/* K1: published by somebody else while this cache holds blocks of the slice and has room for more. */
Test(cache_frees, free_in_the_table_while_the_slice_is_held)
{
    for (uint32_t flags = 0; flags <= LFMA_HARDENED; flags += LFMA_HARDENED) {
        for (unsigned side = 0; side < LFMA__SIDES; side++) {
            struct scene s = open_scene(flags);
            take_all(&s);
            for (unsigned n = 0; n < 6; n++)
                REQUIRE_CODE(lfma_cache_free(s.mine, blocks[n]), LFMA_OK);
            if (side == LFMA__TAKE)
                REQUIRE(lfma_cache_alloc(s.mine, PAGE) != NULL, "turned");
            uint64_t first;
            REQUIRE(held(s.mine, side, &first) && first == 0, "the slice is not held");
            for (unsigned n = 20; n < 30; n++)
                REQUIRE_CODE(lfma_cache_free(s.others, blocks[n]), LFMA_OK);
            REQUIRE_CODE(lfma_cache_flush(s.arena, s.others), LFMA_OK);
            for (unsigned n = 20; n < 30; n++) {
                REQUIRE_CODE(lfma_cache_free(s.mine, blocks[n]), LFMA_E_DOUBLE_FREE);
                REQUIRE(arena_is_sound(s.arena), "page %u, side %u", n, side);
            }
            close_scene(&s);
        }
    }
}

/* Kept by somebody else who freed it: it has no state. */
Test(cache_frees, what_another_cache_has_freed_and_keeps)
{
    for (uint32_t flags = 0; flags <= LFMA_HARDENED; flags += LFMA_HARDENED) {
        for (unsigned side = 0; side < LFMA__SIDES; side++) {
            struct scene s = open_scene(flags);
            take_all(&s);
            for (unsigned n = 0; n < 10; n++)
                REQUIRE_CODE(lfma_cache_free(s.others, blocks[n]), LFMA_OK);
            REQUIRE(arena_stats(s.arena).cached_bytes == 10 * PAGE, "kept");
            if (side == LFMA__TAKE)
                REQUIRE(lfma_cache_alloc(s.others, PAGE) == blocks[0], "turned");
            for (unsigned n = 1; n < 10; n++) {
                REQUIRE_CODE(lfma_cache_free(s.mine, blocks[n]), LFMA_E_DOUBLE_FREE);
                REQUIRE_CODE(lfma_free(s.arena, blocks[n]), LFMA_E_DOUBLE_FREE);
                REQUIRE(lfma_usable_size(s.arena, blocks[n]) == 0, "page %u", n);
                REQUIRE(lfma_block_of(s.arena, blocks[n] + 1) == NULL, "page %u", n);
            }
            REQUIRE(arena_is_sound(s.arena), "side %u", side);
            close_scene(&s);
        }
    }
}

/* Elsewhere what was claimed ahead counts as allocated, as is said; the claim is still the only one. */
Test(cache_frees, claimed_ahead_counts_as_allocated)
{
    struct scene s = open_scene(0);
    take_all(&s);
    for (unsigned n = 0; n < 64; n++)
        REQUIRE_CODE(lfma_cache_free(s.mine, blocks[n]), LFMA_OK);
    REQUIRE_CODE(lfma_cache_flush(s.arena, s.mine), LFMA_OK);
    REQUIRE(lfma_cache_alloc(s.others, PAGE) == blocks[0], "claimed ahead");
    uint64_t first;
    for (uint64_t rest = held(s.others, LFMA__TAKE, &first); rest; rest &= rest - 1) {
        char *const block = blocks[first + lfma__ctz64(rest)];
        REQUIRE(lfma_usable_size(s.arena, block) == PAGE && lfma_block_of(s.arena, block + 1) == block, "%p", block);
    }
    REQUIRE(arena_stats(s.arena).allocated_bytes == (PAGES - 64 + 1) * PAGE, "the figures know better");
    close_scene(&s);
}

/* Hardened: also what another cache has claimed ahead. */
Test(cache_frees, what_another_cache_has_claimed_ahead_hardened)
{
    struct scene s = open_scene(LFMA_HARDENED);
    take_all(&s);
    for (unsigned n = 0; n < 64; n++)
        REQUIRE_CODE(lfma_cache_free(s.mine, blocks[n]), LFMA_OK);
    REQUIRE_CODE(lfma_cache_flush(s.arena, s.mine), LFMA_OK);
    REQUIRE(lfma_cache_alloc(s.others, PAGE) == blocks[0], "claimed ahead");
    uint64_t first;
    for (uint64_t rest = held(s.others, LFMA__TAKE, &first); rest; rest &= rest - 1)
        REQUIRE_CODE(lfma_cache_free(s.mine, blocks[first + lfma__ctz64(rest)]), LFMA_E_DOUBLE_FREE);
    REQUIRE(arena_is_sound(s.arena), "sound");
    close_scene(&s);
}

/* K10: wrong pointers while the short way is open: a code each, and the way stays open. */
Test(cache_frees, wrong_pointers_on_the_short_way)
{
    lfma_arena *const arena = ARENA(.pages = PAGES, .caches = true);
    char *const four = lfma_alloc(arena, 4 * PAGE);
    for (unsigned n = 0; n < 200; n++)
        blocks[n] = lfma_alloc(arena, PAGE);
    for (unsigned n = 0; n < 200; n++)
        REQUIRE_CODE(lfma_free(arena, blocks[n]), LFMA_OK);
    char *const one = lfma_alloc(arena, PAGE);
    char *const base = (char *)arena->base;
    REQUIRE(lfma__cache_way(&arena->pool) == arena->pool.name, "the short way is closed");
    const struct {
        char *pointer;
        int code;
    } wrong[] = {
        { four + PAGE, LFMA_E_INNER },
        { four + 3 * PAGE, LFMA_E_INNER },
        { one + 1, LFMA_E_UNALIGNED },
        { one + 63, LFMA_E_UNALIGNED },
        { base - PAGE, LFMA_E_FOREIGN },
        { base + PAGES * PAGE, LFMA_E_FOREIGN },
        { (char *)arena, LFMA_E_FOREIGN },
        { (char *)1, LFMA_E_FOREIGN },
        { base + PAGES * PAGE - 1, LFMA_E_UNALIGNED },
    };
    lfma_arena_stats_t before = arena_stats(arena);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        REQUIRE_CODE(lfma_free(arena, wrong[i].pointer), wrong[i].code);
        before.bad_frees++;
        const lfma_arena_stats_t now = arena_stats(arena);
        REQUIRE(memcmp(&now, &before, sizeof now) == 0, "%zu: a figure moved", i);
    }
    REQUIRE_CODE(lfma_free(arena, NULL), LFMA_OK);
    REQUIRE(lfma_alloc(arena, 0) == NULL && lfma_alloc(arena, SIZE_MAX) == NULL, "sizes");
    REQUIRE(lfma__ticket_name(lfma__thread_ticket(&lfma__thread_self, arena->pool.name)) == arena->pool.name, "open");
    REQUIRE_CODE(lfma_free(arena, one), LFMA_OK);
    REQUIRE_CODE(lfma_free(arena, one), LFMA_E_DOUBLE_FREE);
    REQUIRE_CODE(lfma_free(arena, four), LFMA_OK);
    REQUIRE(arena_is_sound(arena), "sound");
    REQUIRE_CODE(lfma_arena_destroy(arena), LFMA_OK);
}
