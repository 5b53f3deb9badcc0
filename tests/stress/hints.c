/* SPDX-License-Identifier: MIT */
/*
 * Hints of both levels in very many very short races over one free table: publish, claim, tidy and scan of two or
 * three threads in the same search word, checked at rest after one operation each: every non-empty word is hinted in
 * the bitmap above, and no block is lost or had twice. A05, B11, C06
 */
#include "bitmap/bitmap.h"
#include "support/check.h"
#include "support/threads.h"

#include <lfma/lfma.h>
#include <stdio.h>
#include <string.h>

#define SLICES 67u /* two search words, the second of three slices: there the races are */
#define FIRST 64u
#define NOTHING UINT64_MAX

enum op { PUBLISH, CLAIM, CLAIM_FROM_THE_END, TIDY, SCAN, OPS };

struct part {
    atomic_uint op, delay;
    _Atomic(uint64_t) block; /* held by the thread, or NOTHING */
};

struct race {
    lfma__table table;
    lfma__a64 summary[1], search[2], slices[SLICES];
    start_line line;
    atomic_bool over;
    unsigned count;
    struct part parts[4];
};

static void perform(lfma__table t, struct part *p)
{
    uint64_t repaired = 0;
    uint64_t got = NOTHING;
    const uint64_t held = atomic_load(&p->block);
    switch ((enum op)atomic_load(&p->op)) {
    case PUBLISH:
        if (held != NOTHING) {
            const bool was_free = lfma__table_publish(t, held);
            CHECK(!was_free);
            atomic_store(&p->block, NOTHING);
        }
        return;
    case CLAIM:
        got = lfma__table_claim(t, 0);
        break;
    case CLAIM_FROM_THE_END:
        got = lfma__table_claim(t, SLICES - 1);
        break;
    case TIDY:
        for (uint64_t slice = FIRST; slice < SLICES; slice++)
            lfma__table_tidy(t, slice);
        return;
    case SCAN:
        got = lfma__table_claim_scan(t, 0, &repaired);
        break;
    case OPS:
        return;
    }
    if (got != LFMA__NONE && held != NOTHING) /* one block a thread: the other goes back */
        (void)lfma__table_publish(t, got);
    else if (got != LFMA__NONE)
        atomic_store(&p->block, got);
}

static bool hinted(const lfma__a64 *hints, const lfma__a64 *words, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        if (lfma__a64_load_acquire(&words[i]) && !(lfma__a64_load_acquire(&hints[i / 64]) >> i % 64 & 1))
            return false;
    }
    return true;
}

/* A block is in the table or with a thread; there are as many as threads. */
static void check(struct race *r)
{
    unsigned blocks = 0;
    for (uint64_t i = 0; i < SLICES; i++)
        blocks += lfma__popcount64(lfma__a64_load_acquire(&r->slices[i]));
    for (unsigned i = 0; i < r->count; i++)
        blocks += atomic_load(&r->parts[i].block) != NOTHING;
    CHECK(blocks == r->count);
    CHECK(hinted(r->table.search, r->table.slices, SLICES));
    CHECK(hinted(r->table.summary, r->table.search, lfma__words_for(SLICES)));
}

static void prepare(struct race *r, rng *random)
{
    for (unsigned i = 0; i < r->count; i++) {
        atomic_store(&r->parts[i].op, (unsigned)rng_below(random, OPS));
        atomic_store(&r->parts[i].delay, (unsigned)rng_below(random, 30));
    }
    if (rng_below(random, 8) == 0) { /* stale hints */
        (void)lfma__hint_ensure(r->table.search, FIRST + rng_below(random, SLICES - FIRST));
        (void)lfma__hint_ensure(r->table.summary, 1);
    }
}

static void body(crew_member *self)
{
    struct race *const r = self->context;
    struct part *const mine = &r->parts[self->index];
    for (;;) {
        if (self->index == 0) {
            prepare(r, &self->rng);
            atomic_store(&r->over, !crew_goes_on(self));
        }
        start_line_wait(&r->line);
        if (atomic_load(&r->over))
            return;
        for (atomic_uint spin = atomic_load(&mine->delay); spin > 0;)
            spin--;
        perform(r->table, mine);
        start_line_wait(&r->line);
        if (self->index == 0) {
            check(r);
            self->operations++;
        }
    }
}

static void run(unsigned threads, stress_args part)
{
    static crew c;
    static struct race r;
    memset(&r, 0, sizeof r);
    r.table = (lfma__table){ .summary = r.summary, .search = r.search, .slices = r.slices, .slice_count = SLICES };
    r.count = threads;
    start_line_init(&r.line, threads);
    for (unsigned i = 0; i < threads; i++)
        atomic_store(&r.parts[i].block, FIRST * 64 + 64 * i + i); /* a slice each */
    crew_run(&c, threads, 1, body, &r, part);
    printf("  %u threads: %llu rounds\n", threads, (unsigned long long)c.operations);
    CHECK(c.operations > 0);
}

int main(int argc, char **argv)
{
    const stress_args args = stress_begin(argc, argv, 8, 2);
    for (unsigned n = 0; n < 3; n++) {
        stress_args part = stress_part(&args, 3);
        part.seed += n;
        run(n < 2 ? 2 : 3, part);
    }
    return 0;
}
