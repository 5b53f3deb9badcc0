# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Flavours: one build directory each, a function of meson's options. Sourced by tools/dev.

: "${root:?is set by tools/dev}"

flavours=(release-gcc debug-gcc debug-clang tsan asan)
special_flavours=(fuzz cover) # built only when named

is_flavour() { [[ " ${flavours[*]} ${special_flavours[*]} " == *" $1 "* ]]; }

flavour_text() {
    case $1 in
        release-gcc) echo "what users get; warnings are errors" ;;
        debug-gcc) echo "internal assertions on; warnings are errors" ;;
        debug-clang) echo "the same, by the second compiler" ;;
        tsan) echo "thread sanitizer, assertions on" ;;
        asan) echo "address and undefined-behaviour sanitizers, assertions on" ;;
        fuzz) echo "the same by clang, and libFuzzer's counters in the library; not in \`all\`" ;;
        cover) echo "counts lines and branches; assertions off, so that their branches do not count" ;;
    esac
}

# gcc if it is there; else whatever the machine calls cc.
gcc_name() {
    if [[ -n ${CC-} ]]; then echo "$CC"; elif command -v gcc >/dev/null; then echo gcc; else echo cc; fi
}

flavour_cc() {
    case $1 in
        debug-clang | fuzz) echo clang ;;
        cover) echo gcc ;; # gcov reads what gcc writes
        *) gcc_name ;;
    esac
}

flavour_options() {
    case $1 in
        release-*) echo -Dbuildtype=release -Dwerror=true ;;
        debug-*) echo -Dbuildtype=debug -Dwerror=true ;;
        # Warnings are no errors here: gcc's sanitizers make it warn of things that are not there.
        tsan) echo -Dbuildtype=debugoptimized -Db_sanitize=thread -Db_lundef=false ;;
        asan) echo -Dbuildtype=debugoptimized -Db_sanitize=address,undefined -Db_lundef=false ;;
        fuzz) echo -Dbuildtype=debugoptimized -Db_sanitize=address,undefined -Db_lundef=false -Dfuzz=true ;;
        # Inline functions that nobody calls are there too, to be seen as not covered.
        cover) echo -Dbuildtype=debug -Doptimization=0 -Db_ndebug=true -Db_coverage=true -Dwerror=true -Dbench=false \
            -Dc_args=-fkeep-inline-functions ;;
    esac
    # Without Criterion there are no tests, without Concurrency Kit neither tests nor benchmarks.
    has criterion && has ck || echo -Dtests=false
    has ck || [[ $1 == cover ]] || echo -Dbench=false
}

need_for_flavours() {
    local -a required=(cc meson ninja pkg-config python3)
    [[ " $* " == *" debug-clang "* ]] && required+=(clang)
    [[ " $* " == *" fuzz "* ]] && required+=(clang libfuzzer)
    need "${required[@]}" -- ck criterion
}

# quietly LOG COMMAND …: the output goes to LOG, and its end to the terminal if the command fails.
quietly() {
    local log=$1
    shift
    "$@" >"$log" 2>&1 && return 0
    printf '%s\n' "failed: $*" "the end of $log:"
    tail -n 40 "$log"
    return 1
}

# timed WORDS COMMAND …: prints WORDS with the time, if the command succeeds.
timed() {
    local words=$1 start=$SECONDS
    shift
    "$@" || return 1
    say "$words, $((SECONDS - start)) s"
}

# configure DIRECTORY SOURCES COMPILER OPTION …: once, and anew when the compiler or the options change.
configure() {
    local dir=$1 sources=$2 cc=$3 stamp
    shift 3
    stamp="$cc $*"
    [[ -f $dir/build.ninja && -f $dir/lfma-options && $(<"$dir/lfma-options") == "$stamp" ]] && return 0
    rm -rf "$dir"
    mkdir -p "$(dirname "$dir")"
    CC=$cc quietly "$dir-setup.log" meson setup "$dir" "$sources" "$@" || return 1
    printf '%s\n' "$stamp" >"$dir/lfma-options"
}

configure_flavour() {
    local -a options
    read -ra options <<<"$(flavour_options "$1" | tr '\n' ' ')"
    configure "$root/build/$1" "$root" "$(flavour_cc "$1")" "${options[@]}"
}

# build_flavour FLAVOUR [TARGET …]
build_flavour() {
    local flavour=$1
    shift
    configure_flavour "$flavour" && quietly "$root/build/$flavour-build.log" ninja -C "$root/build/$flavour" "$@"
}

# What is built of the flavour fuzz.
build_fuzzer() { build_flavour fuzz tests/fuzz/fuzz_arena tests/fuzz/replay; }
