/* SPDX-License-Identifier: MIT */
/*
 * Numbers for live threads: the lowest that is free, taken and given back by atomics alone. What a holder wrote to
 * things of its number's is seen by the number's next holder (edge E5).
 */
#ifndef LFMA_OS_NUMBERS_H
#define LFMA_OS_NUMBERS_H

#include "base/base.h"

#define LFMA__NUMBERS 1024u
#define LFMA__NO_NUMBER UINT32_MAX

typedef struct lfma__numbers {
    lfma__a64 taken[LFMA__NUMBERS / 64u]; /* 1 bit a number: 1 = somebody has it */
    lfma__a64 high_water;                 /* one past the highest number that was ever taken */
} lfma__numbers;

/* LFMA__NO_NUMBER if all are taken. Lock-free. */
uint32_t lfma__numbers_take(lfma__numbers *numbers);

/* Take a certain number: false if somebody has it. */
bool lfma__numbers_take_this(lfma__numbers *numbers, uint32_t number);

void lfma__numbers_give_back(lfma__numbers *numbers, uint32_t number);

/* After fork(), in the child: its one thread keeps its number, if it has one, and all others are free. */
void lfma__numbers_forget_others(lfma__numbers *numbers, uint32_t number);

uint64_t lfma__numbers_high_water(const lfma__numbers *numbers);

#endif
