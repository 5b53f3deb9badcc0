/* SPDX-License-Identifier: MIT */
/**
 * @file peer.h  One small adapter per allocator. Every call, the floor's too, goes through these pointers.
 *
 * Arena allocators manage 1 GiB in pages of 4 KiB; none ever touches the payload.
 */
#ifndef BENCH_PEERS_PEER_H
#define BENCH_PEERS_PEER_H

#include <stddef.h>
#include <stdint.h>

#define PEER_ARENA_BYTES ((size_t)1 << 30)
#define PEER_PAGE_BYTES ((size_t)4096)
#define PEER_PAGES (PEER_ARENA_BYTES / PEER_PAGE_BYTES)
#define PEER_ZONE_BYTES ((size_t)512 << 20) /* of init_large */

struct peer {
    const char *name;
    const char *summary;

    /** Make the allocator; exits with a message if that fails. Returns what the other calls get as `self`. */
    void *(*init)(void);

    /** As init, of so many bytes in zones of PEER_ZONE_BYTES; NULL as a pointer: always 1 GiB. */
    void *(*init_large)(size_t bytes);

    /** NULL: failed. The result is a handle, not always an address (see mmap.c). */
    void *(*alloc)(void *self, size_t bytes);

    void (*free)(void *self, void *block);

    /** Everything is freed before. */
    void (*fini)(void *self);

    /** The arena's first byte; NULL as a pointer: this allocator has no arena. */
    void *(*base)(void *self);

    /** As alloc, with LFMA's code for a failure; NULL as a pointer: the allocator gives no reason. */
    int (*try_alloc)(void *self, size_t bytes, void **ret_block);
};

extern const struct peer peer_floor, peer_lfma, peer_lfma_core, peer_lfma_hardened, peer_buddy_mutex, peer_buddy_spin,
    peer_mmap, peer_malloc;

/** The peer of that name; NULL: there is none. */
const struct peer *peer_find(const char *name);

/** The peers in the order of --list; NULL ends them. */
const struct peer *peer_at(size_t index);

#endif
