/* SPDX-License-Identifier: MIT */
/*
 * For plain programs (threads, signals): CHECK prints file, line and seed, and exits 1 at once. Exit codes: 0 passed,
 * 1 failed, 77 skipped. Nothing is retried.
 */
#ifndef LFMA_TESTS_SUPPORT_CHECK_H
#define LFMA_TESTS_SUPPORT_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#define CHECK(condition)                                                                                             \
    do {                                                                                                             \
        if (!(condition))                                                                                            \
            check_failed(__FILE__, __LINE__, #condition, 0);                                                         \
    } while (0)

/* For calls that return an LFMA code. */
#define CHECK_CODE(expression, code)                                                                                 \
    do {                                                                                                             \
        const int check_got = (expression);                                                                          \
        if (check_got != (code))                                                                                     \
            check_failed(__FILE__, __LINE__, #expression " == " #code, check_got);                                   \
    } while (0)

_Noreturn void check_failed(const char *file, int line, const char *what, int code);

/* `program [SECONDS|OPERATIONSops] [threads]`: how long, by the clock or by the work that is done. */
typedef struct stress_args {
    double seconds;
    uint64_t operations; /* 0: the clock decides */
    unsigned threads;
    uint64_t seed;
} stress_args;

/* Reads the arguments, takes the seed from LFMA_TEST_SEED (else from the time) and prints it. */
stress_args stress_begin(int argc, char **argv, double seconds, unsigned threads);

/* One of `parts` equal parts of a run. */
stress_args stress_part(const stress_args *args, unsigned parts);

/* Adds to the total, which is printed when the program exits: `total: operations N, seconds S[, false_nomem N]`. */
void stress_count(uint64_t operations);

/* For programs in which nobody may be told NOMEM or FRAGMENTED: how often it was; printed in the total too. */
void stress_false_nomem(uint64_t times);

/* CLOCK_MONOTONIC in seconds. */
double stress_now(void);

#endif
