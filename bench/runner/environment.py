# SPDX-License-Identifier: MIT
"""What a figure depends on besides the code: written beside every result."""
import json
import os
import platform
import shlex
import subprocess
import time


def _read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def _output(command, folder=None):
    try:
        return subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=10,
                              check=True).stdout.decode("utf-8", "replace").strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def load_average():
    try:
        return "%.2f %.2f %.2f" % os.getloadavg()
    except OSError:
        return "unknown"


def _cpu_model():
    for line in _read("/proc/cpuinfo").splitlines():
        if line.split(":")[0].strip() in ("model name", "Model", "Hardware"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _commit():
    here = os.path.dirname(os.path.abspath(__file__))
    commit = _output(["git", "rev-parse", "--short=12", "HEAD"], here)
    if not commit:
        return "unknown"
    return commit + ("+changes" if _output(["git", "status", "--porcelain", "--untracked-files=no"], here) else "")


def compiler_of(worker):
    """The compiler and the flags of the library, as the build directory above the worker recorded them."""
    database = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(worker))), "compile_commands.json")
    try:
        entries = json.loads(_read(database) or "[]")
    except ValueError:
        entries = []
    for entry in entries:
        if entry.get("file", "").endswith("arena/alloc.c"):
            words = shlex.split(entry["command"])
            flags = [w for w in words[1:] if w.startswith(("-O", "-std", "-m", "-f", "-g", "-D"))
                     and not w.startswith("-fdiagnostics")]
            return _output([words[0], "--version"]).split("\n")[0] or words[0], " ".join(flags)
    return "unknown", "unknown"


def collect(worker, arguments):
    compiler, flags = compiler_of(worker)
    cpus = sorted(os.sched_getaffinity(0))
    memory = [line.split()[1] for line in _read("/proc/meminfo").splitlines() if line.startswith("MemTotal")]
    return {
        "date": time.strftime("%Y-%m-%d %H:%M:%S %z"),
        "command": " ".join(["run.py", *(shlex.quote(os.path.relpath(a) if os.path.isabs(a) else a)
                                         for a in arguments)]),
        "commit": _commit(),
        "CPU": _cpu_model(),
        "CPUs usable": "%d (%s)" % (len(cpus), ",".join(map(str, cpus))),
        "frequency governor": _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") or "unknown",
        "memory KiB": memory[0] if memory else "unknown",
        "kernel": platform.release() + " " + platform.machine(),
        "C library": " ".join(platform.libc_ver()),
        "transparent huge pages": _read("/sys/kernel/mm/transparent_hugepage/enabled") or "unknown",
        "compiler": compiler,
        "flags": flags,
        "clock source": _read("/sys/devices/system/clocksource/clocksource0/current_clocksource") or "unknown",
        "pinning": "off" if "--no-pin" in arguments or len(cpus) < 2 else
                   "producer on CPU %d, consumers on the others" % cpus[-1],
        "load average, before": load_average(),
    }


def write(facts, path):
    width = max(len(name) for name in facts)
    with open(path, "w", encoding="utf-8") as file:
        for name, value in facts.items():
            file.write("%-*s  %s\n" % (width, name, value))
    return path
