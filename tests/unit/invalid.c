/* SPDX-License-Identifier: MIT */
/*
 * A matrix: kinds of invalid input × the public entries that take them. After each call: the code that is promised,
 * outputs as they were, errno as it was, every bit of the metadata as it was but for the one counter that the call
 * raises, statistics the same, all invariants hold.
 *
 * With LFMA_TEST_RECORD set to a folder the numbers go to its file invalid.json.
 */
#include "arena/arena.h"
#include "support/arenas.h"
#include "support/unit.h"

#include <errno.h>
#include <lfma/lfma.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define PAGE ((size_t)256)
#define PAGES ((size_t)200) /* three zones of 64 and one of 8 */
#define LARGEST (64 * PAGE)
#define ENTRIES 21u /* all that take an argument */
#define ERRNO_BEFORE 4242
#define PATTERN 0xA5

enum { TALLY_MAX = 200 };

/* ------------------------------------------------------------------------------------------------- the scene */

static struct scene {
    lfma_arena *arena, *other;
    lfma_cache *cache;
    char *base;
    char *eight, *one, *freed, *twice; /* a block of 8 pages, one of 1, one of 4 freed, one of 1 freed and joined */
    char *others, *gone_base, *gone_block;
    char *heap;
    unsigned char *before; /* all metadata */
    lfma_arena_stats_t stats;
} scene;

static struct tally {
    const char *kind, *entry; /* what is being tried: for messages */
    const char *kinds[TALLY_MAX], *entries[TALLY_MAX];
    unsigned kind_count, entry_count;
    uint64_t combinations;
    size_t bad_frees, never; /* counted by the scene's arena so far, on top of scene.stats */
} tally;

static unsigned note(const char **names, unsigned count, const char *name)
{
    for (unsigned i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0)
            return count;
    }
    REQUIRE(count < TALLY_MAX, "room");
    names[count] = name;
    return count + 1;
}

static void begin(const char *kind, const char *entry)
{
    tally.kind = kind;
    tally.entry = entry;
    tally.kind_count = note(tally.kinds, tally.kind_count, kind);
    tally.entry_count = note(tally.entries, tally.entry_count, entry);
    tally.combinations++;
    errno = ERRNO_BEFORE;
}

#define DEMAND(condition, what) REQUIRE(condition, "%s at %s: %s", tally.kind, tally.entry, what)

static bool same_owners(const lfma_arena *now, const unsigned char *before)
{
    for (uint32_t i = 0; i <= now->threads_max; i++) {
        const size_t at = (size_t)((const char *)&now->slots[i].owner - (const char *)now);
        if (memcmp(&now->slots[i].owner, before + at, offsetof(lfma__owner, counters)) != 0)
            return false;
    }
    return true;
}

/* Nothing has changed but the counters in the tally. */
static void require_untouched(void)
{
    DEMAND(errno == ERRNO_BEFORE, "errno was touched");
    if (!scene.arena)
        return;
    const lfma_arena *const arena = scene.arena;
    const size_t zones_at = (size_t)(arena->pool.row.zones - (const char *)arena);
    DEMAND(memcmp(arena, scene.before, sizeof *arena) == 0, "the arena's header changed");
    DEMAND(same_owners(arena, scene.before), "an owner word changed");
    DEMAND(memcmp(arena->pool.row.zones, scene.before + zones_at, (size_t)arena->metadata_bytes - zones_at) == 0,
           "a table changed");
    lfma_arena_stats_t want = scene.stats;
    want.bad_frees += tally.bad_frees;
    want.failed_never += tally.never;
    const lfma_arena_stats_t now = arena_stats(scene.arena);
    DEMAND(memcmp(&now, &want, sizeof now) == 0, "a figure moved");
    DEMAND(lfma_arena_validate(scene.arena, NULL) == LFMA_OK, "an invariant broke");
}

static void require_code(int got, int want)
{
    REQUIRE(got == want, "%s at %s: %s instead of %s", tally.kind, tally.entry, lfma_error_name(got),
            lfma_error_name(want));
    require_untouched();
}

/* An output filled with the pattern, and whether it still is (from byte `from` on: behind a structure's size). */
static void fill(void *output, size_t bytes)
{
    memset(output, PATTERN, bytes);
}

static void require_pattern(const void *output, size_t from, size_t bytes)
{
    for (size_t i = from; i < bytes; i++)
        DEMAND(((const unsigned char *)output)[i] == PATTERN, "an output was written");
}

static char *take(lfma_arena *arena, size_t pages)
{
    char *const block = lfma_alloc(arena, pages * PAGE);
    REQUIRE(block != NULL, "%zu pages", pages);
    return block;
}

static void open_scene(uint32_t flags)
{
    lfma_arena *const gone = ARENA(.pages = PAGES, .page_bytes = PAGE);
    scene.gone_base = arena_stats(gone).base;
    scene.gone_block = take(gone, 4);
    scene.arena = ARENA(.pages = PAGES, .page_bytes = PAGE, .block_pages = 64, .zone_pages = 64, .threads_max = 3,
                        .flags = flags);
    scene.base = arena_stats(scene.arena).base;
    scene.other = ARENA(.pages = PAGES, .page_bytes = PAGE, .threads_max = 1);
    REQUIRE_CODE(lfma_cache_create(scene.arena, &scene.cache), LFMA_OK);
    lfma_arena_destroy_forced(gone);
    scene.twice = take(scene.arena, 1);
    REQUIRE_CODE(lfma_free(scene.arena, scene.twice), LFMA_OK);
    REQUIRE(arena_join_all(scene.arena), "joined");
    scene.eight = take(scene.arena, 8);
    scene.one = take(scene.arena, 1);
    scene.freed = take(scene.arena, 4);
    REQUIRE_CODE(lfma_free(scene.arena, scene.freed), LFMA_OK);
    scene.others = scene.base + 192 * PAGE; /* the last zone: never allocated */
    scene.heap = malloc(4096);
    scene.before = malloc((size_t)scene.arena->metadata_bytes);
    REQUIRE(scene.heap && scene.before, "memory");
    memcpy(scene.before, scene.arena, (size_t)scene.arena->metadata_bytes);
    scene.stats = arena_stats(scene.arena);
    tally.bad_frees = tally.never = 0;
}

static void close_scene(void)
{
    free(scene.heap);
    free(scene.before);
    lfma_cache_destroy(scene.cache);
    lfma_arena_destroy_forced(scene.arena);
    lfma_arena_destroy_forced(scene.other);
    scene = (struct scene){ 0 };
}

/* ----------------------------------------------------------------- allocations: size × alignment × flags × NULLs */

struct number {
    const char *kind;
    size_t first, count; /* values first, first + 1, … */
    int code;            /* what it is answered by itself */
};

static const struct number good_size = { "a right size", 1, 1, LFMA_OK };

static const struct number sizes[] = {
    { "size 0", 0, 1, LFMA_E_INVALID },
    { "a size next to SIZE_MAX", SIZE_MAX - 8192, 8193, LFMA_E_NEVER },
    { "one more than the largest block", LARGEST + 1, 1, LFMA_E_NEVER },
    { "twice the largest block", 2 * LARGEST, 1, LFMA_E_NEVER },
    { "the whole arena", PAGES *PAGE, 1, LFMA_E_NEVER },
    { "2^31", (size_t)1 << 31, 2, LFMA_E_NEVER },
    { "2^32, 0 in 32 bits", (size_t)1 << 32, 1, LFMA_E_NEVER },
    { "2^32 + 1, 1 in 32 bits", ((size_t)1 << 32) + 1, 1, LFMA_E_NEVER },
    { "2^40 pages", ((size_t)1 << 40) * PAGE, 1, LFMA_E_NEVER },
    { "PTRDIFF_MAX", (size_t)PTRDIFF_MAX - 1, 4, LFMA_E_NEVER },
    { "a negative size of 32 bits", (size_t)UINT32_MAX - 8, 9, LFMA_E_NEVER },
};

static const struct number good_alignment = { "natural alignment", 0, 1, LFMA_OK };

static const struct number alignments[] = {
    { "alignment 3", 3, 1, LFMA_E_INVALID },
    { "alignments 5 to 7", 5, 3, LFMA_E_INVALID },
    { "a page + 1", PAGE + 1, 1, LFMA_E_INVALID },
    { "a page - 1", PAGE - 1, 1, LFMA_E_INVALID },
    { "a page and a half", PAGE + PAGE / 2, 1, LFMA_E_INVALID },
    { "2^32 + 1 as alignment", ((size_t)1 << 32) + 1, 1, LFMA_E_INVALID },
    { "2^63 + 1 as alignment", ((size_t)1 << 63) + 1, 1, LFMA_E_INVALID },
    { "an alignment next to SIZE_MAX", SIZE_MAX - 64, 65, LFMA_E_INVALID },
    { "twice the largest block as alignment", 2 * LARGEST, 1, LFMA_E_NEVER },
    { "2^32 as alignment", (size_t)1 << 32, 1, LFMA_E_NEVER },
    { "2^62 as alignment", (size_t)1 << 62, 1, LFMA_E_NEVER },
    { "2^63 as alignment", (size_t)1 << 63, 1, LFMA_E_NEVER },
};

/* INVALID first, whatever else is wrong; then NEVER. */
static int worse(int a, int b)
{
    return a == LFMA_E_INVALID || b == LFMA_E_INVALID ? LFMA_E_INVALID : a == LFMA_E_NEVER ? a : b;
}

struct request {
    const char *kind;
    size_t bytes, alignment;
    unsigned flags;
    bool no_arena, no_output;
    int code;
};

static void count_never(const struct request *r, int code)
{
    tally.never += code == LFMA_E_NEVER && !r->no_arena;
}

static void try_request(const struct request *r, bool aligned)
{
    lfma_arena *const arena = r->no_arena ? NULL : scene.arena;
    void *block;
    fill(&block, sizeof block);
    void **const ret_block = r->no_output ? NULL : &block;
    begin(r->kind, aligned ? "lfma_try_alloc_aligned" : "lfma_try_alloc");
    const int code = aligned ? lfma_try_alloc_aligned(arena, r->bytes, r->alignment, r->flags, ret_block)
                             : lfma_try_alloc(arena, r->bytes, r->flags, ret_block);
    count_never(r, r->code);
    require_code(code, r->code);
    require_pattern(&block, 0, sizeof block);
    if (r->flags != 0 || r->no_output)
        return;
    begin(r->kind, aligned ? "lfma_alloc_aligned" : "lfma_alloc");
    const void *const got = aligned ? lfma_alloc_aligned(arena, r->bytes, r->alignment) : lfma_alloc(arena, r->bytes);
    DEMAND(got == NULL, "a block");
    count_never(r, r->code);
    require_untouched();
}

/* The same by a cache; without an arena there is none. */
static void try_request_by_cache(const struct request *r)
{
    lfma_cache *const cache = r->no_arena ? NULL : scene.cache;
    void *block;
    fill(&block, sizeof block);
    begin(r->kind, "lfma_cache_try_alloc");
    const int code = lfma_cache_try_alloc(cache, r->bytes, r->alignment, r->flags,
                                          r->no_output ? NULL : (void **)&block);
    count_never(r, r->code);
    require_code(code, r->code);
    require_pattern(&block, 0, sizeof block);
    if (r->flags != 0 || r->no_output || r->alignment != 0)
        return;
    begin(r->kind, "lfma_cache_alloc");
    DEMAND(lfma_cache_alloc(cache, r->bytes) == NULL, "a block");
    count_never(r, r->code);
    require_untouched();
}

/* One size and one alignment, at least one of them wrong, with every kind of flags and missing arguments. */
static void try_pair(const struct number *size, const struct number *alignment, size_t i, size_t j)
{
    static const struct {
        const char *kind;
        unsigned flags;
        bool no_arena, no_output;
    } rest[] = {
        { NULL, 0, false, false },
        { NULL, LFMA_ALLOC_NO_COALESCE, false, false },
        { "an unknown flag", 1u << 1, false, false },
        { "no arena", 0, true, false },
        { "no output pointer", 0, false, true },
    };
    const bool both = size->code != LFMA_OK && alignment->code != LFMA_OK;
    for (size_t k = 0; k < sizeof rest / sizeof rest[0]; k++) {
        struct request r = { .bytes = size->first + i, .alignment = alignment->first + j, .flags = rest[k].flags };
        r.kind = rest[k].kind ? rest[k].kind : size->code != LFMA_OK ? size->kind : alignment->kind;
        r.no_arena = rest[k].no_arena;
        r.no_output = rest[k].no_output;
        r.code = rest[k].kind ? LFMA_E_INVALID : worse(size->code, alignment->code);
        if (both && !rest[k].kind)
            r.kind = "a wrong size with a wrong alignment";
        if (r.code == LFMA_OK)
            continue;
        try_request(&r, true);
        try_request_by_cache(&r);
        if (alignment == &good_alignment)
            try_request(&r, false);
    }
}

static void try_allocations(void)
{
    const size_t size_count = sizeof sizes / sizeof sizes[0];
    const size_t alignment_count = sizeof alignments / sizeof alignments[0];
    try_pair(&good_size, &good_alignment, 0, 0);
    for (size_t s = 0; s < size_count; s++) {
        for (size_t i = 0; i < sizes[s].count; i++)
            try_pair(&sizes[s], &good_alignment, i, 0);
        for (size_t a = 0; a < alignment_count; a++)
            try_pair(&sizes[s], &alignments[a], 0, alignments[a].count - 1);
    }
    for (size_t a = 0; a < alignment_count; a++) {
        for (size_t j = 0; j < alignments[a].count; j++)
            try_pair(&good_size, &alignments[a], 0, j);
    }
    for (unsigned bit = 1; bit < 32; bit++) {
        const unsigned flags[] = { 1u << bit, 1u << bit | LFMA_ALLOC_NO_COALESCE, UINT_MAX << bit };
        for (size_t i = 0; i < 3; i++) {
            struct request r = { .kind = "unknown flags", .bytes = PAGE, .flags = flags[i], .code = LFMA_E_INVALID };
            try_request(&r, false);
            try_request(&r, true);
            try_request_by_cache(&r);
        }
    }
}

/* ------------------------------------------------------------------------------------------------- pointers */

struct pointer {
    const char *kind;
    uintptr_t address;
    int code;    /* of lfma_free() */
    char *block; /* that contains it */
};

static void try_pointer(const struct pointer *p)
{
    begin(p->kind, "lfma_free");
    const int code = lfma_free(scene.arena, (void *)p->address);
    tally.bad_frees++;
    require_code(code, p->code);
    begin(p->kind, "lfma_cache_free");
    const int by_cache = lfma_cache_free(scene.cache, (void *)p->address);
    tally.bad_frees++;
    require_code(by_cache, p->code);
    begin("no cache", "lfma_cache_free");
    require_code(lfma_cache_free(NULL, (void *)p->address), LFMA_E_INVALID);
    begin(p->kind, "lfma_usable_size");
    DEMAND(lfma_usable_size(scene.arena, (void *)p->address) == 0, "a size");
    require_untouched();
    begin(p->kind, "lfma_block_of");
    DEMAND((char *)lfma_block_of(scene.arena, (void *)p->address) == p->block, "another block");
    require_untouched();
    begin("no arena", "lfma_free");
    require_code(lfma_free(NULL, (void *)p->address), LFMA_E_INVALID);
    begin("no arena", "lfma_usable_size");
    DEMAND(lfma_usable_size(NULL, (void *)p->address) == 0, "a size");
    require_untouched();
    begin("no arena", "lfma_block_of");
    DEMAND(lfma_block_of(NULL, (void *)p->address) == NULL, "a block");
    require_untouched();
}

static int static_data;

static void try_foreign(void)
{
    const uintptr_t base = (uintptr_t)scene.base, end = base + PAGES * PAGE;
    int on_the_stack;
    const struct pointer foreign[] = {
        { "the stack", (uintptr_t)&on_the_stack, LFMA_E_FOREIGN, NULL },
        { "the heap", (uintptr_t)scene.heap, LFMA_E_FOREIGN, NULL },
        { "static data", (uintptr_t)&static_data, LFMA_E_FOREIGN, NULL },
        { "code", (uintptr_t)&lfma_free, LFMA_E_FOREIGN, NULL },
        { "the arena's handle", (uintptr_t)scene.arena, LFMA_E_FOREIGN, NULL },
        { "the arena's tables", (uintptr_t)scene.arena->pool.row.zones, LFMA_E_FOREIGN, NULL },
        { "a destroyed arena's base", (uintptr_t)scene.gone_base, LFMA_E_FOREIGN, NULL },
        { "a destroyed arena's block", (uintptr_t)scene.gone_block, LFMA_E_FOREIGN, NULL },
        { "one before the base", base - 1, LFMA_E_FOREIGN, NULL },
        { "a page before the base", base - PAGE, LFMA_E_FOREIGN, NULL },
        { "the end", end, LFMA_E_FOREIGN, NULL },
        { "one past the end", end + 1, LFMA_E_FOREIGN, NULL },
        { "the last zone's missing part", base + 4 * LARGEST - PAGE, LFMA_E_FOREIGN, NULL },
        { "the base + 2^32", base + ((uintptr_t)1 << 32), LFMA_E_FOREIGN, NULL },
        { "the base + 2^63", base + ((uintptr_t)1 << 63), LFMA_E_FOREIGN, NULL },
        { "address 1", 1, LFMA_E_FOREIGN, NULL },
        { "the highest address", UINTPTR_MAX, LFMA_E_FOREIGN, NULL },
        { "the highest page", UINTPTR_MAX - PAGE + 1, LFMA_E_FOREIGN, NULL },
    };
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
        try_pointer(&foreign[i]);
}

static void try_inside(void)
{
    for (size_t at = 1; at < 8 * PAGE; at++) {
        const bool page = at % PAGE == 0;
        const struct pointer p = { page ? "a page inside a block" : "between the pages of a block",
                                   (uintptr_t)scene.eight + at, page ? LFMA_E_INNER : LFMA_E_UNALIGNED, scene.eight };
        try_pointer(&p);
    }
    for (size_t at = 1; at < PAGE; at++)
        try_pointer(&(struct pointer){ "inside a page", (uintptr_t)scene.one + at, LFMA_E_UNALIGNED, scene.one });
    const struct pointer free_ones[] = {
        { "freed before", (uintptr_t)scene.freed, LFMA_E_DOUBLE_FREE, NULL },
        { "a later page of what was freed", (uintptr_t)scene.freed + PAGE, LFMA_E_DOUBLE_FREE, NULL },
        { "never allocated", (uintptr_t)scene.others, LFMA_E_DOUBLE_FREE, NULL },
        { "the arena's last page", (uintptr_t)scene.base + (PAGES - 1) * PAGE, LFMA_E_DOUBLE_FREE, NULL },
        { "freed before, one off", (uintptr_t)scene.freed + 1, LFMA_E_UNALIGNED, NULL },
        { "the arena's last byte", (uintptr_t)scene.base + PAGES * PAGE - 1, LFMA_E_UNALIGNED, NULL },
    };
    for (size_t i = 0; i < sizeof free_ones / sizeof free_ones[0]; i++)
        try_pointer(&free_ones[i]);
    for (size_t page = 64; page < PAGES; page++) { /* whole zones that nobody has used */
        const struct pointer p = { "a page of a free block", (uintptr_t)scene.base + page * PAGE, LFMA_E_DOUBLE_FREE,
                                   NULL };
        try_pointer(&p);
    }
}

static void try_null_block(void)
{
    begin("no block", "lfma_free");
    require_code(lfma_free(scene.arena, NULL), LFMA_OK);
    begin("no block", "lfma_cache_free");
    require_code(lfma_cache_free(scene.cache, NULL), LFMA_OK);
    begin("no block", "lfma_usable_size");
    DEMAND(lfma_usable_size(scene.arena, NULL) == 0, "a size");
    require_untouched();
    begin("no block", "lfma_block_of");
    DEMAND(lfma_block_of(scene.arena, NULL) == NULL, "a block");
    require_untouched();
}

/* -------------------------------------------------------------------------------- structures, budgets, destroy */

union output {
    size_t size; /* the first member of each */
    lfma_coalesce_result result;
    lfma_arena_stats_t stats;
    lfma_report report;
};

static void try_output(const char *kind, lfma_arena *arena, size_t size_of_stats, size_t size_of_report,
                       size_t size_of_result)
{
    const lfma_budget budgets[] = { LFMA_BUDGET_ALL, LFMA_BUDGET_NONE, LFMA_BUDGET_STEPS(1) };
    union output o;
    fill(&o, sizeof o);
    o.size = size_of_stats;
    begin(kind, "lfma_arena_stats");
    require_code(lfma_arena_stats(arena, &o.stats), LFMA_E_INVALID);
    require_pattern(&o, sizeof o.size, sizeof o);
    o.size = size_of_report;
    begin(kind, "lfma_arena_validate");
    require_code(lfma_arena_validate(arena, &o.report), LFMA_E_INVALID);
    require_pattern(&o, sizeof o.size, sizeof o);
    for (size_t i = 0; i <= sizeof budgets / sizeof budgets[0]; i++) {
        o.size = size_of_result;
        begin(kind, "lfma_coalesce");
        require_code(lfma_coalesce(arena, i < 3 ? &budgets[i] : NULL, &o.result), LFMA_E_INVALID);
        require_pattern(&o, sizeof o.size, sizeof o);
    }
}

static void try_structures(void)
{
    lfma_arena *const arena = scene.arena;
    try_output("no arena", NULL, sizeof(lfma_arena_stats_t), sizeof(lfma_report), sizeof(lfma_coalesce_result));
    try_output("a structure of size 0", arena, 0, 0, 0);
    try_output("a structure of one byte", arena, 1, 1, 1);
    try_output("a structure of SIZE_MAX bytes", arena, SIZE_MAX, SIZE_MAX, SIZE_MAX);
    try_output("a structure one byte too small", arena, sizeof(lfma_arena_stats_t) - 1, sizeof(lfma_report) - 1,
               sizeof(lfma_coalesce_result) - 1);
    try_output("a structure one byte too large", arena, sizeof(lfma_arena_stats_t) + 1, sizeof(lfma_report) + 1,
               sizeof(lfma_coalesce_result) + 1);
    try_output("a structure whose size is right in 32 bits", arena, sizeof(lfma_arena_stats_t) + ((size_t)1 << 32),
               sizeof(lfma_report) + ((size_t)1 << 32), sizeof(lfma_coalesce_result) + ((size_t)1 << 32));
    try_output("another structure's size", arena, sizeof(lfma_report), sizeof(lfma_coalesce_result),
               sizeof(lfma_arena_stats_t));
    begin("no output pointer", "lfma_arena_stats");
    require_code(lfma_arena_stats(arena, NULL), LFMA_E_INVALID);
    begin("no arena", "lfma_coalesce");
    require_code(lfma_coalesce(NULL, NULL, NULL), LFMA_E_INVALID);
    begin("no arena", "lfma_arena_validate");
    require_code(lfma_arena_validate(NULL, NULL), LFMA_E_INVALID);
}

/* Budgets of nothing: 0, done nothing, and said so. */
static void try_budgets(void)
{
    const lfma_budget nothing[] = {
        LFMA_BUDGET_NONE, { 0, LFMA_UNLIMITED }, { LFMA_UNLIMITED, 0 }, { 0, 1 }, { 1, 0 }
    };
    for (size_t i = 0; i < sizeof nothing / sizeof nothing[0]; i++) {
        lfma_coalesce_result result = LFMA_COALESCE_RESULT_INIT;
        begin("a budget of nothing", "lfma_coalesce");
        require_code(lfma_coalesce(scene.arena, &nothing[i], &result), LFMA_OK);
        DEMAND(result.steps == 0 && result.blocks_joined == 0 && result.bytes_max == 0 && !result.complete, "work");
        begin("a budget of nothing", "lfma_coalesce");
        require_code(lfma_coalesce(scene.arena, &nothing[i], NULL), LFMA_OK);
    }
}

static void try_destroy(void)
{
    begin("blocks are out", "lfma_arena_destroy");
    require_code(lfma_arena_destroy(scene.arena), LFMA_E_BUSY);
    begin("no arena", "lfma_arena_destroy");
    require_code(lfma_arena_destroy(NULL), LFMA_OK);
    begin("no arena", "lfma_arena_destroy_forced");
    lfma_arena_destroy_forced(NULL);
    require_untouched();
}

static void try_caches(void)
{
    lfma_cache *cache;
    fill(&cache, sizeof cache);
    begin("no arena", "lfma_cache_create");
    require_code(lfma_cache_create(NULL, &cache), LFMA_E_INVALID);
    begin("no output pointer", "lfma_cache_create");
    require_code(lfma_cache_create(scene.arena, NULL), LFMA_E_INVALID);
    begin("no slot is left", "lfma_cache_create");
    require_code(lfma_cache_create(scene.other, &cache), LFMA_E_LIMIT);
    require_pattern(&cache, 0, sizeof cache);
    begin("no arena", "lfma_cache_flush");
    require_code(lfma_cache_flush(NULL, scene.cache), LFMA_E_INVALID);
    begin("no arena", "lfma_cache_flush");
    require_code(lfma_cache_flush(NULL, NULL), LFMA_E_INVALID);
    begin("another arena's cache", "lfma_cache_flush");
    require_code(lfma_cache_flush(scene.other, scene.cache), LFMA_E_INVALID);
    begin("no cache", "lfma_cache_destroy");
    lfma_cache_destroy(NULL);
    require_untouched();
}

static void try_codes(void)
{
    const int none[] = { 1, 2, -LFMA_ERROR_LAST, INT_MAX, LFMA_ERROR_LAST - 1, -1000, INT_MIN, INT_MIN + 1 };
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        begin("a number that is no code", "lfma_strerror");
        DEMAND(strcmp(lfma_strerror(none[i]), "not a code of LFMA") == 0, "another text");
        require_untouched();
        begin("a number that is no code", "lfma_error_name");
        DEMAND(strcmp(lfma_error_name(none[i]), "LFMA_E_?") == 0, "another name");
        require_untouched();
    }
}

/* -------------------------------------------------------------------------------------------- configurations */

struct field {
    const char *kind;
    size_t offset;
    bool is_32_bit;
    uint64_t first, count;
};

#define FIELD(member) offsetof(lfma_arena_config, member), sizeof(((lfma_arena_config *)0)->member) == 4
#define CONFIG_BYTES (1000 * PAGE)

static const struct field fields[] = {
    { "a configuration of size 0", FIELD(size), 0, 1 },
    { "a configuration one byte too small", FIELD(size), sizeof(lfma_arena_config) - 1, 1 },
    { "a configuration one byte too large", FIELD(size), sizeof(lfma_arena_config) + 1, 1 },
    { "a configuration of SIZE_MAX bytes", FIELD(size), SIZE_MAX, 1 },
    { "an arena of 0 bytes", FIELD(bytes), 0, 1 },
    { "an arena above 2^45 bytes", FIELD(bytes), ((uint64_t)1 << 45) + 1, 3 },
    { "an arena of 2^63 bytes", FIELD(bytes), ((uint64_t)1 << 63) - 1, 3 },
    { "an arena next to SIZE_MAX", FIELD(bytes), UINT64_MAX - 8192, 8193 },
    { "pages below 64 bytes", FIELD(page_bytes), 1, 63 },
    { "pages of 65 to 127 bytes", FIELD(page_bytes), 65, 63 },
    { "pages of 3 × 2^k", FIELD(page_bytes), 3 * 64, 1 },
    { "pages of 2^30 + 1 and more", FIELD(page_bytes), ((uint64_t)1 << 30) + 1, 3 },
    { "pages of 2 GiB", FIELD(page_bytes), (uint64_t)1 << 31, 1 },
    { "pages of 2^63 bytes", FIELD(page_bytes), (uint64_t)1 << 63, 1 },
    { "pages next to SIZE_MAX", FIELD(page_bytes), UINT64_MAX - 128, 129 },
    { "blocks larger than the arena", FIELD(block_bytes_max), CONFIG_BYTES + 1, 3 },
    { "blocks that do not fit once rounded up", FIELD(block_bytes_max), 512 * PAGE + 1, 3 },
    { "blocks next to SIZE_MAX", FIELD(block_bytes_max), UINT64_MAX - 8192, 8193 },
    { "zones below a page", FIELD(zone_bytes), 1, PAGE / 2 },
    { "zones above 2^31 pages", FIELD(zone_bytes), ((uint64_t)PAGE << 31) + 1, 3 },
    { "zones next to SIZE_MAX", FIELD(zone_bytes), UINT64_MAX - 8192, 8193 },
    { "unknown arena flags", FIELD(flags), 4, 60 },
    { "caches larger than the arena", FIELD(cache_bytes), CONFIG_BYTES + 1, 100 },
    { "caches next to SIZE_MAX", FIELD(cache_bytes), UINT64_MAX - 99, 100 },
    { "the highest arena flag", FIELD(flags), (uint64_t)1 << 31, 2 },
    { "more than 1024 threads", FIELD(threads_max), 1025, 100 },
    { "2^31 threads and more", FIELD(threads_max), ((uint64_t)1 << 31) - 1, 3 },
    { "2^32 - 1 threads", FIELD(threads_max), UINT32_MAX, 1 },
};

static void set_field(lfma_arena_config *config, const struct field *f, uint64_t value)
{
    const uint32_t narrow = (uint32_t)value;
    if (f->is_32_bit)
        memcpy((char *)config + f->offset, &narrow, sizeof narrow);
    else
        memcpy((char *)config + f->offset, &value, sizeof value);
}

static lfma_arena_config good_config(void)
{
    lfma_arena_config config = LFMA_ARENA_CONFIG_INIT;
    config.bytes = CONFIG_BYTES;
    config.page_bytes = PAGE;
    return config;
}

static void try_config(const char *kind, const lfma_arena_config *config)
{
    lfma_arena *arena;
    fill(&arena, sizeof arena);
    begin(kind, "lfma_arena_create");
    require_code(lfma_arena_create(config, &arena), LFMA_E_INVALID);
    require_pattern(&arena, 0, sizeof arena);
    begin("no output pointer", "lfma_arena_create");
    require_code(lfma_arena_create(config, NULL), LFMA_E_INVALID);
}

/* Each field wrong in each way, alone and together with each other one; each of them is wrong by itself. */
static void try_configurations(void)
{
    const size_t count = sizeof fields / sizeof fields[0];
    for (size_t i = 0; i < count; i++) {
        for (uint64_t n = 0; n < fields[i].count; n++) {
            lfma_arena_config config = good_config();
            set_field(&config, &fields[i], fields[i].first + n);
            try_config(fields[i].kind, &config);
        }
        for (size_t j = 0; j < count; j++) {
            lfma_arena_config config = good_config();
            set_field(&config, &fields[j], fields[j].first);
            set_field(&config, &fields[i], fields[i].first);
            if (fields[i].offset != fields[j].offset)
                try_config("two fields wrong at once", &config);
        }
    }
    lfma_arena_config config = good_config();
    config.block_bytes_max = 128 * PAGE;
    for (config.zone_bytes = 1; config.zone_bytes <= 64 * PAGE; config.zone_bytes += 61)
        try_config("zones smaller than blocks", &config);
    try_config("no configuration", NULL);
}

/* ------------------------------------------------------------------------------------------------- all of it */

static void record(void)
{
    const char *const folder = getenv("LFMA_TEST_RECORD");
    if (!folder || !*folder)
        return;
    char path[4096];
    REQUIRE(snprintf(path, sizeof path, "%s/invalid.json", folder) < (int)sizeof path, "the folder's name");
    FILE *const file = fopen(path, "w");
    REQUIRE(file != NULL, "%s", path);
    (void)fprintf(file, "{\"kinds\": %u, \"entries\": %u, \"combinations\": %" PRIu64 "}\n", tally.kind_count,
                  tally.entry_count, tally.combinations);
    REQUIRE(fclose(file) == 0, "%s", path);
}

/* E01, E02, E04, E05, E14, E15, E16, F08, K10 */
Test(invalid, every_kind_at_every_entry)
{
    for (uint32_t flags = 0; flags <= LFMA_HARDENED; flags++) {
        open_scene(flags);
        try_allocations();
        try_foreign();
        try_inside();
        try_null_block();
        try_structures();
        try_budgets();
        try_destroy();
        try_caches();
        try_codes();
        try_configurations();
        close_scene();
    }
    REQUIRE(tally.kind_count >= 40 && tally.entry_count == ENTRIES, "%u kinds, %u entries", tally.kind_count,
            tally.entry_count);
    record();
}
