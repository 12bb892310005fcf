#!/usr/bin/env bash
# Makes a virtual environment of what a requirements file names, once, and prints its folder: below the target folder, so
# that all checkouts that compile there share it.
#
#   scripts/python-environment.sh REQUIREMENTS
set -euo pipefail
repository=$(cd "$(dirname "$0")/.." && pwd)
folder=${CARGO_TARGET_DIR:-$repository/target}/python/$(sha256sum <"$1" | cut -c 1-16)
if [[ ! -e $folder/ready ]]; then
    rm -rf "$folder"
    python3 -m venv "$folder" >&2
    "$folder/bin/pip" install --quiet --no-input --disable-pip-version-check --requirement "$1" >&2
    touch "$folder/ready"
fi
echo "$folder"
