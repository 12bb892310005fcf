#!/usr/bin/env bash
# Soaks the ordered store (examples/soak.rs: one writer, twelve readers, freed nodes overwritten) and runs the tests of its
# table of readers, of the store and against the model, under the thread and the address sanitizer. Any report is a failure.
# Needs a nightly toolchain with its sources: the standard library is compiled with the sanitizer too.
#
#   scripts/store-soak-sanitized.sh [SECONDS [SANITIZER…]]     120 seconds each, of: thread address
#
# What each of them sees: the thread sanitizer knows memory by its address, so that it sees all threads of one process, and
# the mapped file through the mapping of one handle; what another process, or a second mapping of the same file, does to the
# same page it does not see. `LOOM_MAX_PREEMPTIONS=4 just loom` goes through the orders of the readers' protocol, and
# tests/store/processes.rs through real processes. It knows no fences: where the protocol needs one (WF, RF in
# src/readers/protocol.rs), the sanitizer only sees what the acquires and releases around it order, which has to be enough for
# every byte that is read. The address sanitizer guards the heap and the stack, and no nodes within the mapped file: those
# are checked by slices' bounds, and what is freed is overwritten.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-120}
shift $(($# > 0 ? 1 : 0))
sanitizers=("$@")
[[ ${#sanitizers[@]} -gt 0 ]] || sanitizers=(thread address)

if ! rustup component list --toolchain nightly --installed 2>/dev/null | grep -q '^rust-src'; then
    echo "store-soak-sanitized: rustup toolchain install nightly --profile minimal --component rust-src" >&2
    exit 1
fi
target=$(rustc +nightly -vV | sed -n 's/^host: //p')
export TSAN_OPTIONS="halt_on_error=0 exitcode=66 history_size=4 ${TSAN_OPTIONS:-}"
export ASAN_OPTIONS="detect_leaks=1 ${ASAN_OPTIONS:-}"
# What a killed process held is never dropped, and neither is what those tests have in its place.
suppressions=$(mktemp)
trap 'rm -f "$suppressions"' EXIT
echo 'leak:readers::tests' >"$suppressions"
export LSAN_OPTIONS="suppressions=$suppressions print_suppressions=0 ${LSAN_OPTIONS:-}"

for sanitizer in "${sanitizers[@]}"; do
    # Code without the sanitizer would be linked in only by a mistake in these flags; nothing is: -Zbuild-std.
    export RUSTFLAGS="-Zsanitizer=$sanitizer -Cunsafe-allow-abi-mismatch=sanitizer"
    options=(--release --target "$target" -Zbuild-std -p lath-store --features poison)
    export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
    folder=$CARGO_TARGET_DIR/$sanitizer
    echo "== $sanitizer: soak"
    cargo +nightly build --quiet --target-dir "$folder" "${options[@]}" --example soak
    "$folder/$target/release/examples/soak" "$seconds"
    echo "== $sanitizer: tests"
    cargo +nightly test --quiet --target-dir "$folder" "${options[@]}" --lib -- readers space trie check
    cargo +nightly test --quiet --target-dir "$folder" "${options[@]}" --test store -- operations model check backup
done
