/* SPDX-License-Identifier: MIT */
/* Pure word logic against loops over single bits, exhaustively where a word can be exhausted. */
#include "bitmap/word.h"
#include "base/base.h"
#include "support/unit.h"

static bool bit(uint64_t w, unsigned i)
{
    return (w / ((uint64_t)1 << i)) % 2 == 1;
}

static uint64_t naive_mask(unsigned start, unsigned count)
{
    uint64_t mask = 0;
    for (unsigned i = start; i < start + count; i++)
        mask += (uint64_t)1 << i;
    return mask;
}

static uint64_t naive_runs(uint64_t w, unsigned log2_run)
{
    const unsigned run = 1u << log2_run;
    uint64_t starts = 0;
    for (unsigned first = 0; first < 64; first += run) {
        bool all = true;
        for (unsigned i = first; i < first + run; i++)
            all = all && bit(w, i);
        if (all)
            starts += (uint64_t)1 << first;
    }
    return starts;
}

static uint64_t naive_widen(uint64_t w, unsigned log2_width)
{
    const unsigned width = 1u << log2_width;
    uint64_t wide = 0;
    for (unsigned i = 0; i < 64 / width; i++) {
        if (bit(w, i))
            wide += naive_mask(i * width, width);
    }
    return wide;
}

/* E06, E10: no shift by the width of a word, neither for a full mask nor at the last bit. */
Test(word, mask_of_every_start_and_count)
{
    for (unsigned start = 0; start < 64; start++) {
        for (unsigned count = 1; count <= 64 - start; count++)
            REQUIRE(lfma__word_mask(start, count) == naive_mask(start, count), "start %u, count %u", start, count);
    }
}

/* E09: words are bits over 64, not over 8 */
Test(word, words_for_counts_bits)
{
    uint64_t words = 0;
    REQUIRE(lfma__words_for(0) == 0, "0");
    for (uint64_t bits = 1; bits <= 100000; bits++) {
        words += bits % 64 == 1;
        REQUIRE(lfma__words_for(bits) == words, "%" PRIu64, bits);
    }
    for (unsigned i = 6; i < 64; i++) {
        const uint64_t power = (uint64_t)1 << i;
        REQUIRE(lfma__words_for(power) == power / 64, "2^%u", i);
        REQUIRE(lfma__words_for(power - 1) == power / 64, "2^%u - 1", i);
        REQUIRE(lfma__words_for(power + 1) == power / 64 + 1, "2^%u + 1", i);
    }
    REQUIRE(lfma__words_for(UINT64_MAX) == (uint64_t)1 << 58, "the largest count does not wrap");
}

static void check_runs(uint64_t w)
{
    for (unsigned k = 0; k <= 6; k++)
        REQUIRE(lfma__word_runs(w, k) == naive_runs(w, k), "%016" PRIx64 ", runs of 2^%u", w, k);
}

static void check_widen(uint64_t w)
{
    for (unsigned k = 0; k <= 6; k++) {
        const uint64_t fits = w & naive_mask(0, 64u >> k);
        REQUIRE(lfma__word_widen(fits, k) == naive_widen(fits, k), "%016" PRIx64 ", width 2^%u", fits, k);
    }
}

/* B08: every pattern of 16 bits, at every place of a word a pattern can have */
Test(word, runs_of_every_pattern_of_16_bits)
{
    for (uint64_t pattern = 0; pattern < 65536; pattern++) {
        for (unsigned at = 0; at <= 48; at += test_is_sanitized() ? 16 : 4) {
            check_runs(pattern << at);
            check_runs(~(pattern << at));
        }
    }
}

Test(word, widen_every_pattern_of_16_bits)
{
    for (uint64_t pattern = 0; pattern < 65536; pattern++) {
        for (unsigned at = 0; at <= 48; at += test_is_sanitized() ? 16 : 8)
            check_widen(pattern << at);
    }
}

/* B02, F10: every range of 1s in a word */
Test(word, runs_and_widen_of_every_range)
{
    for (unsigned start = 0; start < 64; start++) {
        for (unsigned count = 1; count <= 64 - start; count++) {
            const uint64_t w = naive_mask(start, count);
            check_runs(w);
            check_runs(~w);
            check_widen(w);
        }
    }
}

/* B07, E08: each bit alone is seen by each helper */
Test(word, each_bit_alone)
{
    check_runs(0);
    check_widen(0);
    check_runs(UINT64_MAX);
    check_widen(UINT64_MAX);
    for (unsigned i = 0; i < 64; i++) {
        const uint64_t w = (uint64_t)1 << i;
        check_runs(w);
        check_runs(~w);
        check_widen(w);
        REQUIRE(lfma__ctz64(w) == i, "bit %u", i);
        REQUIRE(lfma__log2_floor(w) == i, "bit %u", i);
        REQUIRE(lfma__popcount64(w) == 1, "bit %u", i);
        REQUIRE(lfma__popcount64(~w) == 63, "all but bit %u", i);
    }
    REQUIRE(lfma__popcount64(0) == 0, "0");
    REQUIRE(lfma__popcount64(UINT64_MAX) == 64, "all ones");
}

Test(word, widen_then_runs_is_the_identity)
{
    rng random = { test_seed(0x51) };
    for (unsigned n = 0; n < 100000; n++) {
        const uint64_t any = rng_next(&random);
        for (unsigned k = 0; k <= 6; k++) {
            const uint64_t w = any & naive_mask(0, 64u >> k);
            uint64_t packed = 0;
            for (unsigned i = 0; i < 64u >> k; i++)
                packed |= (uint64_t)bit(lfma__word_runs(lfma__word_widen(w, k), k), i << k) << i;
            REQUIRE(packed == w, "%016" PRIx64 ", 2^%u", w, k);
        }
    }
}

static unsigned naive_log2_floor(uint64_t x)
{
    unsigned k = 0;
    while (x /= 2)
        k++;
    return k;
}

static unsigned naive_ctz(uint64_t x)
{
    unsigned k = 0;
    for (; x % 2 == 0; x /= 2)
        k++;
    return k;
}

static void check_numbers(uint64_t x)
{
    const unsigned floor = naive_log2_floor(x);
    const bool power = naive_ctz(x) == floor;
    unsigned ones = 0;
    for (unsigned i = 0; i < 64; i++)
        ones += bit(x, i);
    REQUIRE(lfma__log2_floor(x) == floor, "%" PRIu64, x);
    REQUIRE(lfma__log2_ceil(x) == floor + !power, "%" PRIu64, x);
    REQUIRE(lfma__ctz64(x) == naive_ctz(x), "%" PRIu64, x);
    REQUIRE(lfma__popcount64(x) == ones, "%" PRIu64, x);
}

/* C18, C19, E07, E18: low and high are not confused, small numbers do not go below 0 */
Test(word, logarithms)
{
    for (uint64_t x = 1; x < 70000; x++)
        check_numbers(x);
    for (unsigned i = 1; i < 64; i++) {
        const uint64_t power = (uint64_t)1 << i;
        check_numbers(power - 1);
        check_numbers(power);
        check_numbers(power + 1);
        for (unsigned j = 0; j < i; j++)
            check_numbers(power | (uint64_t)1 << j);
    }
    check_numbers(UINT64_MAX);
    rng random = { test_seed(0x52) };
    for (unsigned n = 0; n < 100000; n++) {
        const uint64_t x = rng_next(&random) >> rng_below(&random, 64);
        check_numbers(x ? x : 1);
    }
}

Test(word, round_up)
{
    for (uint64_t unit = 1; unit <= 4096; unit *= 2) {
        for (uint64_t x = 0; x <= 2 * unit + 2; x++) {
            const uint64_t naive = x % unit ? x - x % unit + unit : x;
            REQUIRE(lfma__round_up(x, unit) == naive, "%" PRIu64 " to %" PRIu64, x, unit);
        }
    }
    for (unsigned i = 0; i < 63; i++) {
        const uint64_t unit = (uint64_t)1 << i;
        REQUIRE(lfma__round_up(1, unit) == unit, "2^%u", i);
        REQUIRE(lfma__round_up(unit + 1, unit) == (i ? 2 * unit : 2), "2^%u", i);
        REQUIRE(lfma__round_up(0, unit) == 0, "2^%u", i);
    }
}
