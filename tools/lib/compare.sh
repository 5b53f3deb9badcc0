# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# `tools/dev compare`: the benchmark programs of two commits. Sourced by tools/dev.

: "${root:?is set by tools/dev}"

# The sources of a commit, once: a commit does not change.
unpack_commit() {
    local commit=$1 dir=$2
    [[ -d $dir ]] && return 0
    rm -rf "$dir.part"
    mkdir -p "$dir.part"
    git archive "$commit" | tar -x -C "$dir.part" && mv "$dir.part" "$dir"
}

# build_worker DIRECTORY: the benchmark program alone, as `bench` has it. Warnings are no errors: a commit may be
# older than the compiler.
build_worker() {
    configure "$1/release" "$1/sources" "$(flavour_cc release-gcc)" -Dbuildtype=release -Dtests=false &&
        quietly "$1/build.log" ninja -C "$1/release" bench/lfma-bench
}

# Adds a commit to `workers` and `names`.
add_commit() {
    local commit dir
    commit=$(git rev-parse --verify --quiet --short=12 "$1^{commit}") || die "no commit is called '$1'"
    dir=$root/build/compare/$commit
    unpack_commit "$commit" "$dir/sources" || die "cannot unpack $commit"
    [[ -f $dir/sources/bench/meson.build ]] || die "$1 has no benchmarks yet"
    timed "$commit: built" build_worker "$dir" || die "$1 does not build"
    workers+=("$dir/release/bench/lfma-bench")
    names+=("$(git log -1 --format='%h %s' "$commit")")
}

add_working_tree() {
    timed "the working tree: built" build_flavour release-gcc bench/lfma-bench ||
        die "the working tree does not build"
    workers+=("$root/build/release-gcc/bench/lfma-bench")
    names+=("the working tree ($(commit_name))")
}

# build_comparison OLD [NEW]: fills `workers` and `names`, the older one first.
build_comparison() {
    need cc meson ninja pkg-config python3 ck git -- criterion
    add_commit "$1"
    if (($# > 1)); then add_commit "$2"; else add_working_tree; fi
}

# run_compare ARGUMENT …: those of the command.
run_compare() {
    local -a commits=() options=() workloads=() workers=() names=()
    while (($#)); do
        case $1 in
            --)
                workloads=("${@:2}")
                break
                ;;
            --quick | --no-pin | --*=*) options+=("$1") ;;
            --rounds | --consumers | --threads | --fills | --pairs | --allocators | --out)
                (($# > 1)) || die "$1 needs a value; see tools/dev compare --help"
                options+=("$1" "$2")
                shift
                ;;
            -*) die "no option '$1'; see tools/dev compare --help" ;;
            *) commits+=("$1") ;;
        esac
        shift
    done
    ((${#commits[@]} == 1 || ${#commits[@]} == 2)) || die "compare OLD [NEW]; see tools/dev compare --help"
    build_comparison "${commits[@]}"
    cd "${caller:?is set by tools/dev}" || exit 2
    exec python3 "$root/bench/compare.py" --old "${workers[0]}" --old-name "${names[0]}" \
        --new "${workers[1]}" --new-name "${names[1]}" "${options[@]}" -- "${workloads[@]}"
}
