/* SPDX-License-Identifier: MIT */
/* The C library's malloc, or the one that the process preloads: mimalloc, jemalloc, tcmalloc and TBB come so. */
#include <stdlib.h>

#include "peers/peer.h"

static void *init(void)
{
    return NULL;
}

static void *alloc(void *self, size_t bytes)
{
    (void)self;
    return malloc(bytes);
}

static void release(void *self, void *block)
{
    (void)self;
    free(block);
}

static void fini(void *self)
{
    (void)self;
}

const struct peer peer_malloc = {
    .name = "malloc",
    .summary = "malloc and free of the C library, or of the library preloaded",
    .init = init,
    .alloc = alloc,
    .free = release,
    .fini = fini,
};
