/* SPDX-License-Identifier: MIT */
/*
 * All threads allocate, free and exchange blocks through an array of slots; half of them also coalesce. Payloads are
 * checked plainly; each round ends at rest: sound, and when emptied and joined, fresh. B10, J08, J09
 */
#include "support/arenas.h"
#include "support/check.h"
#include "support/payload.h"
#include "support/threads.h"

#include <lfma/lfma.h>
#include <stdio.h>

#define PAGE ((size_t)64)
#define SLOTS 97u
#define ROUNDS 8u

struct market {
    lfma_arena *arena;
    unsigned order_max;
    _Atomic(char *) slots[SLOTS]; /* the exchange hands a block over, with all that was written to it */
};

static uint64_t mark_of(const void *block)
{
    return (uint64_t)(uintptr_t)block * 0xD1342543DE82EF95u;
}

static void end_block(struct market *m, char *block)
{
    const size_t usable = lfma_usable_size(m->arena, block);
    CHECK(usable >= PAGE);
    CHECK(payload_holds(block, usable, mark_of(block)));
    payload_write(block, usable, 0);
    CHECK_CODE(lfma_free(m->arena, block), LFMA_OK);
}

static char *new_block(crew_member *self, struct market *m)
{
    void *block = NULL;
    const unsigned order = (unsigned)rng_below(&self->rng, 1 + rng_below(&self->rng, m->order_max + 1u));
    const int code = lfma_try_alloc(m->arena, PAGE << order, 0, &block);
    self->again += code == LFMA_E_AGAIN;
    if (code != LFMA_OK) {
        CHECK(code == LFMA_E_NOMEM || code == LFMA_E_FRAGMENTED || code == LFMA_E_AGAIN || code == LFMA_E_BUDGET);
        return NULL;
    }
    CHECK(lfma_usable_size(m->arena, block) == PAGE << order);
    payload_write(block, PAGE << order, mark_of(block));
    return block;
}

static void body(crew_member *self)
{
    struct market *const m = self->context;
    while (crew_goes_on(self)) {
        const uint64_t dice = rng_below(&self->rng, 100);
        self->operations++;
        if (dice < 3 && self->index % 2 == 0) {
            const lfma_budget budget = { LFMA_UNLIMITED, rng_below(&self->rng, 300) };
            CHECK_CODE(lfma_coalesce(m->arena, &budget, NULL), LFMA_OK);
            continue;
        }
        char *const mine = dice < 60 ? new_block(self, m) : NULL;
        char *const theirs = atomic_exchange_explicit(&m->slots[rng_below(&self->rng, SLOTS)], mine,
                                                      memory_order_acq_rel);
        if (theirs)
            end_block(m, theirs);
    }
}

static void empty(struct market *m)
{
    for (unsigned i = 0; i < SLOTS; i++) {
        char *const block = atomic_exchange(&m->slots[i], NULL);
        if (block)
            end_block(m, block);
    }
}

int main(int argc, char **argv)
{
    static crew c;
    static struct market m;
    const stress_args args = stress_begin(argc, argv, 8, 4);
    for (unsigned round = 0; round < ROUNDS; round++) {
        const size_t pages = round % 2 ? 1000 : 4096 + 64 + 5;
        m.order_max = round % 4 < 2 ? 5 : 8;
        m.arena = ARENA(.pages = pages, .block_pages = (size_t)1 << m.order_max,
                        .flags = round % 3 ? 0 : LFMA_HARDENED,
                        .zone_pages = round < ROUNDS / 2 ? 0 : (size_t)1 << m.order_max);
        stress_args part = stress_part(&args, ROUNDS);
        part.seed += round;
        crew_run(&c, args.threads, args.threads, body, &m, part);
        CHECK(arena_is_sound(m.arena));
        empty(&m);
        const lfma_arena_stats_t s = arena_stats(m.arena);
        printf("  round %u: %llu operations, %llu conflicts, %llu times none, AGAIN %llu\n", round,
               (unsigned long long)c.operations, (unsigned long long)s.join_conflicts,
               (unsigned long long)(s.failed_nomem + s.failed_fragmented), (unsigned long long)c.again);
        CHECK(s.allocs == s.frees && s.bad_frees == 0);
        CHECK(arena_join_all(m.arena));
        CHECK(arena_is_fresh(m.arena));
        CHECK_CODE(lfma_arena_destroy(m.arena), LFMA_OK);
    }
    return 0;
}
