# SPDX-License-Identifier: MIT
"""Two commits' workers in turns: what runs, and which rows became slower."""
import collections
import os
import subprocess

from runner import jobs, report, results

# A row is slower if it is so by more than this in every round, faster if the older one is: chance seldom agrees with
# itself for so long. On a busy machine one disturbed round hides what all others show, so a row that is slower in
# three of four rounds is marked too, with a question mark; that is no verdict.
SLOWER = 1.05

Listing = collections.namedtuple("Listing", "workloads allocators")
Row = collections.namedtuple("Row", "title old new ratio verdict")


def parse_listing(text):
    """What `lfma-bench --list` names."""
    sections, names = {}, []
    for line in text.splitlines():
        if line.endswith(":") and not line.startswith(" "):
            names = sections.setdefault(line[:-1], [])
        elif line.strip():
            names.append(line.split()[0])
    return Listing(sections.get("workloads", []), sections.get("allocators", []))


def listing_of(worker):
    try:
        done = subprocess.run([worker, "--list"], stdout=subprocess.PIPE, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise jobs.PlanError("%s does not say what it has: %s" % (worker, error)) from None
    return parse_listing(done.stdout.decode("utf-8", "replace"))


def label(allocator, side):
    return "%s@%s" % (allocator, side)


class Comparison(jobs.Plan):
    """The same jobs by the old worker and the new one, which take turns in going first."""

    WORKLOADS = ["single", "consumer-scaling", "multi-producer", "aging"]
    WORKLOADS_DEFAULT = WORKLOADS
    ROUNDS_DEFAULT = 9
    ROUNDS_MIN = 3

    def __init__(self, options):
        self.absent = {}  # (workload, label) -> nothing: what a worker does not have, in its order
        self.allocators = options.allocators.split(",")
        self.listings = {}
        super().__init__(options)
        for name in self.allocators:
            if not any(name in listing.allocators for listing in self.listings.values()):
                raise jobs.PlanError("no allocator is called %s in either" % name)

    def _contestants(self, options):
        sides = {"old": jobs.program(options.old, "--old"), "new": jobs.program(options.new, "--new")}
        self.listings = {worker: listing_of(worker) for worker in sides.values()}
        return [jobs.Contestant(label(allocator, side), worker, allocator, None)
                for allocator in self.allocators for side, worker in sides.items()]

    def _turn(self, number):
        return self.contestants if number % 2 == 1 else self.contestants[::-1]

    def _add(self, workload, contestant, number, arguments):
        listing = self.listings[contestant.worker]
        if workload in listing.workloads and contestant.allocator in listing.allocators:
            super()._add(workload, contestant, number, arguments)
        else:
            self.absent[workload, contestant.label] = None

    def lacks(self, point, allocator, side):
        """Whether a side has no figure for want of the workload or the allocator. (Aging adds its fill.)"""
        return any(point.workload.startswith(workload) and name == label(allocator, side)
                   for workload, name in self.absent)


def verdict(ratios):
    """Of new / old in each round."""
    for word, votes in (("slower", [ratio > SLOWER for ratio in ratios]),
                        ("faster", [ratio < 1 / SLOWER for ratio in ratios])):
        if votes and all(votes):
            return word
        if votes and 4 * sum(votes) >= 3 * len(votes):
            return word + "?"
    return ""


def compare(table, plan):
    rows = []
    for point in table.points():
        for allocator in plan.allocators:
            old, new = label(allocator, "old"), label(allocator, "new")
            ratios = table.ratios(point, new, "ns_per_pair", old)
            title = report.point_title(point)
            rows.append(Row(title if len(plan.allocators) == 1 else "%s · %s" % (title, allocator),
                            *(_cell(table, plan, point, allocator, side) for side in ("old", "new")),
                            results.spread(ratios), verdict(ratios)))
    return rows


def _cell(table, plan, point, allocator, side):
    times = table.spread(point, label(allocator, side), "ns_per_pair")
    if times is not None:
        return "%.1f" % times.median
    return "not there" if plan.lacks(point, allocator, side) else "failed"


def _nowhere(plan):
    """Workloads that neither side has with an allocator: they have no row."""
    return ["%s, %s: not there in either" % (workload, allocator)
            for allocator in plan.allocators for workload in dict.fromkeys(name for name, _ in plan.absent)
            if all((workload, label(allocator, side)) in plan.absent for side in ("old", "new"))]


def render(rows, errors, plan, names):
    """The table and what is to be said about it; `names` are the commits', old and new."""
    lines = ["OLD %s" % names[0], "NEW %s" % names[1], "%s; ns a pair are medians" % plan.rounds_text()]
    lines += plan.notes + _nowhere(plan)
    cells = [[row.title, row.old, row.new, *report.spread_text(row.ratio, "%.2f"), row.verdict] for row in rows]
    if cells:
        lines += [""] + report.lay_out(["ns/pair", "OLD", "NEW", "NEW ÷ OLD", "min–max", ""], cells)
    if errors:
        lines += ["", "failed runs:"] + ["  " + error for error in errors]
    count = collections.Counter(row.verdict for row in rows)
    return lines + ["", "%d of %d rows slower, %d faster: by more than %.0f %% in each round (?: in three of four)" %
                    (count["slower"], len(rows), count["faster"], 100 * SLOWER - 100)]


def exit_status(rows, errors):
    if any(row.verdict == "slower" for row in rows):
        return 1
    return 2 if errors or not rows else 0


def builds_differ(old, new):
    """Compilers and flags of the two workers, if they are not the same: a list of notes."""
    return [] if old == new else ["built differently: OLD by %s" % ", ".join(old), "  NEW by %s" % ", ".join(new)]


def names_of(options):
    return tuple(name or os.path.relpath(worker) for name, worker in (
        (options.old_name, options.old), (options.new_name, options.new)))
