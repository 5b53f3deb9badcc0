/* SPDX-License-Identifier: MIT */
/*
 * Internal assertions: what can only be false if LFMA itself is wrong. Debug builds only. What a caller can get
 * wrong is never asserted: it returns a code, in release builds too (error.h).
 */
#ifndef LFMA_BASE_ASSERT_H
#define LFMA_BASE_ASSERT_H

#ifdef NDEBUG
#define LFMA_ASSERT(condition) ((void)sizeof(!(condition)))
#else
#include <assert.h>
#define LFMA_ASSERT(condition) assert(condition)
#endif

#endif
