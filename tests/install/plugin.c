/* SPDX-License-Identifier: MIT */
/*
 * The library as part of a plug-in: opened with dlopen(), used by a thread, closed while that thread is still there,
 * and after it has ended. Whatever the library does at a thread's end must survive dlclose(). Exit status 0 or 1.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#include <lfma/lfma.h>

struct calls {
    int (*create)(const lfma_arena_config *, lfma_arena **);
    int (*destroy)(lfma_arena *);
    void *(*alloc)(lfma_arena *, size_t);
    int (*free)(lfma_arena *, void *);
};

struct run {
    struct calls calls;
    pthread_barrier_t used;
    pthread_barrier_t closed;
    bool close_first;
    bool ok;
};

/* The address of a function, without the cast that ISO C does not know. */
static bool look_up(void *library, const char *name, void *ret_function)
{
    void *const symbol = dlsym(library, name);
    *(void **)ret_function = symbol;
    return symbol != NULL;
}

static bool use(const struct calls *calls)
{
    lfma_arena_config config = LFMA_ARENA_CONFIG_INIT;
    config.bytes = (size_t)1 << 20;
    lfma_arena *arena = NULL;
    if (calls->create(&config, &arena) != LFMA_OK)
        return false;
    void *const block = calls->alloc(arena, 1);
    return block && calls->free(arena, block) == LFMA_OK && calls->destroy(arena) == LFMA_OK;
}

static void *thread_main(void *argument)
{
    struct run *const run = argument;
    run->ok = use(&run->calls);
    pthread_barrier_wait(&run->used);
    if (run->close_first)
        pthread_barrier_wait(&run->closed);
    return NULL;
}

static bool open_use_close(const char *path, bool close_first)
{
    struct run run = { .close_first = close_first };
    void *const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "plugin: %s\n", dlerror());
        return false;
    }
    if (!look_up(library, "lfma_arena_create", &run.calls.create) ||
        !look_up(library, "lfma_arena_destroy", &run.calls.destroy) ||
        !look_up(library, "lfma_alloc", &run.calls.alloc) || !look_up(library, "lfma_free", &run.calls.free))
        return false;
    pthread_t thread;
    if (pthread_barrier_init(&run.used, NULL, 2) != 0 || pthread_barrier_init(&run.closed, NULL, 2) != 0 ||
        pthread_create(&thread, NULL, thread_main, &run) != 0)
        return false;
    pthread_barrier_wait(&run.used);
    bool ok = true;
    if (close_first) {
        ok = dlclose(library) == 0;
        pthread_barrier_wait(&run.closed);
        ok = pthread_join(thread, NULL) == 0 && ok;
    } else {
        ok = pthread_join(thread, NULL) == 0;
        ok = dlclose(library) == 0 && ok;
    }
    return ok && run.ok;
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    for (int round = 0; round < 20; round++) {
        if (!open_use_close(argv[1], round % 2 == 0)) {
            fprintf(stderr, "plugin: round %d failed\n", round);
            return 1;
        }
    }
    return 0;
}
