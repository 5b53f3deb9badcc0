/* SPDX-License-Identifier: MIT */
/*
 * Criterion starts each test as a program of its own, by execve(), which a kernel refuses for another processor's
 * programs unless the whole machine is set up for them. In cross builds this execve() stands before the C library's:
 * it starts the program with the emulator that meson runs the tests with (a single word: tools/lib/cross.sh).
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WORDS_MAX 64u

int execve(const char *path, char *const arguments[], char *const environment[])
{
    const char *const emulator = getenv("MESON_EXE_WRAPPER");
    const char *words[WORDS_MAX + 2];
    unsigned count = 0;
    if (!emulator)
        return (int)syscall(SYS_execve, path, arguments, environment);
    words[count++] = emulator;
    words[count++] = path;
    for (unsigned i = 1; arguments[0] && arguments[i]; i++) {
        if (count > WORDS_MAX) {
            errno = E2BIG;
            return -1;
        }
        words[count++] = arguments[i];
    }
    words[count] = NULL;
    return (int)syscall(SYS_execve, emulator, words, environment);
}
