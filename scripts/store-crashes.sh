#!/usr/bin/env bash
# Images of a store whose power failed, each opened, checked and compared with what was committed: `tests/store/crash.rs`, in
# several processes with seeds of their own. The test is copied first, so that later builds do not disturb it.
#
#   scripts/store-crashes.sh [IMAGES [PROCESSES]]     a million, in two processes
set -euo pipefail
cd "$(dirname "$0")/.."

images=${1:-1000000}
processes=${2:-2}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

test=$(cargo test --release -p lath-store --test store --no-run --message-format=json |
    sed -n 's/.*"executable":"\([^"]*\/store-[^"]*\)".*/\1/p')
cp "$test" "$folder/crash"

# So many at a time, each time from a new seed, so that a failure is soon told and soon repeated.
chunk=20000
crash() {
    local left=$1
    while ((left > 0)); do
        LATH_IMAGES=$((left < chunk ? left : chunk)) "$folder/crash" --nocapture crash:: >"$folder/$2.log" 2>&1 || {
            cat "$folder/$2.log"
            return 1
        }
        left=$((left - chunk))
        echo "process $2: $(grep 'images in' "$folder/$2.log"), $((left > 0 ? left : 0)) left"
    done
}

pids=()
for ((process = 1; process <= processes; process++)); do
    crash $(((images + processes - 1) / processes)) "$process" &
    pids+=($!)
done
failed=0
for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
exit $failed
