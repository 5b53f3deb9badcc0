/* SPDX-License-Identifier: MIT */
#include "common/die.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("lfma-bench: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

void check(int error, const char *what)
{
    if (error != 0)
        die("%s: %s", what, strerror(error));
}
