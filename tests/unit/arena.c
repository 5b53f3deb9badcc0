/* SPDX-License-Identifier: MIT */
/* The public calls on one thread: sizes, alignments, the exact code of each failure, zones, statistics, errno. */
#include "arena/arena.h"
#include "support/arenas.h"
#include "support/unit.h"

#include <errno.h>
#include <lfma/lfma.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE ((size_t)64)

/* Allocate every page singly; the arena's base. */
static char *fill(lfma_arena *arena)
{
    const lfma_arena_stats_t s = arena_stats(arena);
    for (size_t n = s.bytes / s.page_bytes; n > 0; n--)
        REQUIRE(lfma_alloc(arena, 1) != NULL, "page %zu", n);
    return s.base;
}

static void free_pages(lfma_arena *arena, char *base, size_t first, size_t count, size_t stride)
{
    for (size_t n = 0; n < count; n++)
        REQUIRE_CODE(lfma_free(arena, base + (first + n * stride) * PAGE), LFMA_OK);
}

static int try_pages(lfma_arena *arena, size_t pages, unsigned flags)
{
    void *const untouched = &errno;
    void *block = untouched;
    const int code = lfma_try_alloc(arena, pages * PAGE, flags, &block);
    REQUIRE((code == LFMA_OK) == (block != untouched), "output and code %d disagree", code);
    return code;
}

/* E01, E02, E15: sizes 0 and next to SIZE_MAX, at every entry; nothing changes */
Test(arena, impossible_sizes)
{
    lfma_arena *const arena = ARENA(.pages = 64, .page_bytes = 4096);
    void *const before = arena_copy(arena);
    void *block = &block;
    REQUIRE_CODE(lfma_try_alloc(arena, 0, 0, &block), LFMA_E_INVALID);
    REQUIRE_CODE(lfma_try_alloc_aligned(arena, 0, 4096, 0, &block), LFMA_E_INVALID);
    REQUIRE(lfma_alloc(arena, 0) == NULL && lfma_alloc_aligned(arena, 0, 64) == NULL, "0");
    for (size_t i = 0; i <= 8192; i++) {
        const size_t bytes = SIZE_MAX - i;
        REQUIRE_CODE(lfma_try_alloc(arena, bytes, 0, &block), LFMA_E_NEVER);
        REQUIRE_CODE(lfma_try_alloc_aligned(arena, bytes, 4096, 0, &block), LFMA_E_NEVER);
        REQUIRE(lfma_alloc(arena, bytes) == NULL && lfma_alloc_aligned(arena, bytes, 0) == NULL, "%zu", i);
    }
    for (unsigned k = 19; k < 64; k++)
        REQUIRE_CODE(lfma_try_alloc(arena, (size_t)1 << k, 0, &block), LFMA_E_NEVER);
    REQUIRE_CODE(lfma_try_alloc(arena, 64 * 4096 + 1, 0, &block), LFMA_E_NEVER);
    REQUIRE(block == &block, "output written");
    REQUIRE(arena_is_copy(arena, before), "a bit changed");
    REQUIRE(arena_stats(arena).failed_never == 8193 * 4 + 45 + 1, "counted");
    free(before);
    REQUIRE_CODE(lfma_arena_destroy(arena), LFMA_OK);
}

/* E07 */
Test(arena, every_size_is_rounded_to_the_next_order)
{
    lfma_arena *const arena = ARENA(.pages = 1024);
    for (size_t bytes = 1; bytes <= 1024 * PAGE; bytes += bytes < 3000 ? 1 : 61) {
        size_t pages = 1;
        while (pages * PAGE < bytes)
            pages *= 2;
        char *const block = lfma_alloc(arena, bytes);
        REQUIRE(block != NULL, "%zu bytes", bytes);
        REQUIRE(lfma_usable_size(arena, block) == pages * PAGE, "%zu bytes", bytes);
        REQUIRE((uintptr_t)block % (pages * PAGE) == 0, "%zu bytes: aligned to its size", bytes);
        REQUIRE(lfma_block_of(arena, block) == block && lfma_block_of(arena, block + bytes - 1) == block, "%zu",
                bytes);
        REQUIRE(lfma_block_of(arena, block + pages * PAGE) == NULL, "%zu: beyond", bytes);
        REQUIRE_CODE(lfma_free(arena, block), LFMA_OK);
        REQUIRE(lfma_usable_size(arena, block) == 0 && lfma_block_of(arena, block) == NULL, "%zu: freed", bytes);
    }
    REQUIRE_CODE(lfma_arena_destroy(arena), LFMA_OK);
}

/* E14, E16, E17: alignments; what is left of an aligned block overlaps nothing */
Test(arena, alignments)
{
    lfma_arena *const arena = ARENA(.pages = 1024);
    void *block = &block;
    const size_t bad[] = { 3, 5, 6, 7, 63, 65, 96, PAGE + 1, SIZE_MAX, SIZE_MAX - 1, ((size_t)1 << 63) + 1 };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        REQUIRE_CODE(lfma_try_alloc_aligned(arena, 1, bad[i], 0, &block), LFMA_E_INVALID);
    for (size_t alignment = 2048 * PAGE; alignment != 0; alignment *= 2)
        REQUIRE_CODE(lfma_try_alloc_aligned(arena, 1, alignment, 0, &block), LFMA_E_NEVER);
    REQUIRE(block == &block, "output written");

    const size_t sizes[] = { 1, PAGE, PAGE + 1, 3 * PAGE, 64 * PAGE, 1000 * PAGE };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (size_t alignment = 0; alignment <= 1024 * PAGE; alignment = alignment ? 2 * alignment : 1) {
            (void)arena_join_all(arena);
            REQUIRE_CODE(lfma_try_alloc_aligned(arena, sizes[i], alignment, 0, &block), LFMA_OK);
            REQUIRE(alignment == 0 || (uintptr_t)block % alignment == 0, "%zu at %zu", sizes[i], alignment);
            REQUIRE(lfma_usable_size(arena, block) >= sizes[i], "%zu at %zu", sizes[i], alignment);
            REQUIRE(arena_is_sound(arena), "%zu at %zu", sizes[i], alignment);
            REQUIRE_CODE(lfma_free(arena, block), LFMA_OK);
        }
    }
    REQUIRE(arena_join_all(arena) && arena_is_fresh(arena), "fresh");
    REQUIRE_CODE(lfma_arena_destroy(arena), LFMA_OK);
}

/* E20: too few pages, and enough pages but no run: exactly. A22: in bounded steps */
Test(arena, nomem_or_fragmented)
{
    lfma_arena *const arena = ARENA(.pages = 256);
    char *const base = fill(arena);
    const unsigned flags[] = { 0, LFMA_ALLOC_NO_COALESCE };
    for (size_t i = 0; i < 2; i++) {
        for (size_t pages = 1; pages <= 256; pages *= 2)
            REQUIRE_CODE(try_pages(arena, pages, flags[i]), LFMA_E_NOMEM);
        REQUIRE_CODE(try_pages(arena, 257, flags[i]), LFMA_E_NEVER);
    }
    free_pages(arena, base, 1, 128, 2); /* a checkerboard */
    for (size_t i = 0; i < 2; i++) {
        for (size_t pages = 2; pages <= 128; pages *= 2)
            REQUIRE_CODE(try_pages(arena, pages, flags[i]), LFMA_E_FRAGMENTED);
        REQUIRE_CODE(try_pages(arena, 256, flags[i]), LFMA_E_NOMEM);
    }
    for (unsigned n = 0; n < 100000; n++)
        REQUIRE(try_pages(arena, 2, 0) == LFMA_E_FRAGMENTED, "call %u", n);
    REQUIRE_CODE(try_pages(arena, 1, 0), LFMA_OK); /* A04 */
    const lfma_arena_stats_t s = arena_stats(arena);
    REQUIRE(s.failed_nomem == 2 * 9 + 2 && s.failed_fragmented == 2 * 7 + 100000 && s.failed_never == 2, "counted");
    REQUIRE(s.failed_budget == 0 && s.failed_again == 0 && s.bad_frees == 0, "and no others");
    lfma_arena_destroy_forced(arena);
}

/* A run of single pages that only a pass joins: 256 of them are no pairs' business. */
static lfma_arena *shredded(lfma_budget budget)
{
    lfma_arena *const arena = ARENA(.pages = 512, .budget = budget, .no_budget = true);
    free_pages(arena, fill(arena), 256, 256, 1);
    return arena;
}

Test(arena, budget_none_and_no_coalesce)
{
    lfma_arena *const none = shredded((lfma_budget)LFMA_BUDGET_NONE);
    REQUIRE_CODE(try_pages(none, 256, 0), LFMA_E_BUDGET);
    REQUIRE_CODE(try_pages(none, 256, LFMA_ALLOC_NO_COALESCE), LFMA_E_BUDGET);
    REQUIRE_CODE(try_pages(none, 512, 0), LFMA_E_NOMEM);
    REQUIRE(arena_stats(none).failed_budget == 2, "counted");
    REQUIRE(arena_join_all(none), "complete");
    REQUIRE_CODE(try_pages(none, 256, 0), LFMA_OK);
    lfma_arena_destroy_forced(none);

    lfma_arena *const all = shredded((lfma_budget)LFMA_BUDGET_ALL);
    REQUIRE_CODE(try_pages(all, 256, LFMA_ALLOC_NO_COALESCE), LFMA_E_BUDGET);
    REQUIRE_CODE(try_pages(all, 512, LFMA_ALLOC_NO_COALESCE), LFMA_E_NOMEM);
    REQUIRE_CODE(try_pages(all, 256, 0), LFMA_OK);
    lfma_arena_destroy_forced(all);
}

/* J02: progress is kept: a step a call gets there; and when there is nothing to get to, the truth is said. */
Test(arena, one_step_a_call)
{
    lfma_arena *const arena = shredded((lfma_budget)LFMA_BUDGET_STEPS(1));
    unsigned calls = 0;
    int code;
    while ((code = try_pages(arena, 256, 0)) == LFMA_E_BUDGET)
        REQUIRE(++calls < 10000, "gets nowhere");
    REQUIRE_CODE(code, LFMA_OK);
    REQUIRE(calls > 10, "a step is small: %u calls", calls);
    for (unsigned n = 0; n < 100; n++) {
        REQUIRE_CODE(try_pages(arena, 256, 0), LFMA_E_NOMEM);
        REQUIRE_CODE(try_pages(arena, 1, 0), LFMA_E_NOMEM);
    }
    lfma_arena_destroy_forced(arena);
}

/* A19: every page of every zone is used before NOMEM; blocks of each order too */
Test(arena, all_zones_are_used)
{
    for (size_t block = 1; block <= 16; block *= 2) {
        for (size_t pages = 16; pages <= 1040; pages += 64) {
            lfma_arena *const arena = ARENA(.pages = pages, .block_pages = 16, .zone_pages = 16);
            REQUIRE(arena_stats(arena).zones == pages / 16, "%zu zones", arena_stats(arena).zones);
            size_t blocks = 0;
            while (try_pages(arena, block, 0) == LFMA_OK)
                blocks++;
            REQUIRE(blocks == pages / block, "%zu blocks of %zu in %zu pages", blocks, block, pages);
            REQUIRE_CODE(try_pages(arena, block, 0), LFMA_E_NOMEM);
            REQUIRE(arena_is_sound(arena), "sound");
            lfma_arena_destroy_forced(arena);
        }
    }
}

/* A run in the last zone only, single pages in all others: found through coalescing; no block crosses zones. */
Test(arena, the_only_run_in_each_zone)
{
    for (size_t zone = 0; zone < 5; zone++) {
        lfma_arena *const arena = ARENA(.pages = 64 * 4 + 40, .block_pages = 32, .zone_pages = 64);
        char *const base = fill(arena);
        free_pages(arena, base, 1, 148, 2); /* everywhere, singly */
        REQUIRE_CODE(try_pages(arena, 32, 0), LFMA_E_FRAGMENTED);
        for (size_t page = zone * 64; page < zone * 64 + 32; page += 2)
            REQUIRE_CODE(lfma_free(arena, base + page * PAGE), LFMA_OK);
        void *block = NULL;
        REQUIRE_CODE(lfma_try_alloc(arena, 32 * PAGE, 0, &block), LFMA_OK);
        REQUIRE(block == base + zone * 64 * PAGE, "zone %zu", zone);
        lfma_arena_destroy_forced(arena);
    }
}

/* A budget far below one zone's walk gets round all zones: in passes, and in allocations that are called again. */
Test(arena, small_budgets_reach_every_zone)
{
    for (uint64_t steps = 1; steps <= 80; steps++) {
        lfma_arena *const arena = ARENA(.pages = 4 * 4096, .block_pages = 4096, .zone_pages = 4096,
                                        .budget = LFMA_BUDGET_STEPS(steps));
        char *const base = arena_stats(arena).base;
        while (lfma_alloc(arena, PAGE)) {
        }
        for (size_t page = 2 * 4096; page < 4 * 4096; page++)
            REQUIRE_CODE(lfma_free(arena, base + page * PAGE), LFMA_OK);
        const uint64_t joins = 2 * 4096; /* and no call but spends its steps: far fewer than these are enough */
        void *block = NULL;
        int code = LFMA_E_BUDGET;
        for (uint64_t calls = 0; code == LFMA_E_BUDGET && calls < 2 * joins; calls++)
            code = lfma_try_alloc(arena, 4096 * PAGE, 0, &block);
        REQUIRE(code == LFMA_OK, "%" PRIu64 " steps a call: %s", steps, lfma_error_name(code));
        for (uint64_t calls = 0; arena_stats(arena).free_blocks[12] == 0; calls++) {
            REQUIRE(calls < 2 * joins, "%" PRIu64 " steps a call", steps);
            REQUIRE_CODE(lfma_coalesce(arena, NULL, NULL), LFMA_OK);
        }
        REQUIRE(arena_is_sound(arena), "%" PRIu64 " steps a call", steps);
        lfma_arena_destroy_forced(arena);
    }
}

/* I5: the payload is nobody's business: it may be out of reach of the CPU. */
Test(arena, payload_is_never_touched)
{
    lfma_arena *const arena = ARENA(.pages = 5000, .page_bytes = 4096, .flags = LFMA_HARDENED);
    const lfma_arena_stats_t s = arena_stats(arena);
    cr_assert_eq(mprotect(s.base, s.bytes, PROT_NONE), 0);
    rng random = { test_seed(0xa7e4a) };
    static void *blocks[512];
    for (unsigned n = 0; n < 200000; n++) {
        const size_t slot = rng_below(&random, 512);
        if (blocks[slot]) {
            REQUIRE_CODE(lfma_free(arena, blocks[slot]), LFMA_OK);
            blocks[slot] = NULL;
        } else {
            blocks[slot] = lfma_alloc(arena, 1 + rng_below(&random, (size_t)1 << (12 + rng_below(&random, 9))));
        }
        if (n % 1000 == 0) {
            (void)arena_join_all(arena);
            REQUIRE(arena_is_sound(arena), "seed 0x%" PRIx64, test_seed(0xa7e4a));
        }
    }
    lfma_arena_destroy_forced(arena);
}

/* D12: what a destroy would pull from under its owner is seen while it is out. */
Test(arena, destroy_is_refused_while_blocks_are_out)
{
    lfma_arena *const arena = ARENA(.pages = 200, .block_pages = 64, .zone_pages = 64);
    void *const block = lfma_alloc(arena, 1);
    REQUIRE_CODE(lfma_arena_destroy(arena), LFMA_E_BUSY);
    REQUIRE(arena_is_sound(arena), "still there");
    REQUIRE_CODE(lfma_free(arena, block), LFMA_OK);
    REQUIRE_CODE(lfma_arena_destroy(arena), LFMA_OK);
}

#define KEEPS_ERRNO(call)                                                                                            \
    do {                                                                                                             \
        errno = 4242;                                                                                                \
        (void)!(call);                                                                                               \
        REQUIRE(errno == 4242, #call);                                                                               \
    } while (0)

Test(arena, errno_is_never_touched)
{
    lfma_arena *arena = NULL;
    lfma_arena_config config = LFMA_ARENA_CONFIG_INIT;
    KEEPS_ERRNO(lfma_arena_create(&config, &arena));
    config.bytes = 1 << 20;
    KEEPS_ERRNO(lfma_arena_create(&config, &arena));
    lfma_arena *huge = NULL;
    lfma_arena_config too_large = LFMA_ARENA_CONFIG_INIT;
    too_large.bytes = (size_t)1 << 46;
    too_large.page_bytes = 64;
    KEEPS_ERRNO(lfma_arena_create(&too_large, &huge)); /* may or may not be had */
    if (huge)
        lfma_arena_destroy_forced(huge);
    void *block = NULL;
    KEEPS_ERRNO(lfma_try_alloc(arena, 100, 0, &block));
    KEEPS_ERRNO(lfma_alloc(arena, (size_t)1 << 21));
    KEEPS_ERRNO(lfma_alloc(arena, (size_t)1 << 20));
    KEEPS_ERRNO(lfma_alloc_aligned(arena, 1, 3));
    KEEPS_ERRNO(lfma_usable_size(arena, block) == 0);
    KEEPS_ERRNO(lfma_block_of(arena, block));
    KEEPS_ERRNO(lfma_coalesce(arena, NULL, NULL));
    KEEPS_ERRNO(lfma_arena_validate(arena, NULL));
    KEEPS_ERRNO(lfma_free(arena, &config));
    KEEPS_ERRNO(lfma_arena_destroy(arena));
    KEEPS_ERRNO(lfma_free(arena, block));
    lfma_arena_stats_t stats = LFMA_ARENA_STATS_INIT;
    KEEPS_ERRNO(lfma_arena_stats(arena, &stats));
    KEEPS_ERRNO(lfma_arena_destroy(arena));
}

/* K02, B05: every counter, by a script whose sums are known */
Test(arena, statistics_add_up)
{
    lfma_arena *const arena = ARENA(.pages = 1000);
    rng random = { test_seed(0x57a7) };
    static void *blocks[1000];
    uint64_t allocs = 0, frees = 0, requested = 0, reserved = 0, of_order[LFMA_ORDERS] = { 0 }, failed = 0;
    for (unsigned n = 0; n < 50000; n++) {
        const size_t slot = rng_below(&random, 200), bytes = 1 + rng_below(&random, 64 * PAGE);
        if (blocks[slot]) {
            frees += lfma_free(arena, blocks[slot]) == LFMA_OK;
            blocks[slot] = NULL;
        } else if ((blocks[slot] = lfma_alloc(arena, bytes)) != NULL) {
            allocs++;
            requested += bytes;
            const size_t usable = lfma_usable_size(arena, blocks[slot]);
            reserved += usable;
            of_order[__builtin_ctzll(usable / PAGE)]++;
        } else {
            failed++;
        }
    }
    const lfma_arena_stats_t s = arena_stats(arena);
    REQUIRE(s.allocs == allocs && s.frees == frees, "%" PRIu64 ", %" PRIu64, s.allocs, s.frees);
    REQUIRE(s.bytes_requested == requested && s.bytes_reserved == reserved, "%" PRIu64, s.bytes_requested);
    REQUIRE(memcmp(s.allocs_of_order, of_order, sizeof of_order) == 0, "by order");
    REQUIRE(s.failed_nomem + s.failed_fragmented + s.failed_budget + s.failed_again + s.failed_never == failed,
            "failures");
    REQUIRE(failed > 0 && s.bad_frees == 0 && s.failed_again == 0 && s.failed_never == 0, "%" PRIu64 " failures",
            failed);
    REQUIRE(s.free_bytes + s.allocated_bytes == s.bytes, "bytes");
    lfma_report report = LFMA_REPORT_INIT;
    REQUIRE_CODE(lfma_arena_validate(arena, &report), LFMA_OK);
    REQUIRE(report.pages_free * PAGE == s.free_bytes && report.blocks_allocated == allocs - frees, "report");
    lfma_arena_destroy_forced(arena);
}

/* ------------------------------------------------------------------------------------------------- small promises */

Test(arena, alloc_aligned_gives_what_its_twin_gives)
{
    lfma_arena *const arena = ARENA(.pages = 256);
    for (size_t alignment = 0; alignment <= 256 * PAGE; alignment = alignment ? alignment * 2 : 1) {
        char *const block = lfma_alloc_aligned(arena, 1, alignment);
        REQUIRE(block != NULL && (alignment == 0 || (uintptr_t)block % alignment == 0), "%zu", alignment);
        REQUIRE_CODE(lfma_free(arena, block), LFMA_OK);
        REQUIRE(arena_join_all(arena), "joined");
    }
    REQUIRE(lfma_alloc_aligned(arena, 1, 512 * PAGE) == NULL, "more than the largest block");
    REQUIRE_CODE(lfma_arena_destroy(arena), LFMA_OK);
}

Test(arena, coalesce_without_a_budget_does_nothing)
{
    lfma_arena *const arena = ARENA(.pages = 256);
    free_pages(arena, fill(arena), 0, 256, 1);
    void *const before = arena_copy(arena);
    lfma_coalesce_result result = LFMA_COALESCE_RESULT_INIT;
    result.complete = true;
    result.steps = result.blocks_joined = result.bytes_max = 1;
    REQUIRE_CODE(lfma_coalesce(arena, &(lfma_budget)LFMA_BUDGET_NONE, &result), LFMA_OK);
    REQUIRE(!result.complete && result.steps == 0 && result.blocks_joined == 0 && result.bytes_max == 0, "%" PRIu64,
            result.steps);
    REQUIRE(arena_is_copy(arena, before) && arena_stats(arena).coalesce_runs == 0, "a bit changed");
    free(before);
    REQUIRE_CODE(lfma_arena_destroy(arena), LFMA_OK);
}

/* What is broken in one zone is reported with its number, and the zones before it are counted. */
Test(arena, validate_names_the_zone)
{
    lfma_arena *const arena = ARENA(.pages = 5 * 64, .zone_pages = 64, .block_pages = 64);
    for (uint64_t zone = 0; zone < 5; zone++) {
        lfma__a8 *const state = &lfma__zone_states(lfma__arena_zone(arena, zone))[9];
        lfma__a8_store_relaxed(state, LFMA__STATE_ALLOCATED); /* inside a free block */
        lfma_report report = LFMA_REPORT_INIT;
        REQUIRE_CODE(lfma_arena_validate(arena, NULL), LFMA_E_BROKEN);
        REQUIRE_CODE(lfma_arena_validate(arena, &report), LFMA_E_BROKEN);
        REQUIRE(report.zone == zone && report.page == 9 && strcmp(report.invariant, "I7") == 0, "zone %zu, page %zu",
                report.zone, report.page);
        REQUIRE(report.pages_free == zone * 64, "%zu pages", report.pages_free);
        lfma__a8_store_relaxed(state, 0);
        REQUIRE_CODE(lfma_arena_validate(arena, NULL), LFMA_OK);
    }
    REQUIRE_CODE(lfma_arena_destroy(arena), LFMA_OK);
}

/* A22: failures that find no hint move no owner word, and so never make another thread's failure LFMA_E_AGAIN. */
Test(arena, failures_disturb_nobody)
{
    lfma_arena *const arena = ARENA(.pages = 4096);
    char *const base = fill(arena);
    for (unsigned checkerboard = 0; checkerboard < 2; checkerboard++) {
        const int code = checkerboard ? LFMA_E_FRAGMENTED : LFMA_E_NOMEM;
        const unsigned pages = checkerboard ? 2 : 1;
        if (checkerboard)
            free_pages(arena, base, 0, 2048, 2);
        REQUIRE_CODE(try_pages(arena, pages, 0), code); /* retires the hints that lead nowhere */
        const uint64_t before = lfma__arena_read_owners(arena).sum;
        for (unsigned n = 0; n < 100; n++)
            REQUIRE_CODE(try_pages(arena, pages, 0), code);
        REQUIRE(lfma__arena_read_owners(arena).sum == before, "an owner word has moved");
    }
    lfma_arena_destroy_forced(arena);
}
