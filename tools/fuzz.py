#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run the fuzzer on the free processors for some time, from the committed inputs, and say what came of it.

Exit status: 0, or 1 when it has found something; then the input that shows it is kept in build/fuzz/found, and named.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / "build" / "fuzz"
COMMITTED = ROOT / "tests" / "fuzz" / "corpus"
INPUT_BYTES_MAX = 1024
LONG_BYTES = 512
CHOSEN_NAME = re.compile(r"^[0-9a-f]{12}\.bin$")  # others were put there by hand, each for a fault, and stay
SECONDS_AN_INPUT_MAX = 60  # then it is hung; the slowest takes a tenth of one
ENVIRONMENT = {
    "ASAN_OPTIONS": "quarantine_size_mb=32:detect_stack_use_after_return=1",
    "UBSAN_OPTIONS": "halt_on_error=1:abort_on_error=1:print_stacktrace=1",
}
REASON = re.compile(r"^(fuzz: operation .*|.*runtime error: .*|.*Assertion .* failed.*|==\d+==ERROR: .*|ALARM: .*)$",
                    re.MULTILINE)


def environment():
    return {**os.environ, **ENVIRONMENT}


def free_processors():
    processors = len(os.sched_getaffinity(0))
    return max(1, min(processors, round(processors - os.getloadavg()[0] + 0.5)))


def start(program, corpus, found, log, seconds):
    command = [program, f"-max_total_time={seconds}", f"-max_len={INPUT_BYTES_MAX}", "-len_control=0", "-reload=1",
               f"-timeout={SECONDS_AN_INPUT_MAX}", f"-artifact_prefix={found}/", "-print_final_stats=1", corpus]
    with open(log, "wb") as output:
        return subprocess.Popen(command, stdout=output, stderr=output, stdin=subprocess.DEVNULL, env=environment())


def wait(workers):
    """Until all have ended, or one of them badly: that ends the others. Returns whether all ended well."""
    while any(worker.poll() is None for worker in workers):
        if any(worker.poll() for worker in workers):
            for worker in workers:
                worker.terminate()
        time.sleep(0.2)
    return all(worker.returncode == 0 for worker in workers)


def last_number(pattern, text):
    numbers = re.findall(pattern, text, re.MULTILINE)
    return int(numbers[-1]) if numbers else 0


def coverage(program, corpus, log):
    """The branches that a corpus reaches, of how many."""
    with open(log, "wb") as output:
        subprocess.run([program, "-runs=0", f"-max_len={INPUT_BYTES_MAX}", corpus], stdout=output, stderr=output,
                       env=environment(), check=True)
    text = log.read_text(errors="replace")
    return last_number(r"\bcov: (\d+)", text), last_number(r"\((\d+) inline 8-bit counters\)", text)


def commit():
    def git(*words):
        return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=False).stdout.strip()
    return git("rev-parse", "--short", "HEAD") + ("-dirty" if git("status", "--porcelain") else "")


def seed_corpus(corpus, fresh):
    if fresh:
        shutil.rmtree(corpus, ignore_errors=True)
    corpus.mkdir(parents=True, exist_ok=True)
    for path in sorted(COMMITTED.iterdir()):
        shutil.copyfile(path, corpus / path.name)


def commit_corpus(program, corpus, log):
    """Choose the committed inputs anew: few that reach every branch that all inputs together reach."""
    chosen, long = HOME / "chosen", HOME / "long"
    for folder in (chosen, long):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
    for path in (*corpus.iterdir(), *COMMITTED.iterdir()):
        if path.stat().st_size >= LONG_BYTES:
            shutil.copyfile(path, long / path.name)
    # The long ones first, of which few are needed, then what they lack. Without counters: what is merged is branches,
    # not how often each is taken.
    for sources in ([long], [corpus, COMMITTED]):
        with open(log, "wb") as output:
            subprocess.run([program, "-merge=1", "-use_counters=0", f"-max_len={INPUT_BYTES_MAX}", chosen, *sources],
                           stdout=output, stderr=output, env=environment(), check=True)
    for path in COMMITTED.iterdir():
        if CHOSEN_NAME.match(path.name):
            path.unlink()
    for path in chosen.iterdir():
        shutil.copyfile(path, COMMITTED / f"{path.name[:12]}.bin")
    files = list(COMMITTED.iterdir())
    size = sum(path.stat().st_size for path in files)
    print(f"{len(files)} inputs of {size} bytes are now in {COMMITTED.relative_to(ROOT)}")
    return 0


def report_find(logs, new):
    for log in logs:
        for reason in REASON.findall(log.read_text(errors="replace"))[:3]:
            print(f"   {reason}")
    for path in new:
        name = path.relative_to(ROOT)
        print(f"FOUND {name}\n   its operations: tools/dev fuzz --replay {name}")
    if not new:
        print(f"FOUND something without an input that shows it: see {logs[0].parent}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--workers", type=int,
                        default=free_processors(), help="default: as many as there are free processors")
    parser.add_argument("--fresh", action="store_true", help="from the committed inputs alone")
    parser.add_argument("--figures", type=Path, help="write them to this file too, as JSON")
    parser.add_argument("--corpus", action="store_true", help="choose the committed inputs anew, and do nothing else")
    arguments = parser.parse_args()
    if arguments.seconds < 1 or arguments.workers < 1:
        parser.error("at least one second, and one worker")

    found, corpus = HOME / "found", HOME / ("corpus-fresh" if arguments.fresh else "corpus")
    found.mkdir(parents=True, exist_ok=True)
    if arguments.corpus:
        return commit_corpus(arguments.program, corpus, HOME / "merge.log")
    seed_corpus(corpus, arguments.fresh)
    before = set(found.iterdir())
    logs = [HOME / f"worker-{i}.log" for i in range(arguments.workers)]
    began = time.monotonic()
    workers = [start(arguments.program, corpus, found, log, arguments.seconds) for log in logs]
    try:
        went_well = wait(workers)
    except KeyboardInterrupt:
        for worker in workers:
            worker.terminate()
        raise
    seconds = time.monotonic() - began

    new = sorted(set(found.iterdir()) - before)
    texts = [log.read_text(errors="replace") for log in logs]
    executions = sum(last_number(r"^#(\d+)", text) for text in texts)
    edges, edges_total = coverage(arguments.program, corpus, HOME / "coverage.log") if went_well else (0, 0)
    figures = {
        "commit": commit(),
        "seconds": round(seconds),
        "workers": arguments.workers,
        "executions": executions,
        "operations": sum(last_number(r"^fuzz: \d+ inputs, (\d+) operations", text) for text in texts),
        "executions_per_second": round(executions / seconds),
        "edges": edges,
        "edges_total": edges_total,
        "corpus_files": len(list(corpus.iterdir())),
        "corpus_committed": len(list(COMMITTED.iterdir())),
        "crashes": len(new) if went_well else max(1, len(new)),
    }
    if not went_well:
        report_find(logs, new)
    print(f"{executions} sequences of {figures['operations']} operations in {seconds:.0f} s by {arguments.workers} "
          f"workers, {figures['executions_per_second']} a second; {edges} of {edges_total} branches of the library "
          "(among the others: the sanitizers' own checks); "
          f"{figures['corpus_files']} inputs in the corpus; {figures['crashes']} crashes")
    if arguments.figures:
        arguments.figures.parent.mkdir(parents=True, exist_ok=True)
        arguments.figures.write_text(json.dumps(figures, indent=2) + "\n")
    return 0 if went_well else 1


if __name__ == "__main__":
    sys.exit(main())
