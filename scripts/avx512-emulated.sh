#!/usr/bin/env bash
# Runs the kernels' tests at the AVX-512 tier on an emulated processor, for machines whose own lacks it.
#
#   scripts/avx512-emulated.sh [TEST-NAME-FILTER…]
#
# Needs Rust, a C compiler, Python 3.9 or later with venv (installed with apt-get when missing and run as root) and PyPI.
# Emulated code runs one to two hundred times slower than code that runs here, so a filter helps, and lengths end at
# 1,025 values: longer ones do what these do more often. One test is one process, as many at a time as there are processors.
set -euo pipefail
cd "$(dirname "$0")/.."

target_dir=$(cargo metadata --format-version 1 --no-deps | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p')
emulator=$target_dir/avx512-emulator
host=$(rustc -vV | sed -n 's/^host: //p')

if [[ $host != x86_64-*-linux-* ]]; then
    echo "avx512-emulated.sh: runs on x86-64 Linux only, not on $host" >&2
    exit 2
fi
if ! python3 -c 'import ensurepip, venv' 2>/dev/null; then
    if [[ $(id -u) != 0 ]] || ! command -v apt-get >/dev/null; then
        echo "avx512-emulated.sh: install python3 with venv first (Debian: python3-venv)" >&2
        exit 2
    fi
    apt-get -o DPkg::Lock::Timeout=300 update -qq
    apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends python3-venv </dev/null
fi

if ! [[ -e $emulator/ready-0.4.0 ]]; then
    rm -rf "$emulator"
    python3 -m venv "$emulator"
    "$emulator/bin/pip" install --quiet --no-input --disable-pip-version-check --no-deps bochscpu-python==0.4.0
    touch "$emulator/ready-0.4.0"
fi
"${CC:-cc}" -O2 -shared -fPIC -o "$emulator/preload.so" scripts/avx512_emulator_preload.c -ldl

# Static, since the emulated machine has no files to load libraries from.
export RUSTFLAGS="-C target-feature=+crt-static"
# Less optimised test code would cost more to emulate than it saves to compile.
export CARGO_PROFILE_DEV_OPT_LEVEL=2
program=$(cargo test -p lath-kernels --lib --no-run --target "$host" 2>&1 >/dev/null | tee >(cat >&2) |
    sed -n 's/.*Executable.*(\(.*\))$/\1/p')

run_test() {
    local started=$SECONDS log
    if log=$(LD_PRELOAD=$emulator/preload.so LATH_TEST_TIER=avx512 LATH_TEST_LENGTHS=1025 \
        "$emulator/bin/python" scripts/avx512_emulator.py "$program" --test-threads=1 --exact "$1" 2>&1); then
        echo "ok      $((SECONDS - started)) s  $1"
    else
        printf 'FAILED  %s s  %s\n%s\n' "$((SECONDS - started))" "$1" "$log"
        return 1
    fi
}
export -f run_test
export emulator program

# Snappy has no tier of its own, and would take minutes here.
mapfile -t tests < <("$program" --list --format terse "$@" | sed -n 's/: test$//p' | grep -v '^snappy::')
if [[ ${#tests[@]} == 0 ]]; then
    echo "avx512-emulated.sh: no test matches $*" >&2
    exit 1
fi
printf '%s\0' "${tests[@]}" | xargs -0 -P "$(nproc)" -I{} bash -c 'run_test "$1"' run_test {}
echo "${#tests[@]} tests passed at the emulated AVX-512 tier"
