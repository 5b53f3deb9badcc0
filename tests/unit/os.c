/* SPDX-License-Identifier: MIT */
/*
 * Room os against an operating system that the test plays (the linker's --wrap): pages of 4 KiB to 2 MiB, refusals at
 * each call, a clock that cannot be read. Every range that is mapped or unmapped is looked at.
 */
#include "os/os.h"
#include "support/arenas.h"
#include "support/unit.h"

#include <errno.h>
#include <lfma/lfma.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

void *__real_mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset);
int __real_munmap(void *address, size_t bytes);
void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset);
void *__wrap_mmap64(void *address, size_t bytes, int protection, int flags, int file, off_t offset);
int __wrap_munmap(void *address, size_t bytes);
intmax_t __wrap_sysconf(int name);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_now);
int __real_pthread_key_create(pthread_key_t *ret_key, void (*destructor)(void *value));
int __wrap_pthread_key_create(pthread_key_t *ret_key, void (*destructor)(void *value));
int __real_pthread_setspecific(pthread_key_t key, const void *value);
int __wrap_pthread_setspecific(pthread_key_t key, const void *value);

static struct {
    size_t page;           /* of the operating system; 0: it does not say */
    unsigned maps, unmaps; /* calls */
    unsigned map_fails_at, error;
    bool unmap_fails;
    bool clock_fails;
    bool no_key, no_slot;
    size_t mapped; /* bytes */
} os;

static size_t os_page(void)
{
    return os.page ? os.page : 4096;
}

/* A mapping at a multiple of the page that is played. */
void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset)
{
    REQUIRE(address == NULL && bytes > 0 && bytes % os_page() == 0, "whole pages of the OS: %zu bytes", bytes);
    REQUIRE(flags & MAP_NORESERVE && flags & MAP_PRIVATE && flags & MAP_ANONYMOUS, "flags %x", (unsigned)flags);
    if (++os.maps == os.map_fails_at) {
        errno = (int)os.error;
        return MAP_FAILED;
    }
    char *const raw = __real_mmap(NULL, bytes + os_page(), protection, flags, file, offset);
    if (raw == MAP_FAILED)
        return raw;
    const size_t before = (os_page() - (uintptr_t)raw % os_page()) % os_page();
    if (before > 0)
        (void)__real_munmap(raw, before);
    (void)__real_munmap(raw + before + bytes, os_page() - before);
    os.mapped += bytes;
    return raw + before;
}

/* What glibc calls it where offsets have 64 bits. */
void *__wrap_mmap64(void *address, size_t bytes, int protection, int flags, int file, off_t offset)
{
    return __wrap_mmap(address, bytes, protection, flags, file, offset);
}

int __wrap_munmap(void *address, size_t bytes)
{
    REQUIRE((uintptr_t)address % os_page() == 0 && bytes > 0 && bytes % os_page() == 0,
            "whole pages of the OS: %zu bytes at %p", bytes, address);
    os.unmaps++;
    if (os.unmap_fails) {
        errno = ENOMEM;
        return -1;
    }
    os.mapped -= bytes;
    return __real_munmap(address, bytes);
}

intmax_t __wrap_sysconf(int name)
{
    REQUIRE(name == _SC_PAGESIZE, "sysconf(%d)", name);
    if (os.page == 0) {
        errno = EINVAL;
        return -1;
    }
    return (intmax_t)os.page;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_now)
{
    REQUIRE(clock == CLOCK_MONOTONIC, "another clock");
    static intmax_t seconds;
    if (os.clock_fails) {
        errno = EINVAL; /* and the time stays what it was in memory: anything */
        return -1;
    }
    *ret_now = (struct timespec){ .tv_sec = (time_t)++seconds, .tv_nsec = 999999999 };
    return 0;
}

int __wrap_pthread_key_create(pthread_key_t *ret_key, void (*destructor)(void *value))
{
    if (!os.no_key)
        return __real_pthread_key_create(ret_key, destructor);
    errno = EAGAIN;
    return EAGAIN;
}

int __wrap_pthread_setspecific(pthread_key_t key, const void *value)
{
    if (!os.no_slot)
        return __real_pthread_setspecific(key, value);
    errno = ENOMEM;
    return ENOMEM;
}

static const size_t os_pages[] = { 0, 4096, 16384, 65536, (size_t)2 << 20 };
#define OS_PAGES (sizeof os_pages / sizeof os_pages[0])

static int create(size_t bytes, size_t page_bytes, lfma_arena **ret_arena)
{
    lfma_arena_config config = LFMA_ARENA_CONFIG_INIT;
    config.bytes = bytes;
    config.page_bytes = page_bytes;
    config.flags = LFMA_NO_CACHE;
    return lfma_arena_create(&config, ret_arena);
}

/* An arena over these pages: aligned, writable from end to end, and gone without a trace. */
static void check_pages(size_t bytes, size_t page_bytes)
{
    lfma_arena *arena = NULL;
    REQUIRE_CODE(create(bytes, page_bytes, &arena), LFMA_OK);
    const lfma_arena_stats_t s = arena_stats(arena);
    REQUIRE((uintptr_t)s.base % s.block_bytes_max == 0 && s.bytes % page_bytes == 0, "%zu in %zu", bytes, page_bytes);
    char *const block = lfma_alloc(arena, s.block_bytes_max);
    REQUIRE(block != NULL, "%zu bytes in pages of %zu", bytes, page_bytes);
    memset(block, 1, 64);
    memset(block + s.block_bytes_max - 64, 1, 64);
    ((char *)s.base)[s.bytes - 1] = 1;
    REQUIRE_CODE(lfma_free(arena, block), LFMA_OK);
    REQUIRE(arena_is_sound(arena), "sound");
    REQUIRE(os.maps == 2, "%u mappings: payload and metadata", os.maps);
    REQUIRE_CODE(lfma_arena_destroy(arena), LFMA_OK);
    REQUIRE(os.mapped == 0, "%zu bytes in pages of %zu: %zu bytes stay mapped", bytes, page_bytes, os.mapped);
}

/* F11, F12, F13: pages of the OS and pages of the arena are two things; each may be the larger one. */
Test(os, page_sizes)
{
    const size_t pages[] = { 64, 4096, 65536, (size_t)2 << 20 };
    const size_t counts[] = { 1, 2, 3, 31, 32, 33, 64, 100 };
    for (size_t i = 0; i < OS_PAGES; i++) {
        for (size_t p = 0; p < sizeof pages / sizeof pages[0]; p++) {
            for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
                memset(&os, 0, sizeof os);
                os.page = os_pages[i];
                check_pages(pages[p] * counts[c], pages[p]);
                memset(&os, 0, sizeof os);
                os.page = os_pages[i];
                check_pages(pages[p] * counts[c] - pages[p] + 1, pages[p]);
            }
        }
    }
}

/* B05, E05: refused at each call, with each errno that mmap has: the code, nothing written, nothing left mapped. */
Test(os, a_refusal_at_each_mapping)
{
    const int errors[] = { ENOMEM, EAGAIN, EPERM, EINVAL, ENODEV, EOVERFLOW };
    for (unsigned at = 1; at <= 2; at++) {
        for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
            memset(&os, 0, sizeof os);
            os.map_fails_at = at;
            os.error = (unsigned)errors[i];
            lfma_arena *const untouched = (lfma_arena *)(void *)&os;
            lfma_arena *arena = untouched;
            errno = 4242;
            REQUIRE_CODE(create(1 << 20, 4096, &arena), LFMA_E_OS);
            REQUIRE(arena == untouched && errno == 4242, "mapping %u, error %d", at, errors[i]);
            REQUIRE(os.maps == at && os.mapped == 0, "mapping %u: %zu bytes stay mapped", at, os.mapped);
        }
    }
}

/* An unmapping refused costs address space and nothing else. */
Test(os, a_refusal_to_unmap)
{
    os.unmap_fails = true;
    lfma_arena *arena = NULL;
    errno = 4242;
    REQUIRE_CODE(create(5 << 20, 4096, &arena), LFMA_OK);
    void *const block = lfma_alloc(arena, 4096);
    REQUIRE_CODE(lfma_free(arena, block), LFMA_OK);
    REQUIRE_CODE(lfma_arena_destroy(arena), LFMA_OK);
    REQUIRE(os.unmaps >= 2 && errno == 4242, "%u unmappings", os.unmaps);
}

/* The address space has an end: what cannot be rounded up is refused before the OS is asked. E01 */
Test(os, reservations_that_wrap)
{
    const uint64_t sizes[] = { UINT64_MAX, UINT64_MAX - 4095, UINT64_MAX - 4096, UINT64_MAX - 8192 };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        os.maps = 0;
        REQUIRE(lfma__os_reserve(sizes[i], (uint64_t)1 << 46) == NULL && os.maps == 0, "%" PRIu64, sizes[i]);
    }
}

/* J04: a clock that cannot be read stands still: no garbage, and the step cap ends the pass. */
Test(os, a_clock_that_fails)
{
    for (unsigned fails = 0; fails < 2; fails++) {
        lfma_arena *arena = NULL;
        memset(&os, 0, sizeof os);
        REQUIRE_CODE(create(70000 * 64, 64, &arena), LFMA_OK);
        char *const base = arena_stats(arena).base;
        for (size_t page = 0; page < 70000; page++)
            REQUIRE(lfma_alloc(arena, 1) != NULL, "page %zu", page);
        for (size_t page = 0; page < 70000; page++)
            REQUIRE_CODE(lfma_free(arena, base + page * 64), LFMA_OK);
        os.clock_fails = fails;
        const lfma_budget budget = LFMA_BUDGET_NS(500);
        lfma_coalesce_result result = LFMA_COALESCE_RESULT_INIT;
        errno = 4242;
        REQUIRE_CODE(lfma_coalesce(arena, &budget, &result), LFMA_OK);
        REQUIRE(errno == 4242, "errno was touched, clock failing: %u", fails);
        REQUIRE(!fails || (result.ns == 0 && result.steps >= 500 && result.steps < 532), "%" PRIu64 " steps",
                result.steps);
        REQUIRE(fails || (result.ns > 500 && result.steps <= 32), "a second a read: %" PRIu64, result.steps);
        lfma_arena_destroy_forced(arena);
    }
}

/* I10: no key, or no memory for this thread's slot of it: the thread works on, over the shared owner slot. */
static void check_without_a_number(void)
{
    lfma_arena *arena = NULL;
    errno = 4242;
    REQUIRE_CODE(create(100 * 64, 64, &arena), LFMA_OK);
    for (unsigned n = 0; n < 1000; n++) {
        void *const block = lfma_alloc(arena, 1 + n);
        REQUIRE(block != NULL && errno == 4242, "call %u", n);
        REQUIRE_CODE(lfma_free(arena, block), LFMA_OK);
    }
    REQUIRE(lfma__thread_self.index == LFMA__THREAD_SHARED && lfma__thread_high_water() <= 1, "no number");
    REQUIRE(arena_is_sound(arena) && arena_stats(arena).frees == 1000, "sound");
    REQUIRE(errno == 4242, "errno was touched");
    REQUIRE_CODE(lfma_arena_destroy(arena), LFMA_OK);
}

Test(os, no_thread_key)
{
    os.no_key = true;
    check_without_a_number();
}

/* I10 */
Test(os, no_thread_slot)
{
    os.no_slot = true;
    check_without_a_number();
}
