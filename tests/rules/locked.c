/* SPDX-License-Identifier: MIT */
/*
 * How many locked instructions a call executes when nothing is in its way, and that it makes no system call (x86-64):
 * each call is made in a child that is run one instruction at a time. Exit status 0, 1, or 77.
 */
#include <stdio.h>

#if defined(__x86_64__)

#include <lfma/lfma.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/arenas.h"
#include "support/check.h"
#include "support/env.h"

#define PAGE 64u
#define STEPS_MAX 100000u
#define MARK() __asm__ volatile("int3" : : : "memory") /* counted is what runs between two of these */

enum call { ALLOC, FREE };

static const struct expectation {
    const char *name;
    enum call call;
    unsigned order;
    uint32_t flags;
    unsigned locked;
} expectations[] = {
    { "allocate, order 0: the claim and its mark", ALLOC, 0, 0, 2 },
    { "allocate, order 5: the claim and its mark", ALLOC, 5, 0, 2 },
    { "allocate, order 6: the claim", ALLOC, 6, 0, 1 },
    { "allocate, order 9: the claim", ALLOC, 9, 0, 1 },
    { "free, order 0: the mark and the publish", FREE, 0, 0, 2 },
    { "free, order 5: the mark and the publish", FREE, 5, 0, 2 },
    { "free, order 6: the publish", FREE, 6, 0, 1 },
    { "free, order 9: the publish", FREE, 9, 0, 1 },
    { "hardened free, order 0: the state, the mark and the publish", FREE, 0, LFMA_HARDENED, 3 },
    { "hardened free, order 6: the state and the publish", FREE, 6, LFMA_HARDENED, 2 },
};

struct counts {
    unsigned instructions, locked, system_calls;
};

/* The traced child: once to warm up, once between the marks. */
static void make_call(const struct expectation *e)
{
    lfma_arena *const arena = ARENA(.pages = 4096, .flags = e->flags);
    const size_t bytes = (size_t)PAGE << e->order;
    void *block = lfma_alloc(arena, bytes);
    CHECK(block != NULL);
    CHECK_CODE(lfma_free(arena, block), LFMA_OK);
    if (e->call == ALLOC) {
        MARK();
        block = lfma_alloc(arena, bytes);
        MARK();
        CHECK(block != NULL);
    } else {
        block = lfma_alloc(arena, bytes);
        MARK();
        const int code = lfma_free(arena, block);
        MARK();
        CHECK_CODE(code, LFMA_OK);
    }
    _exit(0);
}

/* Counts the instruction at the start of `bytes`. */
static void count(struct counts *c, const unsigned char bytes[16])
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

static void read_bytes(pid_t child, unsigned long long address, unsigned char bytes[16])
{
    for (unsigned i = 0; i < 16; i++)
        bytes[i] = (unsigned char)ptrace(PTRACE_PEEKTEXT, child, (void *)(uintptr_t)(address + i), NULL);
}

static void trap(pid_t child, int request)
{
    int status;
    CHECK(ptrace((enum __ptrace_request)request, child, NULL, NULL) == 0);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
}

/* The child is at its first mark. */
static struct counts step_to_the_second_mark(pid_t child)
{
    struct counts c = { 0, 0, 0 };
    while (c.instructions < STEPS_MAX) {
        struct user_regs_struct registers;
        unsigned char bytes[16];
        CHECK(ptrace(PTRACE_GETREGS, child, NULL, &registers) == 0);
        read_bytes(child, registers.rip, bytes);
        if (bytes[0] == 0xCC)
            return c;
        count(&c, bytes);
        trap(child, PTRACE_SINGLESTEP);
    }
    return c;
}

/* Returns false if this machine traces nothing. */
static bool trace(const struct expectation *e, struct counts *ret)
{
    int status;
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
            _exit(77);
        CHECK(raise(SIGSTOP) == 0);
        make_call(e);
    }
    CHECK(waitpid(child, &status, 0) == child);
    if (WIFEXITED(status))
        return false;
    trap(child, PTRACE_CONT);
    *ret = step_to_the_second_mark(child);
    CHECK(kill(child, SIGKILL) == 0 && waitpid(child, &status, 0) == child);
    return true;
}

int main(void)
{
    bool failed = false;
    if (test_is_sanitized())
        return 77;
    for (unsigned i = 0; i < sizeof expectations / sizeof expectations[0]; i++) {
        const struct expectation *const e = &expectations[i];
        struct counts c;
        if (!trace(e, &c))
            return 77;
        const bool good = c.locked == e->locked && c.system_calls == 0;
        printf("%s %s: %u instructions, %u locked, %u system calls\n", good ? "  " : "! ", e->name, c.instructions,
               c.locked, c.system_calls);
        failed |= !good;
    }
    return failed;
}

#else

int main(void)
{
    puts("counts what x86-64 locks");
    return 77;
}

#endif
