/* SPDX-License-Identifier: MIT */
/*
 * The library as part of a plug-in: opened with dlopen() (I02), used by a thread, closed while that thread is still
 * there, and after it has ended. Whatever the library does at a thread's end must survive dlclose(): also when the
 * thread keeps something in the cache of an arena that is still there (I01). Exit status 0 or 1.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#include <lfma/lfma.h>

struct calls {
    int (*create)(const lfma_arena_config *, lfma_arena **);
    int (*destroy)(lfma_arena *);
    int (*stats)(lfma_arena *, lfma_arena_stats_t *);
    void *(*alloc)(lfma_arena *, size_t);
    int (*free)(lfma_arena *, void *);
};

struct run {
    struct calls calls;
    pthread_barrier_t used;
    pthread_barrier_t closed;
    bool close_first;
    bool ok;
    lfma_arena *left; /* by the thread, which keeps some of it, for the time after it */
};

/* The address of a function, without the cast that ISO C does not know. */
static bool look_up(void *library, const char *name, void *ret_function)
{
    void *const symbol = dlsym(library, name);
    *(void **)ret_function = symbol;
    return symbol != NULL;
}

#define BLOCKS 64

/* Blocks come and go, so that the thread's cache keeps some. */
static bool use(const struct calls *calls, lfma_arena **ret_arena)
{
    lfma_arena_config config = LFMA_ARENA_CONFIG_INIT;
    config.bytes = (size_t)8 << 20;
    if (calls->create(&config, ret_arena) != LFMA_OK)
        return false;
    void *blocks[BLOCKS];
    bool ok = true;
    for (int i = 0; i < BLOCKS; i++)
        ok = (blocks[i] = calls->alloc(*ret_arena, 1)) != NULL && ok;
    for (int i = 0; i < BLOCKS; i++)
        ok = calls->free(*ret_arena, blocks[i]) == LFMA_OK && ok;
    lfma_arena_stats_t stats = LFMA_ARENA_STATS_INIT;
    return calls->stats(*ret_arena, &stats) == LFMA_OK && stats.cached_bytes > 0 && ok;
}

static bool is_given_back(const struct calls *calls, lfma_arena *arena)
{
    lfma_arena_stats_t stats = LFMA_ARENA_STATS_INIT;
    return calls->stats(arena, &stats) == LFMA_OK && stats.cached_bytes == 0 && calls->destroy(arena) == LFMA_OK;
}

static void *thread_main(void *argument)
{
    struct run *const run = argument;
    lfma_arena *own = NULL;
    run->ok = use(&run->calls, &own) && run->calls.destroy(own) == LFMA_OK && use(&run->calls, &run->left);
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
        !look_up(library, "lfma_arena_stats", &run.calls.stats) ||
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
        ok = run.ok && is_given_back(&run.calls, run.left) && ok;
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
