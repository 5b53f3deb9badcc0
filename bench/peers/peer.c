/* SPDX-License-Identifier: MIT */
#include "peers/peer.h"

#include <string.h>

static const struct peer *const peers[] = {
    &peer_floor,       &peer_lfma,       &peer_lfma_core, &peer_lfma_hardened,
    &peer_buddy_mutex, &peer_buddy_spin, &peer_mmap,      &peer_malloc,
};

const struct peer *peer_at(size_t index)
{
    return index < sizeof peers / sizeof peers[0] ? peers[index] : NULL;
}

const struct peer *peer_find(const char *name)
{
    const struct peer *peer;
    for (size_t i = 0; (peer = peer_at(i)) != NULL; i++) {
        if (strcmp(peer->name, name) == 0)
            return peer;
    }
    return NULL;
}
