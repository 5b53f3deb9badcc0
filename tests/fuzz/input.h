/* SPDX-License-Identifier: MIT */
/* The fuzzer's bytes, read from the front; beyond their end they are 0. */
#ifndef LFMA_TESTS_FUZZ_INPUT_H
#define LFMA_TESTS_FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>

typedef struct input {
    const uint8_t *data;
    size_t size;
} input;

static inline uint8_t input_byte(input *in)
{
    if (in->size == 0)
        return 0;
    in->size--;
    return *in->data++;
}

static inline uint16_t input_pair(input *in)
{
    const unsigned high = input_byte(in);
    return (uint16_t)(high << 8 | input_byte(in));
}

/* Any number of 64 bits, but mostly one that is about a power of two, a round one, or among the last. */
static inline uint64_t number_of(uint8_t shape, uint16_t low)
{
    if (shape < 64)
        return ((uint64_t)1 << shape) + (uint64_t)(int64_t)(int16_t)low;
    if (shape < 128)
        return (low + (uint64_t)1) << (shape - 64u);
    if (shape < 192)
        return low;
    return UINT64_MAX - ((uint64_t)low << (shape & 63u));
}

static inline uint64_t input_number(input *in)
{
    const uint8_t shape = input_byte(in);
    return number_of(shape, input_pair(in));
}

#endif
