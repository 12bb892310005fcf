#!/usr/bin/env bash
# Builds the command as it is given to others: dist/lath below the target folder, and its debug information in
# dist/lath.debug. Backtraces and debuggers find that file where it lies beside the command. Needs objcopy.
set -euo pipefail
cd "$(dirname "$0")/.."

export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
# A folder of its own, so that ordinary release builds stay as they are.
built=$CARGO_TARGET_DIR/release-with-debug
cargo build --release --package lath-cli --target-dir "$built" \
    --config 'profile.release.debug="line-tables-only"' --config 'profile.release.strip="none"'
dist=$CARGO_TARGET_DIR/dist
mkdir -p "$dist"
objcopy --only-keep-debug --compress-debug-sections "$built/release/lath" "$dist/lath.debug"
objcopy --strip-debug --add-gnu-debuglink="$dist/lath.debug" "$built/release/lath" "$dist/lath"
ls -l "$dist/lath" "$dist/lath.debug"
