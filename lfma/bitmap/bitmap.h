/* SPDX-License-Identifier: MIT */
/*
 * Room `bitmap`: the pure logic of words and runs (word.h), and free tables, that is atomic bitmaps with a search
 * bitmap over them (table.h). Knows bits and blocks; does not know pages, zones, owners or memory.
 */
#ifndef LFMA_BITMAP_BITMAP_H
#define LFMA_BITMAP_BITMAP_H

#include "bitmap/table.h"
#include "bitmap/word.h"

#endif
