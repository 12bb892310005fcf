"""Answers SQL with one engine, one query for each line of standard input, each with a line of JSON.

    sql.py ENGINE THREADS TABLE=PATH...

A reply has `seconds`, and `rows`, whose values are separated by tabs; or `error`.
"""

import json
import os
import sys
import time

engine, threads = sys.argv[1], int(sys.argv[2])
tables = dict(argument.split("=", 1) for argument in sys.argv[3:])

# polars reads this when it is imported.
os.environ["POLARS_MAX_THREADS"] = str(threads)


def files(path):
    return path if path.endswith(".parquet") else f"{path}/*.parquet"


def rows_of(columns):
    return list(zip(*(column.to_pylist() for column in columns)))


def duckdb():
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"SET threads = {threads}")
    connection.execute("SET parquet_metadata_cache = true")
    for name, path in tables.items():
        connection.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet('{files(path)}')")

    def answer(query):
        table = connection.sql(query).to_arrow_table()
        return lambda: rows_of(table.columns)

    return answer


def polars():
    import polars

    context = polars.SQLContext({name: polars.scan_parquet(files(path)) for name, path in tables.items()})

    def answer(query):
        frame = context.execute(query).collect(engine="streaming")
        return frame.rows

    return answer


def datafusion(pushdown):
    import datafusion

    config = datafusion.SessionConfig(
        {
            "datafusion.execution.target_partitions": str(threads),
            "datafusion.execution.parquet.pushdown_filters": pushdown,
            "datafusion.execution.parquet.reorder_filters": pushdown,
            "datafusion.execution.parquet.bloom_filter_on_read": "true",
        }
    )
    context = datafusion.SessionContext(config)
    for name, path in tables.items():
        context.register_parquet(name, path)

    def answer(query):
        batches = context.sql(query).collect()
        return lambda: [row for batch in batches for row in rows_of(batch.columns)]

    return answer


ENGINES = {
    "duckdb": duckdb,
    "polars": polars,
    "datafusion": lambda: datafusion("false"),
    "datafusion-pushdown": lambda: datafusion("true"),
}

answer = ENGINES[engine]()
for query in sys.stdin:
    start = time.perf_counter()
    try:
        rows = answer(query)
        seconds = time.perf_counter() - start
        # Values are converted to Python after the clock has stopped.
        text = "".join("\t".join("" if value is None else str(value) for value in row) + "\n" for row in rows())
        reply = {"seconds": seconds, "rows": text}
    except Exception as error:
        reply = {"error": str(error)}
    print(json.dumps(reply), flush=True)
