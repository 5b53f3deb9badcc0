#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run the stress programs for a share of the time each, and report operations and ns an operation.

The figures go to --figures only if every program ended well. Exit status: 0, or 1 if one did not.
"""
import argparse
import json
import re
import subprocess
import sys
import time
from pathlib import Path

# program: shares of the time
SHARES = {"game_one": 2, "game_one_giving_way": 2, "game_tt": 2, "game_tt_giving_way": 1, "long_run": 3,
          "long_run_giving_way": 1, "spmc": 1, "mpmc": 1, "relaxed_handover": 1, "double_free": 1, "threads_exit": 1,
          "signal": 1, "edges": 1, "hints": 1}
# In which nobody may ever be told NOMEM; by the last two only by time, for they are slow.
GAMES = ["game_one", "game_tt", "game_one_giving_way", "game_tt_giving_way"]
MIXED = "long_run"  # which ends by comparing its arenas with fresh ones
COUNTED = [*GAMES[:2], MIXED]
TOTAL = re.compile(r"^total: operations (\d+), seconds ([\d.]+)(?:, false_nomem (\d+))?$", re.MULTILINE)


def run(folder, name, length, prefix):
    """(operations, seconds, false NOMEMs), or None if the program failed or did not say."""
    command = [*prefix, str(folder / f"stress_{name}"), length]
    # A failure breaks the program; what it wrote says where, and has the seed.
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    total = TOTAL.search(done.stdout)
    if done.returncode != 0 or not total:
        print(f"{name}: FAILED, exit status {done.returncode}\n{done.stdout}{done.stderr}")
        return None
    return int(total.group(1)), float(total.group(2)), int(total.group(3) or 0)


def run_all(folder, minutes, operations, prefix):
    """Program → its result, of all programs."""
    results = {}
    print(f"{'':<22}{'operations':>14}{'seconds':>10}{'ns each':>10}   {folder.parent.name}", flush=True)
    for name, share in SHARES.items():
        length = f"{60 * minutes * share / sum(SHARES.values()):.2f}"
        if operations and name in COUNTED:
            length = f"{operations}ops"
        results[name] = run(folder, name, length, prefix)
        if results[name]:
            count, seconds, _ = results[name]
            print(f"{name:<22}{count:>14}{seconds:>10.1f}{1e9 * seconds / max(count, 1):>10.1f}", flush=True)
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=1, help="of each build, in all")
    parser.add_argument("--operations", type=int, default=0,
                        help="of both games and of the long run each, instead of a time")
    parser.add_argument("--tsan", type=Path, help="folder of the programs with the thread sanitizer")
    parser.add_argument("--tsan-prefix", default="", help="words before each of these")
    parser.add_argument("--figures", type=Path, required=True)
    parser.add_argument("--commit", default="")
    parser.add_argument("folder", type=Path, help="of the programs")
    parsed = parser.parse_args()
    if not 0 < parsed.minutes < 1e6 or parsed.operations < 0:
        parser.error("a time or a number of operations above 0")

    parsed.figures.unlink(missing_ok=True)
    start = time.monotonic()
    results = run_all(parsed.folder, parsed.minutes, parsed.operations, [])
    checked = run_all(parsed.tsan, parsed.minutes, 0, parsed.tsan_prefix.split()) if parsed.tsan else {}
    failed = [name for name, result in [*results.items(), *checked.items()] if not result]
    if failed:
        print(f"FAILED: {', '.join(failed)}")
        return 1

    figures = {"commit": parsed.commit, "seconds": round(time.monotonic() - start),
               "game_operations": sum(results[name][0] for name in GAMES),
               "false_nomem": sum(results[name][2] for name in GAMES),
               "mixed_operations": results[MIXED][0],
               "fresh_after": True,  # it ends well only if they are
               "tsan_seconds": round(sum(seconds for _, seconds, _ in checked.values()))}
    for name, (count, seconds, _) in results.items():
        figures[f"{name}_operations"] = count
        figures[f"{name}_ns"] = round(1e9 * seconds / max(count, 1), 1)
    parsed.figures.parent.mkdir(parents=True, exist_ok=True)
    parsed.figures.write_text(json.dumps(figures, indent=2) + "\n")
    print(f"{figures['game_operations']} operations of the games, {figures['false_nomem']} false NOMEM; "
          f"{figures['mixed_operations']} mixed operations, emptied arenas fresh; "
          f"{figures['tsan_seconds']} s under the thread sanitizer")
    return 0


if __name__ == "__main__":
    sys.exit(main())
