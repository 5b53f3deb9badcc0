/* SPDX-License-Identifier: MIT */
#include "support/check.h"

#include <inttypes.h>
#include <lfma/lfma.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "support/env.h"

static uint64_t seed;
static const char *program = "?";

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

stress_args stress_begin(int argc, char **argv, double seconds, unsigned threads)
{
    stress_args args = { seconds, threads, 0 };
    program = argv[0];
    if (argc > 1)
        args.seconds = strtod(argv[1], NULL);
    if (argc > 2)
        args.threads = (unsigned)strtoul(argv[2], NULL, 10);
    CHECK(args.seconds > 0);
    CHECK(args.threads > 0 && args.threads <= 256);
    seed = test_seed((uint64_t)(stress_now() * 1e9));
    args.seed = seed;
    printf("%s: %.1f s, %u threads, seed 0x%" PRIx64 "\n", program, args.seconds, args.threads, seed);
    return args;
}
