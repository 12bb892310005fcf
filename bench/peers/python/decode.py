"""Decodes a whole Parquet file with one reader, again and again, and prints one line of JSON.

    decode.py READER FILE THREADS REPETITIONS
"""

import json
import os
import sys
import time

reader, path, threads, repetitions = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])

# polars reads this when it is imported.
os.environ["POLARS_MAX_THREADS"] = str(threads)


def pyarrow(batch_size, memory_map):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pa.set_cpu_count(threads)

    def decode():
        rows = 0
        with pq.ParquetFile(path, memory_map=memory_map) as file:
            for batch in file.iter_batches(batch_size=batch_size, use_threads=threads > 1):
                rows += batch.num_rows
        return rows

    return decode, pa.__version__


def duckdb():
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"SET threads = {threads}")
    connection.execute("SET preserve_insertion_order = false")

    def decode():
        # EXPLAIN ANALYZE runs the query and drops its rows; its JSON reports the number of rows of the scan.
        query = f"EXPLAIN (ANALYZE, FORMAT json) SELECT * FROM read_parquet('{path}')"
        return scanned(json.loads(connection.execute(query).fetchone()[1]))

    def scanned(node):
        rows = [scanned(child) for child in node.get("children", []) + node.get("operator", [])]
        return max(rows, default=node.get("rows_scanned", 0))

    return decode, duckdb.__version__


def polars():
    import polars

    def decode():
        rows = 0

        def count(batch):
            nonlocal rows
            rows += batch.height

        polars.scan_parquet(path).sink_batches(count, maintain_order=False, engine="streaming")
        return rows

    return decode, polars.__version__


# Several ways to use the same reader; the caller reports the best.
READERS = {
    "pyarrow": lambda: pyarrow(65_536, False),
    "pyarrow-16k": lambda: pyarrow(16_384, False),
    "pyarrow-1m": lambda: pyarrow(1 << 20, False),
    "pyarrow-mapped": lambda: pyarrow(65_536, True),
    "duckdb": duckdb,
    "polars": polars,
}

decode, version = READERS[reader]()
seconds, cpu_seconds = [], []
rows = 0
for _ in range(repetitions):
    start, cpu_start = time.perf_counter(), time.process_time()
    rows = decode()
    seconds.append(time.perf_counter() - start)
    cpu_seconds.append(time.process_time() - cpu_start)
print(json.dumps({"version": version, "rows": rows, "seconds": seconds, "cpu_seconds": cpu_seconds}))
