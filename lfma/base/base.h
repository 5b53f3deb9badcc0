/* SPDX-License-Identifier: MIT */
/*
 * Room `base`: the compiler, the door to atomics, internal assertions, error texts. Knows nothing of memory.
 */
#ifndef LFMA_BASE_BASE_H
#define LFMA_BASE_BASE_H

#include "base/assert.h"
#include "base/atomic.h"
#include "base/compiler.h"

#endif
