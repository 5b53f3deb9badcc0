/* SPDX-License-Identifier: MIT */
/** @file main.c  One run: one workload, one allocator, one round, in a process of its own. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/die.h"
#include "common/pin.h"
#include "common/timer.h"
#include "options.h"

/*
 * A row that bears the name of a preloaded library must be of that library: the dynamic linker only warns when it
 * cannot load one, and then the C library's malloc would be measured under a wrong name.
 */
static void check_preload(const struct options *options)
{
    if (options->peer != &peer_malloc || strcmp(options->label, options->peer->name) == 0)
        return;
    Dl_info info;
    void *address = dlsym(RTLD_DEFAULT, "malloc");
    if (address == NULL || dladdr(address, &info) == 0 || info.dli_fname == NULL)
        die("cannot tell which library malloc is from");
    if (strstr(info.dli_fname, "/libc.so") != NULL || strstr(info.dli_fname, "/libc-") != NULL)
        die("%s is not loaded: malloc is of %s", options->label, info.dli_fname);
}

int main(int argc, char **argv)
{
    struct options options;
    options_parse(argc, argv, &options);
    check_preload(&options);
    timer_init();
    pin_init(options.pin);
    options.workload->run(&options);
    if (fflush(stdout) != 0)
        die("cannot write to stdout");
    return 0;
}
