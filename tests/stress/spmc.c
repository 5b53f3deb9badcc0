/* SPDX-License-Identifier: MIT */
/*
 * The use the library is for: one thread allocates and fills blocks of random sizes, others check, overwrite and free
 * them. Payloads are written and read plainly (C03). I07: at the end all is free, and joined it is a fresh arena.
 */
#include "support/arenas.h"
#include "support/channel.h"
#include "support/check.h"
#include "support/payload.h"
#include "support/threads.h"

#include <lfma/lfma.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#define PAGE ((size_t)64)
#define ORDER_MAX 9u

struct line {
    lfma_arena *arena;
    channel channel;
    atomic_bool closed; /* the producer has gone */
};

static uint64_t mark_of(const void *block)
{
    return (uint64_t)(uintptr_t)block * 0x9E3779B97F4A7C15u;
}

static void produce(crew_member *self, struct line *line)
{
    while (crew_goes_on(self)) {
        const size_t bytes = 1 + rng_below(&self->rng, PAGE << rng_below(&self->rng, ORDER_MAX + 1));
        void *block = NULL;
        const int code = lfma_try_alloc(line->arena, bytes, 0, &block);
        if (code != LFMA_OK) { /* the consumers are behind */
            CHECK(code == LFMA_E_NOMEM || code == LFMA_E_FRAGMENTED || code == LFMA_E_AGAIN || code == LFMA_E_BUDGET);
            self->again += code == LFMA_E_AGAIN;
            (void)sched_yield();
            continue;
        }
        const size_t usable = lfma_usable_size(line->arena, block);
        CHECK(usable >= bytes && usable >= PAGE);
        payload_write(block, usable, mark_of(block));
        while (!channel_put(&line->channel, block))
            (void)sched_yield();
        self->operations++;
    }
    atomic_store(&line->closed, true);
}

static void consume(crew_member *self, struct line *line)
{
    for (;;) {
        const bool last = atomic_load(&line->closed); /* before the look that finds nothing */
        void *const block = channel_get(&line->channel);
        if (!block && last)
            return;
        if (!block) {
            (void)sched_yield();
            continue;
        }
        const size_t usable = lfma_usable_size(line->arena, block);
        CHECK(usable >= PAGE);
        CHECK(payload_holds(block, usable, mark_of(block)));
        CHECK((char *)lfma_block_of(line->arena, (char *)block + usable - 1) == block);
        payload_write(block, usable, self->index);
        CHECK_CODE(lfma_free(line->arena, block), LFMA_OK);
        if (rng_below(&self->rng, 1000) == 0) {
            const lfma_budget budget = LFMA_BUDGET_STEPS(50);
            CHECK_CODE(lfma_coalesce(line->arena, &budget, NULL), LFMA_OK);
        }
    }
}

static void body(crew_member *self)
{
    if (self->index == 0)
        produce(self, self->context);
    else
        consume(self, self->context);
}

static void run(unsigned consumers, size_t pages, bool zones, uint32_t flags, const stress_args *args)
{
    static crew c;
    static struct line line;
    memset(&line, 0, sizeof line);
    channel_init(&line.channel);
    line.arena = ARENA(.pages = pages, .block_pages = (size_t)1 << ORDER_MAX, .flags = flags,
                       .zone_pages = zones ? (size_t)1 << ORDER_MAX : 0);
    crew_run(&c, 1 + consumers, 1, body, &line, stress_part(args, 4));
    const lfma_arena_stats_t s = arena_stats(line.arena);
    printf("  %u consumers, %zu pages%s: %llu blocks, %llu times none, AGAIN %llu\n", consumers, pages,
           zones ? ", zones" : "", (unsigned long long)c.operations,
           (unsigned long long)(s.failed_nomem + s.failed_fragmented), (unsigned long long)c.again);
    CHECK(c.operations > 0);
    CHECK(s.allocs == s.frees && s.bad_frees == 0 && s.free_bytes == s.bytes);
    CHECK(arena_is_sound(line.arena));
    CHECK(arena_join_all(line.arena));
    CHECK(arena_is_fresh(line.arena));
    CHECK_CODE(lfma_arena_destroy(line.arena), LFMA_OK);
}

int main(int argc, char **argv)
{
    const stress_args args = stress_begin(argc, argv, 8, 4);
    run(1, 8192, false, 0, &args);
    run(args.threads - 1 ? args.threads - 1 : 1, 8192, false, LFMA_HARDENED, &args);
    run(args.threads, 1500, true, 0, &args); /* often full; the last zone is short */
    run(args.threads, 65536, true, 0, &args);
    return 0;
}
