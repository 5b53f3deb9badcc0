/* SPDX-License-Identifier: MIT */
/**
 * @file histogram.h  A fixed-size logarithmic histogram: 32 buckets an octave, so a percentile is at most 3 % off.
 *
 * One per thread, merged at the end; recording is a few instructions and one increment, and allocates nothing.
 */
#ifndef BENCH_COMMON_HISTOGRAM_H
#define BENCH_COMMON_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_SUB_BITS 5u
#define HISTOGRAM_SUBS (1u << HISTOGRAM_SUB_BITS)
#define HISTOGRAM_BUCKETS ((64u - HISTOGRAM_SUB_BITS + 1u) * HISTOGRAM_SUBS)

struct histogram {
    uint64_t count;
    uint64_t max; /**< exact */
    uint64_t buckets[HISTOGRAM_BUCKETS];
};

/* Values below 32 have a bucket each; above, the 5 bits after the leading one choose it. */
static inline unsigned histogram_bucket(uint64_t value)
{
    if (value < HISTOGRAM_SUBS)
        return (unsigned)value;
    const unsigned exponent = 63u - (unsigned)__builtin_clzll(value) - HISTOGRAM_SUB_BITS;
    return (exponent << HISTOGRAM_SUB_BITS) + (unsigned)(value >> exponent);
}

static inline void histogram_record(struct histogram *h, uint64_t value)
{
    h->count++;
    h->buckets[histogram_bucket(value)]++;
    if (value > h->max)
        h->max = value;
}

/** Add what `from` holds to `into`. */
void histogram_merge(struct histogram *into, const struct histogram *from);

/** The smallest bucket's upper end that `fraction` of the values do not pass (never above max); 0 when empty. */
uint64_t histogram_percentile(const struct histogram *h, double fraction);

#endif
