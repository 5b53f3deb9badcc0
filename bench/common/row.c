/* SPDX-License-Identifier: MIT */
#include "common/row.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/timer.h"

static void print_latency(const struct histogram *h)
{
    static const double fractions[] = { 0.5, 0.99, 0.999, 0.9999 };
    for (unsigned i = 0; i < sizeof fractions / sizeof fractions[0]; i++) {
        putchar(',');
        if (h != NULL)
            printf("%" PRIu64, ticks_to_ns(histogram_percentile(h, fractions[i])));
    }
    putchar(',');
    if (h != NULL)
        printf("%" PRIu64, ticks_to_ns(h->max));
}

void row_print(const struct row *row)
{
    printf("%s,%s,%u,%u,%zu,%zu,%" PRIu64 ",%u,", row->workload, row->allocator, row->threads, row->consumers,
           row->size_min, row->size_max, row->pairs, row->round);
    if (row->has_ns_per_pair)
        printf("%.3f", row->ns_per_pair);
    putchar(',');
    print_latency(row->alloc_ticks);
    print_latency(row->free_ticks);
    printf(",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", row->failures, row->usage.minor_faults,
           row->usage.switches_voluntary + row->usage.switches_involuntary, row->usage.peak_rss_kib);
}
