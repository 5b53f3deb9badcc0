/* SPDX-License-Identifier: MIT */
#include "os/numbers.h"

static void raise_high_water(lfma__a64 *high_water, uint64_t count)
{
    uint64_t seen = lfma__a64_load_relaxed(high_water); /* E0: a maximum; the exchange decides */
    /* E4.release by way of the claims that follow: whoever sees one of them sees this too. */
    while (seen < count && !lfma__a64_cas_weak_relaxed(high_water, &seen, count)) {
    }
}

uint32_t lfma__numbers_take(lfma__numbers *numbers)
{
    for (uint32_t w = 0; w < LFMA__NUMBERS / 64u; w++) {
        uint64_t used; /* E0: only picks a bit to try */
        while ((used = lfma__a64_load_relaxed(&numbers->taken[w])) != UINT64_MAX) {
            const unsigned bit = lfma__ctz64(~used);
            /* E5.acquire: the last holder's owner words are seen. */
            if (!lfma__a64_set_bit_acquire(&numbers->taken[w], bit)) {
                raise_high_water(&numbers->high_water, (uint64_t)w * 64u + bit + 1);
                return w * 64u + bit;
            }
        }
    }
    return LFMA__NO_NUMBER;
}

bool lfma__numbers_take_this(lfma__numbers *numbers, uint32_t number)
{
    LFMA_ASSERT(number < LFMA__NUMBERS);
    return !lfma__a64_set_bit_acquire(&numbers->taken[number / 64u], number % 64u); /* E5.acquire */
}

void lfma__numbers_forget_others(lfma__numbers *numbers, uint32_t number)
{
    for (uint32_t w = 0; w < LFMA__NUMBERS / 64u; w++) {
        const uint64_t own = number / 64u == w ? (uint64_t)1 << number % 64u : 0;
        lfma__a64_store_relaxed(&numbers->taken[w], own); /* E0: there is no other thread */
    }
}

void lfma__numbers_give_back(lfma__numbers *numbers, uint32_t number)
{
    LFMA_ASSERT(number < LFMA__NUMBERS);
    /* E5.release: the owner words that this holder wrote come before those of the next one. */
    (void)lfma__a64_and_release(&numbers->taken[number / 64u], ~((uint64_t)1 << number % 64u));
}

uint64_t lfma__numbers_high_water(const lfma__numbers *numbers)
{
    return lfma__a64_load_relaxed(&numbers->high_water); /* E0: ordered by what the caller has acquired before (E4) */
}
