/* SPDX-License-Identifier: MIT */
/* The operations, each four bytes: a kind with the caller, and what it is done with. */
#ifndef LFMA_TESTS_FUZZ_OPERATIONS_H
#define LFMA_TESTS_FUZZ_OPERATIONS_H

#include "fuzz/play.h"

typedef void operation_fn(play *p, uint8_t a, uint16_t b);

/* allocate.c */
operation_fn op_alloc, op_alloc_no_coalesce, op_alloc_odd, op_alloc_aligned, op_alloc_at_odd, op_alloc_flags,
    op_alloc_plain, op_fill;

/* free.c */
operation_fn op_free, op_drain, op_free_any, op_look;

/* coalesce.c */
operation_fn op_coalesce, op_join_all, op_creep, op_insist;

void play_operate(play *p, uint8_t kind, uint8_t a, uint16_t b);

/* The live block number `index`; it must go well. */
void play_free_live(play *p, uint32_t index);

/* A size of 2^order pages, or up to half of that less; at times one order beyond the largest. */
size_t play_usual_bytes(const play *p, uint8_t a, uint16_t b);

/* The order of the block that must serve a request. */
unsigned play_order_for(const play *p, size_t bytes, size_t alignment);

/* An allocation has returned world.last_code: right? Then it is counted, and the block is its owner's. */
void play_settle(play *p, size_t bytes, unsigned order, unsigned flags, char *block);

/* Between these two no bit of the zones may change. */
void play_hold(const play *p);
void play_require_same(const play *p, const char *what);

#endif
