/* SPDX-License-Identifier: MIT */
/* No allocator at all: a constant pointer. What a workload costs with this one, it costs without an allocator. */
#include "peers/peer.h"

static char constant;

static void *init(void)
{
    return NULL;
}

static void *alloc(void *self, size_t bytes)
{
    (void)self;
    (void)bytes;
    return &constant;
}

static void release(void *self, void *block)
{
    (void)self;
    (void)block;
}

static void fini(void *self)
{
    (void)self;
}

const struct peer peer_floor = {
    .name = "floor",
    .summary = "no allocator: a constant pointer",
    .init = init,
    .alloc = alloc,
    .free = release,
    .fini = fini,
};
