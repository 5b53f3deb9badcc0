/* SPDX-License-Identifier: MIT */
/* LFMA as its users get it: the arena's size and nothing else is set, but for the flag of `lfma-hardened`. */
#include <lfma/lfma.h>

#include "common/die.h"
#include "peers/peer.h"

static void *create(size_t bytes, size_t zone_bytes, uint32_t flags)
{
    lfma_arena_config config = LFMA_ARENA_CONFIG_INIT;
    config.bytes = bytes;
    config.block_bytes_max = zone_bytes;
    config.zone_bytes = zone_bytes;
    config.flags = flags;
    lfma_arena *arena;
    const int code = lfma_arena_create(&config, &arena);
    if (code != LFMA_OK)
        die("lfma_arena_create: %s", lfma_strerror(code));
    return arena;
}

static void *init(void)
{
    return create(PEER_ARENA_BYTES, 0, 0);
}

static void *init_core(void)
{
    return create(PEER_ARENA_BYTES, 0, LFMA_NO_CACHE);
}

static void *init_hardened(void)
{
    return create(PEER_ARENA_BYTES, 0, LFMA_HARDENED);
}

static void *init_large(size_t bytes)
{
    return create(bytes, PEER_ZONE_BYTES, 0);
}

static void *init_large_core(size_t bytes)
{
    return create(bytes, PEER_ZONE_BYTES, LFMA_NO_CACHE);
}

static void *init_large_hardened(size_t bytes)
{
    return create(bytes, PEER_ZONE_BYTES, LFMA_HARDENED);
}

static void *alloc(void *self, size_t bytes)
{
    return lfma_alloc(self, bytes);
}

static void release(void *self, void *block)
{
    (void)lfma_free(self, block); /* a speed pass does what its users do; lfma_arena_stats() counts bad ones */
}

static void fini(void *self)
{
    lfma_arena_stats_t stats = LFMA_ARENA_STATS_INIT;
    int code = lfma_arena_stats(self, &stats);
    if (code != LFMA_OK || stats.bad_frees != 0)
        die("lfma: %llu frees were refused", (unsigned long long)stats.bad_frees);
    code = lfma_arena_destroy(self);
    if (code != LFMA_OK)
        die("lfma_arena_destroy: %s", lfma_strerror(code));
}

static void *base(void *self)
{
    lfma_arena_stats_t stats = LFMA_ARENA_STATS_INIT;
    const int code = lfma_arena_stats(self, &stats);
    if (code != LFMA_OK)
        die("lfma_arena_stats: %s", lfma_strerror(code));
    return stats.base;
}

static int try_alloc(void *self, size_t bytes, void **ret_block)
{
    return lfma_try_alloc(self, bytes, 0, ret_block);
}

/* clang-format off */
#define PEER_LFMA(peer_name, peer_summary, suffix) {                                          \
    .name = peer_name, .summary = peer_summary, .init = init##suffix,                         \
    .init_large = init_large##suffix, .alloc = alloc, .free = release, .fini = fini,          \
    .base = base, .try_alloc = try_alloc }

const struct peer peer_lfma = PEER_LFMA("lfma", "LFMA, the defaults", );

const struct peer peer_lfma_core = PEER_LFMA("lfma-core", "without caches", _core);

const struct peer peer_lfma_hardened = PEER_LFMA("lfma-hardened", "with LFMA_HARDENED", _hardened);
/* clang-format on */
