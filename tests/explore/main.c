/* SPDX-License-Identifier: MIT */
/* The explorer's command line: which scenarios, within which bounds, or one run again. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "explore/scenarios.h"

static struct options {
    explore_bounds bounds;
    unsigned threads_max;
    bool list;
    bool verbose;
    bool first; /* stop at the first failure */
    char **names;
    int name_count;
} options = { .bounds = { .preemptions = 2, .stale = 0, .runs_max = 2000000 }, .threads_max = 3 };

static struct totals {
    uint64_t scenarios, runs, operations, complete, failures;
} totals;

static const char usage[] = "usage: explore [SCENARIO …] [options]\n"
                            "Runs the library's code through every schedule of small scenarios. SCENARIO is a part "
                            "of a name; none means all.\n\n"
                            "  -b, --bound N       preemptions a run (default 2)\n"
                            "  -w, --weak[=N]      weak memory: up to N stale reads a run (1)\n"
                            "  -t, --threads N     leave out scenarios with more threads (default 3)\n"
                            "  -m, --runs-max N    stop a scenario after N runs (default 2000000)\n"
                            "  -R, --random SEED   random runs instead of all; --runs-max of them\n"
                            "  -r, --replay STRING one run of one scenario again, with its trace\n"
                            "  -1, --first         stop at the first failure\n"
                            "  -l, --list          name the scenarios\n"
                            "  -v, --verbose       a line each\n";

static bool is_wanted(const explore_scenario *s)
{
    if (s->threads > options.threads_max)
        return false;
    for (int i = 0; i < options.name_count; i++) {
        if (options.bounds.replay ? strcmp(s->name, options.names[i]) == 0
                                  : strstr(s->name, options.names[i]) != NULL)
            return true;
    }
    return options.name_count == 0;
}

/* A scenario with a known bug must fail, wherever its memory shows it. */
static bool must_fail(const explore_scenario *s)
{
    return s->bug && (options.bounds.stale > 0 || strcmp(s->bug, "always") == 0);
}

static void run(const explore_scenario *s)
{
    if (!is_wanted(s) || (options.first && totals.failures > 0))
        return;
    if (options.list) {
        puts(s->name);
        return;
    }
    const explore_result r = explore(s, &options.bounds);
    totals.scenarios++;
    totals.runs += r.runs;
    totals.operations += r.operations;
    totals.complete += r.complete || (r.failed && must_fail(s));
    if (options.verbose)
        printf("%-44s %9" PRIu64 " runs%s%s\n", s->name, r.runs, r.complete ? "" : ", not all",
               r.failed ? ", fails" : "");
    if (r.failed == must_fail(s))
        return;
    totals.failures++;
    if (r.failed)
        printf("FAILED %s: %s\n  --bound %u%s --replay %s\n", s->name, r.what, options.bounds.preemptions,
               options.bounds.stale ? " --weak" : "", r.choices);
    else
        printf("FAILED %s: the bug in it was not found\n", s->name);
}

static void run_family(const explore_family *family)
{
    explore_scenario scenario;
    for (unsigned i = 0; explore_make(family, i, &scenario); i++)
        run(&scenario);
}

static void read_options(int argc, char **argv)
{
    static const struct option longs[] = {
        { "bound", required_argument, NULL, 'b' },
        { "weak", optional_argument, NULL, 'w' },
        { "threads", required_argument, NULL, 't' },
        { "runs-max", required_argument, NULL, 'm' },
        { "random", required_argument, NULL, 'R' },
        { "replay", required_argument, NULL, 'r' },
        { "list", no_argument, NULL, 'l' },
        { "verbose", no_argument, NULL, 'v' },
        { "first", no_argument, NULL, '1' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    int option;
    while ((option = getopt_long(argc, argv, "b:w::t:m:R:r:1lvh", longs, NULL)) != -1) {
        switch (option) {
        case 'b':
            options.bounds.preemptions = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 'w':
            options.bounds.stale = optarg ? (unsigned)strtoul(optarg, NULL, 10) : 1;
            break;
        case 't':
            options.threads_max = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 'm':
            options.bounds.runs_max = strtoull(optarg, NULL, 10);
            break;
        case 'R':
            options.bounds.seed = strtoull(optarg, NULL, 10);
            break;
        case 'r':
            options.bounds.replay = optarg;
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
        default:
            fputs(usage, option == 'h' ? stdout : stderr);
            exit(option == 'h' ? 0 : 2);
        }
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
    run_family(&table_family);
    run_family(&arena_family);
    if (options.list)
        return 0;
    printf("%" PRIu64 " scenarios, %" PRIu64 " of them whole within the bounds: %u preemptions, %u stale reads\n",
           totals.scenarios, totals.complete, options.bounds.preemptions, options.bounds.stale);
    printf("%" PRIu64 " runs, %" PRIu64 " atomic operations, %.1f s, %" PRIu64 " failures\n", totals.runs,
           totals.operations, (double)(clock() - begin) / CLOCKS_PER_SEC, totals.failures);
    return totals.failures == 0 && totals.scenarios > 0 ? 0 : 1;
}
