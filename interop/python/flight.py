"""Uses a database that the command serves by Arrow Flight SQL, by the driver of ADBC, and checks the answers.

    flight.py LATH

LATH is the command. Queries into pyarrow, pandas and polars, parameters, changes, rows that are sent into tables, transactions, metadata, and errors.
Prints one line a fault and one at the end; exits with 1 if there are faults.
"""

import datetime
import decimal
import os
import signal
import subprocess
import sys
import tempfile

import adbc_driver_flightsql.dbapi as flight
import adbc_driver_manager
import polars
import pyarrow as pa

TOKEN = "s3cret"
faults = []


def check(what, found, expected):
    if found != expected:
        faults.append(f"{what}: found {found!r}, expected {expected!r}")


def fails(what, kind, part, action):
    try:
        action()
    except kind as error:
        if part not in str(error):
            faults.append(f"{what}: {error}")
    else:
        faults.append(f"{what}: no error")


def connect(address, autocommit=True, **options):
    options = options or {"adbc.flight.sql.authorization_header": f"Bearer {TOKEN}"}
    return flight.connect(f"grpc://{address}", db_kwargs=options, autocommit=autocommit)


def queries(connection):
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE stock (item BIGINT PRIMARY KEY, name VARCHAR, price DECIMAL(8, 2), day DATE)")
        cursor.execute("INSERT INTO stock VALUES (1, 'nail', 0.05, DATE '2024-02-29'), (2, 'nut', 0.10, NULL), (3, 'it''s', 1.50, NULL)")
        cursor.execute("SELECT * FROM stock ORDER BY item")
        check("rows", cursor.fetchall(), [
            (1, "nail", decimal.Decimal("0.05"), datetime.date(2024, 2, 29)),
            (2, "nut", decimal.Decimal("0.10"), None), (3, "it's", decimal.Decimal("1.50"), None)])
        cursor.execute("SELECT name FROM stock WHERE item = ?", [3])
        check("a parameter", cursor.fetchall(), [("it's",)])
        cursor.execute("SELECT item FROM stock WHERE name = $1 AND price < $2", ("nut", decimal.Decimal("0.11")))
        check("two parameters", cursor.fetchone(), (2,))
        cursor.execute("SELECT item FROM stock WHERE day = ?", [datetime.date(2024, 2, 29)])
        check("a date", cursor.fetchone(), (1,))
        cursor.executemany("INSERT INTO stock (item, name) VALUES (?, ?)", [(item, f"n{item}") for item in range(10, 20)])
        cursor.execute("SELECT count(*) AS n, sum(item) AS s FROM stock")
        check("many rows of parameters", cursor.fetch_arrow_table().to_pylist(), [{"n": 13, "s": 151}])
        cursor.execute("SELECT item, name FROM stock WHERE item < 3 ORDER BY item")
        frame = cursor.fetch_df()
        check("pandas", frame["name"].tolist(), ["nail", "nut"])
        cursor.execute("EXPLAIN SELECT * FROM stock")
        check("EXPLAIN has rows", cursor.fetch_arrow_table().num_rows > 0, True)
    frame = polars.read_database("SELECT item, name FROM stock WHERE item < 3 ORDER BY item", connection)
    check("polars", frame.rows(), [(1, "nail"), (2, "nut")])
    with connection.cursor() as cursor:
        cursor.execute("SELECT value FROM generate_series(1, 1000000)")
        batches = cursor.fetch_record_batch()
        check("a million rows", sum(batch.num_rows for batch in batches), 1_000_000)
        cursor.execute("SELECT value FROM generate_series(1, 1000000000000000)")
        cursor.fetchone()
    # The endless query has ended with its cursor.


def ingestion(connection):
    rows = pa.table({"name": ["a", "b"], "item": pa.array([100, 101], pa.int64())})
    with connection.cursor() as cursor:
        check("appended", cursor.adbc_ingest("stock", rows, mode="append"), 2)
        fails("a row twice", adbc_driver_manager.Error, "there is a row with", lambda: cursor.adbc_ingest("stock", rows, mode="append"))
        check("created", cursor.adbc_ingest("fresh", rows, mode="create"), 2)
        fails("created twice", adbc_driver_manager.Error, "already", lambda: cursor.adbc_ingest("fresh", rows, mode="create"))
        check("replaced", cursor.adbc_ingest("fresh", rows.slice(1), mode="replace"), 1)
        check("appended to a new table", cursor.adbc_ingest("fresher", rows, mode="create_append"), 2)
        cursor.execute("SELECT name, item FROM fresh")
        check("the rows of a replaced table", cursor.fetchall(), [("b", 101)])
        large = pa.table({"item": pa.array(range(1_000_000), pa.int64()), "text": [f"text {i}" for i in range(1_000_000)]})
        check("a million rows sent", cursor.adbc_ingest("large", large.to_reader(100_000), mode="create"), 1_000_000)
        cursor.execute("SELECT count(*) AS n, sum(item) AS s FROM large")
        check("the rows sent", cursor.fetchone(), (1_000_000, 499_999_500_000))


def transactions(address):
    # The driver's default: each connection has a transaction all the time.
    with connect(address, autocommit=False) as one, connect(address, autocommit=False) as other:
        with one.cursor() as mine, other.cursor() as theirs:
            count = "SELECT count(*) AS n FROM stock WHERE item >= 1000"
            mine.execute(count)
            theirs.execute(count)
            check("both read", (mine.fetchone(), theirs.fetchone()), ((0,), (0,)))
            mine.execute("INSERT INTO stock (item) VALUES (1000)")
            mine.execute(count)
            check("its own change", mine.fetchone(), (1,))
            theirs.execute(count)
            check("no change of another", theirs.fetchone(), (0,))
            one.commit()
            theirs.execute(count)
            check("the same commit", theirs.fetchone(), (0,))
            fails("a change after an older read", adbc_driver_manager.Error, "roll it back", lambda: theirs.execute("DELETE FROM stock"))
            other.rollback()
            theirs.execute(count)
            check("after the end", theirs.fetchone(), (1,))
            theirs.execute("DELETE FROM stock")
            other.rollback()
            theirs.execute("SELECT count(*) AS n FROM stock")
            check("undone", theirs.fetchone(), (16,))


def metadata(connection):
    info = connection.adbc_get_info()
    check("the vendor", info["vendor_name"], "Lath")
    check("the kinds of tables", sorted(connection.adbc_get_table_types()), ["LOCAL TEMPORARY", "TABLE", "VIEW"])
    schema = connection.adbc_get_table_schema("stock")
    check("columns", schema.names, ["item", "name", "price", "day"])
    objects = connection.adbc_get_objects(depth="all", table_name_filter="stock").read_all().to_pylist()
    tables = [table for catalog in objects for schema in catalog["catalog_db_schemas"] or [] for table in schema["db_schema_tables"] or []]
    check("tables", [table["table_name"] for table in tables], ["stock"])
    check("their columns", [column["column_name"] for column in tables[0]["table_columns"]], ["item", "name", "price", "day"])
    with connection.cursor() as cursor:
        check("the columns of a query", cursor.adbc_execute_schema("SELECT item, name AS n FROM stock").names, ["item", "n"])
        cursor.adbc_prepare("SELECT item FROM stock WHERE item = ?")


def access(address):
    fails("a wrong token", adbc_driver_manager.Error, "asks for a token",
          lambda: connect(address, **{"adbc.flight.sql.authorization_header": "Bearer wrong"}).cursor().execute("SELECT 1"))
    with connect(address, username="anyone", password=TOKEN) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT 1 AS one")
        check("a password", cursor.fetchone(), (1,))
        fails("a mistake", adbc_driver_manager.ProgrammingError, "there is no column", lambda: cursor.execute("SELECT nothing FROM stock"))


def main():
    lath = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        command = [lath, "serve", "--flight", "127.0.0.1:0", os.path.join(folder, "shop")]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "LATH_SERVE_TOKEN": TOKEN})
        try:
            address = server.stdout.readline().removeprefix("grpc://").split(" ")[0]
            with connect(address) as connection:
                queries(connection)
                ingestion(connection)
                metadata(connection)
            transactions(address)
            access(address)
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(60)
    for fault in faults:
        print(fault)
    print(f"Flight SQL by ADBC: {len(faults)} faults")
    sys.exit(1 if faults else 0)


main()
