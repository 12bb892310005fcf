"""Has pyarrow, DuckDB and polars read folders that COPY … PARTITIONED BY wrote, and compares the values with those that were written.

    partitions.py LATH

LATH is the command. Values are such that folders, readers or file systems may take them for something else. pyarrow and polars read the text
__HIVE_DEFAULT_PARTITION__ as null, however its name is encoded. Prints one line a reader and fault; exits with 1 if there are faults.
"""

import pathlib
import subprocess
import sys
import tempfile

import duckdb
import polars as pl
import pyarrow.dataset as pads

NULL = "__HIVE_DEFAULT_PARTITION__"
TEXTS = ["a", "", "01", "-5", "1e3", "true", "2020-01-01", "2020-01-01 00:00:00", " x", "x ", "a/b", "a\\b", "k=v", "100%", "%41", "é", ".", "..",
         "*?[x]", "NULL", "\t", NULL, None]
# pyarrow takes numbers of more than 32 bits for text.
NUMBERS = [0, -1, 2**31 - 1, -(2**31), None]


def written(lath, folder, key, values):
    literal = lambda value: "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value)
    rows = ", ".join(f"({row}, {literal(value)})" for row, value in enumerate(values))
    copy = f"COPY (SELECT * FROM (VALUES {rows}) AS t(id, \"{key}\")) TO '{folder}' PARTITIONED BY (\"{key}\")"
    subprocess.run([lath, "sql", copy], check=True, capture_output=True)


def read_pyarrow(folder, key):
    table = pads.dataset(folder, partitioning="hive").to_table()
    return dict(zip(table["id"].to_pylist(), table[key].to_pylist()))


def read_duckdb(folder, key):
    with duckdb.connect() as connection:
        return dict(connection.execute(f"FROM read_parquet('{folder}/*/*.parquet', hive_partitioning = true)").fetchall())


def read_polars(folder, key):
    return dict(pl.scan_parquet(folder, hive_partitioning=True).collect().rows())


def main():
    lath, faults = sys.argv[1], 0
    for key in ["p", "_p", "a b"]:
        for values in [TEXTS, NUMBERS]:
            with tempfile.TemporaryDirectory() as folder:
                folder = pathlib.Path(folder) / "out"
                written(lath, folder, key, values)
                for read in [read_pyarrow, read_duckdb, read_polars]:
                    is_lost = lambda value: value == NULL and read is not read_duckdb
                    expected = {row: None if is_lost(value) else value for row, value in enumerate(values)}
                    found = read(folder, key)
                    if found != expected:
                        faults += 1
                        differences = {row: (expected.get(row), found.get(row)) for row in {*expected, *found} if expected.get(row) != found.get(row)}
                        print(f"partitions: {read.__name__} of {key!r}: {differences}")
    print(f"partitions: {faults} faults")
    sys.exit(1 if faults else 0)


main()
