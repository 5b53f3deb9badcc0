# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Figures of a verification run: one flat JSON object in build/verification. Sourced by tools/dev.

: "${root:?is set by tools/dev}"

# The commit that figures belong to.
commit_name() {
    local name
    name=$(git -C "$root" rev-parse --short HEAD 2>/dev/null) || name=unknown
    [[ -z $(git -C "$root" status --porcelain 2>/dev/null) ]] || name+=-dirty
    echo "$name"
}
