/* SPDX-License-Identifier: MIT */
/**
 * @file buddy_core.h  The control group: a plain linked-list buddy with immediate merging, under one lock.
 *
 * Included once by each file that names a lock. Before that it defines:
 *   buddy_lock_t · buddy_lock_init(lock) · buddy_lock(lock) · buddy_unlock(lock) · buddy_lock_fini(lock)
 *
 * Written to be as fast as the design allows, so that the comparison is one of designs:
 *  - one bit per order says which free lists have a block, so the right list is found by one count of zeros;
 *  - lists are doubly linked and last-in first-out: a buddy leaves its list in O(1), and what is warm is used again;
 *  - one byte a page says what begins there, so the state of a buddy is one load; bytes and links are apart from the
 *    payload, which is never touched;
 *  - the order is computed outside of the lock.
 *
 *      state[page]   0 = inside a block · BUDDY_FREE | order · BUDDY_TAKEN | order
 */
#ifndef BENCH_PEERS_BUDDY_CORE_H
#define BENCH_PEERS_BUDDY_CORE_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "common/die.h"
#include "peers/peer.h"

#define BUDDY_ORDER_MAX 10u /* 4 MiB */
#define BUDDY_FREE 0x40u
#define BUDDY_TAKEN 0x80u
#define BUDDY_ORDER_MASK 0x0fu
#define BUDDY_NIL UINT32_MAX
#define BUDDY_LINE 64

struct buddy_link {
    uint32_t next;
    uint32_t prev;
};

struct buddy {
    _Alignas(BUDDY_LINE) buddy_lock_t lock;
    _Alignas(BUDDY_LINE) uint32_t nonempty; /* bit k: heads[k] has a block */
    uint32_t heads[BUDDY_ORDER_MAX + 1];
    _Alignas(BUDDY_LINE) char *base; /* what follows is constant after init */
    uint8_t *state;
    struct buddy_link *links;
};

static inline void buddy_push(struct buddy *b, uint32_t page, unsigned order)
{
    const uint32_t head = b->heads[order];
    b->state[page] = (uint8_t)(BUDDY_FREE | order);
    b->links[page] = (struct buddy_link){ .next = head, .prev = BUDDY_NIL };
    if (head != BUDDY_NIL)
        b->links[head].prev = page;
    b->heads[order] = page;
    b->nonempty |= 1u << order;
}

static inline void buddy_unlink(struct buddy *b, uint32_t page, unsigned order)
{
    const struct buddy_link link = b->links[page];
    if (link.next != BUDDY_NIL)
        b->links[link.next].prev = link.prev;
    if (link.prev != BUDDY_NIL) {
        b->links[link.prev].next = link.next;
    } else {
        b->heads[order] = link.next;
        if (link.next == BUDDY_NIL)
            b->nonempty &= ~(1u << order);
    }
}

static void *buddy_alloc(void *self, size_t bytes)
{
    struct buddy *b = self;
    const size_t pages = (bytes + PEER_PAGE_BYTES - 1) / PEER_PAGE_BYTES;
    if (pages == 0 || pages > (size_t)1 << BUDDY_ORDER_MAX)
        return NULL;
    const unsigned order = pages == 1 ? 0 : 64u - (unsigned)__builtin_clzll(pages - 1);

    buddy_lock(&b->lock);
    const uint32_t fitting = b->nonempty >> order;
    if (fitting == 0) {
        buddy_unlock(&b->lock);
        return NULL;
    }
    unsigned from = order + (unsigned)__builtin_ctz(fitting);
    const uint32_t page = b->heads[from];
    buddy_unlink(b, page, from);
    while (from > order) { /* the upper halves go back to the lists */
        from--;
        buddy_push(b, page + (1u << from), from);
    }
    b->state[page] = (uint8_t)(BUDDY_TAKEN | order);
    buddy_unlock(&b->lock);
    return b->base + (size_t)page * PEER_PAGE_BYTES;
}

static void buddy_free(void *self, void *block)
{
    struct buddy *b = self;
    uint32_t page = (uint32_t)((size_t)((char *)block - b->base) / PEER_PAGE_BYTES);

    buddy_lock(&b->lock);
    const unsigned state = b->state[page];
    if (__builtin_expect((state & BUDDY_TAKEN) == 0, 0))
        die("buddy: page %u is not the start of an allocated block", page);
    unsigned order = state & BUDDY_ORDER_MASK;
    for (; order < BUDDY_ORDER_MAX; order++) { /* a whole arena of largest blocks: the buddy is always inside it */
        const uint32_t other = page ^ (1u << order);
        if (b->state[other] != (BUDDY_FREE | order))
            break;
        buddy_unlink(b, other, order);
        const uint32_t upper = page | other;
        b->state[upper] = 0;
        page &= other;
    }
    buddy_push(b, page, order);
    buddy_unlock(&b->lock);
}

static void *buddy_map(size_t bytes, int flags)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    if (memory == MAP_FAILED)
        check(errno, "buddy: mmap");
    return memory;
}

static void *buddy_init(void)
{
    struct buddy *b = buddy_map(sizeof *b, 0);
    buddy_lock_init(&b->lock);
    b->base = buddy_map(PEER_ARENA_BYTES, MAP_NORESERVE);
    b->state = buddy_map(PEER_PAGES, 0);
    b->links = buddy_map(PEER_PAGES * sizeof *b->links, 0);
    for (unsigned order = 0; order <= BUDDY_ORDER_MAX; order++)
        b->heads[order] = BUDDY_NIL;
    for (uint32_t page = (uint32_t)PEER_PAGES; page > 0;) { /* the lowest address ends up first */
        page -= 1u << BUDDY_ORDER_MAX;
        buddy_push(b, page, BUDDY_ORDER_MAX);
    }
    return b;
}

static void buddy_unmap(void *memory, size_t bytes)
{
    if (munmap(memory, bytes) != 0)
        check(errno, "buddy: munmap");
}

static void buddy_fini(void *self)
{
    struct buddy *b = self;
    buddy_lock_fini(&b->lock);
    buddy_unmap(b->links, PEER_PAGES * sizeof *b->links);
    buddy_unmap(b->state, PEER_PAGES);
    buddy_unmap(b->base, PEER_ARENA_BYTES);
    buddy_unmap(b, sizeof *b);
}

static void *buddy_base(void *self)
{
    const struct buddy *b = self;
    return b->base;
}

#endif
