# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# `tools/dev cover`: the deterministic suites, measured line by line. Sourced by tools/dev.

: "${root:?is set by tools/dev}"

cover_strict=(bitmap zone) # rooms that must be covered whole

# Inline functions of headers are merged over all units: gcovr adds up counts by file and line. The explorer has the
# library in it too, with assertions on: their branches are not the library's.
cover_measure() {
    local dir=$1
    quietly "$dir/gcovr.log" gcovr --root "$root" --object-directory "$dir" --gcov-executable gcov \
        --filter "$root/lfma/" --exclude-directories '.*explore.*' --json "$dir/coverage.json" \
        --html-details "$dir/html/index.html" --html-title LFMA "$dir"
}

run_cover() {
    local dir=$root/build/cover start=$SECONDS strict room
    local -a arguments=()
    need cc meson ninja pkg-config python3 ck criterion gcovr
    configure_flavour cover || die "cover cannot be configured"
    find "$dir" -name '*.gcda' -delete
    mkdir -p "$dir/html"
    # meson builds what these suites need, and no more.
    quietly "$dir/meson-test.log" meson test -C "$dir" --suite unit --suite model --timeout-multiplier 5 ||
        die "a test fails under coverage"
    cover_measure "$dir" || die "gcovr fails"
    for room in "${cover_strict[@]}"; do arguments+=(--strict "$room"); done
    strict=0
    python3 tools/cover_report.py --root "$root" "${arguments[@]}" --figures "$root/build/verification/cover.json" \
        --commit "$(commit_name)" --seconds "$((SECONDS - start))" "$dir/coverage.json" || strict=1
    say "each line: build/cover/html/index.html"
    return $strict
}
