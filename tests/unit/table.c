/* SPDX-License-Identifier: MIT */
/* Free tables: every slice count up to 200, every position, every place to start; hints that are stale or missing. */
#include "bitmap/bitmap.h"
#include "support/unit.h"

#include <stdlib.h>

#define SLICES_MAX 200u

/* Each test runs on tables without a summary and on tables with one. */
static bool with_summary;

#define TABLE_TEST(name)                                                                                             \
    static void name(void);                                                                                          \
    Test(table, name)                                                                                                \
    {                                                                                                                \
        with_summary = false;                                                                                        \
        name();                                                                                                      \
    }                                                                                                                \
    Test(table_with_summary, name)                                                                                   \
    {                                                                                                                \
        with_summary = true;                                                                                         \
        name();                                                                                                      \
    }                                                                                                                \
    static void name(void)

/* Exactly as large as the count says, so that ASan sees a step beyond. */
static lfma__table table_open(uint64_t slice_count)
{
    lfma__table t = { .slice_count = slice_count };
    if (with_summary) {
        t.summary = calloc((size_t)lfma__words_for(lfma__words_for(slice_count)), sizeof *t.summary);
        if (!t.summary)
            abort();
    }
    t.search = calloc((size_t)lfma__words_for(slice_count), sizeof *t.search);
    t.slices = calloc((size_t)slice_count, sizeof *t.slices);
    if (!t.search || !t.slices)
        abort();
    return t;
}

static void table_close(lfma__table t)
{
    free(t.summary);
    free(t.search);
    free(t.slices);
}

static uint64_t word(const lfma__a64 *words, uint64_t i)
{
    return lfma__a64_load_relaxed(&words[i]);
}

static bool hinted(lfma__table t, uint64_t slice)
{
    return word(t.search, slice / 64) >> slice % 64 & 1;
}

static void set_hint(lfma__table t, uint64_t slice, bool on)
{
    const uint64_t mask = (uint64_t)1 << slice % 64;
    const uint64_t rest = word(t.search, slice / 64) & ~mask;
    lfma__a64_store_relaxed(&t.search[slice / 64], on ? rest | mask : rest);
    if (on && t.summary)
        (void)lfma__hint_ensure(t.summary, slice / 64);
}

static void set_all_hints(lfma__table t)
{
    for (uint64_t slice = 0; slice < t.slice_count; slice++)
        set_hint(t, slice, true);
}

static bool all_slices_empty(lfma__table t)
{
    for (uint64_t i = 0; i < t.slice_count; i++) {
        if (word(t.slices, i) != 0)
            return false;
    }
    return true;
}

static bool no_hints(lfma__table t)
{
    for (uint64_t i = 0; i < lfma__words_for(t.slice_count); i++) {
        if (word(t.search, i) != 0 || (t.summary && word(t.summary, i / 64) != 0))
            return false;
    }
    return true;
}

/* A02: the only free block, at each position up to the last one, from each start; and nothing when it is gone */
static void check_every_position(uint64_t slices, uint64_t start)
{
    const lfma__table t = table_open(slices);
    for (uint64_t slice = 0; slice < slices; slice++) {
        const unsigned bits[] = { 0, 1, 31, 32, 62, 63, (unsigned)((slice * 7 + start) % 64) };
        for (unsigned i = 0; i < sizeof bits / sizeof bits[0]; i++) {
            const uint64_t block = slice * 64 + bits[i];
            REQUIRE(!lfma__table_publish(t, block), "was not free");
            REQUIRE(hinted(t, slice), "%" PRIu64 " slices, slice %" PRIu64, slices, slice);
            const uint64_t got = lfma__table_claim(t, start);
            REQUIRE(got == block, "%" PRIu64 " slices, block %" PRIu64 ", start %" PRIu64, slices, block, start);
            REQUIRE(lfma__table_claim(t, start) == LFMA__NONE, "it was the only one");
        }
    }
    REQUIRE(all_slices_empty(t) && no_hints(t), "empty, and every hint retired");
    table_close(t);
}

TABLE_TEST(every_position_of_every_size)
{
    for (uint64_t slices = 1; slices <= SLICES_MAX; slices++)
        check_every_position(slices, slices / 2);
}

/* A11: and from every start, with the wrap */
TABLE_TEST(every_start)
{
    const uint64_t sizes[] = { 1, 2, 3, 63, 64, 65, 66, 127, 128, 129, 191, 192, 193, 200 };
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (uint64_t start = 0; start < sizes[i]; start++)
            check_every_position(sizes[i], start);
    }
}

/* Several at once: the lowest of one slice, behind any number of hints that lead nowhere; each block only once. */
TABLE_TEST(some_behind_stale_hints)
{
    for (uint64_t slices = 1; slices <= SLICES_MAX; slices += slices < 4 ? 1 : 13) {
        const lfma__table t = table_open(slices);
        for (uint64_t slice = 0; slice < slices; slice++) {
            for (uint64_t start = 0; start < slices; start += 1 + slices / 5) {
                for (unsigned count = 1; count <= 64; count = count * 3 + 1) {
                    set_all_hints(t);
                    (void)lfma__table_publish_bits(t, slice, UINT64_C(0xf0f0f0f0f0f0f0f0));
                    uint64_t claimed = 0, index = 0, bits;
                    while ((bits = lfma__table_claim_some(t, start, count, &index)) != 0) {
                        REQUIRE(index == slice && !(claimed & bits), "slice %" PRIu64 ": %" PRIx64, index, bits);
                        REQUIRE((unsigned)__builtin_popcountll(bits) <= count, "%u: %" PRIx64, count, bits);
                        REQUIRE(claimed == 0 || 63 - __builtin_clzll(claimed) < __builtin_ctzll(bits), "the lowest");
                        claimed |= bits;
                    }
                    REQUIRE(claimed == UINT64_C(0xf0f0f0f0f0f0f0f0),
                            "%" PRIx64 " of %" PRIu64 "/%" PRIu64 " from %" PRIu64, claimed, slice, slices, start);
                }
            }
        }
        table_close(t);
    }
}

/* Tables of more than 64 search words, so of more than one summary word: around each edge. */
TABLE_TEST(large_tables)
{
    const uint64_t sizes[] = { 4095, 4096, 4097, 4160, 8192, 8200 };
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const lfma__table t = table_open(sizes[i]);
        for (uint64_t slice = 0; slice < sizes[i]; slice += slice % 64 == 1 ? 61 : 1) {
            for (uint64_t start = 0; start < sizes[i]; start += 1 + sizes[i] / 7) {
                (void)lfma__table_publish(t, slice * 64 + 9);
                REQUIRE(lfma__table_claim(t, start) == slice * 64 + 9, "%" PRIu64 "/%" PRIu64, slice, sizes[i]);
                REQUIRE(lfma__table_claim(t, start) == LFMA__NONE, "it was the only one");
            }
        }
        REQUIRE(all_slices_empty(t) && no_hints(t), "empty, and every hint retired");
        table_close(t);
    }
}

/* A summary bit lost hides a search word from the search; the scan mends it. */
TABLE_TEST(scan_repairs_the_summary)
{
    const lfma__table t = table_open(500);
    for (uint64_t slice = 64; t.summary && slice < 500; slice++) { /* the search word of the start is always read */
        uint64_t repaired = 0;
        (void)lfma__table_publish(t, slice * 64);
        lfma__a64_store_relaxed(&t.summary[0], 0);
        REQUIRE(lfma__table_claim(t, 0) == LFMA__NONE, "hidden");
        REQUIRE(lfma__table_find(t) == slice, "slice %" PRIu64, slice);
        REQUIRE(lfma__table_claim_scan(t, slice, &repaired) == slice * 64 && repaired == 1, "slice %" PRIu64, slice);
        REQUIRE(lfma__table_find(t) == t.slice_count, "none is left");
        REQUIRE(lfma__table_claim(t, 0) == LFMA__NONE, "the only one");
    }
    table_close(t);
}

/* A summary bit over a search word of zeros: tidying the word's first slice retires it, and no other's. */
TABLE_TEST(tidy_retires_a_stale_summary)
{
    const lfma__table t = table_open(500);
    for (uint64_t slice = 0; t.summary && slice < 500; slice++) {
        lfma__a64_store_relaxed(&t.summary[0], 0xFF);
        lfma__table_tidy(t, slice);
        const uint64_t retired = slice % 64 == 0 ? (uint64_t)1 << slice / 64 : 0;
        REQUIRE(word(t.summary, 0) == (0xFF & ~retired), "slice %" PRIu64, slice);
        lfma__table_tidy(t, slice);
        REQUIRE(word(t.summary, 0) == (0xFF & ~retired), "slice %" PRIu64 ", again", slice);
    }
    table_close(t);
}

TABLE_TEST(publish_tells_a_second_publish)
{
    const lfma__table t = table_open(3);
    for (uint64_t block = 0; block < 192; block++) {
        REQUIRE(!lfma__table_publish(t, block), "first");
        REQUIRE(lfma__table_publish(t, block), "second");
        REQUIRE(word(t.slices, block / 64) == lfma__word_mask(0, (unsigned)(block % 64) + 1), "nothing else changed");
    }
    table_close(t);
}

TABLE_TEST(claims_the_lowest_of_the_first_slice_from_the_start)
{
    for (uint64_t start = 0; start < 130; start++) {
        const lfma__table t = table_open(130);
        lfma__table_fill(t, 0, 130 * 64);
        for (uint64_t n = 0; n < 130 * 64; n++) {
            const uint64_t got = lfma__table_claim(t, start);
            REQUIRE(got == (start * 64 + n) % (130 * 64), "start %" PRIu64 ", claim %" PRIu64, start, n);
        }
        REQUIRE(lfma__table_claim(t, start) == LFMA__NONE, "all are claimed");
        table_close(t);
    }
}

/* A01, A05, A23: all hints stale but one, wherever that is: the search goes on past each */
TABLE_TEST(stale_hints_are_passed_and_retired)
{
    const uint64_t sizes[] = { 1, 2, 64, 65, 130, 200 };
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const lfma__table t = table_open(sizes[i]);
        for (uint64_t good = 0; good < sizes[i]; good++) {
            for (uint64_t start = 0; start < sizes[i]; start += 1 + sizes[i] / 8) {
                set_all_hints(t);
                (void)lfma__table_publish(t, good * 64 + 5);
                REQUIRE(lfma__table_claim(t, start) == good * 64 + 5, "%" PRIu64 " of %" PRIu64, good, sizes[i]);
                REQUIRE(lfma__table_claim(t, start) == LFMA__NONE, "no other");
                REQUIRE(no_hints(t), "each stale hint is retired by the search that found out");
            }
        }
        table_close(t);
    }
}

/* A01: two hints, {stale, good} and {good, stale} */
TABLE_TEST(one_stale_one_good)
{
    const lfma__table t = table_open(2);
    for (uint64_t good = 0; good < 2; good++) {
        for (uint64_t start = 0; start < 2; start++) {
            set_all_hints(t);
            (void)lfma__table_publish(t, good * 64 + 63);
            REQUIRE(lfma__table_claim(t, start) == good * 64 + 63, "good %" PRIu64 ", start %" PRIu64, good, start);
        }
    }
    table_close(t);
}

/* A04: a checkerboard: holes in mid-word are found, all of them, each once */
TABLE_TEST(checkerboard)
{
    const lfma__table t = table_open(70);
    for (uint64_t block = 1; block < 70 * 64; block += 2)
        (void)lfma__table_publish(t, block);
    for (uint64_t block = 1; block < 70 * 64; block += 2)
        REQUIRE(lfma__table_claim(t, 0) == block, "%" PRIu64, block);
    REQUIRE(lfma__table_claim(t, 0) == LFMA__NONE, "no more");
    table_close(t);
}

/* A lost hint hides a block from claim; claim_scan finds it, mends the hint and counts it. */
TABLE_TEST(scan_finds_and_repairs_missing_hints)
{
    for (uint64_t slices = 1; slices <= SLICES_MAX; slices++) {
        const lfma__table t = table_open(slices);
        for (uint64_t slice = 0; slice < slices; slice++) {
            uint64_t repaired = 0;
            (void)lfma__table_publish(t, slice * 64 + 10);
            (void)lfma__table_publish(t, slice * 64 + 11);
            set_hint(t, slice, false);
            REQUIRE(lfma__table_claim(t, 0) == LFMA__NONE, "no hint, no block");
            REQUIRE(lfma__table_claim_scan(t, 0, &repaired) == slice * 64 + 10, "%" PRIu64 "/%" PRIu64, slice,
                    slices);
            REQUIRE(repaired == 1, "%" PRIu64, repaired);
            REQUIRE(hinted(t, slice), "mended");
            REQUIRE(lfma__table_claim_scan(t, 0, &repaired) == slice * 64 + 11, "the other");
            REQUIRE(repaired == 1, "nothing to mend: %" PRIu64, repaired);
            REQUIRE(lfma__table_claim_scan(t, 0, &repaired) == LFMA__NONE, "none left");
        }
        table_close(t);
    }
}

TABLE_TEST(hint_says_whether_it_had_to)
{
    const lfma__table t = table_open(129);
    for (uint64_t slice = 0; slice < 129; slice++) {
        REQUIRE(lfma__table_hint(t, slice), "had to be set");
        REQUIRE(!lfma__table_hint(t, slice), "was set");
    }
    table_close(t);
}

/* B01, B02: claim_bits takes exactly what is free of the mask; publish_bits puts it back */
TABLE_TEST(claim_bits_takes_what_is_there)
{
    const lfma__table t = table_open(66);
    rng random = { test_seed(0x7ab1e) };
    for (unsigned n = 0; n < 20000; n++) {
        const uint64_t slice = rng_below(&random, 66);
        const uint64_t there = rng_next(&random) & rng_next(&random);
        const uint64_t wanted = rng_next(&random);
        if (there)
            lfma__table_publish_bits(t, slice, there);
        REQUIRE(lfma__table_claim_bits(t, slice, wanted) == (there & wanted), "%016" PRIx64 "/%016" PRIx64, there,
                wanted);
        REQUIRE(word(t.slices, slice) == (there & ~wanted), "the rest stays");
        REQUIRE(lfma__table_claim_bits(t, slice, UINT64_MAX) == (there & ~wanted), "the rest");
        REQUIRE(all_slices_empty(t), "no other slice was touched");
    }
    table_close(t);
}

/* F10: each range, over one, two and three words */
TABLE_TEST(fill_every_range)
{
    for (uint64_t first = 0; first < 130; first++) {
        for (uint64_t count = 0; count <= 256 - first; count += count < 70 ? 1 : 13) {
            const lfma__table t = table_open(4);
            lfma__table_fill(t, first, count);
            for (uint64_t block = 0; block < 256; block++) {
                const bool free = word(t.slices, block / 64) >> block % 64 & 1;
                REQUIRE(free == (block >= first && block < first + count), "%" PRIu64 "+%" PRIu64, first, count);
                REQUIRE(!free || hinted(t, block / 64), "and hinted");
            }
            table_close(t);
        }
    }
}

/* Random publishes and claims against a byte a block. */
TABLE_TEST(random_against_a_byte_a_block)
{
    rng random = { test_seed(0x7ab1f) };
    for (unsigned round = 0; round < 40; round++) {
        const uint64_t slices = 1 + rng_below(&random, SLICES_MAX);
        const lfma__table t = table_open(slices);
        uint8_t *const model = calloc((size_t)slices * 64, 1);
        cr_assert_not_null(model);
        uint64_t free_blocks = 0;
        for (unsigned n = 0; n < 20000; n++) {
            if (rng_below(&random, 100) < 45) {
                const uint64_t block = rng_below(&random, slices * 64);
                REQUIRE(lfma__table_publish(t, block) == (model[block] == 1), "seed 0x%" PRIx64, test_seed(0x7ab1f));
                free_blocks += model[block] == 0;
                model[block] = 1;
                continue;
            }
            const uint64_t block = lfma__table_claim(t, rng_below(&random, slices));
            REQUIRE((block == LFMA__NONE) == (free_blocks == 0), "seed 0x%" PRIx64, test_seed(0x7ab1f));
            if (block != LFMA__NONE) {
                REQUIRE(model[block] == 1, "seed 0x%" PRIx64, test_seed(0x7ab1f));
                model[block] = 0;
                free_blocks--;
            }
        }
        free(model);
        table_close(t);
    }
}
