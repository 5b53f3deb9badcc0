# SPDX-License-Identifier: MIT
"""The report: medians over the rounds with their least and greatest, ratios taken round by round; and its summary."""
import statistics

from runner.results import number, spread

SIZE_UNITS = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")]
BUDDY = "buddy-mutex"  # the rival of the ratios
COMMON = ["consumer-scaling", "single", "multi-producer", "aging"]


def size_text(size):
    for unit, name in SIZE_UNITS:
        if size >= unit and size % unit == 0:
            return "%d %s" % (size // unit, name)
    return "%d B" % size


def sizes_text(point):
    if point.size_min == point.size_max:
        return "blocks of " + size_text(point.size_min)
    return "sizes uniform in %s … %s" % (size_text(point.size_min), size_text(point.size_max))


def time_text(ns):
    """A time in ns with three digits or so, and a unit that keeps it short."""
    if ns is None:
        return ""
    for limit, divisor, unit in ((9999.5, 1, ""), (9999.5e3, 1e3, "µs"), (float("inf"), 1e6, "ms")):
        if abs(ns) < limit:
            value = ns / divisor
            return ("%.0f" if abs(value) >= 100 else "%.1f") % value + (" " + unit if unit else "")
    return ""


def budget_text(ns):
    for divisor, unit in ((1000000, "ms"), (1000, "µs")):
        if ns % divisor == 0:
            return "%d %s" % (ns // divisor, unit)
    return "%d ns" % ns


def spread_text(values, form="%.1f"):
    if values is None:
        return "", ""
    return form % values.median, "%s–%s" % (form % values.min, form % values.max)


def lay_out(header, rows, indent="  "):
    """Lines of a table; the first column is left-aligned, the others right-aligned."""
    widths = [max(len(str(row[i])) for row in [header] + rows) for i in range(len(header))]
    lines = []
    for row in [header] + rows:
        cells = [str(row[0]).ljust(widths[0])] + [str(cell).rjust(width) for cell, width in zip(row[1:], widths[1:])]
        lines.append((indent + "  ".join(cells)).rstrip())
        if row is header:
            lines.append(indent + "─" * (sum(widths) + 2 * (len(widths) - 1)))
    return lines


def point_title(point):
    parts = [point.workload]
    if point.workload == "consumer-scaling":
        parts.append("%d consumer%s" % (point.consumers, "" if point.consumers == 1 else "s"))
    elif point.workload.startswith("multi-producer"):
        parts.append("%d thread%s%s" % (point.threads, "" if point.threads == 1 else "s",
                                        " and as many consumers" if point.consumers else ""))
    if point.workload.startswith("aging"):
        parts[0] = point.workload.replace("-log-", ", sizes log-uniform, filled to ").replace(
            "-uniform-", ", sizes uniform, filled to ") + " %"
    else:
        parts.append(sizes_text(point))
    return " · ".join(parts)


def _times(table, point):
    header = ["", "ns/pair", "min–max", "above floor", "× lfma", "min–max", "above floor × lfma", "pairs", "failures"]
    rows = []
    for allocator in table.allocators(point):
        above = table.spread(point, allocator, "ns_above_floor")
        ratio = table.ratio(point, allocator, "ns_per_pair") if allocator != "lfma" else None
        above_ratio = table.ratio(point, allocator, "ns_above_floor") if allocator not in ("lfma", "floor") else None
        failures = table.spread(point, allocator, "failures")
        pairs = table.spread(point, allocator, "pairs")
        rows.append([allocator, *spread_text(table.spread(point, allocator, "ns_per_pair")),
                     "" if above is None or allocator == "floor" else "%.1f" % above.median,
                     *spread_text(ratio, "%.2f"), "" if above_ratio is None else "%.2f" % above_ratio.median,
                     "%d" % pairs.median if pairs else "", "%g" % failures.median if failures else ""])
    return lay_out(header, rows)


def _latencies(table, point):
    columns = ["p50", "p99", "p999", "p9999", "max"]
    header = [""] + [side + name for side in ("alloc ", "free ") for name in ("p50", "p99", "p99.9", "p99.99", "max")]
    rows = []
    for allocator in table.allocators(point):
        spreads = [table.spread(point, allocator, side + column)
                   for side in ("alloc_", "free_") for column in columns]
        if any(spreads):
            rows.append([allocator] + [time_text(values.median if values else None) for values in spreads])
    return lay_out(header, rows) if rows else []


def _common(table):
    lines = []
    for prefix in COMMON:
        for point in table.points(prefix):
            lines += ["", point_title(point)] + _times(table, point)
        for point in table.points(prefix):
            latencies = _latencies(table, point)
            if latencies:
                lines += ["", point_title(point) + " · time of one call"] + latencies
    return lines


def _group(rows, keys):
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return groups


def _median(rows, column):
    cells = [number(row[column]) for row in rows]
    cells = [cell for cell in cells if cell is not None]
    return statistics.median(cells) if cells else None


def _most(rows, column):
    cells = [number(row[column]) for row in rows if row[column] != ""]
    return max(cells) if cells else None


def _least(rows, column):
    cells = [number(row[column]) for row in rows if row[column] != ""]
    return min(cells) if cells else None


def _count(value):
    return "" if value is None else "%g" % value if value < 1e5 else "%d" % value


def _sum(rows, column):
    return sum(number(row[column]) or 0 for row in rows)


def _failure_ratio(group, buddy):
    """The rate of failures over all rounds against buddy-mutex's; None if that had none."""
    if not buddy or not _sum(buddy, "failures"):
        return None
    rate, base = (_sum(rows, "failures") / _sum(rows, "allocations") for rows in (group, buddy))
    return rate / base


def _aging(table):
    rows = table.table("aging")
    if not rows:
        return []
    out = []
    groups = _group(rows, ["workload", "fill_percent", "allocator"])
    for (workload, fill, allocator), group in groups.items():
        least = _least(group, "largest_free_min_bytes")
        ratio = None
        if least is not None and allocator != BUDDY:
            ratio = _failure_ratio(group, groups.get((workload, fill, BUDDY)))
        out.append(["%s %s %%, %s" % (workload, fill, allocator), "%.1f" % _median(group, "ns_per_operation"),
                    _count(_median(group, "failures")), "%.0f" % _median(group, "failure_ppm"),
                    "" if ratio is None else "%.2f" % ratio,
                    _count(_most(group, "false_failures")), _count(_median(group, "fragmented")),
                    _count(_median(group, "budget")), "" if least is None else size_text(int(least)),
                    _count(_median(group, "coalesce_runs")), _count(_median(group, "blocks_joined"))])
    head = ["", "aging · one schedule for all; a false failure is one while an aligned run of the size was free;",
            "        × buddy: rate of failures of all rounds against buddy-mutex's, blank if that had none"]
    return head + lay_out(["", "ns/op", "failed", "ppm", "× buddy", "false", "fragmented", "budget", "least largest",
                           "runs", "joined"], out)


def _verdict(group, ended, above, hiccup):
    """What the runs of one budget say of: an overrun is bounded by the join of one block."""
    if not ended:
        return "not tested"
    if not above:
        return "held"
    # An interruption of the last join is no overrun of LFMA's; there are few such, and none longer than the
    # machine's.
    noise = all(number(row["overruns_above_join_max"]) == 0
                or number(row["overrun_max"]) <= number(row["join_max"]) + hiccup for row in group)
    return "noise" if noise and above <= max(1, ended / 20) else "EXCEEDED"


def _coalesce_budgets(rows):
    rows = [row for row in rows if row["budget_ns"]]
    if not rows:
        return []
    hiccup = _most(rows, "hiccup_max")
    out, ended_total, above_total, apart_total, verdicts = [], 0, 0, 0, []
    for (workload, allocator, budget), group in _group(rows, ["workload", "allocator", "budget_ns"]).items():
        ended, above = _sum(group, "calls_ended_by_budget"), _sum(group, "overruns_above_join_max")
        apart = _sum(group, "overruns_preempted")
        ended_total, above_total, apart_total = ended_total + ended, above_total + above, apart_total + apart
        verdicts.append(_verdict(group, ended - apart, above, hiccup))
        out.append(["%s, %s" % (workload, allocator), budget_text(int(budget)),
                    size_text(int(group[0]["arena_bytes"])), _count(_sum(group, "calls")), _count(ended),
                    time_text(_median(group, "overrun_p50")), time_text(_median(group, "overrun_p999")),
                    time_text(_most(group, "overrun_max")), time_text(_median(group, "join_p50")),
                    time_text(_most(group, "join_max")), _count(above), _count(apart),
                    time_text(_most(group, "hiccup_max")),
                    verdicts[-1]])
    worst = next(word for word in ("EXCEEDED", "noise", "not tested", "held") if word in verdicts)
    text = {"EXCEEDED": "EXCEEDED: some overruns are longer than a join and the longest hiccup together",
            "noise": "held but for noise: none of these is longer than a join and the longest hiccup together",
            "not tested": "held where calls were ended by their budget",
            "held": "held for every budget"}[worst]
    return ["", "coalesce · is the overrun of a budget bounded by the join of one block?",
            "           ended: calls that their budget ended; join: a call that joins one block;",
            "           above: overruns longer than the longest join of their run; preempted: these too, but the",
            "           scheduler took the CPU meanwhile, so they are no part of the other figures;",
            "           hiccup: longest pause of an idle loop just then. Counts are sums, max is of all rounds.",
            "           verdict: held if none is above; noise if few are, by no more than a hiccup; else exceeded"
            ] + lay_out(["", "budget", "arena", "calls", "ended", "overrun p50", "p99.9", "max", "join p50",
                         "max", "above", "preempted", "hiccup", "verdict"], out) + [
        "  of %d calls ended by their budget %d overran by more than the longest single join, and %d more that were"
        " preempted; longest hiccup %s" % (ended_total, above_total, apart_total, time_text(hiccup)),
        "  verdict: " + text]


def _coalesce_work(rows):
    out = []
    for (workload, allocator, budget, arena), group in _group(
            rows, ["workload", "allocator", "budget_ns", "arena_bytes"]).items():
        rate, total, joined_ns = (_median(group, column) for column in (
            "pages_joined_per_us", "free_ns_per_page", "coalesce_ns"))
        if joined_ns is not None:
            total += joined_ns / _median(group, "pages_freed")
        out.append(["%s, %s" % (workload, allocator), budget_text(int(budget)) if budget else "at once",
                    size_text(int(arena)), "" if rate is None else "%.0f" % rate,
                    "%.1f" % _median(group, "free_ns_per_page"), "%.1f" % total])
    return ["", "coalesce · what it costs, beside merging in the free"] + lay_out(
        ["", "budget", "arena", "pages/µs", "free ns/page", "free + join"], out)


def _coalesce(table):
    rows = table.table("coalesce")
    return _coalesce_budgets(rows) + _coalesce_work(rows) if rows else []


def _lock_vs_atomic(table):
    scenes = [point for point in table.points("lock-vs-atomic")]
    if not scenes:
        return []
    order = ["cached", "miss", "shared"]
    cost = {}
    for point in scenes:
        for operation in table.allocators(point):
            cost[point.workload[len("lock-vs-atomic-"):], operation] = table.spread(point, operation, "ns_per_pair")
    operations = list(dict.fromkeys(operation for _, operation in cost))
    rows = [[operation] + ["%.1f (%.1f–%.1f)" % cost[scene, operation] for scene in order]
            for operation in operations]
    lines = ["", "lock-vs-atomic · ns an operation, median (min–max)"] + lay_out(
        ["", "1 thread, in cache", "1 thread, a miss each", "2 threads, one line"], rows)

    def median(scene, operation):
        return cost[scene, operation].median

    rows = []
    for scene in order:
        atomic, plain = median(scene, "atomic-add"), median(scene, "plain-increment")
        for lock in ("mutex", "spinlock"):
            # A miss is paid once an operation: the work then finds its line.
            work = plain if scene == "cached" else median("cached", "plain-increment")
            rows.append(["%s: lock + unlock + work, %s" % (scene, lock),
                         "%.1f" % (median(scene, lock + "-empty") + work),
                         "%.1f" % median(scene, lock + "-increment"), ""])
        for count in (2, 3, 4):
            more = (count - 1) * (median("cached", "atomic-add") if scene == "miss" else atomic)
            rows.append(["%s: %d atomics" % (scene, count), "%.1f" % (atomic + more),
                         "%.1f" % median(scene, "atomic-add-x%d" % count), ""])
        rows.append(["%s: atomics that cost one mutex pair" % scene, "", "",
                     "%.1f" % (median(scene, "mutex-empty") / atomic)])
    lines += ["", "the paper's model · a locked operation = lock + unlock + work; a lock-free one = atomics × cost;",
                    "of n accesses to one line that is not in the cache only the first misses"]
    return lines + lay_out(["", "model", "measured", "break-even"], rows)


def _scaling(table):
    rows = table.table("scaling")
    if not rows:
        return []
    lines = [""]
    crowds = [row for row in rows if int(row["consumers"]) > 1]
    if crowds:
        active = spread(100 * int(row["consumers_that_freed"]) / int(row["consumers"]) for row in crowds)
        lines.append("of the consumers started, %.0f %% (%.0f–%.0f %%) freed something; the others slept" % active)
    transfers = [number(row["line_transfer_ns"]) for row in rows if row["line_transfer_ns"] != "0.0"]
    if transfers:
        lines.append("a cache line went from CPU to CPU in %.0f ns (%.0f–%.0f ns), before the speed passes" %
                     spread(transfers))
    return lines + ["each of both in scaling.csv"]


def _grid(table, title, points, labels, tail=None):
    """One row an allocator, one column a point, and the ratio of buddy-mutex to lfma; `tail` is a point for p99.9."""
    names = list(dict.fromkeys(allocator for point in points for allocator in table.allocators(point)))
    columns = [(point, "ns_per_pair") for point in points]
    header = [""] + labels
    if tail and any(table.spread(tail, name, "alloc_p999") for name in names):
        columns.append((tail, "alloc_p999"))
        header.append("allocate p99.9, " + labels[points.index(tail)])
    rows = []
    for name in names:
        cells = [table.spread(point, name, column) for point, column in columns]
        rows.append([name] + [time_text(cell.median) if cell else "" for cell in cells])
    if BUDDY in names and "lfma" in names:
        ratios = [table.ratio(point, BUDDY, column) for point, column in columns]
        rows.append([BUDDY + " ÷ lfma"] + ["%.2f" % ratio.median if ratio else "" for ratio in ratios])
    return ["", title] + lay_out(header, rows)


def _variants(points, key):
    """Points that differ only in what a column stands for: a list a variant."""
    groups = {}
    for point in points:
        groups.setdefault(key(point), []).append(point)
    return groups.items()


def _summary(table):
    lines = []
    for _, points in _variants(table.points("consumer-scaling"), lambda p: (p.size_min, p.size_max)):
        points.sort(key=lambda p: p.consumers)
        lines += _grid(table, "summary · consumer-scaling · %s · ns/pair against C consumers" % sizes_text(points[0]),
                       points, ["C = %d" % p.consumers for p in points], points[-1])
    singles = table.points("single")
    if singles:
        lines += _grid(table, "summary · single · %s · ns/pair" % sizes_text(singles[0]), singles,
                       [p.workload[len("single-"):] for p in singles])
    for workload, points in _variants(table.points("multi-producer"), lambda p: p.workload):
        points.sort(key=lambda p: p.threads)
        lines += _grid(table, "summary · %s · %s · ns/pair against P threads" % (workload, sizes_text(points[0])),
                       points, ["P = %d" % p.threads for p in points])
    for workload, points in _variants(table.points("aging"), lambda p: p.workload.rpartition("-")[0]):
        points.sort(key=lambda p: int(p.workload.rpartition("-")[2]))
        fills = [p.workload.rpartition("-")[2] for p in points]
        lines += _grid(table, "summary · %s · ns/pair against the fill" % workload, points, [f + " %" for f in fills])
        lines += _aging_failures(table, workload, fills)
    return lines


def _aging_failures(table, workload, fills):
    groups = _group([row for row in table.table("aging") if row["workload"] == workload],
                    ["fill_percent", "allocator"])
    ratios = [(fill, _failure_ratio(groups.get((fill, "lfma"), []), groups.get((fill, BUDDY)))
               if (fill, "lfma") in groups else None) for fill in fills]
    texts = ["%s %%: %.2f" % pair for pair in ratios if pair[1] is not None]
    return ["  failures of lfma ÷ buddy-mutex: " + ", ".join(texts)] if texts else []


def machine_lines(facts):
    return ["%s · %s CPUs · Linux %s · %s" % (
        facts["CPU"], facts["CPUs usable"].split()[0], facts["kernel"], facts["compiler"]),
            "pinning: %s · load average before %s, after %s" % (facts["pinning"], facts["load average, before"],
                                                                facts["load average, after"])]


def render(table, facts, plan, interrupted):
    """The full report, and what of it is meant for the terminal."""
    lines = machine_lines(facts)
    lines[0] += " · commit " + facts["commit"]
    lines += ["%s; ns a pair are medians, times in ns unless they bear a unit" % plan.rounds_text()] + plan.notes
    work = table.table("coalesce")
    short = _summary(table)
    ending = []
    if interrupted:
        ending += ["", "interrupted: the tables show what was measured until then"]
    if table.errors:
        ending += ["", "failed runs:"] + ["  " + error for error in table.errors]
    locks = _lock_vs_atomic(table)
    full = lines + _common(table) + _scaling(table) + _aging(table) + _coalesce(table) + locks + short
    summary = lines + short + _coalesce_budgets(work) + locks
    return "\n".join(full + ending) + "\n", "\n".join(summary + ending) + "\n"
