/* SPDX-License-Identifier: MIT */
/* The explorer's command line: which scenarios, within which bounds, or one run again. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "explore/scenarios.h"

static struct options {
    explore_bounds bounds;
    unsigned threads_max;
    unsigned part, parts; /* of the scenarios only every parts-th, from `part` on */
    bool list;
    bool verbose;
    bool pairs; /* of threads alone: no handlers, no kills, no third thread */
    bool first; /* stop at the first failure */
    const char *record;
    char **names;
    int name_count;
} options = { .bounds = { .preemptions = 2, .runs_max = 4000000, .seed = 1 }, .threads_max = 3, .parts = 1 };

static struct totals {
    uint64_t wanted, scenarios, runs, operations, states, complete, failures;
    unsigned longest;
    char longest_name[96];
} totals;

static const char usage[] =
    "usage: explore [SCENARIO …] [options]\n"
    "Runs the library's code through every schedule of small scenarios. SCENARIO is a part "
    "of a name; none means all.\n\n"
    "  -b, --bound N|all   preemptions a run (default 2)\n"
    "  -w, --weak[=N|all]  weak memory: up to N stale reads a run (1)\n"
    "  -t, --threads N     leave out scenarios with more threads (default 3)\n"
    "  -P, --pairs         two threads only, nobody interrupted or killed\n"
    "  -R, --random DEPTH  random runs instead of all: priorities that change DEPTH - 1 times\n"
    "  -n, --runs N        stop a scenario after N runs (4000000; 10000 if random)\n"
    "  -s, --seed N        of random runs (1)\n"
    "  -r, --replay STRING one run of one scenario again, with its trace\n"
    "  -p, --part K/N      only every N-th scenario, from the K-th on\n"
    "  -o, --record FILE   write the figures as JSON\n"
    "  -1, --first         stop at the first failure\n"
    "  -l, --list          name the scenarios\n"
    "  -v, --verbose       a line each\n";

static bool is_wanted(const explore_scenario *s)
{
    if (s->threads > options.threads_max || (options.pairs && (s->threads != 2 || s->handler || s->kill)))
        return false;
    for (int i = 0; i < options.name_count; i++) {
        if (options.bounds.replay ? strcmp(s->name, options.names[i]) == 0
                                  : strstr(s->name, options.names[i]) != NULL)
            return totals.wanted++ % options.parts == options.part;
    }
    return options.name_count == 0 && totals.wanted++ % options.parts == options.part;
}

/* A scenario with a known bug must fail, wherever its memory shows it. */
static bool must_fail(const explore_scenario *s)
{
    return s->bug && (options.bounds.stale > 0 || strcmp(s->bug, "always") == 0);
}

static const char *number(unsigned n)
{
    static char text[16];
    if (n == EXPLORE_UNLIMITED)
        return "all";
    snprintf(text, sizeof text, "%u", n);
    return text;
}

static void print_failure(const explore_scenario *s, const explore_result *r)
{
    if (!r->failed) {
        printf("FAILED %s: the bug in it was not found\n", s->name);
        return;
    }
    printf("FAILED %s: %s\n  replay: %s --bound %s", s->name, r->what, s->name, number(options.bounds.preemptions));
    if (options.bounds.stale)
        printf(" --weak=%s", number(options.bounds.stale));
    printf(" --replay %s\n", r->choices);
}

static void add(const explore_scenario *s, const explore_result *r)
{
    totals.scenarios++;
    totals.runs += r->runs;
    totals.operations += r->operations;
    totals.states += r->states;
    totals.complete += r->complete || (r->failed && must_fail(s));
    if (r->longest > totals.longest && !s->bug) {
        totals.longest = r->longest;
        snprintf(totals.longest_name, sizeof totals.longest_name, "%s", s->name);
    }
}

static void run(const explore_scenario *s)
{
    if ((options.first && totals.failures > 0) || !is_wanted(s))
        return;
    if (options.list) {
        puts(s->name);
        return;
    }
    if (isatty(STDERR_FILENO) && !options.bounds.replay)
        fprintf(stderr, "\r%6" PRIu64 "  %-50s", totals.scenarios, s->name);
    const clock_t begin = clock();
    const explore_result r = explore(s, &options.bounds);
    add(s, &r);
    if (options.verbose)
        printf("%-44s %8" PRIu64 " runs %9" PRIu64 " states %7.2f s%s%s\n", s->name, r.runs, r.states,
               (double)(clock() - begin) / CLOCKS_PER_SEC, r.complete || r.failed ? "" : ", not all",
               r.failed ? ", fails" : "");
    if (r.failed == must_fail(s) || (!r.failed && options.bounds.depth > 0)) /* random runs may miss a bug */
        return;
    totals.failures++;
    print_failure(s, &r);
}

static void run_family(const explore_family *family)
{
    explore_scenario scenario;
    for (unsigned i = 0; explore_make(family, i, &scenario); i++)
        run(&scenario);
}

static void record(double seconds)
{
    FILE *const file = fopen(options.record, "w");
    if (file == NULL) {
        perror(options.record);
        exit(2);
    }
    fprintf(file, "{\"bound\": \"%s\", ", number(options.bounds.preemptions));
    fprintf(file, "\"stale\": \"%s\", \"threads\": %u, \"random_depth\": %u, ", number(options.bounds.stale),
            options.threads_max, options.bounds.depth);
    fprintf(file,
            "\"scenarios\": %" PRIu64 ", \"whole\": %" PRIu64 ", \"runs\": %" PRIu64 ", \"operations\": %" PRIu64
            ", \"states\": %" PRIu64 ", \"longest\": %u, \"failures\": %" PRIu64 ", \"seconds\": %.1f}\n",
            totals.scenarios, totals.complete, totals.runs, totals.operations, totals.states, totals.longest,
            totals.failures, seconds);
    fclose(file);
}

static void bad_option(void)
{
    fputs(usage, stderr);
    exit(2);
}

static unsigned read_number(const char *text)
{
    char *end;
    if (strcmp(text, "all") == 0)
        return EXPLORE_UNLIMITED;
    const unsigned long n = strtoul(text, &end, 10);
    if (*text == '\0' || *end != '\0' || n >= EXPLORE_UNLIMITED)
        bad_option();
    return (unsigned)n;
}

static void read_options(int argc, char **argv)
{
    static const struct option longs[] = {
        { "bound", required_argument, NULL, 'b' },
        { "weak", optional_argument, NULL, 'w' },
        { "threads", required_argument, NULL, 't' },
        { "pairs", no_argument, NULL, 'P' },
        { "random", required_argument, NULL, 'R' },
        { "runs", required_argument, NULL, 'n' },
        { "seed", required_argument, NULL, 's' },
        { "replay", required_argument, NULL, 'r' },
        { "part", required_argument, NULL, 'p' },
        { "record", required_argument, NULL, 'o' },
        { "list", no_argument, NULL, 'l' },
        { "verbose", no_argument, NULL, 'v' },
        { "first", no_argument, NULL, '1' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    bool runs_given = false;
    int option;
    while ((option = getopt_long(argc, argv, "b:w::t:PR:n:s:r:p:o:1lvh", longs, NULL)) != -1) {
        switch (option) {
        case 'b':
            options.bounds.preemptions = read_number(optarg);
            break;
        case 'w':
            options.bounds.stale = optarg ? read_number(optarg) : 1;
            break;
        case 't':
            options.threads_max = read_number(optarg);
            break;
        case 'P':
            options.pairs = true;
            break;
        case 'R':
            options.bounds.depth = read_number(optarg);
            break;
        case 'n':
            options.bounds.runs_max = strtoull(optarg, NULL, 10);
            runs_given = true;
            break;
        case 's':
            options.bounds.seed = strtoull(optarg, NULL, 10);
            break;
        case 'r':
            options.bounds.replay = optarg;
            break;
        case 'p':
            if (sscanf(optarg, "%u/%u", &options.part, &options.parts) != 2 || options.part < 1 ||
                options.part > options.parts)
                bad_option();
            options.part--;
            break;
        case 'o':
            options.record = optarg;
            break;
        case '1':
            options.first = true;
            break;
        case 'l':
            options.list = true;
            break;
        case 'v':
            options.verbose = true;
            break;
        case 'h':
            fputs(usage, stdout);
            exit(0);
        default:
            bad_option();
        }
    }
    if (options.bounds.depth > 0) {
        options.bounds.preemptions = EXPLORE_UNLIMITED;
        if (!runs_given)
            options.bounds.runs_max = 10000;
    }
    options.names = argv + optind;
    options.name_count = argc - optind;
}

int main(int argc, char **argv)
{
    read_options(argc, argv);
    const clock_t begin = clock();
    for (unsigned i = 0; i < protocol_scenario_count; i++)
        run(&protocol_scenarios[i]);
    for (unsigned i = 0; i < explore_family_count; i++)
        run_family(explore_families[i]);
    if (options.list)
        return 0;
    const double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
    printf("%" PRIu64 " scenarios, %" PRIu64 " whole within bound %s", totals.scenarios, totals.complete,
           number(options.bounds.preemptions));
    printf(", %s stale reads: %" PRIu64 " runs, %" PRIu64 " states, %" PRIu64 " atomic operations, %.1f s\n",
           number(options.bounds.stale), totals.runs, totals.states, totals.operations, seconds);
    printf("longest thread: %u atomic operations, in %s\n", totals.longest, totals.longest_name);
    printf("%" PRIu64 " failures\n", totals.failures);
    if (options.record)
        record(seconds);
    return totals.failures == 0 && totals.scenarios > 0 ? 0 : 1;
}
