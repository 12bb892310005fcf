"""Writes the tables of TPC-DS as Parquet, and its queries, with DuckDB's extension.

    generate.py SCALE FOLDER
"""

import pathlib
import sys

import duckdb
import duckdb_extensions

scale, folder = float(sys.argv[1]), pathlib.Path(sys.argv[2])
connection = duckdb.connect()
duckdb_extensions.import_extension("tpcds", con=connection)
connection.execute("LOAD tpcds")
connection.execute(f"CALL dsdgen(sf = {scale})")
for (table,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall():
    connection.execute(f"COPY {table} TO '{folder}/{table}.parquet' (FORMAT parquet)")
(folder / "queries").mkdir()
for number, query in connection.execute("SELECT query_nr, query FROM tpcds_queries()").fetchall():
    (folder / "queries" / f"{number:02}.sql").write_text(query)
