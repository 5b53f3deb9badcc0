/* SPDX-License-Identifier: MIT */
#include "common/transfer.h"

#include <ck_pr.h>
#include <pthread.h>

#include "common/die.h"
#include "common/pin.h"
#include "common/timer.h"

#define ROUND_TRIPS 2000u
#define ROUND_TRIPS_WARMUP 200u

struct ball {
    _Alignas(64) unsigned value; /* odd: on its way to the helper */
};

static void *helper_main(void *argument)
{
    struct ball *ball = argument;
    pin_consumer();
    for (unsigned i = 0; i < ROUND_TRIPS_WARMUP + ROUND_TRIPS; i++) {
        while (ck_pr_load_uint(&ball->value) != 2 * i + 1)
            continue;
        ck_pr_store_uint(&ball->value, 2 * i + 2);
    }
    return NULL;
}

double line_transfer_ns(void)
{
    if (!pin_enabled())
        return 0.0;
    struct ball ball = { 0 };
    pthread_t helper;
    check(pthread_create(&helper, NULL, helper_main, &ball), "pthread_create");
    uint64_t begin = 0;
    for (unsigned i = 0; i < ROUND_TRIPS_WARMUP + ROUND_TRIPS; i++) {
        if (i == ROUND_TRIPS_WARMUP)
            begin = now_ns();
        ck_pr_store_uint(&ball.value, 2 * i + 1);
        while (ck_pr_load_uint(&ball.value) != 2 * i + 2)
            continue;
    }
    const uint64_t end = now_ns();
    check(pthread_join(helper, NULL), "pthread_join");
    return (double)(end - begin) / (2.0 * ROUND_TRIPS);
}
