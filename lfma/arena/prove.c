/* SPDX-License-Identifier: MIT */
/* The proof behind NOMEM and FRAGMENTED: owner words, page map, owner words again (docs/ORDERING.md, E3 and E4). */
#include "arena/arena.h"

int lfma__arena_prove(lfma_arena *arena, unsigned order)
{
    const lfma__owners_seen before = lfma__arena_read_owners(arena);
    if (before.in_flight)
        return LFMA_E_AGAIN;
    lfma__survey survey = { 0 };
    for (uint64_t i = 0; i < arena->pool.row.count; i++)
        lfma__zone_survey(lfma__arena_zone(arena, i), order, &survey);
    if (survey.has_run)
        return LFMA_OK;
    const lfma__owners_seen after = lfma__arena_read_owners(arena);
    if (after.in_flight || after.sum != before.sum)
        return LFMA_E_AGAIN;
    return survey.pages_free < (uint64_t)1 << order ? LFMA_E_NOMEM : LFMA_E_FRAGMENTED;
}
