/* SPDX-License-Identifier: MIT */
/*
 * One arena, the model beside it, and what the fuzzer's bytes make of both. What is not as the headers promise ends
 * the process by abort(), after a line that says what was wrong.
 */
#ifndef LFMA_TESTS_FUZZ_PLAY_H
#define LFMA_TESTS_FUZZ_PLAY_H

#include <stdbool.h>

#include "fuzz/geometry.h"
#include "fuzz/input.h"
#include "support/history.h"

#define FREED_MAX 64u

/* What the counters of lfma_arena_stats() must say. */
typedef struct tally {
    uint64_t allocs_of_order[LFMA_ORDERS];
    uint64_t bytes_requested, bytes_reserved;
    uint64_t allocs, frees, bad_frees;
    uint64_t failed[-LFMA_ERROR_LAST + 1]; /* by the code, negated */
} tally;

typedef struct play {
    lfma_arena_config config;
    geometry geometry;
    world world;
    tally tally;
    bool wants_payload;
    bool has_payload; /* owners write to their blocks; else the payload is out of reach */
    unsigned validate_every;
    unsigned work_left; /* what one input may still do in operations of many calls */
    unsigned operations;
    uint64_t marks[MODEL_PAGES_MAX]; /* of live blocks, by their first page */
    uint64_t next_mark;
    uint64_t freed[FREED_MAX]; /* pages at which blocks were freed, in turn */
    unsigned freed_count;
} play;

/* Ends the process. */
_Noreturn void play_wrong(const play *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A line of the replay; nothing unless LFMA_FUZZ_TRACE is set. */
void play_trace(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define PLAY_REQUIRE(p, condition)                                                                                   \
    do {                                                                                                             \
        if (!(condition))                                                                                            \
            play_wrong(p, "%s:%d: not so: %s", __FILE__, __LINE__, #condition);                                      \
    } while (0)

/* Make the arena of p->config, as before, and begin; or begin with one that has just been made. */
void play_open(play *p);
void play_adopt(play *p, lfma_arena *arena);

/* Operations until the input ends. */
void play_all(play *p, input *in);

/* Free all, coalesce all: is it as fresh? Destroy it. */
void play_end(play *p);

/* The invariants; every figure of lfma_arena_stats(). */
void play_check(play *p);
void play_check_stats(play *p);

void play_join_all(play *p);

/* Destroy the arena, which is empty. */
void play_destroy(play *p);

/* From the process' begin; for the figures at its end. */
extern uint64_t play_operations;

#endif
