#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run the benchmarks of two builds of LFMA in turns, and say which rows became slower.

Each side runs its own benchmark program with its own library, in a process of its own; the two take turns (A B, B A,
A B, …). A row is called slower if the new one takes over 5 % more in every round, faster if the old one does; with a
question mark, if in three rounds of four.
Exit status: 0, 1 if a row is slower, 2 if runs failed.
"""
import argparse
import sys

import runner.options
from runner import comparison, environment, jobs, report, results


def parse_arguments(arguments):
    plan = comparison.Comparison
    parser = argparse.ArgumentParser(prog="compare.py", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", metavar="workload",
                        help="of %s (default: all)" % ", ".join(plan.WORKLOADS))
    parser.add_argument("--old", required=True, metavar="PATH", help="the older lfma-bench program")
    parser.add_argument("--new", required=True, metavar="PATH", help="the newer one")
    parser.add_argument("--old-name", metavar="TEXT", help="what to call it (default: its path)")
    parser.add_argument("--new-name", metavar="TEXT")
    runner.options.add_shared(parser, plan.ROUNDS_DEFAULT, consumers="1,4,30", threads="1,4", fills="90")
    parser.add_argument("--allocators", metavar="LIST", default="lfma",
                        help="rows to compare (default: lfma); `floor` shows what the machine makes of equal code")
    parser.add_argument("--out", metavar="DIR", help="write the figures of all rounds there, as CSV")
    parser.set_defaults(no_latency=True)
    options = parser.parse_args(arguments)
    try:
        return options, plan(options)
    except jobs.PlanError as error:
        parser.error(str(error))


def main():
    options, plan = parse_arguments(sys.argv[1:])
    facts = environment.collect(options.new, sys.argv[1:])
    plan.notes += comparison.builds_differ(environment.compiler_of(options.old), environment.compiler_of(options.new))
    table = results.Results()
    interrupted = plan.measure(table)
    facts["load average, after"] = environment.load_average()

    rows = comparison.compare(table, plan)
    lines = report.machine_lines(facts) + comparison.render(rows, table.errors, plan, comparison.names_of(options))
    print("\n".join(lines))
    if options.out:
        print("written:\n  " + "\n  ".join(table.write(options.out, None)))
    return 130 if interrupted else comparison.exit_status(rows, table.errors)


if __name__ == "__main__":
    sys.exit(main())
