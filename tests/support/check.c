/* SPDX-License-Identifier: MIT */
#include "support/check.h"

#include <inttypes.h>
#include <lfma/lfma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "support/env.h"

static uint64_t seed;
static const char *program = "?";
static double started;
static uint64_t operations_total, false_nomem;
static bool has_false_nomem;

void check_failed(const char *file, int line, const char *what, int code)
{
    fprintf(stderr, "%s:%d: CHECK(%s) failed", file, line, what);
    if (code != 0)
        fprintf(stderr, ": %s", lfma_error_name(code));
    fprintf(stderr, "\n%s: replay with LFMA_TEST_SEED=0x%" PRIx64 "\n", program, seed);
    (void)fflush(stdout);
    _exit(1);
}

double stress_now(void)
{
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0)
        return 0;
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void stress_false_nomem(uint64_t times)
{
    false_nomem += times;
    has_false_nomem = true;
}

static void print_total(void)
{
    printf("total: operations %" PRIu64 ", seconds %.3f", operations_total, stress_now() - started);
    if (has_false_nomem)
        printf(", false_nomem %" PRIu64, false_nomem);
    printf("\n");
}

stress_args stress_begin(int argc, char **argv, double seconds, unsigned threads)
{
    stress_args args = { .seconds = seconds, .threads = threads };
    program = argv[0];
    started = stress_now();
    if (argc > 1 && strstr(argv[1], "ops"))
        args.operations = strtoull(argv[1], NULL, 10);
    else if (argc > 1)
        args.seconds = strtod(argv[1], NULL);
    if (argc > 2)
        args.threads = (unsigned)strtoul(argv[2], NULL, 10);
    CHECK(args.seconds > 0);
    CHECK(args.threads > 0 && args.threads <= 256);
    seed = test_seed((uint64_t)(stress_now() * 1e9));
    args.seed = seed;
    if (args.operations > 0)
        printf("%s: %" PRIu64 " operations, ", program, args.operations);
    else
        printf("%s: %.1f s, ", program, args.seconds);
    printf("%u threads, seed 0x%" PRIx64 "\n", args.threads, seed);
    const int code = atexit(print_total);
    CHECK(code == 0);
    return args;
}

stress_args stress_part(const stress_args *args, unsigned parts)
{
    stress_args part = *args;
    part.seconds = args->seconds / parts;
    part.operations = args->operations / parts + (args->operations % parts != 0);
    return part;
}

void stress_count(uint64_t operations)
{
    operations_total += operations;
}
