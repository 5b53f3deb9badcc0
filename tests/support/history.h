/* SPDX-License-Identifier: MIT */
/*
 * A history: a list of operations that can be applied to a fresh arena again, whole or in part, next to the naive
 * model; and that can be made short while it still fails.
 */
#ifndef LFMA_TESTS_SUPPORT_HISTORY_H
#define LFMA_TESTS_SUPPORT_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/arenas.h"
#include "support/clock.h"
#include "support/model.h"

enum operation_kind {
    OP_ALLOC,         /* 2^order pages or a little less, by `any` */
    OP_ALLOC_NO_JOIN, /* the same, LFMA_ALLOC_NO_COALESCE */
    OP_ALLOC_ALIGNED, /* 2^order pages at 2^(any % 16) pages */
    OP_FREE,          /* the live block number `any`, modulo how many there are */
    OP_BAD_FREE,      /* at the byte `any`, modulo what is about the arena; if that is a block's start: nothing */
    OP_COALESCE       /* `any` steps; 0: all */
};

/* All that an operation does follows from these, so that others before it can be left out. */
typedef struct operation {
    enum operation_kind kind;
    unsigned order;
    uint64_t any;
} operation;

typedef struct world {
    const arena_plan *plan;
    lfma_arena *arena;
    char *base;
    size_t page_bytes;
    unsigned order_max;
    fake_clock clock; /* frozen: an operation never depends on the machine's speed */
    bool may_run_out; /* the arena's coalescing budget may be too small for a whole pass */
    int last_code;    /* of the last operation */
    char why[200];    /* what is wrong */
    model model;
} world;

void world_open(world *w, const arena_plan *plan);

/* A world around a fresh arena that somebody else has made. */
void world_adopt(world *w, lfma_arena *arena);
void world_close(world *w);

/*
 * The parts of the oracle. False, and w->why, if it is not content.
 *  - an allocation of 2^order pages has returned w->last_code, and `block` (NULL if it has written none);
 *  - after a complete pass: every aligned free run is one block;
 *  - the invariants hold, and count what the model counts.
 */
bool world_check_alloc(world *w, unsigned order, unsigned flags, const char *block);
bool world_check_joined(world *w);
bool world_check_sound(world *w);

/* Apply one operation to arena and model, then validate. False, and w->why, if they differ or an invariant broke. */
bool world_apply(world *w, operation op);

/* Free all, coalesce all: as fresh? False, and w->why, if not. */
bool world_end(world *w);

/* Drop operations while the history still fails; returns how many are left, the last of which shows the failure. */
size_t history_shrink(operation *ops, size_t count, const arena_plan *plan, world *w);

/* All operations on one line, as many as there is room for. */
void history_print(const operation *ops, size_t count, char *ret_text, size_t size);

#endif
