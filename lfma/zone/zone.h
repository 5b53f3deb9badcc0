/* SPDX-License-Identifier: MIT */
/*
 * Room `zone`: one LFMA: a free table (block bitmap + search bitmap) for each order, block states, and a coalescer
 * with its cursor. The paper's first level, the page bitmap, is not stored: it is a view over the block bitmaps.
 *
 *     header | order 0: summary, search, slices | order 1: … | order max: … | block states
 *     ^ all tables start on lines of their own; offsets from the header, no pointers
 *
 * I1  Each page is, at any instant, in exactly one of: one free block, one allocated block, one operation in flight.
 * I2  Only the thread whose atomic turned a block's bit from 1 to 0 owns the block (table.h, T1).
 * I3  A page is marked in the page map iff it lies in a free block: a block's own bit marks all of its pages. So
 *     there are no two bitmaps that must agree, and a claim and a publish write one word (docs/decisions/0002). Read
 *     while blocks move, the map shows each block at an instant of its own. It grants nothing.
 * I4  Search bits: table.h, T2.
 * I5  Nothing in here touches the memory that is handed out: a zone manages page numbers.
 * I6  At rest lfma__zone_validate() proves I1–I4 and I7 by walking everything.
 * I7  A page's state is "order k" only if it is the first page of a block of order k, allocated or
 *     free as such; every allocated block has its state, and whoever joins blocks clears theirs. So a
 *     block is allocated iff it has a state and its bit is 0, and a block that comes and goes at one
 *     order is not written here at all. (Hardened arenas clear the state at each free.) Who keeps a block that
 *     a caller has freed, to hand it out again or to publish it later, clears its state until then.
 *
 * Does no OS call, reads no clock but the one handed in, allocates nothing. Owners are handed in (owner.h).
 */
#ifndef LFMA_ZONE_ZONE_H
#define LFMA_ZONE_ZONE_H

#include <lfma/lfma.h>
#include <lfma/stats.h>

#include "bitmap/bitmap.h"
#include "zone/meter.h"
#include "zone/owner.h"

#define LFMA__ZONE_PAGES_MAX ((uint64_t)1 << (LFMA_ORDERS - 1))

/* A block state: 0, or this flag and the order (I7). */
#define LFMA__STATE_ALLOCATED 0x80u
#define LFMA__STATE_ORDER 0x1Fu

typedef struct lfma__zone {
    uint64_t pages;
    uint32_t order_max;  /* the largest order with room for a whole block */
    uint32_t levels;     /* levels of coalescing: orders 0–6, 6–12, … */
    uint64_t page_words; /* of the page map */
    uint64_t bytes;      /* header, tables and states */
    uint64_t states_offset;
    uint64_t search_offset[LFMA_ORDERS];
    uint64_t slices_offset[LFMA_ORDERS];
    uint64_t summary_offset[LFMA_ORDERS];       /* 0: none */
    _Alignas(LFMA_LINE_BYTES) lfma__a64 cursor; /* where the coalescer goes on (coalesce.c) */
} lfma__zone;

/* ------------------------------------------------------------------------------------- layout (layout.c) */

/* Lay out a zone of 1 … LFMA__ZONE_PAGES_MAX pages with blocks of at most 2^order_max pages; order_max is lowered
 * to what fits. Only fills the header's geometry. */
void lfma__zone_layout(lfma__zone *ret_zone, uint64_t pages, unsigned order_max);

/* Make a zone in zeroed memory of layout->bytes, aligned to LFMA_LINE_BYTES: all pages free, in largest blocks. */
void lfma__zone_init(lfma__zone *zone, const lfma__zone *layout);

static inline lfma__table lfma__zone_table(lfma__zone *zone, unsigned order)
{
    LFMA_ASSERT(order <= zone->order_max);
    char *const base = (char *)zone;
    const uint64_t summary = zone->summary_offset[order];
    return (lfma__table){ .summary = summary ? (lfma__a64 *)(void *)(base + summary) : NULL,
                          .search = (lfma__a64 *)(void *)(base + zone->search_offset[order]),
                          .slices = (lfma__a64 *)(void *)(base + zone->slices_offset[order]),
                          .slice_count = lfma__words_for(zone->pages >> order) };
}

static inline lfma__a8 *lfma__zone_states(lfma__zone *zone)
{
    return (lfma__a8 *)(void *)((char *)zone + zone->states_offset);
}

static inline bool lfma__zone_is_free(lfma__zone *zone, uint64_t page, unsigned order)
{
    const uint64_t block = page >> order;
    const lfma__a64 *const slice = &lfma__zone_table(zone, order).slices[block / LFMA__WORD_BITS];
    /* E0: the caller holds the block, or its answer is one in passing. */
    return lfma__a64_load_relaxed(slice) >> block % LFMA__WORD_BITS & 1;
}

/* For who has claimed the free blocks of one slice, to join or to split them: clear their states (I7). */
static inline void lfma__zone_clear_states(lfma__zone *zone, unsigned order, uint64_t slice, uint64_t bits)
{
    for (; bits; bits &= bits - 1) {
        lfma__a8 *const state = &lfma__zone_states(zone)[(slice * LFMA__WORD_BITS + lfma__ctz64(bits)) << order];
        if (lfma__a8_load_relaxed(state))     /* E0: after the claim (E1) */
            lfma__a8_store_relaxed(state, 0); /* E0: before the publish (E1) */
    }
}

/*
 * The state of an allocated block, in the states of its zone or of all zones. A block that was last allocated at this
 * order has it already (I7): then two threads share the line without a write.
 */
static inline void lfma__state_set(lfma__a8 *states, uint64_t page, unsigned order)
{
    const uint8_t allocated = (uint8_t)(LFMA__STATE_ALLOCATED | order);
    /* E0, both: what the last owner left came before its publish (E1), and the next reader gets the block from this
     * caller. */
    if (LFMA_UNLIKELY(lfma__a8_load_relaxed(&states[page]) != allocated))
        lfma__a8_store_relaxed(&states[page], allocated);
}

/* The same for one that has none. */
static inline void lfma__state_give(lfma__a8 *states, uint64_t page, unsigned order)
{
    lfma__a8_store_relaxed(&states[page], (uint8_t)(LFMA__STATE_ALLOCATED | order)); /* E0: as above */
}

static inline unsigned lfma__state_get(const lfma__a8 *states, uint64_t page)
{
    /* E0: written by the owner's own allocation, which whoever holds the block has seen by other means. */
    return lfma__a8_load_relaxed(&states[page]);
}

/* The order that a state which is not 0 says. */
static inline uint64_t lfma__state_order(unsigned state)
{
    return (uint64_t)state - LFMA__STATE_ALLOCATED; /* rather than a mask: an address takes the difference up */
}

/* For who frees a block and keeps it: a second free finds no state. */
static inline void lfma__state_clear(lfma__a8 *states, uint64_t page)
{
    lfma__a8_store_relaxed(&states[page], 0); /* E0: before the publish (E1) */
}

/* The same for hardened arenas: of several frees that race one gets the state, the others 0. */
unsigned lfma__state_take(lfma__a8 *states, uint64_t page);

/* -------------------------------------------------------------------- allocate (claim.c), free (publish.c) */

/*
 * Allocate a block of 2^order pages; returns its first page, or LFMA__NONE if no hint led to one. `home` is where the
 * search starts: a small number, different for each thread.
 */
uint64_t lfma__zone_alloc(lfma__zone *zone, lfma__owner *owner, unsigned order, uint32_t home);

/* As lfma__zone_alloc(), but reads all slices and repairs hints: finds what a thread that died left unhinted. */
uint64_t lfma__zone_alloc_scan(lfma__zone *zone, lfma__owner *owner, unsigned order);

/*
 * For the holder of a free block of order `from`, in flight: keep its first 2^order pages as an allocated block and
 * publish the rest. The caller has called lfma__owner_begin() before its claim; this calls lfma__owner_end().
 */
void lfma__zone_hand_out(lfma__zone *zone, lfma__owner *owner, uint64_t page, unsigned from, unsigned order);

/*
 * Publish the block that starts at `page` and has a state of that order: 0, or LFMA_E_DOUBLE_FREE if it was free
 * already; then nothing has changed.
 */
int lfma__zone_publish(lfma__zone *zone, lfma__owner *owner, uint64_t page, unsigned order);

/* Why no allocated block starts at `page`: LFMA_E_INNER or LFMA_E_DOUBLE_FREE. */
int lfma__zone_why_not(lfma__zone *zone, uint64_t page);

/*
 * Publish blocks of one slice by one atomic. Returns those that were free already: of frees that raced.
 */
uint64_t lfma__zone_publish_bits(lfma__zone *zone, lfma__owner *owner, unsigned order, uint64_t slice, uint64_t bits);

/*
 * Claim up to `count` blocks of one slice, the lowest of the first hinted one from the thread's home on and around.
 * Returns their bits, and *ret_slice; 0 if no hint led to one. The claimer keeps them: their states are those of free
 * blocks.
 */
uint64_t lfma__zone_claim_bits(lfma__zone *zone, unsigned order, uint32_t home, unsigned count, uint64_t *ret_slice);

/* Are large blocks plenty, so that neither a split nor a cache takes what will be missed? A sample: `turn` picks
 * it. */
bool lfma__zone_is_plenty(lfma__zone *zone, uint64_t turn);

/* The order of the block allocated at `page`, or -1. */
int lfma__zone_order_at(lfma__zone *zone, uint64_t page);

/* The first page of the allocated block that contains `page`, or LFMA__NONE. */
uint64_t lfma__zone_block_of(lfma__zone *zone, uint64_t page);

/* --------------------------------------------------- join: before a split (pairs.c), in passes (coalesce.c) */

/* An order has run out: join free buddies in the tables around it; bounded work. Returns how many blocks it made. */
uint64_t lfma__zone_join_pairs(lfma__zone *zone, lfma__owner *owner, unsigned order);

#define LFMA__WANT_NOTHING LFMA_ORDERS

typedef struct lfma__join {
    lfma__meter *meter;
    lfma__owner *owner;
    unsigned want; /* stop at the first block of this order or larger, and keep it; or LFMA__WANT_NOTHING */

    bool passed_end; /* the last zone's end was reached, within the budget or just before it ran out */

    uint64_t kept_page; /* the block kept, in flight: go on with lfma__zone_hand_out(); or LFMA__NONE */
    unsigned kept_order;
    uint64_t joined;
    uint64_t conflicts;
    unsigned order_max; /* of the blocks made */
} lfma__join;

/* Go on at the cursor until the meter is spent, a wanted block is made, or the zone was walked whole: then true. */
bool lfma__zone_coalesce(lfma__zone *zone, lfma__join *join);

/* The free blocks of orders base … base + 5 in a group of 64 units of 2^base pages (base is a multiple of 6). */
typedef struct lfma__group {
    uint64_t bits[LFMA__WORD_LOG2]; /* of order base + i: 64 >> i bits */
    uint64_t units;                 /* their union: 1 bit a unit */
} lfma__group;

void lfma__zone_read_group(lfma__zone *zone, unsigned base, uint64_t group, lfma__group *ret_group);

/* --------------------------------------------------------------------- survey (survey.c), validate (validate.c) */

typedef struct lfma__survey {
    bool count_all;      /* count to the end; else the survey may stop at the first run */
    uint64_t pages_free; /* pages marked free */
    bool has_run;        /* an aligned run of 2^order marked pages */
} lfma__survey;

/* Read the page map with acquire loads (E4). Adds to pages_free, sets has_run. Any order below LFMA_ORDERS. */
void lfma__zone_survey(lfma__zone *zone, unsigned order, lfma__survey *survey);

/* Free blocks of one order. */
uint64_t lfma__zone_count_free(lfma__zone *zone, unsigned order);

/* Who keeps blocks that are neither free nor with a caller: the order of the one that starts at `page`; -1: none. */
typedef struct lfma__keepers {
    int (*order_at)(const void *context, uint64_t page);
    const void *context;
} lfma__keepers;

/* Prove the invariants at rest; adds to the report's counts; false, and what and where, at the first one broken.
 * `keepers` may be NULL. */
bool lfma__zone_validate(lfma__zone *zone, const lfma__keepers *keepers, lfma_report *report);

#include "zone/row.h"

#endif
