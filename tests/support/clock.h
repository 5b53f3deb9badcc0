/* SPDX-License-Identifier: MIT */
/* A clock that a test drives: it counts its reads and can call back in the middle of a coalescing pass. */
#ifndef LFMA_TESTS_SUPPORT_CLOCK_H
#define LFMA_TESTS_SUPPORT_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

enum fake_clock_mode {
    CLOCK_FROZEN,    /* stands still */
    CLOCK_TICKING,   /* `tick_ns` later at each read, as a slow clock is for its reader */
    CLOCK_BACKWARDS, /* `tick_ns` earlier at each read */
    CLOCK_JUMPING    /* far forward and far back in turns */
};

typedef struct fake_clock {
    enum fake_clock_mode mode;
    uint64_t now_ns;
    uint64_t tick_ns;
    uint64_t reads;
    void (*on_read)(void *argument, uint64_t read); /* may be NULL; read counts from 1 */
    void *argument;
} fake_clock;

/* An lfma_clock_fn; context is a fake_clock. */
uint64_t fake_clock_read(void *context);

#endif
