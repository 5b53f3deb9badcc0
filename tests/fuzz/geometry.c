/* SPDX-License-Identifier: MIT */
#include "fuzz/geometry.h"

#define ZONES_MAX 300u /* of a chosen configuration: each is compared with a fresh one in the end */

__extension__ typedef unsigned __int128 wide;

/* ---------------------------------------------------------------------------------------------- choose */

/* Mostly few pages, often about a whole word or a whole group of words, seldom any number up to 4,300. */
static uint64_t choose_pages(input *in)
{
    static const uint16_t edges[] = { 1,   2,   3,   63,   64,   65,   127,  128,  129,  191,  192,  193,
                                      255, 256, 257, 2047, 2048, 4095, 4096, 4097, 4159, 4160, 4161, 4300 };
    const unsigned class = input_byte(in) % 16;
    const uint16_t any = input_pair(in);
    if (class < 7)
        return 1u + any % 64u;
    if (class < 12)
        return 1u + any % 300u;
    if (class < 15)
        return edges[any % (sizeof edges / sizeof edges[0])];
    return 1u + any % 4300u;
}

static lfma_budget choose_budget(input *in)
{
    const uint8_t how = input_byte(in) % 8;
    const uint64_t amount = (uint64_t)1 << input_byte(in) % 12;
    switch (how) {
    case 0:
    case 1:
        return (lfma_budget)LFMA_BUDGET_ALL;
    case 2:
        return (lfma_budget)LFMA_BUDGET_NONE;
    case 3:
    case 4:
        return (lfma_budget)LFMA_BUDGET_NS(amount);
    case 5:
        return (lfma_budget){ amount, amount };
    default:
        return (lfma_budget)LFMA_BUDGET_STEPS(amount);
    }
}

void config_choose(input *in, lfma_arena_config *ret_config)
{
    static const uint16_t threads[] = { 1, 2, 3, 4, 8, 9, 12, 64 };
    const uint8_t page = input_byte(in);
    const unsigned page_shift = page < 128 ? 6 : page < 192 ? 12 : 6 + page % 25;
    const uint64_t pages = choose_pages(in);
    ret_config->page_bytes = (size_t)1 << page_shift;
    ret_config->bytes = (size_t)pages << page_shift;

    const uint8_t shape = input_byte(in); /* 2 bits: the block, 2: the zone, 1: hardened, 3: threads */
    const uint8_t block = input_byte(in);
    const uint8_t zone = input_byte(in);
    unsigned orders = 1;
    while (pages >> orders)
        orders++;
    if ((shape & 3) == 1)
        ret_config->block_bytes_max = (size_t)(block % pages + 1) << page_shift;
    else if ((shape & 3) != 0)
        ret_config->block_bytes_max = (size_t)1 << (page_shift + block % orders);
    if ((shape >> 2 & 3) != 0) {
        ret_config->zone_bytes = (size_t)1 << (page_shift + zone % 13);
        while (ret_config->bytes / ret_config->zone_bytes > ZONES_MAX)
            ret_config->zone_bytes *= 2;
    }
    ret_config->flags = LFMA_NO_CACHE | (shape & 0x10 ? LFMA_HARDENED : 0); /* every call shows in the bitmaps */
    ret_config->threads_max = threads[shape >> 5];
    ret_config->coalesce = choose_budget(in);
    const uint8_t less = input_byte(in); /* not a whole number of pages */
    if (less < (uint64_t)1 << page_shift)
        ret_config->bytes -= less;
}

/* Any number of bytes, but often one that is, or nearly is, a power of two of pages. */
static size_t invent_bytes(input *in, size_t page_bytes)
{
    const uint8_t shape = input_byte(in);
    const uint16_t low = input_pair(in);
    if (shape < 128)
        return (size_t)number_of((uint8_t)(2u * shape), low);
    return (page_bytes << shape % 34u) + low % 3u - 1;
}

void config_invent(input *in, lfma_arena_config *ret_config)
{
    const uint8_t set = input_byte(in); /* the members that are not the defaults */
    if (set & 0x01)
        ret_config->page_bytes = set & 0x40 ? (size_t)input_number(in) : (size_t)1 << input_byte(in) % 32;
    const size_t page_bytes = ret_config->page_bytes ? ret_config->page_bytes : 4096;
    ret_config->bytes = invent_bytes(in, page_bytes);
    if (set & 0x02)
        ret_config->block_bytes_max = invent_bytes(in, page_bytes);
    if (set & 0x04)
        ret_config->zone_bytes = invent_bytes(in, page_bytes);
    if (set & 0x08)
        ret_config->flags = (uint32_t)input_number(in);
    ret_config->flags |= LFMA_NO_CACHE;
    if (set & 0x10)
        ret_config->threads_max = (uint32_t)input_number(in);
    if (set & 0x20)
        ret_config->coalesce = (lfma_budget){ input_number(in), input_number(in) };
    if ((set & 0xC0) == 0xC0)
        ret_config->size = (size_t)input_number(in);
}

/* --------------------------------------------------------------------------------------------- promise */

/* The smallest unit × 2^k that is at least x. */
static wide doubled(wide unit, wide x)
{
    while (unit < x)
        unit *= 2;
    return unit;
}

static wide least(wide a, wide b)
{
    return a < b ? a : b;
}

static bool is_between(wide low, wide x, wide high)
{
    return low <= x && x <= high;
}

bool config_promises(const lfma_arena_config *config, geometry *ret_geometry)
{
    const wide page = config->page_bytes ? config->page_bytes : 4096;
    if (config->size != sizeof *config || (config->flags & ~(uint32_t)(LFMA_HARDENED | LFMA_NO_CACHE)) != 0 ||
        config->threads_max > 1024 || !is_between(64, page, 1u << 30) || doubled(1, page) != page ||
        !is_between(1, config->bytes, (wide)1 << 45))
        return false;
    const wide pages = (config->bytes + page - 1) / page;
    const wide bytes = pages * page;
    const wide most = page << 31;

    wide zone = config->zone_bytes ? doubled(1, config->zone_bytes) : least(doubled(1, bytes), most);
    if (!is_between(page, zone, most))
        return false;
    wide block = page;
    if (config->block_bytes_max) {
        block = doubled(page, config->block_bytes_max);
        if (block > bytes || block > zone)
            return false;
        if (!config->zone_bytes) {
            const wide share = doubled(1, (bytes + 15) / 16);
            zone = least(share > 16 * block ? share : 16 * block, most);
        }
    } else {
        while (2 * block <= bytes && 2 * block <= zone)
            block *= 2;
    }
    if (config->zone_bytes)
        zone = least(zone, doubled(1, bytes));
    const wide zones = (bytes + zone - 1) / zone;
    *ret_geometry = (geometry){ .bytes = (uint64_t)bytes,
                                .pages = (uint64_t)pages,
                                .page_bytes = (uint64_t)page,
                                .block_bytes = (uint64_t)block,
                                .zone_bytes = (uint64_t)zone,
                                .zones = (uint64_t)zones };
    return zones <= UINT32_MAX;
}

uint64_t geometry_steps(const geometry *g)
{
    /* A join costs 16 and leaves one block less; a zone's words, and groups above them, are walked twice at most. */
    return 16 * g->pages + 4 * (g->pages / 64 + g->zones) + 16 * g->zones + 64;
}
