/* SPDX-License-Identifier: MIT */
/*
 * C04, C07: what a block's last owner wrote comes before what its next owner does, by LFMA alone. The threads share
 * nothing but the arena: each allocates, reads what the last owner left, writes, frees; all plainly. ThreadSanitizer
 * must be silent, and a page is never seen half written, through splits and joins too.
 */
#include "support/arenas.h"
#include "support/check.h"
#include "support/threads.h"

#include <lfma/lfma.h>
#include <stdio.h>

#define PAGE ((size_t)64)
#define WORDS (PAGE / 8)

/* Each page bears one number in its first and last word, and in one between. */
static void check_pages(const uint64_t *words, size_t pages)
{
    for (size_t p = 0; p < pages; p++)
        CHECK(words[p * WORDS] == words[p * WORDS + WORDS - 1] && words[p * WORDS] == words[p * WORDS + 3]);
}

static void write_pages(uint64_t *words, size_t pages, uint64_t mark)
{
    for (size_t p = 0; p < pages; p++) {
        words[p * WORDS] = mark;
        words[p * WORDS + 3] = mark;
        words[p * WORDS + WORDS - 1] = mark;
    }
}

struct place {
    lfma_arena *arena;
    unsigned order_max;
    bool coalescer; /* the last thread only coalesces */
};

static void body(crew_member *self)
{
    const struct place *const place = self->context;
    while (crew_goes_on(self)) {
        if (place->coalescer && self->index == self->crew->count - 1) {
            const lfma_budget budget = { LFMA_UNLIMITED, 1 + rng_below(&self->rng, 60) };
            CHECK_CODE(lfma_coalesce(place->arena, &budget, NULL), LFMA_OK);
            continue;
        }
        const unsigned order = (unsigned)rng_below(&self->rng, place->order_max + 1u);
        uint64_t *const words = lfma_alloc(place->arena, PAGE << order);
        if (!words)
            continue;
        check_pages(words, (size_t)1 << order);
        write_pages(words, (size_t)1 << order, rng_next(&self->rng));
        CHECK_CODE(lfma_free(place->arena, words), LFMA_OK);
        self->operations++;
    }
}

static void run(unsigned threads, size_t pages, unsigned order_max, bool coalescer, uint32_t flags,
                const stress_args *args)
{
    static crew c;
    struct place place = { ARENA(.pages = pages, .flags = flags), order_max, coalescer };
    crew_run(&c, threads + coalescer, threads, body, &place, stress_part(args, 6));
    printf("  %u threads, %zu pages, orders to %u: %llu blocks\n", threads, pages, order_max,
           (unsigned long long)c.operations);
    CHECK(c.operations > 0);
    CHECK(arena_is_sound(place.arena));
    CHECK_CODE(lfma_arena_destroy(place.arena), LFMA_OK);
}

int main(int argc, char **argv)
{
    const stress_args args = stress_begin(argc, argv, 5, 3);
    run(2, 1, 0, false, 0, &args); /* one page: every hand-over is between the two */
    run(args.threads, 2, 0, false, LFMA_HARDENED, &args);
    run(2, 4, 2, true, 0, &args); /* splits and joins */
    run(2, 64, 6, true, LFMA_HARDENED, &args);
    run(args.threads, 256, 8, true, 0, &args);
    run(args.threads, 128, 7, false, 0, &args);
    return 0;
}
