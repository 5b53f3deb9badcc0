/* SPDX-License-Identifier: MIT */
/*
 * The naive model of an arena at rest: which live block owns each page. It knows nothing of bitmaps: one entry a
 * page, and loops.
 */
#ifndef LFMA_TESTS_SUPPORT_MODEL_H
#define LFMA_TESTS_SUPPORT_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#define MODEL_PAGES_MAX 8192u

typedef struct model_block {
    uint64_t page;
    unsigned order;
} model_block;

typedef struct model {
    uint64_t pages;
    uint64_t zone_pages; /* blocks do not cross a multiple of this */
    uint64_t pages_free;
    uint32_t live_count;
    uint16_t owner[MODEL_PAGES_MAX]; /* 0: free; else 1 + an id that no other live block has */
    uint16_t next_id;
    model_block live[MODEL_PAGES_MAX];
} model;

void model_init(model *m, uint64_t pages, uint64_t zone_pages);

/* A block was handed out. False if it does not fit its place or overlaps a live one. */
bool model_take(model *m, uint64_t page, unsigned order);

/* The live block number `index` was freed. */
void model_drop(model *m, uint32_t index);

/* Is there an aligned free run of 2^order pages? */
bool model_has_run(const model *m, unsigned order);

/* The live block that contains the page, or -1. */
int64_t model_find(const model *m, uint64_t page);

/*
 * The blocks of each order when everything is joined: the largest aligned free blocks, of at most order_max.
 * ret_counts has order_max + 1 entries.
 */
void model_decompose(const model *m, unsigned order_max, uint64_t *ret_counts);

#endif
