# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# The phases of `tools/dev test`. Sourced by tools/dev; tools/count_tests.py does the counting.

: "${root:?is set by tools/dev}"

phases=("${flavours[@]}")

# The suites of a phase; nothing means every suite there is.
phase_suites() {
    case $1 in
        release-gcc) echo ;;
        debug-*) echo unit model fuzz ;;
        tsan) echo stress ;;
        asan) echo unit model stress fuzz ;;
    esac
}

logs() { echo "$root/build/test-logs"; }

# record FLAVOUR NAME RESULT: a line in the form of meson's logs, for what meson does not count.
record() {
    printf '{"name": "%s", "result": "%s", "stdout": ""}\n' "$2" "$3" >>"$(logs)/$1.json"
}

# The thread sanitizer dies at start where address randomisation is too wide for it: sets run_as to run without it.
find_tsan_way() {
    local dir
    run_as=()
    dir=$(mktemp -d)
    echo 'int main(void) { return 0; }' >"$dir/p.c"
    if ! "$(gcc_name)" -fsanitize=thread -o "$dir/p" "$dir/p.c" 2>/dev/null; then
        run_as=(false)
    elif ! "$dir/p" 2>/dev/null; then
        run_as=(setarch "$(uname -m)" -R)
    fi
    if ((${#run_as[@]})) && ! "${run_as[@]}" "$dir/p" 2>/dev/null; then
        rm -rf "$dir"
        return 1
    fi
    rm -rf "$dir"
}

# Criterion drops what a test writes, so the sanitizers write their reports to files; each one is a failure.
run_meson_test() {
    local flavour=$1 dir=$root/build/$1 reports=$root/build/$1/reports
    shift
    rm -rf "$reports"
    mkdir -p "$reports"
    rm -f "$dir/meson-logs/lfma.json" "$dir/meson-logs/lfma.txt" "$dir/meson-logs/lfma.junit.xml"
    local scale=1
    [[ $flavour == tsan || $flavour == asan || $flavour == cross-* ]] && scale=5
    ASAN_OPTIONS=detect_stack_use_after_return=1:log_path=$reports/asan \
        UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1:log_path=$reports/ubsan \
        TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:history_size=7:log_path=$reports/tsan \
        "${run_as[@]}" meson test -C "$dir" --no-rebuild --logbase lfma --timeout-multiplier "$scale" "$@" \
        >"$dir/meson-test.log" 2>&1
}

collect_results() {
    local flavour=$1 status=$2 dir=$root/build/$1 report
    [[ -f $dir/meson-logs/lfma.json ]] && cat "$dir/meson-logs/lfma.json" >>"$(logs)/$flavour.json"
    for report in "$dir"/reports/*; do
        [[ -e $report ]] || continue
        record "$flavour" "sanitizer report ${report##*/}" FAIL
        printf '%s\n' "$report:"
        head -n 40 "$report"
    done
    if [[ ! -s $(logs)/$flavour.json && $status == 0 ]]; then
        say "$flavour: has no test in these suites"
        [[ -n $named_suites ]] || record "$flavour" "no test at all" FAIL
        return 0
    fi
    # meson can fail without a test that does: that is a failure too.
    if ((status != 0)) && python3 tools/count_tests.py --quiet "$(logs)/$flavour.json"; then
        record "$flavour" "meson test (exit status $status)" FAIL
        tail -n 20 "$dir/meson-test.log"
    fi
    return 0
}

# run_phase FLAVOUR [SUITE …]: one flavour built and tested; the results land in build/test-logs/FLAVOUR.json.
run_phase() {
    local flavour=$1 start=$SECONDS status=0 suite counts
    shift
    local -a arguments=()
    for suite in "$@"; do arguments+=(--suite "$suite"); done
    run_as=()
    if [[ $flavour == debug-clang ]] && ! has clang; then
        say "$flavour: skipped, there is no clang"
        record "$flavour" "clang is not installed" SKIP
        return 0
    fi
    if [[ $flavour == tsan ]] && ! find_tsan_way; then
        say "$flavour: skipped, the thread sanitizer does not run on this machine"
        record "$flavour" "the thread sanitizer does not run here" SKIP
        return 0
    fi
    if ! timed "$flavour: built" build_flavour "$flavour"; then
        record "$flavour" "build" FAIL
        return 0
    fi
    : >"$(logs)/$flavour.json"
    start=$SECONDS
    run_meson_test "$flavour" "${arguments[@]}" || status=$?
    collect_results "$flavour" "$status"
    counts=$(python3 tools/count_tests.py --failures "$(logs)/$flavour.json") || true
    say "$flavour: ${*:-every suite}: $counts, $((SECONDS - start)) s"
}

fuzz_seconds=30

# The fuzzer for a while, from the committed inputs; one test, which fails if it finds something.
run_fuzz_phase() {
    local name="$fuzz_seconds s of fuzzing" result=OK
    if ! has libfuzzer; then
        say "fuzz: skipped, there is no clang with libFuzzer"
        record fuzz "$name: clang has no libFuzzer" SKIP
        return 0
    fi
    if ! timed "fuzz: built" build_fuzzer; then
        record fuzz "build" FAIL
        return 0
    fi
    python3 tools/fuzz.py --program build/fuzz/tests/fuzz/fuzz_arena --seconds "$fuzz_seconds" --fresh \
        >"$(logs)/fuzz.log" 2>&1 || result=FAIL
    record fuzz "$name" "$result"
    say "fuzz: $(tail -n 1 "$(logs)/fuzz.log")"
    [[ $result == OK ]] || cat "$(logs)/fuzz.log"
    return 0
}

# Every memory order of the core one step weaker, each of which the explorer must catch; one test.
run_mutants_phase() {
    local result=OK
    python3 tools/mutants.py --skip-known >"$(logs)/mutants.log" 2>&1 || result=FAIL
    record mutants "the core's order mutants" "$result"
    say "mutants: $(tail -n 1 "$(logs)/mutants.log")"
    [[ $result == OK ]] || grep -v '^caught' "$(logs)/mutants.log"
    return 0
}

# The suites asked for that a phase has. Prints nothing if it has none of them.
common_suites() {
    local phase=$1 suite has_suites
    shift
    has_suites=$(phase_suites "$phase")
    for suite in "$@"; do
        [[ -z $has_suites || " $has_suites " == *" $suite "* ]] && echo "$suite"
    done
    return 0
}

start_logs() {
    rm -rf "$(logs)"
    mkdir -p "$(logs)"
}

finish_logs() { python3 tools/count_tests.py "$(logs)"/*.json; }

run_tests() {
    local quick=$1 phase
    shift
    named_suites=$*
    local -a todo=("${phases[@]}") suites
    if [[ $quick == yes ]]; then
        todo=(release-gcc)
        export LFMA_TEST_QUICK=1
    fi
    need cc meson ninja pkg-config python3 ck criterion -- c++ clang libfuzzer cc-aarch64
    start_logs
    for phase in "${todo[@]}"; do
        if (($#)); then
            mapfile -t suites < <(common_suites "$phase" "$@")
            ((${#suites[@]})) || continue
        else
            read -ra suites <<<"$(phase_suites "$phase")"
        fi
        run_phase "$phase" "${suites[@]}"
    done
    [[ $quick == no && (-z $named_suites || " $named_suites " == *" fuzz "*) ]] && run_fuzz_phase
    [[ $quick == no && (-z $named_suites || " $named_suites " == *" mutants "*) ]] && run_mutants_phase
    finish_logs
}

# tools/dev san: one flavour, the suites named or its own.
run_flavour_tests() {
    local flavour=$1
    shift
    local -a suites=("$@")
    named_suites=$*
    ((${#suites[@]})) || read -ra suites <<<"$(phase_suites "$flavour")"
    need cc meson ninja pkg-config python3 ck criterion
    start_logs
    run_phase "$flavour" "${suites[@]}"
    finish_logs
}
