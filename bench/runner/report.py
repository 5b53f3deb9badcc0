# SPDX-License-Identifier: MIT
"""The tables on the terminal: medians over the rounds with their least and greatest, ratios taken round by round."""
import statistics

from runner.results import number, spread

SIZE_UNITS = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")]
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


def _aging(table):
    rows = table.table("aging")
    if not rows:
        return []
    out = []
    for (workload, fill, allocator), group in _group(rows, ["workload", "fill_percent", "allocator"]).items():
        least = _least(group, "largest_free_min_bytes")
        out.append(["%s %s %%, %s" % (workload, fill, allocator), "%.1f" % _median(group, "ns_per_operation"),
                    _count(_median(group, "failures")), "%.0f" % _median(group, "failure_ppm"),
                    _count(_most(group, "false_failures")), _count(_median(group, "fragmented")),
                    _count(_median(group, "budget")), "" if least is None else size_text(int(least)),
                    _count(_median(group, "coalesce_runs")), _count(_median(group, "blocks_joined"))])
    head = ["", "aging · one schedule for all; a false failure is one while an aligned run of the size was free"]
    return head + lay_out(["", "ns/op", "failed", "ppm", "false", "fragmented", "budget", "least largest", "runs",
                           "joined"], out)


def _coalesce(table):
    rows = table.table("coalesce")
    if not rows:
        return []
    out = []
    for (workload, allocator, budget), group in _group(rows, ["workload", "allocator", "budget_ns"]).items():
        rate = _median(group, "pages_joined_per_us")
        total = _median(group, "free_ns_per_page")
        joined_ns = _median(group, "coalesce_ns")
        if joined_ns is not None:
            total += joined_ns / _median(group, "pages_freed")
        out.append(["%s, %s" % (workload, allocator), time_text(float(budget)) if budget else "at once",
                    _count(_median(group, "calls")), time_text(_median(group, "overrun_p50")),
                    time_text(_median(group, "overrun_p999")), time_text(_most(group, "overrun_max")),
                    time_text(_median(group, "join_p50")), time_text(_most(group, "join_max")),
                    _count(_most(group, "overruns_above_join_max")), time_text(_most(group, "hiccup_max")),
                    _count(_most(group, "switches_involuntary")),
                    "" if rate is None else "%.0f" % rate, "%.1f" % _median(group, "free_ns_per_page"),
                    "%.1f" % total])
    return ["", "coalesce · overrun: time beyond the budget of a call, none if all was done within one; join: a call",
            "           that joins one block; max: of all rounds; above: overruns longer than the longest join;",
            "           hiccup: longest pause of an idle loop just then; preempted: involuntary switches"
            ] + lay_out(["", "budget", "calls", "overrun p50", "p99.9", "max", "join p50", "max", "above", "hiccup",
                         "preempted", "pages/µs", "free ns/page", "free + join"], out)


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


def render(table, facts, plan, interrupted):
    lines = ["%s · %s CPUs · Linux %s · %s · commit %s" % (
        facts["CPU"], facts["CPUs usable"].split()[0], facts["kernel"], facts["compiler"], facts["commit"]),
             "pinning: %s · load average before %s, after %s" % (facts["pinning"], facts["load average, before"],
                                                             facts["load average, after"]),
             "%d round%s%s; ns a pair are medians, times in ns unless they bear a unit" % (
                 plan.rounds, "" if plan.rounds == 1 else "s",
                 ", quick: fewer pairs, so noisier than a full run" if plan.quick else "")]
    lines += plan.notes
    lines += _common(table) + _scaling(table) + _aging(table) + _coalesce(table) + _lock_vs_atomic(table)
    if interrupted:
        lines += ["", "interrupted: the tables show what was measured until then"]
    if table.errors:
        lines += ["", "failed runs:"] + ["  " + error for error in table.errors]
    return "\n".join(lines) + "\n"
