/* SPDX-License-Identifier: MIT */
/** @file transfer.h  What a cache line costs from CPU to CPU: the unit of everything that threads share. */
#ifndef BENCH_COMMON_TRANSFER_H
#define BENCH_COMMON_TRANSFER_H

/** Nanoseconds from a store on one CPU until another one has seen it; 0 if threads are not pinned. */
double line_transfer_ns(void);

#endif
