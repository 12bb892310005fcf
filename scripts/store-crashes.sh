#!/usr/bin/env bash
# Images of a store whose power failed, each opened, checked and compared with what was committed: `tests/crash.rs`, in
# several processes with seeds of their own. The test is copied first, so that later builds do not disturb it.
#
#   scripts/store-crashes.sh [IMAGES [PROCESSES]]     a million, in two processes
set -euo pipefail
cd "$(dirname "$0")/.."

images=${1:-1000000}
processes=${2:-2}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

test=$(cargo test --release -p lath-store --test crash --no-run --message-format=json |
    sed -n 's/.*"executable":"\([^"]*\/crash-[^"]*\)".*/\1/p')
cp "$test" "$folder/crash"

pids=()
for ((process = 1; process <= processes; process++)); do
    LATH_IMAGES=$(((images + processes - 1) / processes)) \
        "$folder/crash" --nocapture >"$folder/$process.log" 2>&1 &
    pids+=($!)
done
failed=0
for process in "${!pids[@]}"; do
    wait "${pids[$process]}" || failed=1
    cat "$folder/$((process + 1)).log"
done
exit $failed
