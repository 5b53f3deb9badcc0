/* SPDX-License-Identifier: MIT */
/*
 * For Criterion programs: REQUIRE, an assertion that costs a branch while it holds (exhaustive loops run hundreds of
 * millions), and tells its values, and so the case and the seed, when it does not.
 */
#ifndef LFMA_TESTS_SUPPORT_UNIT_H
#define LFMA_TESTS_SUPPORT_UNIT_H

#include <criterion/criterion.h>
#include <inttypes.h>
#include <lfma/error.h>
#include <stdarg.h>
#include <stdio.h>

#include "support/env.h"

/* As printf, to a static line. */
static inline const char *unit_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

static inline const char *unit_text(const char *format, ...)
{
    static char line[1000];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    return line;
}

#define REQUIRE(condition, ...)                                                                                      \
    do {                                                                                                             \
        if (!(condition))                                                                                            \
            cr_assert_fail("%s: %s", #condition, unit_text(__VA_ARGS__));                                            \
    } while (0)

#define REQUIRE_CODE(expression, code)                                                                               \
    do {                                                                                                             \
        const int require_got = (expression);                                                                        \
        const int require_want = (code);                                                                             \
        if (require_got != require_want)                                                                             \
            cr_assert_fail("%s: %s instead of %s", #expression, lfma_error_name(require_got),                        \
                           lfma_error_name(require_want));                                                           \
    } while (0)

#endif
