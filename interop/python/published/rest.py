"""Serves a database that changes as a REST catalog of Iceberg, and says whether pyiceberg, polars and DuckDB find in it what it has.

    rest.py LATH [PUBLICATIONS]

LATH is the command. One process changes all rows of a table and publishes it again and again: each commit writes one number to every row.
Readers load the table by its name all the while. They have to find all rows with the same number, and no smaller one than before. Then
clients ask for what there is not, write, and bring the wrong token. Prints one line a reader and fault; exits with 1 if there are faults.
"""

import contextlib
import importlib.metadata
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

import duckdb
import polars
import pyarrow as pa
import pyarrow.parquet as pq
from published import extension
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import (
    ForbiddenError,
    NoSuchNamespaceError,
    NoSuchTableError,
    RESTError,
    UnauthorizedError,
)
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

os.environ.setdefault("POLARS_ICEBERG_PLANNER", "pyiceberg")

ROWS = 3000
TOKEN = "a-token.of_letters~1"


class Database:
    """A database with the published table `orders`, one with an odd name, and one that is not published."""

    def __init__(self, lath, folder):
        self.lath, self.folder, self.database = lath, folder, folder / "shop"
        self.number = 0
        self.run("table", "create", self.database, "--table", "orders", "--key", "id", self.file())
        for name in ("a b/é+%", "drafts"):
            self.run("table", "create", self.database, "--table", name, "--key", "id", self.file())
        for name in ("orders", "a b/é+%"):
            self.run("table", "upsert", self.database, "--table", name, self.file())
            self.run("table", "publish", self.database, "--table", name, "--as", "iceberg")

    def run(self, *command):
        run = subprocess.run([self.lath, *map(str, command)], capture_output=True, text=True)
        if run.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, command))}: {run.stderr.strip()}")

    def file(self):
        path = self.folder / "rows.parquet"
        numbers = pa.array([self.number] * ROWS, pa.int64())
        pq.write_table(pa.table({"id": pa.array(range(ROWS), pa.int64()), "number": numbers}), path)
        return path

    def change(self):
        self.number += 1
        self.run("table", "upsert", self.database, "--table", "orders", self.file())
        self.run("table", "publish", self.database, "--table", "orders", "--now")

    @contextlib.contextmanager
    def serve(self, *options, **environment):
        command = [self.lath, "serve", "--iceberg", "127.0.0.1:0", self.database, *options]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ, **environment))
        try:
            line = server.stdout.readline()
            if not line.startswith("http://") or "2 published tables" not in line:
                raise RuntimeError(f"the server says {line!r}")
            yield line.split()[0]
        finally:
            server.send_signal(signal.SIGINT)
            began = time.monotonic()
            if server.wait(timeout=20) != -signal.SIGINT or time.monotonic() - began > 5:
                raise RuntimeError(f"the server ended with {server.returncode}")


def pyiceberg_reader(uri):
    catalog = load_catalog("lath", type="rest", uri=uri)
    return lambda: catalog.load_table("public.orders").scan().to_arrow()["number"].to_pylist()


def polars_reader(uri):
    catalog = load_catalog("lath", type="rest", uri=uri)
    return lambda: polars.scan_iceberg(catalog.load_table("public.orders")).collect()["number"].to_list()


def duckdb_connection(uri, secret=None):
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    for name in ("avro", "httpfs", "iceberg"):
        connection.execute(f"LOAD '{extension(name)}'")
    if secret is None:
        access = "AUTHORIZATION_TYPE 'none'"
    else:
        connection.execute(f"CREATE SECRET (TYPE iceberg, TOKEN '{secret}')")
        access = "AUTHORIZATION_TYPE 'oauth2'"
    connection.execute(f"ATTACH '' AS shop (TYPE iceberg, ENDPOINT '{uri}', {access})")
    return connection


def duckdb_reader(uri):
    connection = duckdb_connection(uri)
    return lambda: [row[0] for row in connection.execute("SELECT number FROM shop.public.orders").fetchall()]


READERS = {
    "pyiceberg": (importlib.metadata.version("pyiceberg"), pyiceberg_reader),
    "polars": (polars.__version__, polars_reader),
    "duckdb": (duckdb.__version__, duckdb_reader),
}


def read_while_published(database, uri, publications, faults):
    """Each reader reads in a loop beside the writer. Returns how often each has read, and how many states it has seen."""
    is_done, seen = threading.Event(), {name: [] for name in READERS}

    def read(name, read):
        try:
            while not is_done.is_set():
                numbers = read()
                if len(numbers) != ROWS or len(set(numbers)) != 1:
                    raise ValueError(f"{len(numbers)} rows with the numbers {sorted(set(numbers))[:5]}")
                if seen[name] and numbers[0] < seen[name][-1]:
                    raise ValueError(f"{numbers[0]} after {seen[name][-1]}")
                seen[name].append(numbers[0])
        except Exception as error:
            print(f"{name}: while it is published: {type(error).__name__}: {str(error)[:300]}")
            faults[name] += 1

    threads = [threading.Thread(target=read, args=(name, make(uri))) for name, (_, make) in READERS.items()]
    for thread in threads:
        thread.start()
    for _ in range(publications):
        database.change()
    is_done.set()
    for thread in threads:
        thread.join()
    for name, (_, make) in READERS.items():
        if set(make(uri)()) != {database.number}:
            print(f"{name}: not the last publication")
            faults[name] += 1
    return seen


def refuses(what, expected, call):
    """Whether a call fails with one of the errors, and says something."""
    try:
        call()
    except expected as error:
        return bool(str(error))
    except Exception as error:
        print(f"{what}: {type(error).__name__}: {str(error)[:300]}")
        return False
    print(f"{what}: no error")
    return False


def ask_as_pyiceberg(database, uri):
    """The answers of the catalog to pyiceberg that are wrong."""
    catalog = load_catalog("lath", type="rest", uri=uri + "/", warehouse="any")
    schema = Schema(NestedField(1, "id", LongType(), required=True))
    odd = ("public", "a b/é+%")
    checks = {
        "namespaces": catalog.list_namespaces() == [("public",)],
        "no namespace below": catalog.list_namespaces("public") == [],
        "tables": sorted(catalog.list_tables("public")) == sorted([odd, ("public", "orders")]),
        "a namespace exists": catalog.namespace_exists("public") and not catalog.namespace_exists(("public", "x")),
        "a table exists": catalog.table_exists(odd) and not catalog.table_exists("public.drafts"),
        "an odd name": catalog.load_table(odd).scan().to_arrow().num_rows == ROWS,
        "an earlier snapshot": catalog.load_table("public.orders").scan(
            snapshot_id=catalog.load_table("public.orders").snapshots()[0].snapshot_id).to_arrow().num_rows == ROWS,
        "no properties": catalog.load_namespace_properties("public") == {},
    }
    refusals = {
        "a table that is not published": (NoSuchTableError, lambda: catalog.load_table("public.drafts")),
        "no such table": (NoSuchTableError, lambda: catalog.load_table("public.nothing")),
        "no such namespace": (NoSuchNamespaceError, lambda: catalog.list_tables(("a", "b c"))),
        "a table below no namespace": (NoSuchTableError, lambda: catalog.load_table(("a", "b", "orders"))),
        # This client asks for no change that the catalog does not name in its configuration.
        "creating": (NotImplementedError, lambda: catalog.create_table("public.new", schema)),
        "dropping": (NotImplementedError, lambda: catalog.drop_table("public.orders")),
        "renaming": (NotImplementedError, lambda: catalog.rename_table("public.orders", "public.other")),
        "appending": ((ForbiddenError, NotImplementedError, ValueError), lambda: catalog.load_table("public.orders").append(
            pa.table({"id": pa.array([1], pa.int64()), "number": pa.array([1], pa.int64())},
                     schema=catalog.load_table("public.orders").schema().as_arrow()))),
        "a namespace": (NotImplementedError, lambda: catalog.create_namespace("new")),
    }
    wrong = [what for what, is_right in checks.items() if not is_right]
    return wrong + [what for what, (error, call) in refusals.items() if not refuses(what, error, call)]


def ask_as_duckdb(database, uri):
    connection = duckdb_connection(uri)
    count = lambda query: connection.execute(query).fetchone()[0]
    checks = {
        "tables": sorted(row[0] for row in connection.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_catalog = 'shop'").fetchall()) == ["a b/é+%", "orders"],
        "an odd name": count('SELECT count(*) FROM shop.public."a b/é+%"') == ROWS,
        "a condition": count("SELECT number FROM shop.public.orders WHERE id = 7") == database.number,
    }
    refusals = {
        "a table that is not published": (duckdb.Error, lambda: count("SELECT count(*) FROM shop.public.drafts")),
        "no such schema": (duckdb.Error, lambda: count("SELECT count(*) FROM shop.other.orders")),
        "inserting": (duckdb.Error, lambda: connection.execute("INSERT INTO shop.public.orders VALUES (1, 1)")),
        "creating": (duckdb.Error, lambda: connection.execute("CREATE TABLE shop.public.new (id BIGINT)")),
    }
    wrong = [what for what, is_right in checks.items() if not is_right]
    return wrong + [what for what, (error, call) in refusals.items() if not refuses(what, error, call)]


def ask_with_tokens(database):
    wrong = []
    with database.serve(LATH_SERVE_TOKEN=TOKEN) as uri:
        catalog = load_catalog("lath", type="rest", uri=uri, token=TOKEN)
        if catalog.load_table("public.orders").scan().to_arrow().num_rows != ROWS:
            wrong.append("pyiceberg with the token")
        if duckdb_connection(uri, TOKEN).execute("SELECT count(*) FROM shop.public.orders").fetchone()[0] != ROWS:
            wrong.append("DuckDB with the token")
        for what, options in {"no token": {}, "a wrong token": {"token": TOKEN[:-1]}}.items():
            connect = lambda: load_catalog("lath", type="rest", uri=uri, **options).list_namespaces()
            if not refuses(what, UnauthorizedError, connect):
                wrong.append(what)
        exchange = lambda: load_catalog("lath", type="rest", uri=uri, credential="a:b").list_namespaces()
        if not refuses("an exchange of credentials", (RESTError, ValueError), exchange):
            wrong.append("an exchange of credentials")
        if not refuses("DuckDB with a wrong token", duckdb.Error, lambda: duckdb_connection(uri, "wrong")):
            wrong.append("DuckDB with a wrong token")
    file = database.folder / "token"
    file.write_text(TOKEN + "\n")
    with database.serve("--token-file", str(file)) as uri:
        if load_catalog("lath", type="rest", uri=uri, token=TOKEN).list_namespaces() != [("public",)]:
            wrong.append("a token of a file")
    return wrong


def main(lath, publications):
    faults = {name: 0 for name in READERS}
    with tempfile.TemporaryDirectory() as folder:
        database = Database(lath, pathlib.Path(folder))
        with database.serve() as uri:
            seen = read_while_published(database, uri, publications, faults)
            wrong = ask_as_pyiceberg(database, uri) + ask_as_duckdb(database, uri)
        wrong += ask_with_tokens(database)
    for name, (version, _) in READERS.items():
        reads, states = len(seen[name]), len(set(seen[name]))
        print(f"{name} {version}: {reads} reads of {states} states while {publications} were published; {faults[name]} faults")
    for what in wrong:
        print(f"the catalog: {what}")
    return sum(faults.values()) + len(wrong)


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20) else 0)
