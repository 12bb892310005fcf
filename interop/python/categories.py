"""Has pyarrow read categories back from files that the command wrote with each profile.

    categories.py LATH

The categories are few, or as many as rows, which no dictionary holds: pyarrow makes a dictionary of a column only where it knows the
encoding of both. Prints one line a fault; exits with 1 if there are faults.
"""

import pathlib
import random
import subprocess
import sys
import tempfile

import pyarrow as pa
import pyarrow.parquet as pq

ROWS = 20_000
PROFILES = ["compatible", "compact", "lookup"]


def columns(chance):
    few = [chance.choice(["red", "green", "blue", None]) for _ in range(ROWS)]
    many = [f"a long value that nothing else has, number {chance.random()}" for _ in range(ROWS)]
    codes = pa.int32()
    return {
        "few": pa.array(few).dictionary_encode(),
        "many": pa.array(many).dictionary_encode(),
        "mixed": pa.array(few[: ROWS // 2] + many[ROWS // 2 :]).dictionary_encode(),
        "bytes": pa.array([text.encode() for text in many]).dictionary_encode(),
        "ordered": pa.DictionaryArray.from_arrays(pa.array([row % 3 for row in range(ROWS)], codes), ["c", "a", "b"], ordered=True),
        "text": pa.array(many),
    }


def main(lath):
    table = pa.table(columns(random.Random(11)))
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        source, target = pathlib.Path(folder, "source.parquet"), pathlib.Path(folder, "target.parquet")
        pq.write_table(table, source)
        for profile in PROFILES:
            subprocess.run([lath, "rewrite", source, "-o", target, "--profile", profile, "--force"], check=True, capture_output=True)
            try:
                found = pq.read_table(target)
            except (pa.ArrowException, OSError) as error:
                found, what = None, str(error)
            else:
                what = "another table" if found.schema.types != table.schema.types or found.to_pylist() != table.to_pylist() else ""
                for name in ("few", "ordered"):
                    if not what and found[name].chunk(0).dictionary != table[name].chunk(0).dictionary:
                        what = f"categories of {name} in another order"
            if what:
                faults += 1
                print(f"categories: pyarrow {pa.__version__}, profile {profile}: {what}")
    print(f"categories: {len(PROFILES)} profiles, {faults} faults")
    return faults > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
