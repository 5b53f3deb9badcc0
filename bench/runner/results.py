# SPDX-License-Identifier: MIT
"""What came out: the rows of the common table, one a repetition, and the rows of the further tables."""
import collections
import csv
import os
import statistics

HEADER = ("workload,allocator,threads,consumers,size_min,size_max,pairs,round,ns_per_pair,ns_above_floor,"
          "alloc_p50,alloc_p99,alloc_p999,alloc_p9999,alloc_max,free_p50,free_p99,free_p999,free_p9999,free_max,"
          "failures,minor_faults,ctx_switches,peak_rss_kib").split(",")
LATENCIES = [name for name in HEADER if name.startswith(("alloc_", "free_"))]

Point = collections.namedtuple("Point", "workload threads consumers size_min size_max")
Spread = collections.namedtuple("Spread", "median min max")


def spread(values):
    values = list(values)
    return Spread(statistics.median(values), min(values), max(values)) if values else None


def number(text):
    """A cell as a number; None where nothing was measured."""
    return float(text) if text != "" else None


class Results:
    def __init__(self):
        self.rows = {}     # (point, allocator, round) -> dict; a speed and a latency pass share one
        self.tables = {}   # name -> (header, list of dicts)
        self.errors = []

    def add(self, job, lines):
        for line in lines:
            if not line.startswith("#"):
                self._add_line(job, line)
                continue
            name, _, rest = line[1:].partition(",")
            fields = rest.split(",")
            if name.endswith("-header"):
                self.tables.setdefault(name[:-len("-header")], (fields, []))
            else:
                header, rows = self.tables[name]
                if len(fields) != len(header):
                    self.errors.append("%s: a row of %s has %d fields, not %d" % (
                        job.title, name, len(fields), len(header)))
                    continue
                rows.append(dict(zip(header, fields)))

    def _add_line(self, job, line):
        fields = line.split(",")
        if len(fields) == len(HEADER):
            self._add_row(dict(zip(HEADER, fields)))
        else:
            self.errors.append("%s: a row has %d fields, not %d" % (job.title, len(fields), len(HEADER)))

    def _add_row(self, row):
        point = Point(row["workload"], *(int(row[name]) for name in Point._fields[1:]))
        key = (point, row["allocator"], int(row["round"]))
        if key not in self.rows:
            self.rows[key] = row
            return
        # The speed pass has the time, the faults and the failures; of the latency pass the percentiles are taken.
        speed, latency = (self.rows[key], row) if row["ns_per_pair"] == "" else (row, self.rows[key])
        for name in LATENCIES:
            if latency[name] != "":
                speed[name] = latency[name]
        self.rows[key] = speed

    def finish(self):
        """Fill ns_above_floor: against the floor's run of the same round."""
        for (point, _, turn), row in self.rows.items():
            floor = self.rows.get((point, "floor", turn))
            mine = number(row["ns_per_pair"])
            base = number(floor["ns_per_pair"]) if floor else None
            if mine is not None and base is not None:
                row["ns_above_floor"] = "%.3f" % (mine - base)

    def points(self, prefix=""):
        seen = dict.fromkeys(point for point, _, _ in self.rows if point.workload.startswith(prefix))
        return list(seen)

    def allocators(self, point):
        return list(dict.fromkeys(a for p, a, _ in self.rows if p == point))

    def values(self, point, allocator, column):
        """Round -> number, of the rounds in which it was measured."""
        cells = {turn: number(row[column])
                 for (p, a, turn), row in self.rows.items() if p == point and a == allocator}
        return {turn: value for turn, value in cells.items() if value is not None}

    def spread(self, point, allocator, column):
        return spread(self.values(point, allocator, column).values())

    def ratios(self, point, allocator, column, base):
        """How many times the base's figure, round by round."""
        mine, theirs = self.values(point, allocator, column), self.values(point, base, column)
        return [mine[turn] / theirs[turn] for turn in mine if theirs.get(turn, 0) > 0]

    def ratio(self, point, allocator, column, base="lfma"):
        return spread(self.ratios(point, allocator, column, base))

    def table(self, name):
        return self.tables.get(name, ([], []))[1]

    def write(self, out, csv_path):
        written = []
        path = csv_path or os.path.join(out, "results.csv")
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        self._write_csv(path, HEADER, self.rows.values(), written)
        for name, (header, rows) in self.tables.items():
            self._write_csv(os.path.join(out, name + ".csv"), header, rows, written)
        return written

    @staticmethod
    def _write_csv(path, header, rows, written):
        with open(path, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, header, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        written.append(path)
