/* SPDX-License-Identifier: MIT */
/* A user of the installed library: C and C++, what a first program does. Exit status 0 or 1. */
#include <lfma/lfma.h>

#include <stdio.h>
#include <string.h>

static int fail(const char *what)
{
    fprintf(stderr, "user: %s\n", what);
    return 1;
}

int main(void)
{
    lfma_arena_config config = LFMA_ARENA_CONFIG_INIT;
    config.bytes = (size_t)1 << 20;
    lfma_arena *arena = NULL;
    const int code = lfma_arena_create(&config, &arena);
    if (code != LFMA_OK)
        return fail(lfma_strerror(code));

    void *const block = lfma_alloc(arena, 5000);
    if (!block)
        return fail("no block in an empty arena");
    if (lfma_usable_size(arena, block) != 8192)
        return fail("5000 bytes are not rounded to two pages");
    memset(block, 0xA5, 5000);
    if (lfma_arena_destroy(arena) != LFMA_E_BUSY)
        return fail("an arena with a block is not busy");
    if (lfma_free(arena, block) != LFMA_OK || lfma_free(arena, block) != LFMA_E_DOUBLE_FREE)
        return fail("the second free is not told from the first");

    lfma_report report = LFMA_REPORT_INIT;
    if (lfma_arena_validate(arena, &report) != LFMA_OK)
        return fail(report.text);
    if (lfma_arena_destroy(arena) != LFMA_OK)
        return fail("an empty arena is busy");
    if (strcmp(lfma_version(), LFMA_VERSION_STRING) != 0)
        return fail("header and library are of two versions");
    return 0;
}
