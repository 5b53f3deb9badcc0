/* SPDX-License-Identifier: MIT */
/* Names and texts of the codes, from the one table in <lfma/error.h>; the version. */
#include <lfma/lfma.h>

#include "base/base.h"

struct error_row {
    const char *name;
    const char *text;
};

static const struct error_row rows[] = {
#define ERROR_ROW(name, value, text) [-(value)] = { #name, text },
    LFMA_ERROR_TABLE(ERROR_ROW)
#undef ERROR_ROW
};

_Static_assert(sizeof rows / sizeof rows[0] == 1 - LFMA_ERROR_LAST, "LFMA_ERROR_LAST is the lowest code");

static const struct error_row *find_row(int code)
{
    /* INT_MIN has no negative: compare before negating. */
    if (code > 0 || code < LFMA_ERROR_LAST)
        return NULL;
    return &rows[-code];
}

const char *lfma_strerror(int code)
{
    const struct error_row *row = find_row(code);
    return row ? row->text : "not a code of LFMA";
}

const char *lfma_error_name(int code)
{
    const struct error_row *row = find_row(code);
    return row ? row->name : "LFMA_E_?";
}

const char *lfma_version(void)
{
    return LFMA_VERSION_STRING;
}
