# SPDX-License-Identifier: MIT
"""What runs: a job is one process of a worker; a plan is all jobs in their order."""
import collections
import glob
import os
import re
import subprocess

from runner import progress

ALL_WORKLOADS = ["consumer-scaling", "single", "multi-producer", "coalesce", "aging", "lock-vs-atomic"]
BUILT_IN = ["floor", "lfma", "lfma-core", "lfma-hardened", "buddy-mutex", "buddy-spin", "mmap", "malloc"]
DEFAULT = ["floor", "lfma", "lfma-core", "buddy-mutex", "buddy-spin", "mmap", "malloc"]
ARENAS = ["lfma", "lfma-core", "lfma-hardened", "buddy-mutex", "buddy-spin"]
BUDGETED = ["lfma", "lfma-core", "lfma-hardened"]

# Libraries that replace malloc when they are preloaded; the first name that is found counts.
PRELOADS = {
    "mimalloc": ["libmimalloc.so.3", "libmimalloc.so.2", "libmimalloc.so"],
    "jemalloc": ["libjemalloc.so.2", "libjemalloc.so"],
    "tcmalloc": ["libtcmalloc_minimal.so.4", "libtcmalloc.so.4", "libtcmalloc_minimal.so"],
    "tbb": ["libtbbmalloc_proxy.so.2", "libtbbmalloc_proxy.so"],
}

# --quick begins no round that would probably end after this.
QUICK_SECONDS = 44

# Coalescing joins a GiB of single pages in about 1 ms (coalesce-most: 1.3 ms). From this budget on it gets an arena
# in which some calls are ended by their budget. That takes time, and one allocator shows it.
LARGE_BUDGET_NS = 500000
GIB_PER_MS = {"coalesce-all": 7, "coalesce-most": 5}
GIB_MAX = 120

SIZES = [(1, 4 << 20), (64 << 10, 64 << 10)]
JOB_SECONDS_MAX = 300

# Pairs a run: (full, quick). "Slow" ones take microseconds a pair: fewer pairs measure them as well.
PAIRS = {"fast": (1000000, 100000), "slow": (100000, 2000), "locked": (1000000, 50000)}
PAIRS_AGING = {"fast": (5000000, 100000), "slow": (500000, 2000), "locked": (5000000, 100000)}
PAIRS_LOCK = (2000000, 200000)

# Who takes turns with the others: an allocator of a worker. Its rows bear the label.
Contestant = collections.namedtuple("Contestant", "label worker allocator preload")


class PlanError(Exception):
    pass


class JobError(Exception):
    pass


def _speed_class(allocator):
    if allocator in ("floor", "lfma", "lfma-core", "lfma-hardened"):
        return "fast"
    return "locked" if allocator.startswith("buddy") else "slow"


def find_library(names):
    """The path of the first library of these names, as the dynamic linker or the usual directories know it."""
    cache = ""
    for ldconfig in ("ldconfig", "/sbin/ldconfig", "/usr/sbin/ldconfig"):
        try:
            cache = subprocess.run([ldconfig, "-p"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                   check=True).stdout.decode("utf-8", "replace")
            break
        except (OSError, subprocess.SubprocessError):
            continue
    for name in names:
        match = re.search(r"^\s*%s \(.*=> (\S+)$" % re.escape(name), cache, re.MULTILINE)
        if match:
            return match.group(1)
        for folder in ("/usr/local/lib*", "/usr/lib*", "/usr/lib/*-linux-*", "/lib/*-linux-*"):
            for path in glob.glob(os.path.join(folder, name)):
                return path
    return None


class Job:
    def __init__(self, command, title, preload):
        self.command = command
        self.title = title
        self.preload = preload

    def run(self):
        """The worker's lines. Raises JobError if it fails."""
        variables = dict(os.environ)
        if self.preload:
            variables["LD_PRELOAD"] = self.preload
        try:
            done = subprocess.run(self.command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  timeout=JOB_SECONDS_MAX, check=False)
        except subprocess.TimeoutExpired:
            raise JobError("%s: stopped after %d s" % (self.title, JOB_SECONDS_MAX)) from None
        except OSError as error:
            raise JobError("%s: %s" % (self.title, error)) from None
        if done.returncode != 0:
            why = done.stderr.decode("utf-8", "replace").strip().split("\n")[-1]
            raise JobError("%s: exit %d: %s" % (self.title, done.returncode, why))
        return done.stdout.decode("utf-8").splitlines()


def program(path, option):
    if not os.access(path, os.X_OK) or os.path.isdir(path):
        raise PlanError("%s: %s is not a program" % (option, path))
    return os.path.abspath(path)


class Plan:
    """All jobs, rounds outermost, contestants innermost."""

    WORKLOADS = ALL_WORKLOADS
    WORKLOADS_DEFAULT = ["consumer-scaling"]
    ROUNDS_DEFAULT = 5
    ROUNDS_MIN = 1

    def __init__(self, options):
        self.options = options
        self.quick = options.quick
        self.rounds = options.rounds if options.rounds is not None else self.ROUNDS_DEFAULT
        if self.rounds < self.ROUNDS_MIN:
            raise PlanError("--rounds begins at %d" % self.ROUNDS_MIN)
        if options.pairs is not None and options.pairs < 1:
            raise PlanError("--pairs begins at 1")
        self.consumers = self._numbers(options.consumers, "--consumers")
        self.threads = self._numbers(options.threads, "--threads")
        self.fills = self._numbers(options.fills, "--fills")
        self.notes = []
        self.contestants = self._contestants(options)
        self.workloads = self._workloads(options.workloads)
        self.jobs = []
        self.round_ends = []
        self.round_began = 0.0
        for number in range(1, self.rounds + 1):
            for workload in self.workloads:
                getattr(self, "_plan_" + workload.replace("-", "_"))(number)
            self.round_ends.append(len(self.jobs))

    def _turn(self, _number):
        """Who takes turns in this round, in which order."""
        return self.contestants

    def measure(self, table):
        """Run the jobs, with a progress bar; their rows go to the table. Returns True if it was interrupted."""
        bar = progress.Bar(len(self.jobs))
        interrupted = False
        try:
            for job in self.jobs:
                bar.show(job.title)
                try:
                    table.add(job, job.run())
                except JobError as error:
                    table.errors.append(str(error))
                bar.done()
                if self.stops_after(bar.count, bar.seconds()):
                    break
        except KeyboardInterrupt:  # the worker is stopped; what was measured is kept
            interrupted = True
        bar.close(interrupted)
        return interrupted

    def rounds_text(self):
        return "%d round%s%s" % (self.rounds, "" if self.rounds == 1 else "s",
                                 ", quick: fewer pairs, so noisier than a full run" if self.quick else "")

    def wants_full_report(self):
        """Whether the terminal gets all tables: asked for, or few because of one number of consumers."""
        return self.options.verbose or (self.workloads == ["consumer-scaling"] and len(self.consumers) == 1)

    def stops_after(self, count, seconds):
        """Whether a quick run ends here: after `count` jobs and so many seconds one more round would be too long."""
        if not self.quick or self.options.rounds is not None or count not in self.round_ends[:-1]:
            return False
        turn = self.round_ends.index(count) + 1
        last, self.round_began = seconds - self.round_began, seconds
        if seconds + last <= QUICK_SECONDS:
            return False
        self.notes.append("quick: %d of %d rounds, to stay under 50 s" % (turn, self.rounds))
        self.rounds = turn
        return True

    @staticmethod
    def _numbers(text, option):
        try:
            numbers = [int(word) for word in text.split(",")]
        except ValueError:
            numbers = [0]
        if min(numbers) < 1:
            raise PlanError("%s: %s is not a list of positive numbers" % (option, text))
        return numbers

    def _workloads(self, names):
        names = list(names) or self.WORKLOADS_DEFAULT
        for name in names:
            if name not in self.WORKLOADS + ["all"]:
                raise PlanError("no workload is called %s; there are: %s, all" % (name, ", ".join(self.WORKLOADS)))
        return self.WORKLOADS if "all" in names else names

    def _contestants(self, options):
        worker, text = program(options.worker, "--worker"), options.allocators
        everything = text == "all"
        wanted = BUILT_IN + list(PRELOADS) if everything else DEFAULT if text is None else text.split(",")
        chosen = []
        for name in wanted:
            name, _, path = name.partition("=")
            if name in BUILT_IN:
                chosen.append(Contestant(name, worker, name, None))
                continue
            path = path or (find_library(PRELOADS[name]) if name in PRELOADS else None)
            if path and os.path.exists(path):
                chosen.append(Contestant(name, worker, "malloc", os.path.abspath(path)))
            elif everything:
                self.notes.append("%s is not installed" % name)
            elif name in PRELOADS:
                raise PlanError("%s is not installed (looked for %s)" % (name, ", ".join(PRELOADS[name])))
            else:
                raise PlanError("no allocator is called %s" % name)
        return chosen

    def _pairs(self, contestant, table=None):
        if self.options.pairs is not None:
            return self.options.pairs
        return (table or PAIRS)[_speed_class(contestant.allocator)][1 if self.quick else 0]

    def _add(self, workload, contestant, number, arguments):
        label, worker, allocator, preload = contestant
        command = [worker, workload, "--round", str(number)] + [str(a) for a in arguments]
        if allocator is not None:
            command += ["--allocator", allocator] + (["--label", label] if label != allocator else [])
        if self.options.no_pin:
            command.append("--no-pin")
        words = [str(word).lstrip("-") for word in arguments]
        told = [" ".join(pair) for pair in zip(words, words[1:])
                if pair[0] in ("consumers", "threads", "fill", "budget")]
        title = ", ".join([" ".join([workload, label])] + told + ["latency"] * ("latency" in words))
        self.jobs.append(Job(command, title, preload))

    def _passes(self):
        return [[]] if self.options.no_latency else [[], ["--latency"]]

    def _plan_consumer_scaling(self, number):
        for size_min, size_max in SIZES:
            for consumers in self.consumers:
                for extra in self._passes():
                    for one in self._turn(number):
                        self._add("consumer-scaling", one, number,
                                  ["--consumers", consumers, "--size-min", size_min, "--size-max", size_max,
                                   "--pairs", self._pairs(one)] + extra)

    def _plan_single(self, number):
        for variant in ("single-once", "single-fifo", "single-random"):
            for extra in self._passes():
                for one in self._turn(number):
                    self._add(variant, one, number, ["--pairs", self._pairs(one)] + extra)

    def _plan_multi_producer(self, number):
        for variant in ("multi-producer-pairs", "multi-producer-self"):
            for threads in self.threads:
                for one in self._turn(number):
                    self._add(variant, one, number, ["--threads", threads, "--pairs", self._pairs(one)])

    def _plan_coalesce(self, number):
        budgets = self._numbers(self.options.budgets, "--budgets")
        first = next((one for one in self.contestants if one.allocator in BUDGETED), None)
        for variant in ("coalesce-all", "coalesce-most"):
            for one in self._turn(number):
                if one.allocator in BUDGETED:
                    for budget in budgets:
                        if budget < LARGE_BUDGET_NS:
                            self._add(variant, one, number, ["--budget", budget])
                        elif one == first and (number == 1 or not self.quick):
                            gib = min(GIB_MAX, -(-budget * GIB_PER_MS[variant] // 1000000))
                            self._add(variant, one, number, ["--budget", budget, "--arena-gib", gib])
                elif one.allocator in ARENAS:
                    self._add(variant, one, number, [])

    def _plan_aging(self, number):
        for variant in ("aging-log", "aging-uniform"):
            for fill in self.fills:
                for one in self._turn(number):
                    self._add(variant, one, number, ["--fill", fill, "--pairs", self._pairs(one, PAIRS_AGING)])

    def _plan_lock_vs_atomic(self, number):
        pairs = self.options.pairs or PAIRS_LOCK[1 if self.quick else 0]
        worker = program(self.options.worker, "--worker")
        self._add("lock-vs-atomic", Contestant("", worker, None, None), number, ["--pairs", pairs])
