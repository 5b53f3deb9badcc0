/* SPDX-License-Identifier: MIT */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/channel.h"
#include "common/die.h"
#include "common/row.h"

/* clang-format off */
static const struct workload workloads[] = {
    { "single-once", "one thread, each block freed at once", 1000000, single_once },
    { "single-fifo", "one thread, 64 live blocks, the oldest is replaced", 1000000, single_fifo },
    { "single-random", "one thread, 64 live blocks, a random one is replaced", 1000000, single_random },
    { "consumer-scaling", "one producer allocates, --consumers free", 1000000, consumer_scaling },
    { "multi-producer-pairs", "--threads producers, a queue and a consumer each", 1000000, multi_producer_pairs },
    { "multi-producer-self", "--threads threads, 8 live blocks each", 1000000, multi_producer_self },
    { "coalesce-all", "fragment, free all pages, coalesce in calls of --budget ns", PEER_PAGES, coalesce_all },
    { "coalesce-most", "as coalesce-all, but 1 page in 64 stays allocated", PEER_PAGES, coalesce_most },
    { "aging-log", "mixed operations at --fill percent, sizes log-uniform", 5000000, aging_log },
    { "aging-uniform", "mixed operations at --fill percent, sizes uniform", 5000000, aging_uniform },
    { "lock-vs-atomic", "what an increment, an atomic and a lock cost", 2000000, lock_vs_atomic },
};
/* clang-format on */

const struct workload *workload_at(size_t index)
{
    return index < sizeof workloads / sizeof workloads[0] ? &workloads[index] : NULL;
}

enum option_id {
    OPTION_ALLOCATOR = 'a',
    OPTION_CONSUMERS = 'c',
    OPTION_HELP = 'h',
    OPTION_LATENCY = 'l',
    OPTION_PAIRS = 'n',
    OPTION_ROUND = 'r',
    OPTION_THREADS = 't',
    OPTION_LABEL = 256,
    OPTION_ARENA_GIB,
    OPTION_WARMUP,
    OPTION_CAPACITY,
    OPTION_SIZE_MIN,
    OPTION_SIZE_MAX,
    OPTION_FILL,
    OPTION_BUDGET,
    OPTION_SEED,
    OPTION_NO_PIN,
    OPTION_LIST,
};

static const struct option long_options[] = {
    { "allocator", required_argument, NULL, OPTION_ALLOCATOR },
    { "arena-gib", required_argument, NULL, OPTION_ARENA_GIB },
    { "budget", required_argument, NULL, OPTION_BUDGET },
    { "capacity", required_argument, NULL, OPTION_CAPACITY },
    { "consumers", required_argument, NULL, OPTION_CONSUMERS },
    { "fill", required_argument, NULL, OPTION_FILL },
    { "help", no_argument, NULL, OPTION_HELP },
    { "label", required_argument, NULL, OPTION_LABEL },
    { "latency", no_argument, NULL, OPTION_LATENCY },
    { "list", no_argument, NULL, OPTION_LIST },
    { "no-pin", no_argument, NULL, OPTION_NO_PIN },
    { "pairs", required_argument, NULL, OPTION_PAIRS },
    { "round", required_argument, NULL, OPTION_ROUND },
    { "seed", required_argument, NULL, OPTION_SEED },
    { "size-max", required_argument, NULL, OPTION_SIZE_MAX },
    { "size-min", required_argument, NULL, OPTION_SIZE_MIN },
    { "threads", required_argument, NULL, OPTION_THREADS },
    { "warmup", required_argument, NULL, OPTION_WARMUP },
    { NULL, 0, NULL, 0 },
};

static void print_list(void)
{
    puts("workloads:");
    for (size_t i = 0; workload_at(i) != NULL; i++)
        printf("  %-22s %s\n", workload_at(i)->name, workload_at(i)->summary);
    puts("allocators:");
    for (size_t i = 0; peer_at(i) != NULL; i++)
        printf("  %-22s %s\n", peer_at(i)->name, peer_at(i)->summary);
}

static void print_help(void)
{
    puts("usage: lfma-bench WORKLOAD [options]\n"
         "Runs one workload with one allocator once and prints CSV rows. bench/run.py runs many and compares them.\n"
         "\n"
         "  -a, --allocator NAME   who allocates (default: lfma)\n"
         "      --label NAME       the allocator column, if a library is preloaded under `malloc`\n"
         "  -c, --consumers N      threads that free (default: 1)\n"
         "  -t, --threads N        threads that allocate, for multi-producer (default: 1)\n"
         "  -n, --pairs N          allocations, each with its free (coalesce: fixed; aging: half the operations)\n"
         "      --warmup N         pairs before the clock starts (default: a tenth of the pairs; 0: cold)\n"
         "      --size-min BYTES   smallest request (default: 1)\n"
         "      --size-max BYTES   largest request (default: 4194304); sizes are uniform between the two\n"
         "      --capacity N       of the queue, a power of two (default: 64)\n"
         "      --fill PERCENT     of the arena, for aging (default: 90)\n"
         "      --budget NS        of one call, for coalesce (default: 10000)\n"
         "      --arena-gib N      size of LFMA's arena, for coalesce (default: 1)\n"
         "  -l, --latency          read a clock at each call and print percentiles instead of the time a pair\n"
         "      --no-pin           let the scheduler place the threads\n"
         "      --seed N           of all random choices (default: 1)\n"
         "  -r, --round N          the round column (default: 1)\n"
         "      --list             name workloads and allocators\n"
         "\n"
         "CSV columns: " ROW_HEADER "\n"
         "Lines that begin with # are rows of further tables: #<table>-header,… and #<table>,…\n"
         "\n");
    print_list();
}

static uint64_t number(const char *option, const char *text, uint64_t min, uint64_t max)
{
    char *end;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || strchr(text, '-') != NULL || value < min || value > max)
        die("--%s: %s is not a number in %llu … %llu", option, text, (unsigned long long)min,
            (unsigned long long)max);
    return value;
}

static void apply(int id, struct options *o)
{
    const size_t size_limit = PEER_ARENA_BYTES / 256; /* the largest block of the buddies */
    switch (id) {
    case OPTION_ALLOCATOR:
        o->peer = peer_find(optarg);
        if (o->peer == NULL)
            die("no allocator is called %s (--list names them)", optarg);
        break;
    case OPTION_LABEL:
        o->label = optarg;
        break;
    case OPTION_CONSUMERS:
        o->consumers = (unsigned)number("consumers", optarg, 1, CONSUMERS_MAX);
        break;
    case OPTION_THREADS:
        o->threads = (unsigned)number("threads", optarg, 1, THREADS_MAX);
        break;
    case OPTION_PAIRS:
        o->pairs = number("pairs", optarg, 1, (uint64_t)1 << 40);
        break;
    case OPTION_WARMUP:
        o->warmup = number("warmup", optarg, 0, (uint64_t)1 << 40);
        break;
    case OPTION_SIZE_MIN:
        o->size_min = (size_t)number("size-min", optarg, 1, size_limit);
        break;
    case OPTION_SIZE_MAX:
        o->size_max = (size_t)number("size-max", optarg, 1, size_limit);
        break;
    case OPTION_CAPACITY:
        o->capacity = (unsigned)number("capacity", optarg, 4, CHANNEL_CAPACITY_MAX);
        break;
    case OPTION_FILL:
        o->fill = (unsigned)number("fill", optarg, 1, 99);
        break;
    case OPTION_BUDGET:
        o->budget_ns = number("budget", optarg, 1, (uint64_t)1 << 40);
        break;
    case OPTION_ARENA_GIB:
        o->arena_gib = (unsigned)number("arena-gib", optarg, 1, ARENA_GIB_MAX);
        break;
    case OPTION_SEED:
        o->seed = number("seed", optarg, 0, UINT64_MAX);
        break;
    case OPTION_ROUND:
        o->round = (unsigned)number("round", optarg, 0, 1000000);
        break;
    case OPTION_LATENCY:
        o->latency = true;
        break;
    case OPTION_NO_PIN:
        o->pin = false;
        break;
    case OPTION_HELP:
        print_help();
        exit(0);
    case OPTION_LIST:
        print_list();
        exit(0);
    default:
        die("try --help"); /* getopt has said what is wrong */
    }
}

void options_parse(int argc, char **argv, struct options *ret_options)
{
    struct options o = {
        .peer = peer_find("lfma"),
        .round = 1,
        .warmup = UINT64_MAX,
        .threads = 1,
        .consumers = 1,
        .capacity = 64,
        .size_min = 1,
        .size_max = (size_t)4 << 20,
        .fill = 90,
        .budget_ns = 10000,
        .arena_gib = 1,
        .seed = 1,
        .pin = true,
    };
    int id;
    while ((id = getopt_long(argc, argv, "a:c:hln:r:t:", long_options, NULL)) != -1)
        apply(id, &o);
    if (optind != argc - 1)
        die("name one workload (--list names them, --help explains)");
    for (size_t i = 0; workload_at(i) != NULL; i++) {
        if (strcmp(workload_at(i)->name, argv[optind]) == 0)
            o.workload = workload_at(i);
    }
    if (o.workload == NULL)
        die("no workload is called %s (--list names them)", argv[optind]);
    if (o.size_min > o.size_max)
        die("--size-min is above --size-max");
    if (o.pairs == 0)
        o.pairs = o.workload->pairs;
    if (o.warmup == UINT64_MAX)
        o.warmup = o.pairs / 10;
    if (o.label == NULL)
        o.label = o.peer->name;
    *ret_options = o;
}
