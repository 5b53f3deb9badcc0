/* SPDX-License-Identifier: MIT */
#include "fuzz/maps.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

static int64_t bytes_mapped;
static unsigned calls, call_that_fails;
static uint64_t first_max = UINT64_MAX;
static bool refused;

/* Names that the linker gives. */
void *__real_mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset);
void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset);
void *__wrap_mmap64(void *address, size_t bytes, int protection, int flags, int file, off_t offset);
int __real_munmap(void *address, size_t bytes);
int __wrap_munmap(void *address, size_t bytes);

void maps_watch(unsigned fails, uint64_t first_bytes_max)
{
    calls = 0;
    call_that_fails = fails;
    first_max = first_bytes_max;
    refused = false;
}

bool maps_refused(void)
{
    return refused;
}

int64_t maps_bytes(void)
{
    return bytes_mapped;
}

void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset)
{
    calls++;
    void *mapped = MAP_FAILED;
    if (calls == call_that_fails || (calls == 1 && bytes > first_max))
        errno = ENOMEM;
    else
        mapped = __real_mmap(address, bytes, protection, flags, file, offset);
    if (mapped == MAP_FAILED)
        refused = true;
    else
        bytes_mapped += (int64_t)bytes;
    return mapped;
}

/* The same where files of 64 bits are asked for, as meson does. */
void *__wrap_mmap64(void *address, size_t bytes, int protection, int flags, int file, off_t offset)
{
    return __wrap_mmap(address, bytes, protection, flags, file, offset);
}

int __wrap_munmap(void *address, size_t bytes)
{
    const int status = __real_munmap(address, bytes);
    if (status == 0)
        bytes_mapped -= (int64_t)bytes;
    return status;
}
