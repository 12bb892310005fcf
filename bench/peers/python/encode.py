"""Writes a table from memory as a Parquet file with one writer, again and again, and prints one line of JSON.

    encode.py WRITER CODEC SOURCE OUT THREADS REPETITIONS

SOURCE is read into the writer's own form of a table first; CODEC is none, snappy or zstd (level 1).
"""

import json
import os
import sys
import time

writer, codec, source, out, threads, repetitions = sys.argv[1:5] + [int(argument) for argument in sys.argv[5:7]]

# polars reads this when it is imported.
os.environ["POLARS_MAX_THREADS"] = str(threads)


def pyarrow():
    import pyarrow as pa
    import pyarrow.parquet as pq

    pa.set_cpu_count(threads)
    table = pq.read_table(source)
    level = 1 if codec == "zstd" else None

    def encode():
        pq.write_table(table, out, compression=codec, compression_level=level, row_group_size=1 << 20)

    return encode, table.num_rows, pa.__version__


def duckdb():
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"SET threads = {threads}")
    connection.execute(f"CREATE TABLE source AS SELECT * FROM read_parquet('{source}')")
    rows = connection.execute("SELECT count(*) FROM source").fetchone()[0]
    name = "uncompressed" if codec == "none" else codec
    level = ", COMPRESSION_LEVEL 1" if codec == "zstd" else ""

    def encode():
        connection.execute(f"COPY source TO '{out}' (FORMAT parquet, COMPRESSION {name}{level})")

    return encode, rows, duckdb.__version__


def polars():
    import polars

    frame = polars.read_parquet(source)
    name = "uncompressed" if codec == "none" else codec
    level = 1 if codec == "zstd" else None

    def encode():
        frame.write_parquet(out, compression=name, compression_level=level)

    return encode, frame.height, polars.__version__


encode, rows, version = {"pyarrow": pyarrow, "duckdb": duckdb, "polars": polars}[writer]()
seconds, cpu_seconds = [], []
for _ in range(repetitions):
    start, cpu_start = time.perf_counter(), time.process_time()
    encode()
    seconds.append(time.perf_counter() - start)
    cpu_seconds.append(time.process_time() - cpu_start)
print(json.dumps({"version": version, "rows": rows, "seconds": seconds, "cpu_seconds": cpu_seconds}))
