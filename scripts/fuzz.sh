#!/bin/sh
# Fuzzes every target, mutating from the seeds in fuzz/seeds/TARGET. The seeds alone are an ordinary test of
# lath-fuzz-targets. Needs a nightly toolchain; installs cargo-fuzz where it is missing.
#
#   scripts/fuzz.sh [SECONDS [TARGET…]]     20 seconds each, all targets; 0 seconds runs the seeds under libFuzzer
#   LATH_FUZZ=kernels scripts/fuzz.sh …     only the targets that do not go through the reader: those build in a
#                                           minute, where Arrow with sanitizers takes seven on two cores
set -eu
cd "$(dirname "$0")/.."

seconds=${1:-20}
[ $# -gt 0 ] && shift

if ! cargo +nightly --version >/dev/null 2>&1; then
    echo "fuzz: no nightly toolchain; rustup toolchain install nightly --profile minimal" >&2
    exit 1
fi
cargo fuzz --version >/dev/null 2>&1 || cargo install --locked cargo-fuzz

features=
targets=$(cargo +nightly fuzz list --fuzz-dir fuzz)
if [ "${LATH_FUZZ:-}" = kernels ]; then
    features=--no-default-features
    # A target of the reader says in fuzz/Cargo.toml that it requires that feature, three lines below its name.
    for reader in $(grep -B 6 '^required-features' fuzz/Cargo.toml | sed -n 's/^name = "\(.*\)"/\1/p'); do
        targets=$(echo "$targets" | grep -vx "$reader")
    done
fi
targets=${*:-$targets}
sanitizer=address
[ "$seconds" -gt 0 ] || sanitizer=none
# Built together, so that what the targets share compiles once.
cargo +nightly fuzz build --sanitizer $sanitizer $features --fuzz-dir fuzz

for target in $targets; do
    seeds=fuzz/seeds/$target
    [ -d "$seeds" ] || { echo "fuzz: no seeds for $target" >&2; exit 1; }
    corpus=fuzz/corpus/$target
    mkdir -p "$corpus"
    if [ "$seconds" -eq 0 ]; then
        limit=-runs=0
        set -- "$seeds"
    else
        limit=-max_total_time=$seconds
        set -- "$corpus" "$seeds"
    fi
    echo "fuzz: $target"
    cargo +nightly fuzz run --sanitizer $sanitizer $features --fuzz-dir fuzz "$target" "$@" -- \
        "$limit" -timeout=20 -rss_limit_mb=2500 -malloc_limit_mb=600 -max_len=16384 -verbosity=0
done
