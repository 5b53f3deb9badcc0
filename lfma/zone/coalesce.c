/* SPDX-License-Identifier: MIT */
/*
 * The coalescer: walks the page map from a cursor and joins free blocks into the largest aligned ones.
 * Paper: section "incremental coalescing".
 *
 * Orders are taken six at a time, for one word shows 64 units of 2^base pages, and six doublings fill it:
 *
 *     level 0   base 0    a word of the page map: 64 pages          joins orders 0–5 into 1–6
 *     level 1   base 6    a group of 64 words: 4,096 pages          joins orders 6–11 into 7–12
 *     level 2   base 12   …
 *
 * The walk visits each word of the page map, and each group of a higher level right after the last word in it:
 * when a group is visited, all that is below it has been joined. A position is (word, level); the cursor holds one,
 * so that even a budget of one step moves on.
 *
 * To join an aligned run of free blocks, all of its blocks are claimed, at most six atomics for all orders of a
 * level, and published as one; if another thread was faster with one of them, what was claimed is published as it
 * was. Joins are in flight from before the first claim until after the last publish (owner.h). Nobody waits.
 */
#include "zone/zone.h"

#define STEPS_PER_JOIN LFMA__STEPS_PER_READ /* so that the clock is read after each joined block */
#define LEVELS_LOG2 3u                      /* a cursor is word << 3 | level */

_Static_assert((LFMA_ORDERS + LFMA__WORD_LOG2 - 1) / LFMA__WORD_LOG2 <= 1u << LEVELS_LOG2, "a level fits the cursor");

/* Where the 64 >> i bits of order base + i for a group lie: in which slice, and how far shifted. */
static inline uint64_t slice_of(uint64_t group, unsigned i)
{
    return group >> i;
}

static inline unsigned shift_of(uint64_t group, unsigned i)
{
    return (unsigned)(group & (((uint64_t)1 << i) - 1)) * (LFMA__WORD_BITS >> i);
}

void lfma__zone_read_group(lfma__zone *zone, unsigned base, uint64_t group, lfma__group *ret_group)
{
    ret_group->units = 0;
    for (unsigned i = 0; i < LFMA__WORD_LOG2; i++) {
        ret_group->bits[i] = 0;
        if (base + i > zone->order_max)
            continue;
        const lfma__table table = lfma__zone_table(zone, base + i);
        if (slice_of(group, i) >= table.slice_count)
            continue;
        /* E4.acquire: who sees a block gone sees the owner word of the thread that took it (the survey needs it). */
        const uint64_t slice = lfma__a64_load_acquire(&table.slices[slice_of(group, i)]);
        ret_group->bits[i] = (slice >> shift_of(group, i)) & lfma__word_mask(0, LFMA__WORD_BITS >> i);
        if (ret_group->bits[i])
            ret_group->units |= lfma__word_widen(ret_group->bits[i], i);
    }
}

/* The bits of order base + i that lie in the units first … first + 2^log2_units - 1. */
static uint64_t parts_of(const lfma__group *seen, unsigned i, unsigned first, unsigned log2_units)
{
    return seen->bits[i] & lfma__word_mask(first >> i, (1u << log2_units) >> i);
}

/* The blocks of order base + i seen in a run, as bits of their slice. */
static uint64_t slice_bits(const lfma__group *seen, uint64_t group, unsigned i, unsigned first, unsigned log2_units)
{
    return parts_of(seen, i, first, log2_units) << shift_of(group, i);
}

/* Claim all blocks seen in a run, or nothing: then what was claimed is published again. */
static bool claim_run(lfma__zone *zone, unsigned base, uint64_t group, const lfma__group *seen, unsigned first,
                      unsigned log2_units)
{
    uint64_t got[LFMA__WORD_LOG2] = { 0 };
    bool all = true;
    for (unsigned i = 0; i < log2_units && all; i++) {
        const uint64_t parts = slice_bits(seen, group, i, first, log2_units);
        if (parts == 0)
            continue;
        got[i] = lfma__table_claim_bits(lfma__zone_table(zone, base + i), slice_of(group, i), parts);
        all = got[i] == parts;
    }
    for (unsigned i = 0; i < log2_units; i++) {
        if (all)
            lfma__zone_clear_states(zone, base + i, slice_of(group, i), got[i]);
        else if (got[i])
            (void)lfma__table_publish_bits(lfma__zone_table(zone, base + i), slice_of(group, i), got[i]);
    }
    return all;
}

/* Join one run of 2^log2_units units into a block. Returns whether it was wanted, and so kept. */
static bool join_run(lfma__zone *zone, unsigned base, uint64_t group, const lfma__group *seen, unsigned first,
                     unsigned log2_units, lfma__join *join)
{
    const unsigned order = base + log2_units;
    const uint64_t block = ((group << LFMA__WORD_LOG2) + first) >> log2_units;
    LFMA_ASSERT(order <= zone->order_max);

    lfma__owner_begin(join->owner);
    if (!claim_run(zone, base, group, seen, first, log2_units)) {
        lfma__owner_end(join->owner);
        join->conflicts++;
        return false;
    }
    join->joined++;
    if (order > join->order_max)
        join->order_max = order;
    if (order >= join->want) {
        join->kept_page = block << order;
        join->kept_order = order;
        return true;
    }
    (void)lfma__table_publish(lfma__zone_table(zone, order), block);
    lfma__owner_end(join->owner);
    return false;
}

/* Retire the stale hints of the slices that end in a group, after its joins: an emptied zone ends as a fresh one. */
static void tidy_group(lfma__zone *zone, unsigned level, uint64_t group)
{
    const unsigned base = level * LFMA__WORD_LOG2;
    const bool is_last = group == (zone->page_words - 1) >> base;
    for (unsigned i = 0; i < LFMA__WORD_LOG2 && base + i <= zone->order_max; i++) {
        if (!is_last && shift_of(group + 1, i) != 0)
            break;
        const lfma__table table = lfma__zone_table(zone, base + i);
        if (slice_of(group, i) < table.slice_count)
            lfma__table_tidy(table, slice_of(group, i));
    }
}

/* Join what can be joined in one group. Returns whether to stop: the budget is spent or a block was kept. */
static bool join_group(lfma__zone *zone, unsigned level, uint64_t group, lfma__join *join)
{
    const unsigned base = level * LFMA__WORD_LOG2;
    lfma__group seen;
    lfma__zone_read_group(zone, base, group, &seen);
    if (lfma__word_runs(seen.units, 1) == 0)
        return false; /* no two buddies are free */
    const unsigned room = zone->order_max - base;
    uint64_t done = 0;
    for (unsigned log2_units = room < LFMA__WORD_LOG2 ? room : LFMA__WORD_LOG2; log2_units > 0; log2_units--) {
        uint64_t runs = lfma__word_runs(seen.units & ~done, log2_units);
        for (; runs; runs &= runs - 1) {
            const unsigned first = lfma__ctz64(runs);
            done |= lfma__word_mask(first, 1u << log2_units);
            if (log2_units < LFMA__WORD_LOG2 && parts_of(&seen, log2_units, first, log2_units))
                continue; /* one block already */
            const bool kept = join_run(zone, base, group, &seen, first, log2_units, join);
            if (lfma__meter_spend(join->meter, STEPS_PER_JOIN) || kept)
                return true;
        }
    }
    return false;
}

/* Is `word` the last one in its group of 64^level words? */
static bool closes_group(const lfma__zone *zone, uint64_t word, unsigned level)
{
    const uint64_t inside = ((uint64_t)1 << (level * LFMA__WORD_LOG2)) - 1;
    return (word & inside) == inside || word + 1 == zone->page_words;
}

/* Walk on from *word, *level. Returns whether the zone's end was reached. */
static bool walk(lfma__zone *zone, uint64_t *word, unsigned *level, lfma__join *join)
{
    while (*word < zone->page_words) {
        const uint64_t group = *word >> (*level * LFMA__WORD_LOG2);
        if (join_group(zone, *level, group, join))
            return false;
        if (join->want == LFMA__WANT_NOTHING)
            tidy_group(zone, *level, group); /* an allocation does not stop for that */
        if (*level + 1 < zone->levels && closes_group(zone, *word, *level + 1)) {
            ++*level;
        } else {
            *level = 0;
            ++*word;
        }
        if (lfma__meter_spend(join->meter, 1))
            return *word == zone->page_words;
    }
    return true;
}

bool lfma__zone_coalesce(lfma__zone *zone, lfma__join *join)
{
    join->kept_page = LFMA__NONE;
    join->passed_end = false;
    if (zone->levels == 0)
        return true;
    if (join->meter->spent)
        return false;

    uint64_t seen = lfma__a64_load_relaxed(&zone->cursor); /* E0: any position is a good one */
    const uint64_t from = seen;
    uint64_t word = from >> LEVELS_LOG2;
    unsigned level = (unsigned)(from & ((1u << LEVELS_LOG2) - 1));
    bool whole = from == 0; /* this walk began at the zone's start */
    bool ended = walk(zone, &word, &level, join);
    join->passed_end = ended;
    if (ended) {
        word = 0;
        level = 0;
        if (!whole && !join->meter->spent) {
            whole = true;
            ended = walk(zone, &word, &level, join);
            if (ended)
                word = 0;
        }
    }
    /* E0: of several coalescers that began here the first to finish moves the cursor, the others leave it. */
    (void)lfma__a64_cas_relaxed(&zone->cursor, &seen, word << LEVELS_LOG2 | level);
    return ended && whole;
}
