/* SPDX-License-Identifier: MIT */
/** @file version.h  The version of LFMA, as macros (compile time) and as calls (the library linked). */
#ifndef LFMA_VERSION_H
#define LFMA_VERSION_H

#define LFMA_VERSION_MAJOR 0
#define LFMA_VERSION_MINOR 1
#define LFMA_VERSION_PATCH 0
#define LFMA_VERSION_STRING "0.1.0"
/** One number that grows with the version: major * 10000 + minor * 100 + patch. */
#define LFMA_VERSION_NUMBER (LFMA_VERSION_MAJOR * 10000 + LFMA_VERSION_MINOR * 100 + LFMA_VERSION_PATCH)

#endif
