#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# install.sh [SOURCE_ROOT]: installs LFMA into a temporary prefix and uses it as its users do. TAP on standard output.
set -uo pipefail

source_root=$(cd "${1:-$(dirname "${BASH_SOURCE[0]}")/../..}" && pwd)
here=$source_root/tests/install
cc=${CC:-cc}
cxx=${CXX:-c++}
unset DESTDIR CFLAGS CXXFLAGS LDFLAGS
warnings=(-Wall -Wextra -Wpedantic -Werror)

for tool in meson pkg-config readelf "$cc"; do
    command -v "${tool%% *}" >/dev/null || {
        echo "1..0 # SKIP no $tool"
        exit 77
    }
done

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
prefix=$scratch/prefix
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
log=$scratch/log

count=0
failed=0
# check NAME COMMAND …: one test case.
check() {
    local name=$1
    shift
    count=$((count + 1))
    if "$@" >"$log" 2>&1; then
        echo "ok $count - $name"
    else
        failed=$((failed + 1))
        echo "not ok $count - $name"
        tail -n 20 "$log" | sed 's/^/  /'
    fi
}
skip() {
    count=$((count + 1))
    echo "ok $count - $1 # SKIP $2"
}

# Without tests and benchmarks the project needs a C compiler alone.
install_library() {
    CC=$cc meson setup "$scratch/build" "$source_root" --prefix "$prefix" --libdir lib -Dbuildtype=release \
        -Dtests=false -Dbench=false && meson install -C "$scratch/build"
}

installed_headers() {
    local header
    for header in "$source_root"/include/lfma/*; do
        cmp "$header" "$prefix/include/lfma/$(basename "$header")" || return 1
    done
}

package_version() {
    local header=$source_root/include/lfma/version.h
    [[ $(pkg-config --modversion lfma) == "$(sed -n 's/.*LFMA_VERSION_STRING "\(.*\)"/\1/p' "$header")" ]]
}

# build_user LANGUAGE shared|static OUTPUT
build_user() {
    local language=$1 kind=$2 output=$3 compiler=$cc standard=c11
    local -a flags libs
    [[ $language == c++ ]] && compiler=$cxx standard=c++11
    if [[ $kind == static ]]; then
        read -ra libs <<<"-static $(pkg-config --static --libs lfma)"
    else
        read -ra libs <<<"$(pkg-config --libs lfma)"
    fi
    read -ra flags <<<"$(pkg-config --cflags lfma)"
    "$compiler" -x "$language" -std=$standard "${warnings[@]}" "${flags[@]}" "$here/user.c" -x none -o "$output" \
        "${libs[@]}"
}

needs_library() { readelf -d "$1" | grep -q 'NEEDED.*liblfma\.so\.'; }
needs_no_library() { ! needs_library "$1"; }
has_soname() { readelf -d "$prefix/lib/liblfma.so" | grep 'SONAME' | grep -qF '[liblfma.so.0]'; }
# The flag would make dlopen() fail in a program whose static TLS space is used up.
has_no_static_tls() { ! readelf -d "$prefix/lib/liblfma.so" | grep 'STATIC_TLS'; }
has_no_textrel() { ! readelf -d "$prefix/lib/liblfma.so" | grep 'TEXTREL'; }

build_plugin() {
    "$cc" -std=gnu11 "${warnings[@]}" "-I$prefix/include" -o "$scratch/plugin" "$here/plugin.c" \
        -pthread -ldl
}

# A project that has LFMA as a meson subproject and nothing installed.
make_subproject() {
    local project=$scratch/project
    mkdir -p "$project/subprojects/lfma"
    tar -C "$source_root" --exclude=./build --exclude='./build-*' --exclude=./.git --exclude=./out -cf - . |
        tar -C "$project/subprojects/lfma" -xf - || return 1
    cp "$here/user.c" "$project/"
    cat >"$project/meson.build" <<'MESON'
project('user', 'c', default_options: ['c_std=c11'])
lfma = dependency('lfma', fallback: 'lfma')
test('user', executable('user', 'user.c', dependencies: lfma))
MESON
    CC=$cc PKG_CONFIG_PATH='' meson setup "$project/build" "$project" --wrap-mode=forcefallback \
        -Dlfma:tests=false -Dlfma:bench=false && ninja -C "$project/build" && "$project/build/user"
}

echo "TAP version 13"
check "builds and installs without tests and benchmarks" install_library
check "every public header is installed" installed_headers
check "pkg-config knows the version" package_version
for language in c c++; do
    if [[ $language == c++ ]] && ! command -v "${cxx%% *}" >/dev/null; then
        skip "c++: a program against the installed library" "no C++ compiler"
        continue
    fi
    check "$language: builds against the shared library" build_user "$language" shared "$scratch/shared"
    check "$language: depends on liblfma.so" needs_library "$scratch/shared"
    check "$language: runs with the shared library" env LD_LIBRARY_PATH="$prefix/lib" "$scratch/shared"
    check "$language: builds against the static library" build_user "$language" static "$scratch/static"
    check "$language: does not depend on liblfma.so" needs_no_library "$scratch/static"
    check "$language: runs with the static library" "$scratch/static"
    rm -f "$scratch/shared" "$scratch/static"
done
check "the SONAME is liblfma.so.0" has_soname
check "no DF_STATIC_TLS" has_no_static_tls
check "no text relocations" has_no_textrel
check "a plug-in host builds" build_plugin
check "dlopen, use in a thread, dlclose before and after the thread ends" "$scratch/plugin" "$prefix/lib/liblfma.so.0"
check "works as a meson subproject" make_subproject
echo "1..$count"
((failed == 0))
