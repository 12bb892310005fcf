#!/usr/bin/env bash
# Runs the kernels' tests at the NEON tier: natively on AArch64, elsewhere under qemu's user-mode emulation.
#
#   scripts/neon.sh [TEST-NAME-FILTER…]
#
# Needs an AArch64 standard library, cross linker and qemu-aarch64. On Debian, as root, missing ones are installed: the
# distribution's `rustc-web` brings a compiler for which it also has AArch64 libraries, so that rustup's need not.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ $(uname -m) == aarch64 ]]; then
    exec cargo test -p lath-kernels --lib -- "$@"
fi

target=aarch64-unknown-linux-gnu
packages=(rustc-web libstd-rust-web-dev:arm64 gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user)
debian_rustc=/usr/bin/rustc

has_library() { "$1" --print target-libdir --target "$target" 2>/dev/null | xargs -I{} sh -c 'ls "{}"/libstd-*.rlib' >/dev/null 2>&1; }

if ! command -v qemu-aarch64 >/dev/null || ! command -v aarch64-linux-gnu-gcc >/dev/null ||
    ! { has_library rustc || { [[ -x $debian_rustc ]] && has_library "$debian_rustc"; }; }; then
    if [[ $(id -u) != 0 ]] || ! command -v apt-get >/dev/null; then
        echo "neon.sh: install ${packages[*]} first (Debian; or rustup target add $target, a cross gcc and qemu-user)" >&2
        exit 2
    fi
    dpkg --add-architecture arm64
    apt-get -o DPkg::Lock::Timeout=300 update -qq
    DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends "${packages[@]}" </dev/null
fi

has_library rustc || export RUSTC=$debian_rustc
# Static: dynamically linked programs hang at their first thread under qemu 7.2.
export RUSTFLAGS="-C target-feature=+crt-static"
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER=qemu-aarch64
exec cargo test --target "$target" -p lath-kernels --lib -- "$@"
