/* SPDX-License-Identifier: MIT */
/* Configurations at and beyond every limit: the code, the output untouched; and what valid ones come to. */
#include "support/arenas.h"
#include "support/unit.h"

#include <lfma/lfma.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define PAGE ((size_t)4096)
#define TWO_TO(n) ((size_t)1 << (n))

static char not_an_arena[1];

struct row {
    const char *name;
    size_t bytes, page_bytes, block, zone;
    uint32_t flags, threads_max;
    int code;
};

/* E04, E05, E19, F08 */
static const struct row rows[] = {
    { "nothing set", 0, 0, 0, 0, 0, 0, LFMA_E_INVALID },
    { "one byte", 1, 0, 0, 0, 0, 0, LFMA_OK },
    { "a page - 1", PAGE - 1, 0, 0, 0, 0, 0, LFMA_OK },
    { "a page", PAGE, 0, 0, 0, 0, 0, LFMA_OK },
    { "a page + 1", PAGE + 1, 0, 0, 0, 0, 0, LFMA_OK },
    { "2^45 + 1", TWO_TO(45) + 1, 0, 0, 0, 0, 0, LFMA_E_INVALID },
    { "2^63", TWO_TO(63), 0, 0, 0, 0, 0, LFMA_E_INVALID },
    { "SIZE_MAX - a page", SIZE_MAX - PAGE, 0, 0, 0, 0, 0, LFMA_E_INVALID },
    { "SIZE_MAX", SIZE_MAX, 0, 0, 0, 0, 0, LFMA_E_INVALID },
    { "pages of 1", PAGE, 1, 0, 0, 0, 0, LFMA_E_INVALID },
    { "pages of 32", PAGE, 32, 0, 0, 0, 0, LFMA_E_INVALID },
    { "pages of 63", PAGE, 63, 0, 0, 0, 0, LFMA_E_INVALID },
    { "pages of 64", PAGE, 64, 0, 0, 0, 0, LFMA_OK },
    { "pages of 65", PAGE, 65, 0, 0, 0, 0, LFMA_E_INVALID },
    { "pages of 96", PAGE, 96, 0, 0, 0, 0, LFMA_E_INVALID },
    { "pages of 1 GiB", TWO_TO(31), TWO_TO(30), 0, 0, 0, 0, LFMA_OK },
    { "pages of 2 GiB", TWO_TO(31), TWO_TO(31), 0, 0, 0, 0, LFMA_E_INVALID },
    { "pages of 2^63", TWO_TO(31), TWO_TO(63), 0, 0, 0, 0, LFMA_E_INVALID },
    { "pages of SIZE_MAX", TWO_TO(31), SIZE_MAX, 0, 0, 0, 0, LFMA_E_INVALID },
    { "block of 1 byte", 64 * PAGE, 0, 1, 0, 0, 0, LFMA_OK },
    { "block of a page", 64 * PAGE, 0, PAGE, 0, 0, 0, LFMA_OK },
    { "block of 3 pages", 64 * PAGE, 0, 3 * PAGE, 0, 0, 0, LFMA_OK },
    { "block of all", 64 * PAGE, 0, 64 * PAGE, 0, 0, 0, LFMA_OK },
    { "block of all + 1", 64 * PAGE, 0, 64 * PAGE + 1, 0, 0, 0, LFMA_E_INVALID },
    { "block rounded up beyond all", 63 * PAGE, 0, 63 * PAGE, 0, 0, 0, LFMA_E_INVALID },
    { "block of SIZE_MAX", 64 * PAGE, 0, SIZE_MAX, 0, 0, 0, LFMA_E_INVALID },
    { "zones alone", 64 * PAGE, 0, 0, 4 * PAGE, 0, 0, LFMA_OK },
    { "zones alone, of more than all", 64 * PAGE, 0, 0, 4096 * PAGE, 0, 0, LFMA_OK },
    { "zones alone, below a page", 64 * PAGE, 0, 0, PAGE / 2, 0, 0, LFMA_E_INVALID },
    { "zones of a block", 64 * PAGE, 0, 4 * PAGE, 4 * PAGE, 0, 0, LFMA_OK },
    { "zones rounded up", 64 * PAGE, 0, 4 * PAGE, 3 * PAGE, 0, 0, LFMA_OK },
    { "zones below a block", 64 * PAGE, 0, 8 * PAGE, 4 * PAGE, 0, 0, LFMA_E_INVALID },
    { "zones of 1 byte", 64 * PAGE, 0, 8 * PAGE, 1, 0, 0, LFMA_E_INVALID },
    { "zones of all", 64 * PAGE, 0, 8 * PAGE, 64 * PAGE, 0, 0, LFMA_OK },
    { "zones of more than all", 64 * PAGE, 0, 8 * PAGE, 4096 * PAGE, 0, 0, LFMA_OK },
    { "zones of 2^31 pages", 64 * PAGE, 0, 8 * PAGE, TWO_TO(31) * PAGE, 0, 0, LFMA_OK },
    { "zones of more", 64 * PAGE, 0, 8 * PAGE, TWO_TO(31) * PAGE + 1, 0, 0, LFMA_E_INVALID },
    { "zones of SIZE_MAX", 64 * PAGE, 0, 8 * PAGE, SIZE_MAX, 0, 0, LFMA_E_INVALID },
    { "one thread", PAGE, 0, 0, 0, 0, 1, LFMA_OK },
    { "1024 threads", PAGE, 0, 0, 0, 0, 1024, LFMA_OK },
    { "1025 threads", PAGE, 0, 0, 0, 0, 1025, LFMA_E_INVALID },
    { "2^32 - 1 threads", PAGE, 0, 0, 0, 0, UINT32_MAX, LFMA_E_INVALID },
    { "hardened", PAGE, 0, 0, 0, LFMA_HARDENED, 0, LFMA_OK },
    { "an unknown flag", PAGE, 0, 0, 0, 4, 0, LFMA_E_INVALID },
    { "no caches", PAGE, 0, 0, 0, LFMA_NO_CACHE, 0, LFMA_OK },
    { "the highest flag", PAGE, 0, 0, 0, LFMA_HARDENED | 1u << 31, 0, LFMA_E_INVALID },
};

static lfma_arena_config config_of(const struct row *r)
{
    lfma_arena_config config = LFMA_ARENA_CONFIG_INIT;
    config.bytes = r->bytes;
    config.page_bytes = r->page_bytes;
    config.block_bytes_max = r->block;
    config.zone_bytes = r->zone;
    config.flags = r->flags;
    config.threads_max = r->threads_max;
    return config;
}

static void check_rows_arena(const struct row *r, lfma_arena *arena)
{
    const lfma_arena_stats_t s = arena_stats(arena);
    const size_t page = r->page_bytes ? r->page_bytes : PAGE;
    REQUIRE(s.page_bytes == page, "%s", r->name);
    REQUIRE(s.bytes == (r->bytes + page - 1) / page * page, "%s: %zu bytes", r->name, s.bytes);
    REQUIRE(s.block_bytes_max >= page && s.block_bytes_max <= s.bytes, "%s", r->name);
    REQUIRE(r->block == 0 || (s.block_bytes_max >= r->block && s.block_bytes_max / 2 < r->block) ||
                s.block_bytes_max == page,
            "%s: blocks of %zu", r->name, s.block_bytes_max);
    REQUIRE((uintptr_t)s.base % s.block_bytes_max == 0, "%s: base %p", r->name, s.base);
    REQUIRE(s.zones * s.zone_bytes >= s.bytes && (s.zones - 1) * s.zone_bytes < s.bytes, "%s", r->name);
    REQUIRE(s.free_bytes == s.bytes && s.allocated_bytes == 0, "%s", r->name);
    void *const block = lfma_alloc(arena, s.block_bytes_max);
    REQUIRE(block != NULL, "%s: the largest block", r->name);
    REQUIRE(lfma_free(arena, block) == LFMA_OK, "%s", r->name);
    REQUIRE(arena_is_sound(arena), "%s", r->name);
    REQUIRE(lfma_arena_destroy(arena) == LFMA_OK, "%s", r->name);
}

Test(config, limits)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const lfma_arena_config config = config_of(&rows[i]);
        lfma_arena *const untouched = (lfma_arena *)(void *)not_an_arena;
        lfma_arena *arena = untouched;
        const int code = lfma_arena_create(&config, &arena);
        REQUIRE(code == rows[i].code, "%s: %s", rows[i].name, lfma_error_name(code));
        if (code == LFMA_OK)
            check_rows_arena(&rows[i], arena);
        else
            REQUIRE(arena == untouched, "%s: output written", rows[i].name);
    }
}

Test(config, arguments)
{
    lfma_arena *const untouched = (lfma_arena *)(void *)not_an_arena;
    lfma_arena *arena = untouched;
    lfma_arena_config config = LFMA_ARENA_CONFIG_INIT;
    config.bytes = PAGE;
    REQUIRE_CODE(lfma_arena_create(NULL, &arena), LFMA_E_INVALID);
    REQUIRE_CODE(lfma_arena_create(&config, NULL), LFMA_E_INVALID);
    REQUIRE_CODE(lfma_arena_create(NULL, NULL), LFMA_E_INVALID);
    const size_t sizes[] = { 0, 1, sizeof config - 1, sizeof config + 1, SIZE_MAX };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        config.size = sizes[i];
        REQUIRE_CODE(lfma_arena_create(&config, &arena), LFMA_E_INVALID);
    }
    REQUIRE(arena == untouched, "output written");
    REQUIRE_CODE(lfma_arena_destroy(NULL), LFMA_OK);
    lfma_arena_destroy_forced(NULL);
}

static bool address_space_is_limited(void)
{
    struct rlimit limit;
    return test_is_sanitized() || test_is_emulated() || getrlimit(RLIMIT_AS, &limit) != 0 ||
           limit.rlim_cur != RLIM_INFINITY;
}

static void check_size(size_t bytes, size_t page_bytes)
{
    lfma_arena_config config = LFMA_ARENA_CONFIG_INIT;
    config.bytes = bytes;
    config.page_bytes = page_bytes;
    lfma_arena *arena = NULL;
    const int code = lfma_arena_create(&config, &arena);
    REQUIRE(code == LFMA_OK, "%zu bytes in pages of %zu: %s", bytes, page_bytes, lfma_error_name(code));
    lfma_arena_stats_t s = { 0 };
    if (bytes <= TWO_TO(40)) { /* O(pages) */
        s = arena_stats(arena);
        REQUIRE(s.block_bytes_max <= s.bytes && s.block_bytes_max > s.bytes / 2, "%zu: %zu", bytes,
                s.block_bytes_max);
        void *const block = lfma_alloc(arena, s.block_bytes_max);
        REQUIRE(block != NULL, "%zu bytes: all in one block", bytes);
        REQUIRE_CODE(lfma_arena_destroy(arena), LFMA_E_BUSY);
        REQUIRE_CODE(lfma_free(arena, block), LFMA_OK);
        REQUIRE_CODE(lfma_arena_destroy(arena), LFMA_OK);
        return;
    }
    void *const block = lfma_alloc(arena, (size_t)1 << 40);
    REQUIRE(block != NULL, "%zu bytes: a TiB", bytes);
    REQUIRE_CODE(lfma_free(arena, block), LFMA_OK);
    lfma_arena_destroy_forced(arena);
}

/* A20, F14: every power of two and its neighbours, up to 1 TiB; the largest block is had */
Test(config, powers_of_two)
{
    const unsigned largest = test_is_emulated() ? 34 : 40;
    for (unsigned k = 13; k <= largest; k++) {
        check_size(TWO_TO(k), 0);
        check_size(TWO_TO(k) - PAGE, 0);
        check_size(TWO_TO(k) + PAGE, 0);
    }
}

/* Does the OS give so much in one piece, here and now? */
static bool os_gives(size_t bytes)
{
    void *const range = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED)
        return false;
    cr_assert_eq(munmap(range, bytes), 0);
    return true;
}

/* A20: the maximum that is documented is really to be had, in pages of every size. */
Test(config, the_largest_arenas)
{
    if (address_space_is_limited())
        cr_skip_test("the address space is limited");
    for (unsigned k = 41; k <= 45; k++) {
        if (!os_gives(2 * TWO_TO(k)))
            cr_skip_test("the address space has no room for twice 2^%u bytes", k);
        for (unsigned page = 12; page <= 30; page += 3) {
            check_size(TWO_TO(k), TWO_TO(page));
            check_size(TWO_TO(k) - TWO_TO(page), TWO_TO(page));
        }
    }
}

Test(config, odd_sizes_are_whole)
{
    const size_t pages[] = { 1, 2, 3, 5, 63, 64, 65, 127, 1000, 4097, 1000003 };
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        lfma_arena *const arena = ARENA(.pages = pages[i], .page_bytes = 64);
        const lfma_arena_stats_t s = arena_stats(arena);
        REQUIRE(s.bytes == pages[i] * 64, "%zu pages", pages[i]);
        size_t had = 0;
        while (lfma_alloc(arena, 64) != NULL)
            had++;
        REQUIRE(had == pages[i], "%zu of %zu pages", had, pages[i]);
        REQUIRE(arena_is_sound(arena), "%zu pages", pages[i]);
        for (size_t p = 0; p < pages[i]; p++)
            REQUIRE(lfma_free(arena, (char *)s.base + p * 64) == LFMA_OK, "page %zu", p);
        REQUIRE(arena_join_all(arena) && arena_is_fresh(arena), "%zu pages", pages[i]);
        REQUIRE_CODE(lfma_arena_destroy(arena), LFMA_OK);
    }
}

Test(config, texts)
{
    static const char *const names[] = { "LFMA_OK",      "LFMA_E_INVALID",     "LFMA_E_NEVER",
                                         "LFMA_E_NOMEM", "LFMA_E_FRAGMENTED",  "LFMA_E_BUDGET",
                                         "LFMA_E_AGAIN", "LFMA_E_FOREIGN",     "LFMA_E_UNALIGNED",
                                         "LFMA_E_INNER", "LFMA_E_DOUBLE_FREE", "LFMA_E_BUSY",
                                         "LFMA_E_OS",    "LFMA_E_BROKEN",      "LFMA_E_LIMIT" };
    REQUIRE(LFMA_ERROR_LAST == -14, "the list above is whole");
    for (int code = 0; code >= LFMA_ERROR_LAST; code--) {
        REQUIRE(strcmp(lfma_error_name(code), names[-code]) == 0, "%d: %s", code, lfma_error_name(code));
        REQUIRE(strlen(lfma_strerror(code)) > 5, "%d", code);
        for (int other = 0; other > code; other--)
            REQUIRE(strcmp(lfma_strerror(code), lfma_strerror(other)) != 0, "%d and %d", code, other);
    }
    const int none[] = { 1, 2, INT32_MAX, LFMA_ERROR_LAST - 1, -1000, INT32_MIN };
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        REQUIRE(strcmp(lfma_error_name(none[i]), "LFMA_E_?") == 0, "%d", none[i]);
        REQUIRE(strlen(lfma_strerror(none[i])) > 5, "%d", none[i]);
    }
}

Test(config, version)
{
    char text[40];
    (void)snprintf(text, sizeof text, "%d.%d.%d", LFMA_VERSION_MAJOR, LFMA_VERSION_MINOR, LFMA_VERSION_PATCH);
    REQUIRE(strcmp(text, LFMA_VERSION_STRING) == 0, "%s", text);
    REQUIRE(strcmp(lfma_version(), LFMA_VERSION_STRING) == 0, "%s", lfma_version());
}
