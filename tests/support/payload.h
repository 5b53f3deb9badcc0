/* SPDX-License-Identifier: MIT */
/*
 * What the owner of a block writes into it, with plain stores, and checks with plain loads: a mark in the first and
 * the last word and in some pages between. Two owners at once, or an owner that does not see its predecessor's end,
 * break it.
 */
#ifndef LFMA_TESTS_SUPPORT_PAYLOAD_H
#define LFMA_TESTS_SUPPORT_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAYLOAD_STRIDE 320u /* bytes; a multiple of 8, of no page size */

static inline void payload_write(void *block, size_t bytes, uint64_t mark)
{
    uint64_t *const words = block;
    for (size_t at = 0; at < bytes; at += PAYLOAD_STRIDE)
        words[at / 8] = mark ^ at;
    words[bytes / 8 - 1] = mark;
}

static inline bool payload_holds(const void *block, size_t bytes, uint64_t mark)
{
    const uint64_t *const words = block;
    bool holds = words[bytes / 8 - 1] == mark;
    for (size_t at = 0; at < bytes && holds; at += PAYLOAD_STRIDE)
        holds = words[at / 8] == (mark ^ at) || at / 8 == bytes / 8 - 1;
    return holds;
}

#endif
