#!/usr/bin/env bash
# Runs the kernels' tests at the AVX-512 tier on an emulated processor, for machines whose own lacks it.
#
#   scripts/avx512-emulated.sh [TEST-NAME-FILTER…]
#
# Needs Rust, a C compiler, Python 3.9 or later with venv (installed with apt-get when missing and run as root) and PyPI.
# Emulated code runs one to two hundred times slower than code that runs here, so a filter helps.
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
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends python3-venv </dev/null
fi

if ! [[ -e $emulator/ready-0.4.0 ]]; then
    rm -rf "$emulator"
    python3 -m venv "$emulator"
    "$emulator/bin/pip" install --quiet --no-input --disable-pip-version-check --no-deps bochscpu-python==0.4.0
    touch "$emulator/ready-0.4.0"
fi
"${CC:-cc}" -O2 -shared -fPIC -o "$emulator/preload.so" scripts/avx512_emulator_preload.c -ldl

# Unoptimised test code would cost more to emulate than it saves to compile.
export RUSTFLAGS="-C target-feature=+crt-static" CARGO_PROFILE_DEV_OPT_LEVEL=2
program=$(cargo test -p lath-kernels --lib --no-run --target "$host" 2>&1 | tee /dev/stderr |
    sed -n 's/.*Executable.*(\(.*\))$/\1/p')
LD_PRELOAD=$emulator/preload.so LATH_TEST_TIER=avx512 \
    exec "$emulator/bin/python" scripts/avx512_emulator.py "$program" --test-threads=1 "$@"
