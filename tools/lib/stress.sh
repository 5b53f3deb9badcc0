# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# `tools/dev stress`: the stress programs, for longer than CI has time for. Sourced by tools/dev.

: "${root:?is set by tools/dev}"

# build_stress FLAVOUR: the stress programs alone.
build_stress() {
    local -a targets=()
    local file
    for file in tests/stress/*.c; do targets+=("tests/stress_$(basename "$file" .c)"); done
    targets+=(tests/stress_{game_one,game_tt,long_run}_giving_way)
    timed "$1: built" build_flavour "$1" "${targets[@]}" || die "$1 does not build"
}

# run_stress TSAN ARGUMENT …: with TSAN=yes under the thread sanitizer too.
run_stress() {
    local tsan=$1
    local -a more=()
    shift
    need cc meson ninja pkg-config python3 ck criterion
    build_stress release-gcc
    if [[ $tsan == yes ]]; then
        find_tsan_way || die "the thread sanitizer does not run on this machine"
        build_stress tsan
        more=(--tsan "$root/build/tsan/tests" --tsan-prefix "${run_as[*]}")
    fi
    TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:history_size=7 \
        python3 tools/stress.py "${more[@]}" --figures "$root/build/verification/stress.json" \
        --commit "$(commit_name)" "$@" "$root/build/release-gcc/tests"
}
