#!/usr/bin/env bash
# Images of a store or a keyed table whose power failed, each opened, checked and compared with what was committed: `crash.rs` in the
# crate's tests, in several processes with seeds of their own. The test is copied first, so that later builds do not disturb it.
#
#   scripts/crashes.sh store [IMAGES [PROCESSES]]     a million, in two processes
#   scripts/crashes.sh table [IMAGES [PROCESSES]]     three hundred thousand, in two processes
set -euo pipefail
cd "$(dirname "$0")/.."

case ${1:-} in
    store) images=1000000 chunk=20000 ;;
    table) images=300000 chunk=5000 ;;
    *) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2; exit 2 ;;
esac
crate=$1
images=${2:-$images}
processes=${3:-2}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

test=$(cargo test --release -p "lath-$crate" --test "$crate" --no-run --message-format=json |
    sed -n 's/.*"executable":"\([^"]*\/'"$crate"'-[^"]*\)".*/\1/p')
cp "$test" "$folder/crash"

export LATH_NEW_SEEDS=1

# So many at a time, each time from a new seed, so that a failure is soon told and soon repeated.
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
