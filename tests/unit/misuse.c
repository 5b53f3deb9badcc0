/* SPDX-License-Identifier: MIT */
/*
 * Misuse, table-driven: every kind of wrong pointer × every entry that takes one × {plain, hardened}; every kind of
 * wrong argument at every other entry. The code that is promised, and not one bit of the zones changed.
 */
#include "support/arenas.h"
#include "support/unit.h"

#include <lfma/lfma.h>
#include <stdlib.h>
#include <string.h>

#define PAGE ((size_t)256)
#define PAGES 1000u /* 15 whole zones of 64 and one of 40 */

struct kind {
    const char *name;
    char *pointer;
    int free_code;
    size_t usable;
    char *block; /* of lfma_block_of() */
};

struct scene {
    lfma_arena *arena, *other;
    char *base;
    char *one, *eight, *word, *filler; /* live blocks of 1, 8 and 64 pages; a page of filling */
    char *freed, *resplit, *joined, *tail, *never;
    char *other_block, *heap;
    struct kind kinds[1400];
    unsigned count;
};

static char global_data[64];
static const char constant_data[64] = "constant";

static void add(struct scene *s, const char *name, char *pointer, int free_code, size_t usable, char *block)
{
    REQUIRE(s->count < sizeof s->kinds / sizeof s->kinds[0], "room");
    s->kinds[s->count++] = (struct kind){ name, pointer, free_code, usable, block };
}

static void add_bad(struct scene *s, const char *name, char *pointer, int free_code)
{
    add(s, name, pointer, free_code, 0, NULL);
}

static char *take(lfma_arena *arena, size_t pages)
{
    char *const block = lfma_alloc(arena, pages * PAGE);
    REQUIRE(block != NULL, "%zu pages", pages);
    return block;
}

static void open_scene(struct scene *s, uint32_t flags)
{
    memset(s, 0, sizeof *s);
    s->arena = ARENA(.pages = PAGES, .page_bytes = PAGE, .block_pages = 64, .zone_pages = 64, .flags = flags);
    s->other = ARENA(.pages = PAGES, .page_bytes = PAGE, .flags = flags);
    s->base = arena_stats(s->arena).base;
    s->other_block = take(s->other, 4);
    s->heap = malloc(4096);
    cr_assert_not_null(s->heap);

    /* Freed, joined again, never allocated since. */
    s->joined = take(s->arena, 1);
    REQUIRE_CODE(lfma_free(s->arena, s->joined), LFMA_OK);
    REQUIRE(arena_join_all(s->arena), "joined");

    s->word = take(s->arena, 64);
    /* A block of 16 freed and split again: its start and its tail. */
    s->resplit = take(s->arena, 16);
    REQUIRE_CODE(lfma_free(s->arena, s->resplit), LFMA_OK);
    REQUIRE(take(s->arena, 8) == s->resplit || true, "a part of it");
    s->eight = take(s->arena, 8);
    s->one = take(s->arena, 1);
    s->freed = take(s->arena, 4);
    s->tail = s->freed + 3 * PAGE;
    REQUIRE_CODE(lfma_free(s->arena, s->freed), LFMA_OK);
    s->filler = take(s->arena, 1);
    s->never = s->base + (PAGES - 1) * PAGE;
}

static void close_scene(struct scene *s)
{
    free(s->heap);
    lfma_arena_destroy_forced(s->arena);
    lfma_arena_destroy_forced(s->other);
}

/* Addresses that are not the arena's at all. */
static void add_foreign(struct scene *s)
{
    char *end = s->base + PAGES * PAGE;
    add_bad(s, "the stack", (char *)&end, LFMA_E_FOREIGN);
    add_bad(s, "the heap", s->heap, LFMA_E_FOREIGN);
    add_bad(s, "inside the heap", s->heap + 77, LFMA_E_FOREIGN);
    add_bad(s, "static data", global_data, LFMA_E_FOREIGN);
    add_bad(s, "code", (char *)(uintptr_t)&add_foreign, LFMA_E_FOREIGN);
    add_bad(s, "a constant", (char *)(uintptr_t)constant_data, LFMA_E_FOREIGN);
    add_bad(s, "another arena's block", s->other_block, LFMA_E_FOREIGN);
    add_bad(s, "inside another arena's block", s->other_block + PAGE, LFMA_E_FOREIGN);
    add_bad(s, "another arena's base", arena_stats(s->other).base, LFMA_E_FOREIGN);
    add_bad(s, "another arena's free memory", (char *)arena_stats(s->other).base + 900 * PAGE, LFMA_E_FOREIGN);
    add_bad(s, "the arena itself", (char *)s->arena, LFMA_E_FOREIGN);
    add_bad(s, "its metadata", (char *)s->arena + 8192, LFMA_E_FOREIGN);
    add_bad(s, "the other arena itself", (char *)s->other, LFMA_E_FOREIGN);
    add_bad(s, "one below the base", s->base - 1, LFMA_E_FOREIGN);
    add_bad(s, "a page below the base", s->base - PAGE, LFMA_E_FOREIGN);
    add_bad(s, "a zone below the base", s->base - 64 * PAGE, LFMA_E_FOREIGN);
    add_bad(s, "the end", end, LFMA_E_FOREIGN);
    add_bad(s, "one past the end", end + 1, LFMA_E_FOREIGN);
    add_bad(s, "a page past the end", end + PAGE, LFMA_E_FOREIGN);
    add_bad(s, "the end of the last zone's slot", s->base + 1024 * PAGE, LFMA_E_FOREIGN);
    add_bad(s, "a zone past the end", end + 64 * PAGE, LFMA_E_FOREIGN);
    add_bad(s, "1", (char *)(uintptr_t)1, LFMA_E_FOREIGN);
    add_bad(s, "a page's number", (char *)(uintptr_t)PAGE, LFMA_E_FOREIGN);
    add_bad(s, "all ones", (char *)UINTPTR_MAX, LFMA_E_FOREIGN);
    add_bad(s, "all ones, at a page", (char *)(UINTPTR_MAX - PAGE + 1), LFMA_E_FOREIGN);
    add_bad(s, "the highest bit", (char *)((uintptr_t)1 << 63), LFMA_E_FOREIGN);
    add_bad(s, "the base + 2^63", (char *)((uintptr_t)s->base + ((uintptr_t)1 << 63)), LFMA_E_FOREIGN);
    add_bad(s, "the base + 2^47", (char *)((uintptr_t)s->base + ((uintptr_t)1 << 47)), LFMA_E_FOREIGN);
    add_bad(s, "the base's lower half", (char *)((uintptr_t)s->base & UINT32_MAX), LFMA_E_FOREIGN);
}

/* Inside live blocks: at pages, and between them. */
static void add_inner(struct scene *s)
{
    for (size_t i = 1; i < 8; i++)
        add(s, "inside a block of 8", s->eight + i * PAGE, LFMA_E_INNER, 0, s->eight);
    for (size_t i = 1; i < 64; i++)
        add(s, "inside a block of 64", s->word + i * PAGE, LFMA_E_INNER, 0, s->word);
    for (size_t i = 1; i < PAGE; i++)
        add(s, "inside a page", s->one + i, LFMA_E_UNALIGNED, 0, s->one);
    for (size_t i = 1; i < PAGE; i += 15)
        add(s, "inside a block's last page", s->word + 63 * PAGE + i, LFMA_E_UNALIGNED, 0, s->word);
    add(s, "the last byte of a block", s->eight + 8 * PAGE - 1, LFMA_E_UNALIGNED, 0, s->eight);
    add(s, "the last byte of a page's block", s->one + PAGE - 1, LFMA_E_UNALIGNED, 0, s->one);
    add(s, "8 in", s->eight + 8, LFMA_E_UNALIGNED, 0, s->eight);
    add(s, "16 in, a header's length", s->eight + 16, LFMA_E_UNALIGNED, 0, s->eight);
}

/* In the arena, but no block is allocated there. */
static void add_free(struct scene *s)
{
    add_bad(s, "freed", s->freed, LFMA_E_DOUBLE_FREE);
    add_bad(s, "a tail page of a freed block", s->tail, LFMA_E_DOUBLE_FREE);
    add_bad(s, "freed and joined", s->base + 64 * PAGE * 14, LFMA_E_DOUBLE_FREE);
    add_bad(s, "never allocated: the last page", s->never, LFMA_E_DOUBLE_FREE);
    add_bad(s, "never allocated: the last zone's first", s->base + 960 * PAGE, LFMA_E_DOUBLE_FREE);
    add_bad(s, "never allocated: inside a free block", s->base + 970 * PAGE, LFMA_E_DOUBLE_FREE);
    add_bad(s, "free, between pages", s->never + 1, LFMA_E_UNALIGNED);
    add_bad(s, "the arena's last byte", s->base + PAGES * PAGE - 1, LFMA_E_UNALIGNED);
    add_bad(s, "freed, between pages", s->freed + 1, LFMA_E_UNALIGNED);
}

static void require_unchanged(struct scene *s, const void *before, const struct kind *k, const char *call)
{
    REQUIRE(arena_is_copy(s->arena, before), "%s of %s changed a bit", call, k->name);
}

static void check_kind(struct scene *s, const void *before, const struct kind *k)
{
    const lfma_arena_stats_t was = arena_stats(s->arena);
    const int code = lfma_free(s->arena, k->pointer);
    REQUIRE(code == k->free_code, "free %s: %s", k->name, lfma_error_name(code));
    require_unchanged(s, before, k, "free");
    const size_t usable = lfma_usable_size(s->arena, k->pointer);
    REQUIRE(usable == k->usable, "usable size of %s: %zu", k->name, usable);
    require_unchanged(s, before, k, "usable_size");
    REQUIRE(lfma_block_of(s->arena, k->pointer) == k->block, "block of %s", k->name);
    require_unchanged(s, before, k, "block_of");
    REQUIRE_CODE(lfma_arena_destroy(s->arena), LFMA_E_BUSY);

    lfma_arena_stats_t now = arena_stats(s->arena);
    REQUIRE(now.bad_frees == was.bad_frees + 1, "%s: counted", k->name);
    now.bad_frees = was.bad_frees;
    REQUIRE(memcmp(&now, &was, sizeof now) == 0, "%s: another figure moved", k->name);
}

static void check_pointers(uint32_t flags)
{
    static struct scene s;
    open_scene(&s, flags);
    add_foreign(&s);
    add_inner(&s);
    add_free(&s);
    void *const before = arena_copy(s.arena);
    void *const other_before = arena_copy(s.other);
    for (unsigned i = 0; i < s.count; i++)
        check_kind(&s, before, &s.kinds[i]);
    REQUIRE(arena_is_copy(s.other, other_before), "the other arena is as it was");
    REQUIRE(arena_is_sound(s.arena) && arena_is_sound(s.other), "sound");
    free(before);
    free(other_before);
    close_scene(&s);
}

/* K10 */
Test(misuse, pointers_plain)
{
    check_pointers(0);
}

Test(misuse, pointers_hardened)
{
    check_pointers(LFMA_HARDENED);
}

/* A block freed twice: at once, after it was split, joined, given to somebody else in parts. */
static void check_double_frees(uint32_t flags)
{
    for (size_t order = 0; order <= 8; order++) {
        const size_t pages = (size_t)1 << order;
        lfma_arena *const arena = ARENA(.pages = 256, .page_bytes = PAGE, .flags = flags);
        char *const block = lfma_alloc(arena, pages * PAGE);
        REQUIRE_CODE(lfma_free(arena, block), LFMA_OK);
        REQUIRE_CODE(lfma_free(arena, block), LFMA_E_DOUBLE_FREE); /* at once */
        if (order > 0) {
            char *const part = lfma_alloc(arena, pages / 2 * PAGE); /* split again */
            REQUIRE(part != NULL, "half");
            for (size_t page = 0; page < pages; page++) {
                char *const p = block + page * PAGE;
                if (p != part)
                    REQUIRE_CODE(lfma_free(arena, p), lfma_block_of(arena, p) ? LFMA_E_INNER : LFMA_E_DOUBLE_FREE);
            }
            REQUIRE_CODE(lfma_free(arena, part), LFMA_OK);
            REQUIRE_CODE(lfma_free(arena, part), LFMA_E_DOUBLE_FREE);
        }
        REQUIRE(arena_join_all(arena), "join");
        for (size_t page = 0; page < 256; page++)
            REQUIRE_CODE(lfma_free(arena, block + page % pages * PAGE), LFMA_E_DOUBLE_FREE); /* joined */
        REQUIRE(arena_is_fresh(arena), "nothing has changed");
        char *const all = lfma_alloc(arena, 256 * PAGE); /* inside what somebody else owns now */
        REQUIRE(all != NULL, "all");
        if (block != all)
            REQUIRE_CODE(lfma_free(arena, block), LFMA_E_INNER);
        REQUIRE_CODE(lfma_free(arena, all), LFMA_OK);
        REQUIRE_CODE(lfma_arena_destroy(arena), LFMA_OK);
    }
}

Test(misuse, double_frees_plain)
{
    check_double_frees(0);
}

Test(misuse, double_frees_hardened)
{
    check_double_frees(LFMA_HARDENED);
}

Test(misuse, no_arena)
{
    void *block = global_data;
    lfma_coalesce_result result = LFMA_COALESCE_RESULT_INIT;
    lfma_arena_stats_t stats = LFMA_ARENA_STATS_INIT;
    lfma_report report = LFMA_REPORT_INIT;
    const lfma_budget all = LFMA_BUDGET_ALL;
    REQUIRE(lfma_alloc(NULL, 1) == NULL && lfma_alloc_aligned(NULL, 1, 64) == NULL, "alloc");
    REQUIRE_CODE(lfma_try_alloc(NULL, 1, 0, &block), LFMA_E_INVALID);
    REQUIRE_CODE(lfma_try_alloc_aligned(NULL, 1, 64, 0, &block), LFMA_E_INVALID);
    REQUIRE(block == global_data, "output");
    REQUIRE_CODE(lfma_free(NULL, NULL), LFMA_E_INVALID);
    REQUIRE_CODE(lfma_free(NULL, global_data), LFMA_E_INVALID);
    REQUIRE(lfma_usable_size(NULL, global_data) == 0 && lfma_block_of(NULL, global_data) == NULL, "look");
    REQUIRE_CODE(lfma_coalesce(NULL, &all, &result), LFMA_E_INVALID);
    REQUIRE_CODE(lfma_arena_stats(NULL, &stats), LFMA_E_INVALID);
    REQUIRE_CODE(lfma_arena_validate(NULL, &report), LFMA_E_INVALID);
    REQUIRE(result.steps == 0 && stats.bytes == 0 && report.pages_free == 0, "outputs");
}

/* Wrong flags, missing outputs, sizes of structures that are not this version's. */
static void check_arguments(struct scene *s)
{
    void *block = global_data;
    for (unsigned bit = 1; bit < 32; bit++) {
        REQUIRE_CODE(lfma_try_alloc(s->arena, 1, 1u << bit, &block), LFMA_E_INVALID);
        REQUIRE_CODE(lfma_try_alloc(s->arena, 1, 1u << bit | LFMA_ALLOC_NO_COALESCE, &block), LFMA_E_INVALID);
        REQUIRE_CODE(lfma_try_alloc_aligned(s->arena, 1, 64, 1u << bit, &block), LFMA_E_INVALID);
    }
    REQUIRE_CODE(lfma_try_alloc(s->arena, 1, 0, NULL), LFMA_E_INVALID);
    REQUIRE_CODE(lfma_try_alloc_aligned(s->arena, 1, 64, 0, NULL), LFMA_E_INVALID);
    REQUIRE_CODE(lfma_try_alloc(s->arena, 0, 0, &block), LFMA_E_INVALID);
    REQUIRE_CODE(lfma_try_alloc_aligned(s->arena, 1, 3, 0, &block), LFMA_E_INVALID);
    REQUIRE(block == global_data, "output");
    REQUIRE_CODE(lfma_free(s->arena, NULL), LFMA_OK);
    REQUIRE(lfma_usable_size(s->arena, NULL) == 0 && lfma_block_of(s->arena, NULL) == NULL, "NULL");
    REQUIRE_CODE(lfma_arena_stats(s->arena, NULL), LFMA_E_INVALID);
    for (size_t i = 0; i < 5; i++) {
        const size_t wrong = i == 0 ? 0 : i == 1 ? SIZE_MAX : i == 2 ? 1 : 0;
        lfma_coalesce_result result = LFMA_COALESCE_RESULT_INIT;
        lfma_arena_stats_t stats = LFMA_ARENA_STATS_INIT;
        lfma_report report = LFMA_REPORT_INIT;
        result.size = i == 3 ? sizeof result - 1 : i == 4 ? sizeof result + 1 : wrong;
        stats.size = i == 3 ? sizeof stats - 1 : i == 4 ? sizeof stats + 1 : wrong;
        report.size = i == 3 ? sizeof report - 1 : i == 4 ? sizeof report + 1 : wrong;
        REQUIRE_CODE(lfma_coalesce(s->arena, NULL, &result), LFMA_E_INVALID);
        REQUIRE_CODE(lfma_arena_stats(s->arena, &stats), LFMA_E_INVALID);
        REQUIRE_CODE(lfma_arena_validate(s->arena, &report), LFMA_E_INVALID);
        REQUIRE(result.steps == 0 && stats.bytes == 0 && report.pages_free == 0, "outputs");
    }
}

Test(misuse, arguments)
{
    static struct scene s;
    for (uint32_t flags = 0; flags <= LFMA_HARDENED; flags++) {
        open_scene(&s, flags);
        void *const before = arena_copy(s.arena);
        const lfma_arena_stats_t was = arena_stats(s.arena);
        check_arguments(&s);
        const lfma_arena_stats_t now = arena_stats(s.arena);
        REQUIRE(arena_is_copy(s.arena, before), "a bit changed");
        REQUIRE(memcmp(&now, &was, sizeof now) == 0, "a figure moved");
        free(before);
        close_scene(&s);
    }
}
