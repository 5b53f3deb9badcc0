/* SPDX-License-Identifier: MIT */
/*
 * The fuzzer's entry. An input is
 *
 *     clock | how | a configuration | operation | operation | …
 *
 * `how` says whether the configuration is a small arena of some shape or anything at all, whether owners write to
 * their blocks or the payload is out of reach (PROT_NONE), and which mmap fails. An operation is four bytes
 * (operations.h), so that the fuzzer can cut and join sequences. What is compared, and when:
 *  - create: the code and the geometry that lfma.h promises, nothing left mapped if it fails (geometry.c, maps.c);
 *  - each operation: the code, exactly, by the model of support/history.h; blocks inside, aligned, apart; a refused
 *    call changes no bit of the zones; then the invariants (in large arenas after every 16th);
 *  - each counter of lfma_arena_stats(), now and then and at the end;
 *  - the end: all freed and coalesced, the zones are those of a fresh arena, and all is unmapped.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/maps.h"
#include "fuzz/play.h"

#define METADATA_BYTES_MAX ((uint64_t)16 << 20) /* of invented arenas; the system is said to refuse larger ones */
#define WALKED_PAGES_MAX ((uint64_t)1 << 16)
#define WORK_MAX 6000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static play state;
static uint64_t inputs;

static void print_figures(void)
{
    fprintf(stderr, "fuzz: %" PRIu64 " inputs, %" PRIu64 " operations\n", inputs, play_operations);
}

static fake_clock choose_clock(input *in)
{
    const uint8_t how = input_byte(in);
    const unsigned mode = how % 8;
    return (fake_clock){ .mode = mode < 4 ? (enum fake_clock_mode)mode : CLOCK_FROZEN,
                         .now_ns = (uint64_t)how << 40,
                         .tick_ns = (uint64_t)1 << how / 16 };
}

/* Too large for the model: the largest block comes and goes. */
static void visit(play *p)
{
    void *block = NULL;
    const size_t bytes = (size_t)p->geometry.block_bytes;
    PLAY_REQUIRE(p, lfma_try_alloc(p->world.arena, bytes, 0, &block) == LFMA_OK);
    PLAY_REQUIRE(p, (uintptr_t)block % bytes == 0 && lfma_usable_size(p->world.arena, block) == bytes);
    PLAY_REQUIRE(p, lfma_block_of(p->world.arena, (char *)block + bytes - 1) == block);
    PLAY_REQUIRE(p, lfma_arena_destroy(p->world.arena) == LFMA_E_BUSY);
    PLAY_REQUIRE(p, lfma_free(p->world.arena, block) == LFMA_OK);
    PLAY_REQUIRE(p, lfma_free(p->world.arena, block) == LFMA_E_DOUBLE_FREE);
    if (p->geometry.pages <= WALKED_PAGES_MAX)
        PLAY_REQUIRE(p, lfma_arena_validate(p->world.arena, NULL) == LFMA_OK);
    play_destroy(p);
}

static void begin(play *p, input *in)
{
    p->operations = 0;
    p->work_left = WORK_MAX;
    p->world.why[0] = '\0';
    p->config = (lfma_arena_config)LFMA_ARENA_CONFIG_INIT;
    p->world.clock = choose_clock(in);
    p->config.clock = fake_clock_read;
    p->config.clock_context = &p->world.clock;
}

static void play_input(play *p, input *in)
{
    begin(p, in);
    const uint8_t how = input_byte(in); /* 2 bits: invented or chosen, 1: payload, 5: which mmap fails */
    if ((how & 3) == 3)
        config_invent(in, &p->config);
    else
        config_choose(in, &p->config);
    p->wants_payload = how & 4;
    const bool is_valid = config_promises(&p->config, &p->geometry);

    lfma_arena *arena = NULL;
    maps_watch(how >= 0xE8 ? 1u + (how & 8) / 8u : 0, METADATA_BYTES_MAX);
    const int code = lfma_arena_create(&p->config, &arena);
    play_trace("create: %zu bytes, pages of %zu, blocks of %zu, zones of %zu, flags 0x%x, %u threads, %" PRIu64
               " ns, %" PRIu64 " steps: %s",
               p->config.bytes, p->config.page_bytes, p->config.block_bytes_max, p->config.zone_bytes,
               p->config.flags, p->config.threads_max, p->config.coalesce.ns, p->config.coalesce.steps,
               lfma_error_name(code));
    const int expected = !is_valid ? LFMA_E_INVALID : maps_refused() ? LFMA_E_OS : LFMA_OK;
    if (code != expected)
        play_wrong(p, "create: %s instead of %s", lfma_error_name(code), lfma_error_name(expected));
    if (code != LFMA_OK) {
        PLAY_REQUIRE(p, arena == NULL && maps_bytes() == 0);
        return;
    }
    if (p->geometry.pages > MODEL_PAGES_MAX) {
        p->world.arena = arena;
        visit(p);
        return;
    }
    play_adopt(p, arena);
    play_all(p, in);
    play_end(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (inputs++ == 0)
        (void)atexit(print_figures);
    input in = { data, size };
    play_input(&state, &in);
    return 0;
}
