"""Finds rows with one engine, again and again, and prints one line of JSON.

    find.py ENGINE needles FOLDER THREADS    one list of keys in hexadecimal to a line of standard input: a query each
    find.py ENGINE shipmodes FILE THREADS REPETITIONS

An answer is a number: the sum of the ids found (needles), the rows counted (shipmodes).
"""

import json
import os
import sys
import time

engine, work, place, threads = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])

# polars reads this when it is imported.
os.environ["POLARS_MAX_THREADS"] = str(threads)

SHIPMODES = """
    l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate
    AND l_receiptdate >= DATE '1994-01-01' AND l_receiptdate < DATE '1995-01-01'
"""


def duckdb():
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"SET threads = {threads}")
    connection.execute("SET enable_object_cache = true")
    connection.execute("SET parquet_metadata_cache = true")

    def needles(keys):
        literals = ", ".join("'" + "".join(f"\\x{byte:02X}" for byte in key) + "'::BLOB" for key in keys)
        condition = f"key = {literals}" if len(keys) == 1 else f"key IN ({literals})"
        query = f"SELECT coalesce(sum(id), 0) FROM read_parquet('{place}/*.parquet') WHERE {condition}"
        return int(connection.execute(query).fetchone()[0])

    def shipmodes():
        return connection.execute(f"SELECT count(*) FROM read_parquet('{place}') WHERE {SHIPMODES}").fetchone()[0]

    return needles, shipmodes, duckdb.__version__


def polars():
    import datetime

    import polars as pl

    def needles(keys):
        column = pl.col("key")
        condition = column == keys[0] if len(keys) == 1 else column.is_in(keys)
        frame = pl.scan_parquet(f"{place}/*.parquet").filter(condition).select(pl.col("id").sum())
        return int(frame.collect(engine="streaming").item())

    def shipmodes():
        received = pl.col("l_receiptdate")
        condition = (
            pl.col("l_shipmode").is_in(["MAIL", "SHIP"])
            & (pl.col("l_commitdate") < received)
            & (pl.col("l_shipdate") < pl.col("l_commitdate"))
            & (received >= datetime.date(1994, 1, 1))
            & (received < datetime.date(1995, 1, 1))
        )
        return int(pl.scan_parquet(place).filter(condition).select(pl.len()).collect(engine="streaming").item())

    return needles, shipmodes, pl.__version__


def datafusion():
    import datafusion

    config = datafusion.SessionConfig(
        {
            "datafusion.execution.target_partitions": str(threads),
            "datafusion.execution.parquet.pushdown_filters": "true",
            "datafusion.execution.parquet.reorder_filters": "true",
            "datafusion.execution.parquet.bloom_filter_on_read": "true",
        }
    )
    context = datafusion.SessionContext(config)
    context.register_parquet("data", place)

    def answer(query):
        return int(context.sql(query).collect()[0].column(0)[0].as_py() or 0)

    def needles(keys):
        literals = ", ".join(f"X'{key.hex()}'" for key in keys)
        condition = f"key = {literals}" if len(keys) == 1 else f"key IN ({literals})"
        return answer(f"SELECT sum(id) FROM data WHERE {condition}")

    def shipmodes():
        return answer(f"SELECT count(*) FROM data WHERE {SHIPMODES}")

    return needles, shipmodes, datafusion.__version__


needles, shipmodes, version = {"duckdb": duckdb, "polars": polars, "datafusion": datafusion}[engine]()
if work == "needles":
    queries = [[bytes.fromhex(key) for key in line.split()] for line in sys.stdin]
    runs = [lambda keys=keys: needles(keys) for keys in queries]
else:
    runs = [shipmodes] * int(sys.argv[5])
seconds, cpu_seconds, answers = [], [], []
for run in runs:
    start, cpu_start = time.perf_counter(), time.process_time()
    answers.append(run())
    seconds.append(time.perf_counter() - start)
    cpu_seconds.append(time.process_time() - cpu_start)
print(json.dumps({"version": version, "answers": answers, "seconds": seconds, "cpu_seconds": cpu_seconds}))
