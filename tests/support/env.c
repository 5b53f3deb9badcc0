/* SPDX-License-Identifier: MIT */
#include "support/env.h"

#include <stdlib.h>

bool test_is_sanitized(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    return true;
#else
    return false;
#endif
#else
    return false;
#endif
}

bool test_is_emulated(void)
{
    return getenv("MESON_EXE_WRAPPER") != NULL;
}

uint64_t test_seed(uint64_t fixed)
{
    const char *const text = getenv("LFMA_TEST_SEED");
    return text && *text ? strtoull(text, NULL, 0) : fixed;
}

uint64_t test_scaled(uint64_t full)
{
    const char *const text = getenv("LFMA_TEST_SCALE");
    uint64_t percent = test_is_sanitized() ? 25 : 100;
    if (text && *text)
        percent = strtoull(text, NULL, 10);
    const uint64_t scaled = full * percent / 100;
    return scaled ? scaled : 1;
}
