/* SPDX-License-Identifier: MIT */
#include "support/hook.h"

#include <stddef.h>
#include <stdlib.h>

#define HOOKS_MAX 4u

struct hook {
    const void *cell;
    enum hook_kind kind;
    unsigned left; /* operations until it runs; 0: none is set */
    hook_act *act;
    void *argument;
};

static _Thread_local struct hook hooks[HOOKS_MAX];
static _Thread_local bool acting;

void hook_set(const void *cell, enum hook_kind kind, unsigned nth, hook_act *act, void *argument)
{
    for (unsigned i = 0; i < HOOKS_MAX; i++) {
        if (hooks[i].left == 0) {
            hooks[i] = (struct hook){ cell, kind, nth, act, argument };
            return;
        }
    }
    abort();
}

unsigned hook_waiting(void)
{
    unsigned waiting = 0;
    for (unsigned i = 0; i < HOOKS_MAX; i++)
        waiting += hooks[i].left > 0;
    return waiting;
}

void hook_clear(void)
{
    for (unsigned i = 0; i < HOOKS_MAX; i++)
        hooks[i].left = 0;
}

bool hook_before(const void *cell, enum hook_kind kind)
{
    if (acting)
        return false;
    for (unsigned i = 0; i < HOOKS_MAX; i++) {
        struct hook *const h = &hooks[i];
        const bool meant = (!h->cell || h->cell == cell) && (h->kind == HOOK_ANY || h->kind == kind);
        if (h->left == 0 || !meant || --h->left > 0)
            continue;
        acting = true;
        h->act(h->argument);
        acting = false;
    }
    return false;
}
