/* SPDX-License-Identifier: MIT */
/*
 * The operating system itself: a mapping per block. munmap() needs the length, so the handle bears the number of
 * pages in the low bits of the address, which are 0.
 */
#include <stdint.h>
#include <sys/mman.h>

#include "common/die.h"
#include "peers/peer.h"

static void *init(void)
{
    return NULL;
}

static void *alloc(void *self, size_t bytes)
{
    (void)self;
    const size_t pages = (bytes + PEER_PAGE_BYTES - 1) / PEER_PAGE_BYTES;
    if (pages == 0 || pages >= PEER_PAGE_BYTES)
        return NULL; /* the count would not fit the low bits */
    void *block = mmap(NULL, pages * PEER_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return block == MAP_FAILED ? NULL : (char *)block + pages;
}

static void release(void *self, void *block)
{
    (void)self;
    const size_t pages = (uintptr_t)block & (PEER_PAGE_BYTES - 1);
    if (munmap((char *)block - pages, pages * PEER_PAGE_BYTES) != 0)
        die("munmap failed");
}

static void fini(void *self)
{
    (void)self;
}

const struct peer peer_mmap = {
    .name = "mmap",
    .summary = "one mmap and munmap a block",
    .init = init,
    .alloc = alloc,
    .free = release,
    .fini = fini,
};
