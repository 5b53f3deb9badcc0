/* SPDX-License-Identifier: MIT */
/**
 * @file error.h  Every code that a call can return.
 *
 * 0 is success; failures are negative. One table makes the enum, lfma_error_name() and lfma_strerror().
 * A call that fails changes nothing, unless its comment says what it keeps.
 */
#ifndef LFMA_ERROR_H
#define LFMA_ERROR_H

/* clang-format off */
#define LFMA_ERROR_TABLE(X)                                                                                   \
    X(LFMA_OK,             0, "success")                                                                      \
    X(LFMA_E_INVALID,     -1, "an argument is out of its range")                                              \
    X(LFMA_E_NEVER,       -2, "larger than the largest block: no state of this arena could serve it")         \
    X(LFMA_E_NOMEM,       -3, "too few free pages")                                                           \
    X(LFMA_E_FRAGMENTED,  -4, "enough free pages, but no aligned run of the size")                            \
    X(LFMA_E_BUDGET,      -5, "the coalescing budget ran out first; progress is kept, call again")            \
    X(LFMA_E_AGAIN,       -6, "blocks were on the move in other threads; call again")                         \
    X(LFMA_E_FOREIGN,     -7, "the pointer is not of this arena")                                             \
    X(LFMA_E_UNALIGNED,   -8, "the pointer is not at the start of a page")                                    \
    X(LFMA_E_INNER,       -9, "the pointer is inside a block, not at its start")                              \
    X(LFMA_E_DOUBLE_FREE, -10, "no block is allocated there: freed before, or never allocated")               \
    X(LFMA_E_BUSY,        -11, "blocks are still allocated")                                                  \
    X(LFMA_E_OS,          -12, "the operating system refused memory or address space")                        \
    X(LFMA_E_BROKEN,      -13, "an invariant is broken")                                                      \
    X(LFMA_E_LIMIT,       -14, "all slots for threads and caches are taken")
/* clang-format on */

enum lfma_error {
#define LFMA_ERROR_ENUM(name, value, text) name = value,
    LFMA_ERROR_TABLE(LFMA_ERROR_ENUM)
#undef LFMA_ERROR_ENUM
        LFMA_ERROR_LAST = -14 /**< the lowest code in use */
};

#endif
