/* SPDX-License-Identifier: MIT */
/*
 * Part of zone.h. A row of zones over one range of pages: zone i has the pages i * 2^pages_log2 …; only the last
 * may be shorter.
 */
#ifndef LFMA_ZONE_ROW_H
#define LFMA_ZONE_ROW_H

typedef struct lfma__row {
    char *zones;
    uint64_t stride;  /* bytes of metadata from one zone to the next */
    lfma__a8 *states; /* of all pages */
    uint32_t count;
    uint32_t pages_log2;
} lfma__row;

/* A page of the row as a page of its zone. */
typedef struct lfma__place {
    lfma__zone *zone;
    uint64_t page;
} lfma__place;

static inline lfma__zone *lfma__row_zone(const lfma__row *row, uint64_t index)
{
    return (lfma__zone *)(void *)(row->zones + index * row->stride);
}

static inline lfma__place lfma__row_place(const lfma__row *row, uint64_t page)
{
    const uint64_t in_zone = page & (((uint64_t)1 << row->pages_log2) - 1);
    return (lfma__place){ lfma__row_zone(row, page >> row->pages_log2), in_zone };
}

/* A slice of a table of a zone, by a block in it. */
typedef struct lfma__slice {
    lfma__zone *zone;
    uint64_t index;  /* in its table */
    uint64_t first;  /* its first page, in the row */
    uint32_t blocks; /* that it has, at most */
    uint32_t block;  /* the block in it */
} lfma__slice;

static inline lfma__slice lfma__row_slice(const lfma__row *row, unsigned order, uint64_t page)
{
    const lfma__place place = lfma__row_place(row, page);
    const uint64_t block = place.page >> order;
    const uint64_t zone_blocks = (uint64_t)1 << row->pages_log2 >> order;
    return (lfma__slice){ .zone = place.zone,
                          .index = block / LFMA__WORD_BITS,
                          .first = page - (place.page - (block / LFMA__WORD_BITS * LFMA__WORD_BITS << order)),
                          .blocks = zone_blocks < LFMA__WORD_BITS ? (uint32_t)zone_blocks : LFMA__WORD_BITS,
                          .block = (uint32_t)(block % LFMA__WORD_BITS) };
}

#endif
