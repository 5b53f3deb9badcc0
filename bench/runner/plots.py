# SPDX-License-Identifier: MIT
"""Plots, by gnuplot: data files and settings are made here, the looks are in plots/*.gp. PNG and SVG each."""
import os
import shutil
import statistics
import subprocess

from runner.report import size_text, sizes_text
from runner.results import number

HERE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "plots")

# Okabe and Ito's colours, told apart by colour-blind eyes too; the same allocator has the same colour everywhere.
LOOKS = {  # name: (colour, point type)
    "floor": ("#888888", -1), "lfma": ("#0072B2", 7), "lfma-core": ("#56B4E9", 6), "lfma-hardened": ("#005580", 9),
    "buddy-mutex": ("#D55E00", 5), "buddy-spin": ("#E69F00", 4), "mmap": ("#000000", 11), "malloc": ("#CC79A7", 13),
    "mimalloc": ("#009E73", 8), "jemalloc": ("#8B4513", 10), "tcmalloc": ("#B8A800", 12), "tbb": ("#7A5195", 3),
}
OTHERS = [("#444444", 1), ("#777777", 2), ("#222222", 3)]


def _looks(names):
    spare = iter(OTHERS * 10)
    return [LOOKS[name] if name in LOOKS else next(spare) for name in names]


def _quote(text):
    return "'" + str(text).replace("'", "''") + "'"


class Drawer:
    def __init__(self, facts, folder):
        self.shown = folder
        self.folder = os.path.abspath(folder)  # gnuplot runs elsewhere
        self.facts = facts
        self.files = []
        self.problem = None

    def data(self, name, blocks):
        """Blocks that gnuplot tells apart by index: a list of (title, rows)."""
        path = os.path.join(self.folder, name + ".dat")
        with open(path, "w", encoding="utf-8") as file:
            for title, rows in blocks:
                file.write("# %s\n" % title)
                for row in rows or [["NaN"] * 8]:
                    file.write("\t".join("NaN" if cell is None else str(cell) for cell in row) + "\n")
                file.write("\n\n")
        return path

    def plot(self, script, name, title, names, **settings):
        looks = _looks(names)
        machine = "%s, %s CPUs, Linux %s, commit %s" % (self.facts["CPU"], self.facts["CPUs usable"].split()[0],
                                                       self.facts["kernel"].split("-")[0], self.facts["commit"])
        variables = {"title_text": title, "machine": machine, "names": " ".join(names),
                     "colours": " ".join(look[0] for look in looks),
                     "points": " ".join(str(look[1]) for look in looks)}
        variables.update(settings)
        for kind in ("png", "svg"):
            output = os.path.join(self.folder, "%s.%s" % (name, kind))
            definitions = "; ".join("%s=%s" % (key, value if isinstance(value, (int, float)) else _quote(value))
                                    for key, value in {**variables, "kind": kind, "output_file": output}.items())
            done = subprocess.run(["gnuplot", "-e", definitions, "-c", os.path.join(HERE, script)], cwd=HERE,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            if done.returncode != 0:
                self.problem = "gnuplot: %s: %s" % (script, done.stdout.decode("utf-8", "replace").strip()[-400:])
                return
            self.files.append(os.path.join(self.shown, os.path.basename(output)))


def _scaling(table, drawer):
    points = table.points("consumer-scaling")
    panels = list(dict.fromkeys((p.size_min, p.size_max) for p in points))[:2]
    if not points:
        return
    names = list(dict.fromkeys(a for p in points for a in table.allocators(p)))
    files, titles, ns_max = [], [], 10
    for panel in panels:
        here = sorted((p for p in points if (p.size_min, p.size_max) == panel), key=lambda p: p.consumers)
        blocks = []
        for name in names:
            spreads = [(p.consumers, table.spread(p, name, "ns_per_pair")) for p in here]
            blocks.append((name, [(c, s.median, s.min, s.max) for c, s in spreads if s]))
            ns_max = max([ns_max] + [s.max for _, s in spreads if s])
        files.append(drawer.data("scaling-%d" % len(files), blocks))
        titles.append(sizes_text(here[0]))
    ticks = ",".join(str(c) for c in sorted({p.consumers for p in points}))
    drawer.plot("scaling.gp", "scaling", "One producer allocates, many consumers free", names,
                ticks=ticks, ns_max=ns_max, panels=len(files), file_1=files[0],
                file_2=files[-1], panel_1=titles[0], panel_2=titles[-1])
    _latency(table, drawer, points, names)


def _latency(table, drawer, points, names):
    most = max(p.consumers for p in points)
    point = next(p for p in points if p.consumers == most)
    steps = [("p50", "p50"), ("p99", "p99"), ("p999", "p99.9"), ("p9999", "p99.99"), ("max", "max")]
    files = []
    for side in ("alloc", "free"):
        blocks = []
        for name in names:
            spreads = [table.spread(point, name, "%s_%s" % (side, column)) for column, _ in steps]
            blocks.append((name, [(i, max(1, s.median), max(1, s.min), max(1, s.max))
                                  for i, s in enumerate(spreads) if s]))
        if not any(rows for _, rows in blocks):
            return
        files.append(drawer.data("latency-" + side, blocks))
    drawer.plot("latency.gp", "latency", "Tail latency, %d consumers, %s" % (most, sizes_text(point)), names,
                file_1=files[0], file_2=files[1])


def _aging(table, drawer):
    series = table.table("series")
    for workload, sizes in (("aging-log", "log-uniform"), ("aging-uniform", "uniform")):
        rows = [row for row in series if row["workload"] == workload]
        fills = sorted({int(row["fill_percent"]) for row in rows})[-4:]
        if not fills:
            continue
        names = list(dict.fromkeys(row["allocator"] for row in rows))
        turn = min(int(row["round"]) for row in rows)
        least = min([1 << 20] + [int(row["largest_free_bytes"]) for row in rows if row["largest_free_bytes"] != "0"])
        settings = {"bytes_min": least // 2}
        for number_of_panel, fill in enumerate(fills, 1):
            here = [r for r in rows if int(r["fill_percent"]) == fill and int(r["round"]) == turn]
            blocks = [(name, [(int(r["operation"]), max(1, int(r["largest_free_bytes"])))
                              for r in here if r["allocator"] == name]) for name in names]
            settings["file_%d" % number_of_panel] = drawer.data("%s-%d" % (workload, fill), blocks)
            settings["panel_%d" % number_of_panel] = "filled to %d %%" % fill
        drawer.plot("aging.gp", workload, "Largest free aligned block over time, sizes %s in %s … %s" % (
            sizes, size_text(1), size_text(4 << 20)), names, panels=len(fills), **settings)


def _coalesce(table, drawer):
    rows = [row for row in table.table("coalesce") if row["budget_ns"]]
    variants = list(dict.fromkeys(row["workload"] for row in rows))
    if not rows:
        return
    name = "lfma" if any(row["allocator"] == "lfma" for row in rows) else rows[0]["allocator"]
    files, joins = [], []
    for variant in variants[:2]:
        mine = [row for row in rows if row["workload"] == variant and row["allocator"] == name]
        lines = []
        for budget in sorted({int(row["budget_ns"]) for row in mine}):
            here = [row for row in mine if int(row["budget_ns"]) == budget]
            over = [row for row in here if row["overrun_max"] != ""]
            cells = [max(1, statistics.median(number(row[column]) for row in over)) if over else None
                     for column in ("overrun_p50", "overrun_p999", "overrun_max")]
            worst = max(1, max(number(row["overrun_max"]) for row in over)) if over else None
            rate = statistics.median(number(row["pages_joined_per_us"]) for row in here)
            lines.append((budget, *cells, worst, rate))
        files.append(drawer.data(variant, [(variant, lines)]))
        joins.append([statistics.median(number(row[c]) for row in mine) for c in ("join_p50", "join_max")])
    drawer.plot("coalesce.gp", "coalesce", "Coalescing: time beyond the budget, and work done", [name],
                panels=len(files), file_1=files[0], file_2=files[-1],
                panel_1=variants[0], panel_2=variants[len(files) - 1],
                join_p50_1=joins[0][0], join_max_1=joins[0][1], join_p50_2=joins[-1][0], join_max_2=joins[-1][1])


def draw(table, facts, folder):
    """The files drawn, and what kept others from it (or None)."""
    if shutil.which("gnuplot") is None:
        return [], "gnuplot is not installed: no plots"
    os.makedirs(folder, exist_ok=True)
    drawer = Drawer(facts, folder)
    for figure in (_scaling, _aging, _coalesce):
        figure(table, drawer)
    return drawer.files, drawer.problem
