#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run benchmarks of LFMA beside its rivals, print tables, write CSV files and plots.

Every measurement is a process of its own; allocators take turns (A B C, A B C, …), so that whatever else the machine
does falls on all of them. Times are medians over the rounds; ratios to LFMA are taken within a round.
"""
import argparse
import os
import sys
import time

import runner.options
from runner import environment, jobs, plots, report, results

EPILOG = """\
workloads:
  consumer-scaling  one producer allocates, C consumers free (the default)
  single            one thread: freed at once; 64 live, oldest first; 64 live, random
  multi-producer    P producers with a consumer each; P threads that allocate and free
  coalesce          budget against overrun, work a microsecond, and merging at once for comparison
  aging             a nearly full arena for millions of operations: failures, false failures, largest free block
  lock-vs-atomic    what an increment, an atomic and a lock cost
  all               all of these

allocators:
  floor lfma lfma-core lfma-hardened buddy-mutex buddy-spin mmap malloc, and under `malloc`, where installed:
  mimalloc jemalloc tcmalloc tbb, or NAME=/path/to/library.so to preload another one.

examples:
  run.py --worker build/bench/lfma-bench --quick
  run.py --worker build/bench/lfma-bench all --allocators all --rounds 9 --out results/my-machine
"""


def parse_arguments():
    parser = argparse.ArgumentParser(prog="run.py", description=__doc__, epilog=EPILOG,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", metavar="workload", help="what to run (default: consumer-scaling)")
    parser.add_argument("--worker", required=True, metavar="PATH", help="the lfma-bench program")
    runner.options.add_shared(parser, jobs.Plan.ROUNDS_DEFAULT)
    parser.add_argument("--budgets", metavar="LIST", default="1000,10000,100000,1000000,10000000",
                        help="ns a call for coalesce (default: 1000 … 10000000)")
    parser.add_argument("--allocators", metavar="LIST",
                        help="comma-separated, or all (default: those that need no package, but lfma-hardened)")
    parser.add_argument("--verbose", action="store_true", help="print the full report, not only its summary")
    parser.add_argument("--no-latency", action="store_true", help="leave the latency passes out")
    parser.add_argument("--out", metavar="DIR", help="where results go (default: out/bench-<time>)")
    parser.add_argument("--csv", metavar="FILE", help="the main table (default: <out>/results.csv)")
    parser.add_argument("--plot", metavar="DIR", help="where plots go (default: <out>)")
    parser.add_argument("--no-plot", action="store_true", help="draw nothing")
    options = parser.parse_args()
    try:
        return options, jobs.Plan(options)
    except jobs.PlanError as error:
        parser.error(str(error))


def main():
    options, plan = parse_arguments()
    out = options.out or os.path.join("out", time.strftime("bench-%Y%m%d-%H%M%S"))
    os.makedirs(out, exist_ok=True)
    facts = environment.collect(options.worker, sys.argv[1:])
    table = results.Results()

    interrupted = plan.measure(table)
    table.finish()
    facts["load average, after"] = environment.load_average()
    full, summary = report.render(table, facts, plan, interrupted)
    text = full if plan.wants_full_report() else summary
    path = os.path.join(out, "report.txt")
    print(text if text is full else text + "\nfull report: %s (--verbose prints it)\n" % path)
    written = table.write(out, options.csv)
    written.append(environment.write(facts, os.path.join(out, "env.txt")))
    with open(path, "w", encoding="utf-8") as file:
        file.write(full + "\n")
    written.append(path)
    if not options.no_plot:
        drawn, problem = plots.draw(table, facts, options.plot or out)
        written += drawn
        if problem:
            print(problem)
    print("written:\n  " + "\n  ".join(written))
    if interrupted:
        return 130
    return 1 if table.errors else 0


if __name__ == "__main__":
    sys.exit(main())
