/* SPDX-License-Identifier: MIT */
#include "support/model.h"

#include <stdlib.h>
#include <string.h>

void model_init(model *m, uint64_t pages, uint64_t zone_pages)
{
    if (pages > MODEL_PAGES_MAX)
        abort();
    m->pages = pages;
    m->zone_pages = zone_pages;
    m->pages_free = pages;
    m->live_count = 0;
    m->next_id = 0;
    memset(m->owner, 0, sizeof m->owner);
}

static bool is_free(const model *m, uint64_t page, uint64_t count)
{
    for (uint64_t p = page; p < page + count; p++) {
        if (m->owner[p] != 0)
            return false;
    }
    return true;
}

static bool fits(const model *m, uint64_t page, uint64_t count)
{
    return page % m->zone_pages % count == 0 && page + count <= m->pages &&
           page / m->zone_pages == (page + count - 1) / m->zone_pages;
}

bool model_take(model *m, uint64_t page, unsigned order)
{
    const uint64_t count = (uint64_t)1 << order;
    if (count > m->pages || !fits(m, page, count) || !is_free(m, page, count))
        return false;
    /* Ids need only differ from the neighbours': there are more of them than pages. */
    m->next_id = (uint16_t)(m->next_id % UINT16_MAX + 1);
    for (uint64_t p = page; p < page + count; p++)
        m->owner[p] = m->next_id;
    m->live[m->live_count++] = (model_block){ page, order };
    m->pages_free -= count;
    return true;
}

void model_drop(model *m, uint32_t index)
{
    const model_block block = m->live[index];
    const uint64_t count = (uint64_t)1 << block.order;
    for (uint64_t p = block.page; p < block.page + count; p++)
        m->owner[p] = 0;
    m->live[index] = m->live[--m->live_count];
    m->pages_free += count;
}

bool model_has_run(const model *m, unsigned order)
{
    const uint64_t count = (uint64_t)1 << order;
    for (uint64_t page = 0; page + count <= m->pages; page++) {
        if (fits(m, page, count) && is_free(m, page, count))
            return true;
    }
    return false;
}

int64_t model_find(const model *m, uint64_t page)
{
    for (uint32_t i = 0; i < m->live_count; i++) {
        if (page >= m->live[i].page && page < m->live[i].page + ((uint64_t)1 << m->live[i].order))
            return i;
    }
    return -1;
}

void model_decompose(const model *m, unsigned order_max, uint64_t *ret_counts)
{
    memset(ret_counts, 0, (order_max + 1) * sizeof *ret_counts);
    for (uint64_t page = 0; page < m->pages;) {
        if (m->owner[page] != 0) {
            page++;
            continue;
        }
        unsigned order = 0;
        while (order < order_max && fits(m, page, (uint64_t)2 << order) && is_free(m, page, (uint64_t)2 << order))
            order++;
        ret_counts[order]++;
        page += (uint64_t)1 << order;
    }
}
