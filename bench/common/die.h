/* SPDX-License-Identifier: MIT */
/** @file die.h  A benchmark that cannot measure says why and exits; it never prints a figure that is not one. */
#ifndef BENCH_COMMON_DIE_H
#define BENCH_COMMON_DIE_H

/** Print "lfma-bench: …" on stderr and exit with status 1. */
_Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** Exit with the text of `error` (a positive errno value, as the pthread calls return them) unless it is 0. */
void check(int error, const char *what);

#endif
