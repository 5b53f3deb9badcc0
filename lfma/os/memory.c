/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "os/os.h"

static uint64_t os_page_bytes(void)
{
    const int saved = errno;
    const intmax_t bytes = sysconf(_SC_PAGESIZE);
    errno = saved;
    return bytes > 0 ? (uint64_t)bytes : 4096u;
}

/* munmap of a range that was mapped cannot fail but for the kernel's limit on mappings; then it stays reserved. */
static void unmap(uintptr_t start, uint64_t bytes)
{
    const int saved = errno;
    if (bytes > 0)
        (void)munmap((void *)start, bytes);
    errno = saved;
}

void *lfma__os_reserve(uint64_t bytes, uint64_t alignment)
{
    const uint64_t os_page = os_page_bytes();
    const uint64_t mapped = lfma__round_up(bytes, os_page);
    const uint64_t slack = alignment > os_page ? alignment - os_page : 0; /* mmap aligns to an OS page by itself */
    if (mapped < bytes || mapped + slack < mapped || mapped + slack > SIZE_MAX)
        return NULL;

    const int saved = errno;
    void *raw = mmap(NULL, mapped + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                     0);
    errno = saved;
    if (raw == MAP_FAILED)
        return NULL;

    const uintptr_t start = (uintptr_t)raw;
    const uintptr_t base = (uintptr_t)lfma__round_up(start, alignment);
    unmap(start, base - start);
    unmap(base + mapped, start + mapped + slack - (base + mapped));
    return (void *)base;
}

void lfma__os_release(void *base, uint64_t bytes)
{
    unmap((uintptr_t)base, lfma__round_up(bytes, os_page_bytes()));
}
