#!/usr/bin/env python3
"""Prints the packages that a release is made of, in CycloneDX 1.6: name, version, licence, source and checksum, and
their dependencies.

    scripts/sbom.py > lath.cdx.json
"""

import json
import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PUBLISHED = ("lath-cli", "lath-capi", "lath-python", "lath-python-sql")


def normal_dependencies(node):
    """Returns the packages that are compiled into a package, without the dependencies of its tests and build scripts."""
    return [dependency["pkg"] for dependency in node["deps"] if any(kind["kind"] is None for kind in dependency["dep_kinds"])]


def main():
    command = ["cargo", "metadata", "--format-version", "1", "--all-features", "--locked", "--filter-platform", "x86_64-unknown-linux-gnu"]
    metadata = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: normal_dependencies(node) for node in metadata["resolve"]["nodes"]}
    locked = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    checksums = {(package["name"], package["version"]): package.get("checksum") for package in locked}

    included, waiting = set(), [package for package in nodes if packages[package]["name"] in PUBLISHED]
    while waiting:
        package = waiting.pop()
        if package not in included:
            included.add(package)
            waiting += nodes[package]

    def reference(package):
        return f"pkg:cargo/{packages[package]['name']}@{packages[package]['version']}"

    def component(package):
        described = packages[package]
        checksum = checksums.get((described["name"], described["version"]))
        fields = {"type": "library", "bom-ref": reference(package), "name": described["name"], "version": described["version"],
                  "purl": reference(package)}
        if described["license"]:
            # Old packages separate alternatives by a slash.
            fields["licenses"] = [{"expression": described["license"].replace("/", " OR ")}]
        if checksum:
            fields["hashes"] = [{"alg": "SHA-256", "content": checksum}]
        if described["repository"]:
            fields["externalReferences"] = [{"type": "vcs", "url": described["repository"]}]
        return fields

    ordered = sorted(included, key=reference)
    version = next(packages[package]["version"] for package in ordered if packages[package]["name"] == "lath-cli")
    print(json.dumps({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "lath", "version": version}},
        "components": [component(package) for package in ordered],
        "dependencies": [{"ref": reference(package), "dependsOn": sorted({reference(used) for used in nodes[package]})} for package in ordered],
    }, indent=1))


if __name__ == "__main__":
    main()
