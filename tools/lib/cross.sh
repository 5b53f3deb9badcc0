# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# `tools/dev cross`: the library and its tests for other processors, run under qemu. Sourced by tools/dev.

: "${root:?is set by tools/dev}"

# shellcheck disable=SC2034 # of tools/dev
cross_targets=(aarch64 armhf i386)

# cross_words TARGET: Debian's name of the architecture, the compiler's prefix, qemu's name, meson's family
cross_words() {
    case $1 in
        aarch64) echo arm64 aarch64-linux-gnu aarch64 aarch64 ;;
        armhf) echo armhf arm-linux-gnueabihf arm arm ;;
        i386) echo i386 i686-linux-gnu i386 x86 ;;
    esac
}

# This machine's own mirror and release of Debian, as a line of sources.list.
debian_source() {
    local codename
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME-}")
    apt-get indextargets --format "deb \$(REPO_URI) \$(CODENAME) main" "Created-By: Packages" "Origin: Debian" \
        "Component: main" "Codename: $codename" | head -n 1
}

# The target's C library, Concurrency Kit and Criterion, unpacked beside the build: nothing is installed, and the
# machine gets no second architecture, which would pin its C library to the other's version.
make_sysroot() {
    local debian=$1 sysroot=$2 source
    [[ -f $sysroot/complete ]] && return 0
    rm -rf "$sysroot"
    source=$(debian_source)
    [[ -n $source ]] || source="deb http://deb.debian.org/debian stable main"
    quietly "$root/build/cross-sysroot.log" mmdebstrap --variant=extract --architectures="$debian" \
        --include=libc6-dev,libck-dev,libcriterion-dev "$(cut -d' ' -f3 <<<"$source")" "$sysroot" "$source" ||
        return 1
    : >"$sysroot/complete"
}

# cross_file TARGET DIR SYSROOT: DIR/cross.ini, and DIR/run, which runs a program of the target (meson's exe_wrapper:
# one word, as tests/support/emulator.c wants it). A 32-bit target has no sysroot but its compiler's own.
cross_file() {
    local target=$1 dir=$2 sysroot=$3 triple qemu family
    read -r _ triple qemu family <<<"$(cross_words "$target")"
    mkdir -p "$dir"
    printf '#!/bin/sh\nexec qemu-%s -L %q "$@"\n' "$qemu" "${sysroot:-/usr/$triple}" >"$dir/run"
    chmod +x "$dir/run"
    cat >"$dir/cross.ini" <<INI
[constants]
sysroot = '$sysroot'
arguments = $([[ -n $sysroot ]] && echo "['--sysroot=' + sysroot]" || echo '[]')
[binaries]
c = '$triple-gcc'
ar = '$triple-ar'
strip = '$triple-strip'
pkgconfig = 'pkg-config'
exe_wrapper = '$dir/run'
[built-in options]
c_args = arguments
c_link_args = arguments
[properties]
needs_exe_wrapper = true
sys_root = sysroot
pkg_config_libdir = [sysroot / 'usr/lib/$triple/pkgconfig', sysroot / 'usr/share/pkgconfig']
[host_machine]
system = 'linux'
cpu_family = '$family'
cpu = '$target'
endian = 'little'
INI
}

# Which of meson's tests, "lfma:SUITE / NAME" a line, run under qemu: not those that need minutes, or no processor.
cross_tests() {
    if [[ $1 == yes ]]; then
        sed -nE 's/^lfma:(unit|model) \/ //p' | grep -vx placement
    else
        sed -nE 's/^lfma:(unit|model|stress) \/ //p; s/^lfma:explore \/ (explore weak, deeper)$/\1/p'
    fi
}

# A 64-bit target, which must pass.
cross_test() {
    local target=$1 quick=$2 dir=$root/build/cross-$1 flavour=cross-$1 sysroot=$root/build/sysroot-$1 status=0
    local -a tests
    make_sysroot "$(cross_words "$target" | cut -d' ' -f1)" "$sysroot" || return 1
    if [[ ! -f $dir/build.ninja ]]; then
        cross_file "$target" "$dir" "$sysroot"
        quietly "$root/build/$flavour-setup.log" meson setup "$dir" "$root" --cross-file "$dir/cross.ini" \
            -Dbuildtype=release -Dwerror=true -Dbench=false || return 1
    fi
    timed "$flavour: built" quietly "$root/build/$flavour-build.log" nice ninja -C "$dir" || return 1
    mapfile -t tests < <(meson test -C "$dir" --list 2>/dev/null | cross_tests "$quick")
    # shellcheck disable=SC2034 # of run_meson_test
    run_as=()
    : >"$(logs)/$flavour.json"
    run_meson_test "$flavour" "${tests[@]}" || status=$?
    collect_results "$flavour" "$status"
}

# A 32-bit target: meson refuses it, and so do the compilers, by the message that is meant.
cross_refusal() {
    local target=$1 dir=$root/build/cross-$1 log=$root/build/cross-$1-setup.log flavour=cross-$1
    rm -rf "$dir"
    cross_file "$target" "$dir" ''
    if meson setup "$dir" "$root" --cross-file "$dir/cross.ini" >"$log" 2>&1 ||
        ! grep -q 'ERROR: Problem encountered: LFMA needs a 64-bit target' "$log"; then
        record "$flavour" "meson refuses it" FAIL
        tail -n 5 "$log"
    else
        record "$flavour" "meson refuses it" OK
    fi
    if python3 tests/rules/check_targets.py --root "$root"; then
        record "$flavour" "the compilers refuse it" OK
    else
        record "$flavour" "the compilers refuse it" FAIL
    fi
}

cross_figures() {
    local seconds=$1
    mkdir -p build/verification
    python3 - "$seconds" "$(logs)" >build/verification/cross.json <<'PYTHON'
import json, pathlib, re, subprocess, sys

def git(*words):
    return subprocess.run(["git", *words], capture_output=True, text=True, check=False).stdout.strip()

logs = pathlib.Path(sys.argv[2])
dirty = "-dirty" if git("status", "--porcelain") else ""
figures = {"commit": git("rev-parse", "--short", "HEAD") + dirty,
           "seconds": int(sys.argv[1])}
for log in sorted(logs.glob("cross-*.json")):
    said = subprocess.run([sys.executable, "tools/count_tests.py", str(log)], capture_output=True, text=True,
                          check=False).stdout
    passed, failed = map(int, re.findall(r"(\d+) (?:passed|failed)", said.splitlines()[-1])[:2])
    target = log.stem.removeprefix("cross-")
    if target == "aarch64":
        figures |= {"aarch64_tests_passed": passed, "aarch64_failed": failed}
    else:
        figures[target] = "refused" if failed == 0 else "not refused as it should be"
if (logs / "audit.json").exists():
    figures |= json.loads(pathlib.Path("build/audit.json").read_text())
print(json.dumps(figures, indent=2))
PYTHON
    say "build/verification/cross.json"
}

run_cross() {
    local quick=$1 target start=$SECONDS compiler
    shift
    local -a tools=()
    # shellcheck disable=SC2034 # of collect_results
    named_suites=cross
    for target in "$@"; do
        [[ $target == "$(uname -m)" ]] && die "this is an $target machine: tools/dev test"
        compiler=cc-$target
        tools+=("$compiler" "qemu-$(cross_words "$target" | cut -d' ' -f3)")
        [[ $target == aarch64 ]] && tools+=(mmdebstrap)
    done
    need cc meson ninja pkg-config python3 "${tools[@]}" -- clang
    start_logs
    say "under qemu on $(uname -m): logic only; this machine's memory order is the one that shows, not the target's"
    for target in "$@"; do
        case $target in
            aarch64) cross_test "$target" "$quick" || record "cross-$target" build FAIL ;;
            *) cross_refusal "$target" ;;
        esac
        say "$target: $(python3 tools/count_tests.py --failures "$(logs)/cross-$target.json" || true)"
    done
    if [[ " $* " == *" aarch64 "* && $quick == no ]]; then
        if python3 tests/rules/audit_aarch64.py --root "$root" --json "$root/build/audit.json"; then
            record audit "aarch64 code" OK
        else
            record audit "aarch64 code" FAIL
        fi
    fi
    cross_figures $((SECONDS - start))
    finish_logs
}
