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

/* `program [seconds] [threads]` */
typedef struct stress_args {
    double seconds;
    unsigned threads;
    uint64_t seed;
} stress_args;

/* Reads the arguments, takes the seed from LFMA_TEST_SEED (else from the time) and prints it. */
stress_args stress_begin(int argc, char **argv, double seconds, unsigned threads);

/* CLOCK_MONOTONIC in seconds. */
double stress_now(void);

#endif
