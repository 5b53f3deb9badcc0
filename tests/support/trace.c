/* SPDX-License-Identifier: MIT */
#include "support/trace.h"

#if defined(__x86_64__)

#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"

#define STEPS_MAX 100000u /* from a begin to its end: a call that takes more does not come back */
#define INT3 0xCC

/* Counts the instruction at the start of `bytes`. */
static void count(trace_counts *c, const unsigned char bytes[16])
{
    unsigned i = 0;
    bool locked = false;
    for (; i < 12; i++) {
        const unsigned char b = bytes[i];
        locked |= b == 0xF0;
        const bool is_prefix = b == 0xF0 || b == 0xF2 || b == 0xF3 || b == 0x2E || b == 0x36 || b == 0x3E ||
                               b == 0x26 || (b >= 0x64 && b <= 0x67) || (b >= 0x40 && b <= 0x4F);
        if (!is_prefix)
            break;
    }
    /* xchg with memory is locked without a prefix. */
    locked |= (bytes[i] == 0x86 || bytes[i] == 0x87) && bytes[i + 1] < 0xC0;
    c->instructions++;
    c->locked += locked;
    c->system_calls += bytes[i] == 0x0F && (bytes[i + 1] == 0x05 || bytes[i + 1] == 0x34);
}

static struct user_regs_struct registers_of(pid_t child)
{
    struct user_regs_struct registers;
    CHECK(ptrace(PTRACE_GETREGS, child, NULL, &registers) == 0);
    return registers;
}

/* Where the text ends within them, the bytes behind it are no prefix of anything. */
static void read_instruction(pid_t child, unsigned char ret_bytes[16])
{
    const unsigned long long address = registers_of(child).rip;
    for (unsigned i = 0; i < 16; i += sizeof(long)) {
        const long word = ptrace(PTRACE_PEEKTEXT, child, (void *)(uintptr_t)(address + i), NULL);
        memcpy(ret_bytes + i, &word, sizeof word);
    }
}

/* True if the child stops at the next mark or after the next instruction; false if it is done. */
static bool go_on(pid_t child, int request)
{
    int status;
    CHECK(ptrace((enum __ptrace_request)request, child, NULL, NULL) == 0);
    CHECK(waitpid(child, &status, 0) == child);
    if (WIFEXITED(status)) {
        CHECK(WEXITSTATUS(status) == 0);
        return false;
    }
    CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
    return true;
}

/* The child has passed the mark of a begin; it stops before that of the end. */
static void count_to_the_end(pid_t child, trace_counts *c)
{
    for (unsigned steps = 0;; steps++) {
        CHECK(steps < STEPS_MAX);
        unsigned char bytes[16];
        read_instruction(child, bytes);
        if (bytes[0] == INT3)
            return;
        count(c, bytes);
        CHECK(go_on(child, PTRACE_SINGLESTEP));
    }
}

bool trace(void (*function)(const void *context), const void *context, trace_counts ret_parts[TRACE_PARTS])
{
    int status;
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
            _exit(77);
        CHECK(raise(SIGSTOP) == 0);
        function(context);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    if (WIFEXITED(status))
        return false;
    CHECK(ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)(uintptr_t)PTRACE_O_EXITKILL) == 0);
    memset(ret_parts, 0, TRACE_PARTS * sizeof ret_parts[0]);
    while (go_on(child, PTRACE_CONT)) {
        const unsigned part = (unsigned)registers_of(child).rax;
        CHECK(part < TRACE_PARTS);
        count_to_the_end(child, &ret_parts[part]);
        CHECK(go_on(child, PTRACE_CONT)); /* over the end's mark */
    }
    return true;
}

#else

bool trace(void (*function)(const void *context), const void *context, trace_counts ret_parts[TRACE_PARTS])
{
    (void)function;
    (void)context;
    (void)ret_parts;
    return false;
}

#endif
