"""Rewrites files with Lath, and says whether other readers find the same tables in them as before.

    rewrites.py LATH FOLDER

LATH is the command, FOLDER has Parquet files (as that of the parquet-testing collection), at any depth; `bad_data` is left out.
Each file is rewritten as it is and in each profile. A reader that cannot read a file before is not asked afterwards. Prints a
line for each file in which a reader finds other types or values, and one for each reader; exits with 1 if there are any.
"""

import pathlib
import subprocess
import sys
import tempfile

from check import READERS, compare, is_lacking

WAYS = {
    "plain": [],
    "anew": ["--row-group-rows", "1000000"],
    "compatible": ["--profile", "compatible"],
    "compact": ["--profile", "compact"],
    "lookup": ["--profile", "lookup"],
}

# Files that readers are not tried on, and why.
LEFT_OUT = {
    "large_string_map.brotli.parquet": "strings of 2 GiB, which take 12 GB of memory and minutes to compare",
}

# Files in which readers are expected to find other tables, and why.
EXPECTED = {
    "nation.dict-malformed.parquet": "a malformed dictionary page, which not every reader minds in every file",
    "repeated_no_annotation.parquet": "a footer that counts no rows, which is put right",
}


def outcome(read, path):
    """What a reader makes of a file, or why it does not."""
    try:
        return read(path), None
    except BaseException as error:  # polars panics with a BaseException
        if isinstance(error, KeyboardInterrupt):
            raise
        return None, str(error).splitlines()[0] if str(error) else type(error).__name__


def main(lath, folder):
    files = sorted(path for path in folder.rglob("*.parquet") if "bad_data" not in path.parts)
    if not files:
        sys.exit(f"rewrites.py: no files in {folder}")
    counts = {name: [0, 0] for name in READERS}
    with tempfile.TemporaryDirectory() as target:
        for path in files:
            name = path.relative_to(folder)
            if path.name in LEFT_OUT:
                print(f"{name}: left out: {LEFT_OUT[path.name]}")
                continue
            rewritten = {}
            for way, options in WAYS.items():
                output = pathlib.Path(target, f"{way}.parquet")
                command = [lath, "rewrite", path, "-o", output, "--quiet", "--force", *options]
                run = subprocess.run(command, capture_output=True, text=True)
                if run.returncode == 0:
                    rewritten[way] = output
                elif way == "plain":
                    print(f"{name}: not rewritten: {run.stderr.strip().splitlines()[0]}")
                else:
                    print(f"{name} ({way}): not rewritten: {run.stderr.strip().splitlines()[0]}")
            for reader, (_, read, same) in READERS.items():
                before, failure = outcome(read, path)
                if failure is not None:
                    continue
                for way, output in rewritten.items():
                    after, failure = outcome(read, output)
                    if failure is not None and is_lacking(failure):
                        print(f"{reader}: {name} ({way}): does not know the encoding: {failure}")
                        continue
                    is_same = failure is None and compare(same, after, before) is not False
                    if not is_same and path.name in EXPECTED:
                        print(f"{reader}: {name} ({way}): expected: {EXPECTED[path.name]}")
                        continue
                    counts[reader][not is_same] += 1
                    if not is_same:
                        print(f"{reader}: {name} ({way}): {failure or difference(before, after)}")
    for reader, (equal, other) in counts.items():
        print(f"{reader} {READERS[reader][0]}: {equal} equal, {other} not")
    return any(other for _, other in counts.values())


def difference(before, after):
    """In a few words."""
    types = getattr(before, "schema", None), getattr(after, "schema", None)
    if types[0] is None:
        types = before[0], after[0]
    return "other values" if types[0] == types[1] else f"{types[0]} became {types[1]}".replace("\n", "; ")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], pathlib.Path(sys.argv[2])))
