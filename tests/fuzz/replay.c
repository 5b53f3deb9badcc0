/* SPDX-License-Identifier: MIT */
/* Inputs without the fuzzer: `replay FILE|FOLDER …`. LFMA_FUZZ_TRACE=1 in the environment prints every operation. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INPUT_BYTES_MAX 65536u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned replayed;
static char current[4096]; /* for whoever looks at a core; and named before each input */

static int replay_file(const char *path)
{
    FILE *const file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return 1;
    }
    uint8_t *const data = malloc(INPUT_BYTES_MAX);
    const size_t size = data ? fread(data, 1, INPUT_BYTES_MAX, file) : 0;
    const int failed = !data || ferror(file);
    (void)fclose(file);
    printf("%s\n", path);
    (void)fflush(stdout);
    if (!failed) {
        uint8_t *const exactly = realloc(data, size ? size : 1); /* so that a sanitizer sees a step beyond */
        (void)LLVMFuzzerTestOneInput(exactly, size);
        free(exactly);
        replayed++;
    }
    return failed;
}

static int replay_folder(const char *path, DIR *folder)
{
    int failed = 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        (void)snprintf(current, sizeof current, "%s/%s", path, entry->d_name);
        failed |= replay_file(current);
    }
    (void)closedir(folder);
    return failed;
}

int main(int argc, char **argv)
{
    int failed = 0;
    for (int i = 1; i < argc; i++) {
        DIR *const folder = opendir(argv[i]);
        failed |= folder ? replay_folder(argv[i], folder) : replay_file(argv[i]);
    }
    if (replayed == 0)
        (void)fprintf(stderr, "no input was replayed\n");
    return failed || replayed == 0;
}
