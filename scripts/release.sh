#!/usr/bin/env bash
# Builds a release below the target folder, in archives/: per target an archive of the command, one of liblath, and the wheels of both Python
# packages; then a list of the packages inside (SBOM, CycloneDX) and SHA256SUMS.
#
#   scripts/release.sh [--target TARGET]… [command] [library] [wheels]      all three, for this machine, if none is named
#
# Targets: x86_64-unknown-linux-gnu and aarch64-unknown-linux-gnu, for glibc 2.17 and later. Every command is tried, on the processor or under
# qemu-aarch64. Needs python3 (zig, cargo-zigbuild and maturin come from PyPI), objcopy, and for another target `rustup target add TARGET`.
# macOS and Windows need a machine of their own: cargo build --profile dist, maturin build, crates/capi/install.
set -euo pipefail
cd "$(dirname "$0")/.."

targets=() parts=()
while (($#)); do
    case $1 in
        --target) targets+=("$2") && shift ;;
        command | library | wheels) parts+=("$1") ;;
        *) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" && exit 2 ;;
    esac
    shift
done
((${#targets[@]})) || targets=("$(uname -m)-unknown-linux-gnu")
((${#parts[@]})) || parts=(command library wheels)

export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
environment=$(scripts/python-environment.sh scripts/release-requirements.txt)
export PATH=$environment/bin:$PATH
glibc=2.17
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
# Not dist/, where Cargo keeps what the profile compiles for this machine. Archives of other targets stay, those of other versions do not.
dist=$CARGO_TARGET_DIR/archives
mkdir -p "$dist"
find "$dist" -type f ! -name "*-$version[-.]*" -delete

# The command and lath_sql are compiled alike, so that they share DataFusion: half an hour of processor time.
traced=(CARGO_PROFILE_DIST_DEBUG=line-tables-only CARGO_PROFILE_DIST_STRIP=none)

# lath-VERSION-TARGET.tar.gz; its debug information is in a second archive. Backtraces have line numbers if lath.debug lies beside the command.
command_archive() {
    local target=$1 name=lath-$version-$1
    env "${traced[@]}" cargo zigbuild --profile dist --package lath-cli --target "$target.$glibc"
    local built=$CARGO_TARGET_DIR/$target/dist/lath folder=$dist/$name objcopy=objcopy
    [[ $target == "$(uname -m)"-* ]] || objcopy=${target%%-*}-linux-gnu-objcopy
    mkdir -p "$folder"
    "$objcopy" --only-keep-debug --compress-debug-sections "$built" "$folder/lath.debug"
    "$objcopy" --strip-all --add-gnu-debuglink="$folder/lath.debug" "$built" "$folder/lath"
    try_command "$target" "$folder/lath"
    tar -czf "$dist/$name-debug.tar.gz" -C "$folder" lath.debug
    rm "$folder/lath.debug"
    cp LICENSE README.md CHANGELOG.md "$folder/"
    tar -czf "$dist/$name.tar.gz" -C "$dist" "$name"
    ls -l "$folder/lath"
    rm -r "$folder"
}

# Finds the rows that the README finds.
try_command() {
    local run=()
    if [[ $1 != "$(uname -m)"-* ]]; then
        if ! command -v "qemu-${1%%-*}" >/dev/null; then
            echo "NOT TRIED: the command for $1 needs qemu-${1%%-*}" >&2
            return
        fi
        run=("qemu-${1%%-*}" -L "/usr/${1%%-*}-linux-gnu")
    fi
    local rows
    rows=$("${run[@]}" "$2" find examples/data/trips --where "price > 12 AND rider.plan = 'by minute' AND note LIKE 'b%'" --format csv | tail -n +2 | wc -l)
    ((rows == 8)) || { echo "the command for $1 finds $rows rows instead of 8" >&2 && return 1; }
}

# liblath-VERSION-TARGET.tar.gz: what crates/capi/install installs.
library_archive() {
    local target=$1 name=liblath-$version-$1
    cargo zigbuild --profile dist --package lath-capi --target "$target.$glibc"
    LATH_BUILT=$CARGO_TARGET_DIR/$target/dist crates/capi/install "$dist/$name"
    # The archive is unpacked anywhere.
    sed -i 's|^prefix=.*|prefix=${pcfiledir}/../..|' "$dist/$name/lib/pkgconfig/lath.pc"
    tar -czf "$dist/$name.tar.gz" -C "$dist" "$name"
    rm -r "${dist:?}/$name"
}

wheels() {
    local wheel=(maturin build --zig --target "$1" --compatibility manylinux2014 --out "$dist" --manifest-path)
    "${wheel[@]}" crates/python/Cargo.toml
    env "${traced[@]}" "${wheel[@]}" crates/python-sql/Cargo.toml --strip
}

for target in "${targets[@]}"; do
    for part in "${parts[@]}"; do
        case $part in
            command) command_archive "$target" ;;
            library) library_archive "$target" ;;
            wheels) wheels "$target" ;;
        esac
    done
done
scripts/sbom.py >"$dist/lath-$version.cdx.json"
(cd "$dist" && sha256sum -- *.* >SHA256SUMS && ls -l)
