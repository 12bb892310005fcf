#!/usr/bin/env bash
# Makes the packages of all crates that are published, without compiling them, and looks into each: it has a licence, a readme and
# the metadata that a registry shows. Prints the crates in the order in which they have to be published.
#
#   scripts/packages.sh
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}

# Crates after all those that they depend on. Dependencies for development have no version and are left out of packages.
order=$(cargo metadata --format-version 1 --no-deps | python3 -c '
import json, sys
crates = {crate["name"]: crate for crate in json.load(sys.stdin)["packages"] if crate["publish"] is None}
needs = {name: [needed["name"] for needed in crate["dependencies"] if needed["kind"] is None and needed["name"] in crates]
         for name, crate in crates.items()}
order = []
def visit(name):
    if name not in order:
        for needed in sorted(needs[name]):
            visit(needed)
        order.append(name)
for name in sorted(crates):
    visit(name)
    crate = crates[name]
    lacks = [key for key in ("description", "license", "readme", "keywords", "categories", "rust_version") if not crate[key]]
    if not (crate["metadata"] or {}).get("docs", {}).get("rs"):
        lacks.append("package.metadata.docs.rs")
    if lacks:
        sys.exit(f"{name}: Cargo.toml lacks " + ", ".join(lacks))
print("\n".join(order))')

mapfile -t crates <<<"$order"
packages=()
for crate in "${crates[@]}"; do
    packages+=(--package "$crate")
done
cargo package --quiet --no-verify --allow-dirty "${packages[@]}"
for crate in "${crates[@]}"; do
    archive=$(ls -t "$CARGO_TARGET_DIR/package/$crate"-[0-9]*.crate | head -n 1)
    files=$(tar -tzf "$archive")
    for file in Cargo.toml LICENSE README.md src/lib.rs; do
        grep -q "^[^/]*/$file$" <<<"$files" || { echo "$crate: the package has no $file" >&2; exit 1; }
    done
    printf '%-15s %4d files, %7d bytes\n' "$crate" "$(wc -l <<<"$files")" "$(wc -c <"$archive")"
done
