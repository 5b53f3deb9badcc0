# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What the commands need, found by capability; what is missing is installed from Debian's packages.

# The version of clang that is there, or that Debian 12 has.
clang_major() { clang -dumpversion 2>/dev/null | grep -o '^[0-9]*' || echo 14; }

# The Debian packages that give a capability.
packages_of() {
    case $1 in
        cc) echo gcc libc6-dev ;;
        c++) echo g++ ;;
        ninja) echo ninja-build ;;
        ck) echo libck-dev ;;
        criterion) echo libcriterion-dev ;;
        libfuzzer) echo clang "libclang-rt-$(clang_major)-dev" ;;
        cc-aarch64) echo gcc-aarch64-linux-gnu libc6-dev-arm64-cross ;;
        cc-armhf) echo gcc-arm-linux-gnueabihf libc6-dev-armhf-cross ;;
        cc-i386) echo gcc-i686-linux-gnu libc6-dev-i386-cross ;;
        qemu-*) echo qemu-user ;;
        gnuplot) echo gnuplot-nox ;;
        mimalloc) echo libmimalloc2.0 ;;
        jemalloc) echo libjemalloc2 ;;
        tcmalloc) echo libtcmalloc-minimal4 ;;
        tbb) echo libtbbmalloc2 ;;
        *) echo "$1" ;; # clang, clang-format, meson, pkg-config, python3: named as their package
    esac
}

has_library() { [[ $(PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null) == *"$1.so"* ]]; }

# A compiler counts when it links a program: on a bare Debian, gcc comes without the headers of libc.
compiler_works() {
    local out status=0
    command -v "$1" >/dev/null || return 1
    out=$(mktemp)
    echo '#include <stdio.h>
int main(void) { return puts("") < 0; }' | "$1" -x "$2" -o "$out" - 2>/dev/null || status=1
    rm -f "$out"
    return $status
}

# libFuzzer with the sanitizers: is there what clang links?
fuzzer_works() {
    local out status=0
    command -v clang >/dev/null || return 1
    out=$(mktemp)
    echo 'int LLVMFuzzerTestOneInput(const char *data, unsigned long size) { return size > 9 ? data[9] & 0 : 0; }' |
        clang -fsanitize=fuzzer,address,undefined -x c -o "$out" - 2>/dev/null || status=1
    rm -f "$out"
    return $status
}

has() {
    case $1 in
        libfuzzer) fuzzer_works ;;
        cc) compiler_works "$(gcc_name)" c ;;
        c++) compiler_works g++ c++ || compiler_works clang++ c++ ;;
        clang) compiler_works clang c ;;
        cc-aarch64) [[ $(uname -m) == aarch64 ]] || compiler_works aarch64-linux-gnu-gcc c ;;
        cc-armhf) compiler_works arm-linux-gnueabihf-gcc c ;;
        cc-i386) compiler_works i686-linux-gnu-gcc c ;;
        ninja) command -v ninja >/dev/null || command -v samu >/dev/null ;;
        ck | criterion) command -v pkg-config >/dev/null && pkg-config --exists "$1" ;;
        mimalloc | jemalloc) has_library "lib$1" ;;
        tcmalloc) has_library libtcmalloc_minimal || has_library libtcmalloc ;;
        tbb) has_library libtbbmalloc ;;
        *) command -v "$1" >/dev/null ;;
    esac
}

# The rivals, among those that Debian packages, in the value of `bench --allocators`.
rivals_of() {
    local rival
    for rival in mimalloc jemalloc tcmalloc tbb; do
        [[ $1 == all || ,$1, == *,$rival,* ]] && echo "$rival"
    done
    return 0
}

# Sets as_root to the words that run a command as root; fails if there is no way.
find_root() {
    as_root=()
    ((EUID == 0)) && return 0
    command -v sudo >/dev/null && sudo -n true 2>/dev/null || return 1
    as_root=(sudo -n)
}

apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq "$@" </dev/null >build/apt.log 2>&1; }
apt_install() { apt install -y --no-install-recommends "$@"; }

install_packages() {
    local package
    if [[ -n ${LFMA_DEV_NO_INSTALL-} ]] || ! command -v apt-get >/dev/null || ! find_root; then
        say "missing, and not installed from here (no apt-get, no root, or told not to): $*"
        return 0
    fi
    say "installing: $*"
    mkdir -p build
    apt update || warn "apt-get update failed: see build/apt.log"
    apt_install "$@" && return 0
    # One of them cannot be had here: that must not keep the others away.
    for package in "$@"; do
        apt_install "$package" || warn "cannot install $package: $(tail -n 1 build/apt.log)"
    done
}

# need REQUIRED … [-- WANTED …]: installs what is missing; dies if something required is still missing then.
need() {
    local -a required=() wanted=() packages=() lost=() more
    local capability to=required
    for capability in "$@"; do
        if [[ $capability == -- ]]; then to=wanted; elif [[ $to == required ]]; then
            required+=("$capability")
        else wanted+=("$capability"); fi
    done
    for capability in "${required[@]}" "${wanted[@]}"; do
        has "$capability" && continue
        read -ra more <<<"$(packages_of "$capability")"
        packages+=("${more[@]}")
    done
    ((${#packages[@]})) || return 0
    install_packages "${packages[@]}"
    for capability in "${wanted[@]}"; do
        has "$capability" || warn "going on without $capability (Debian: $(packages_of "$capability"))"
    done
    for capability in "${required[@]}"; do
        has "$capability" || lost+=("$capability (Debian: $(packages_of "$capability"))")
    done
    ((${#lost[@]} == 0)) || die "required, but missing: $(printf '%s; ' "${lost[@]}")nothing was done"
}
