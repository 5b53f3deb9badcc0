/* SPDX-License-Identifier: MIT */
#include "common/histogram.h"

void histogram_merge(struct histogram *into, const struct histogram *from)
{
    into->count += from->count;
    if (from->max > into->max)
        into->max = from->max;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
        into->buckets[i] += from->buckets[i];
}

/* The largest value that falls into a bucket. */
static uint64_t bucket_end(unsigned bucket)
{
    if (bucket < 2 * HISTOGRAM_SUBS)
        return bucket;
    const unsigned exponent = (bucket >> HISTOGRAM_SUB_BITS) - 1;
    const uint64_t sub = (bucket & (HISTOGRAM_SUBS - 1)) | HISTOGRAM_SUBS;
    return ((sub + 1) << exponent) - 1;
}

uint64_t histogram_percentile(const struct histogram *h, double fraction)
{
    const double wanted = fraction * (double)h->count;
    uint64_t seen = 0;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += h->buckets[i];
        if (seen > 0 && (double)seen >= wanted) {
            const uint64_t end = bucket_end(i);
            return end < h->max ? end : h->max;
        }
    }
    return h->max;
}
