"""Changes keyed tables by the command, publishes them, and says whether readers of Iceberg find the rows that a dict has.

    published.py LATH [CASES]

LATH is the command. A table is changed as in keyed.py, and published several times; after each time pyiceberg, polars and DuckDB read the
folder, and earlier snapshots are read again. More tables have a column of each type that Iceberg has, of
each that is published in a wider type, and nested columns. Then each reader reads a table again and
again while it changes, for 5 seconds, or 60 with LATH_FULL=1. Prints one line a reader and fault; exits with 1 if there are faults.
"""

import datetime
import decimal
import importlib.metadata
import os
import pathlib
import random
import shutil
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

# Without the package polars_iceberg.
os.environ.setdefault("POLARS_ICEBERG_PLANNER", "pyiceberg")

import duckdb
import polars
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
from deltalake import DeltaTable, QueryBuilder
from keyed import Case
from pyiceberg.expressions import EqualTo, IsNull
from pyiceberg.table import StaticTable


def extension(name):
    """The file of an extension of DuckDB, which a package brings."""
    files = importlib.metadata.files(f"duckdb-extension-{name}")
    return next(str(file.locate()) for file in files if str(file).endswith(".duckdb_extension"))


CONNECTION = duckdb.connect(config={"allow_unsigned_extensions": "true"})
for name in ("avro", "delta", "httpfs", "iceberg"):
    CONNECTION.execute(f"LOAD '{extension(name)}'")
CONNECTION.execute("SET TimeZone = 'UTC'")


def newest(table):
    """The metadata file that the hint names."""
    number = (table / "metadata" / "version-hint.text").read_text().strip()
    return table / "metadata" / f"v{number}.metadata.json"


def read_pyiceberg(path, columns):
    table = StaticTable.from_metadata(str(path)).scan().to_arrow().sort_by("id")
    return list(zip(*(table.column(name).to_pylist() for name in columns)))


def read_polars(path, columns):
    return polars.scan_iceberg(str(path)).select(columns).sort("id").collect().rows()


def read_duckdb(path, columns):
    names = ", ".join(f'"{name}"' for name in columns)
    return CONNECTION.execute(f"SELECT {names} FROM iceberg_scan('{path}') ORDER BY id").fetchall()


def read_delta_rs(path, columns):
    names = ", ".join(f'"{name}"' for name in columns)
    query = QueryBuilder().register("t", DeltaTable(str(path)))
    rows = pa.table(query.execute(f"SELECT {names} FROM t ORDER BY id").read_all())
    return list(zip(*(rows.column(name).to_pylist() for name in columns)))


def read_delta_polars(path, columns):
    return polars.scan_delta(str(path)).select(columns).sort("id").collect().rows()


def read_delta_duckdb(path, columns):
    names = ", ".join(f'"{name}"' for name in columns)
    return CONNECTION.execute(f"SELECT {names} FROM delta_scan('{path}') ORDER BY id").fetchall()


# Readers of Delta Lake; not of columns that were renamed or that have defaults.
DELTA_READERS = {
    "deltalake": read_delta_rs,
    "polars": read_delta_polars,
    "duckdb": read_delta_duckdb,
}

READERS = {
    "pyiceberg": (importlib.metadata.version("pyiceberg"), read_pyiceberg),
    "polars": (polars.__version__, read_polars),
    "duckdb": (duckdb.__version__, read_duckdb),
}


class Published(Case):
    """A table that is published."""

    def __init__(self, lath, folder, seed):
        super().__init__(lath, folder, seed)
        self.table = self.database / "table-000001"
        self.run("table", "publish", self.database, "--table", "t", "--as", "iceberg")
        # Snapshots that stay readable: the metadata file, the columns and the rows.
        self.snapshots = []

    def publish(self):
        self.run("table", "publish", self.database, "--table", "t", "--now")
        self.snapshots.append((newest(self.table), ["id", *self.types], self.expected()))

    def move(self):
        """Moves the folder: paths in metadata are absolute."""
        moved = self.folder / f"moved{len(self.steps)}"
        shutil.move(self.database, moved)
        self.database, self.table, self.snapshots = moved, moved / "table-000001", []


def compare(name, read, snapshot, what):
    path, columns, expected = snapshot
    try:
        found = read(path, columns)
    except Exception as error:
        print(f"{name}: {what}: {type(error).__name__}: {str(error)[:300]}")
        return False
    if [tuple(row) for row in found] != expected:
        wrong = [pair for pair in zip(found, expected) if tuple(pair[0]) != pair[1]][:2]
        print(f"{name}: {what}: {len(found)} rows instead of {len(expected)}, {wrong}")
        return False
    return True


def histories(lath, cases, first_seed, faults, equal):
    rows = 0
    for seed in range(first_seed, first_seed + cases):
        with tempfile.TemporaryDirectory() as folder:
            case = Published(lath, pathlib.Path(folder), seed)
            for step in range(24):
                case.step()
                if step % 4 == 3:
                    case.publish()
                    # By the folder: readers take the metadata file that the hint names.
                    snapshot = (case.table, *case.snapshots[-1][1:])
                    rows += len(case.rows)
                    for name, (_, read) in READERS.items():
                        is_equal = compare(name, read, snapshot, f"seed {seed}, after {case.steps}")
                        equal[name] += is_equal
                        faults[name] += not is_equal
                if step == 15 and seed % 3 == 0:
                    case.move()
            # A reader that planned with an earlier snapshot finds its files.
            for name, (_, read) in READERS.items():
                for snapshot in case.snapshots[:-1]:
                    faults[name] += not compare(name, read, snapshot, f"seed {seed}: an earlier snapshot")
            case.run("table", "check", case.database, "--table", "t")
    return rows


def types(lath, faults):
    """A column of each type, with nulls, rows that replace others, and deleted rows."""
    zone = datetime.timezone.utc
    moment = datetime.datetime(2024, 2, 29, 23, 59, 59, 123456)
    values = {
        "flag": (pa.bool_(), [True, False]),
        "tiny": (pa.int8(), [-128, 127]),
        "small": (pa.int16(), [-32768, 32767]),
        "int": (pa.int32(), [-(2**31), 2**31 - 1]),
        "long": (pa.int64(), [-(2**63), 2**63 - 1]),
        "float": (pa.float32(), [-0.5, 3.25]),
        "double": (pa.float64(), [-1e300, float("inf")]),
        "short_decimal": (pa.decimal128(9, 2), [decimal.Decimal("-1.25"), decimal.Decimal("9999999.99")]),
        "decimal": (pa.decimal128(18, 4), [decimal.Decimal("-1.2500"), decimal.Decimal("0.0001")]),
        "long_decimal": (pa.decimal128(38, 10), [decimal.Decimal("-1.2500000000"), decimal.Decimal("9" * 28 + ".5000000000")]),
        "day": (pa.date32(), [datetime.date(1969, 12, 31), datetime.date(2024, 2, 29)]),
        "time": (pa.time64("us"), [datetime.time(0, 0, 0, 1), datetime.time(23, 59, 59, 999999)]),
        "at": (pa.timestamp("us"), [moment, datetime.datetime(1960, 1, 1)]),
        "at_utc": (pa.timestamp("us", "UTC"), [moment.replace(tzinfo=zone), datetime.datetime(1960, 1, 1, tzinfo=zone)]),
        "text": (pa.string(), ["", "日本 é" * 30]),
        "bytes": (pa.binary(), [b"", b"\x00\xff" * 50]),
        "fixed": (pa.binary(3), [b"abc", b"\x00\x00\xff"]),
    }
    count = 300
    columns = {"id": pa.array(range(count), pa.int64())}
    for name, (type, choices) in values.items():
        # Each half is a file, so that bounds rule out one of them.
        columns[name] = pa.array([None if n % 7 == 0 else choices[n >= count // 2] for n in range(count)], type)
    rows = pa.table(columns)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        pq.write_table(rows.slice(0, count // 2), folder / "rows.parquet")
        pq.write_table(rows.slice(count // 2), folder / "more.parquet")
        pq.write_table(rows.slice(100, 50), folder / "again.parquet")
        run = lambda *command: Case.run(type_case, *command)
        type_case = Case.__new__(Case)
        type_case.lath, type_case.steps = lath, []
        run("table", "create", folder / "t", "--key", "id", folder / "rows.parquet")
        run("table", "publish", folder / "t", "--as", "iceberg")
        run("table", "upsert", folder / "t", folder / "more.parquet")
        run("table", "publish", folder / "t", "--now")
        run("table", "upsert", folder / "t", folder / "again.parquet")
        run("table", "delete", folder / "t", *range(0, 40))
        run("table", "publish", folder / "t", "--now")
        expected = [tuple(row.values()) for row in rows.slice(40).to_pylist()]
        for name, (_, read) in READERS.items():
            for column in values:
                wanted = [(row[0], row[1 + list(values).index(column)]) for row in expected]
                is_equal = compare(name, read, (folder / "t", ["id", column], wanted), f"type {values[column][0]}")
                faults[name] += not is_equal
        for column, (type, choices) in values.items():
            place = 1 + list(values).index(column)
            for choice in [None, *choices]:
                wanted = [row[0] for row in expected if row[place] == choice]
                for name, found in conditions(folder / "t", column, choice, type):
                    if found != wanted:
                        print(f"{name}: {column} = {choice!r} finds {len(found)} rows instead of {len(wanted)}")
                        faults[name] += 1


def mapped(lath, faults):
    """Columns of types that Iceberg lacks, as keys, values and within others, with their extreme values, are found in the wider types."""
    limits = {"u8": (pa.uint8(), 2**8), "u16": (pa.uint16(), 2**16)}
    chosen = lambda end, n: [0, 1, end // 2 - 1, end // 2, end - 2, end - 1][n % 6]
    count = 300
    half = [0.0, -1.5, 65504.0, 2.0**-24, float("inf"), float("-inf")]
    row = lambda n: {
        "id": n * 200,
        **{name: None if n % 7 == 0 else chosen(end, n) for name, (_, end) in limits.items()},
        "half": None if n % 7 == 0 else half[n % 6],
        "inner": {"x": chosen(2**8, n), "list": [chosen(2**16, n), None]},
    }
    inner = pa.struct([("x", pa.uint8()), ("list", pa.list_(pa.uint16()))])
    types = {name: type for name, (type, _) in limits.items()} | {"half": pa.float16(), "inner": inner}
    schema = pa.schema([("id", pa.uint16()), *types.items()])
    # pyarrow takes no float for a half float.
    stored = pa.schema([field.with_type(pa.float32()) if field.name == "half" else field for field in schema])
    rows = [row(n) for n in range(count)]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        case = Case.__new__(Case)
        case.lath, case.steps = lath, []
        write = lambda name, rows: pq.write_table(pa.Table.from_pylist(rows, stored).cast(schema), folder / name)
        write("rows.parquet", rows[: count // 2])
        write("more.parquet", rows[count // 2 :])
        case.run("table", "create", folder / "t", "--key", "id", folder / "rows.parquet")
        case.run("table", "publish", folder / "t", "--as", "iceberg", "--map-types")
        case.run("table", "upsert", folder / "t", folder / "more.parquet")
        case.run("table", "delete", folder / "t", *(row["id"] for row in rows[:40]))
        case.run("table", "publish", folder / "t", "--now")
        expected = rows[40:]
        for name, (_, read) in READERS.items():
            for column in types:
                wanted = [(row["id"], plain(row[column])) for row in expected]
                read_one = lambda path, columns: [(id, plain(value)) for id, value in read(path, columns)]
                faults[name] += not compare(name, read_one, (folder / "t", ["id", column], wanted), f"mapped {column}")
        wide = {"u8": pa.int32(), "u16": pa.int32(), "half": pa.float32(), "id": pa.int32()}
        for column, type in wide.items():
            for choice in [*{row[column] for row in expected if row[column] is not None}][:200:8] if column == "id" else {row[column] for row in expected}:
                wanted = [row["id"] for row in expected if row[column] == choice]
                # pyarrow compares no half floats, so that conditions of pyiceberg on them are an error.
                for name, found in conditions(folder / "t", column, choice, type, column != "half"):
                    if found != wanted:
                        print(f"{name}: mapped {column} = {choice!r} finds {len(found)} rows instead of {len(wanted)}")
                        faults[name] += 1


def tables_of_sql(lath, faults):
    """Columns of a table that SQL makes, and one that it adds later, are read and found by conditions."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        case = Case.__new__(Case)
        case.lath, case.steps = lath, []
        sql = lambda statement: case.run("sql", "--database", folder / "base", statement)
        sql("CREATE TABLE t (id BIGINT PRIMARY KEY, name TEXT, raw BYTEA)")
        sql("INSERT INTO t VALUES (1, 'a', NULL), (2, 'b', X'00ff'), (3, NULL, X'01')")
        sql("CALL publish('t', formats => 'iceberg')")
        sql("ALTER TABLE t ADD COLUMN later TEXT")
        sql("INSERT INTO t VALUES (4, 'a', NULL, 'z')")
        sql("CALL publish_now('t')")
        table = folder / "base" / "table-000001"
        expected = {"name": ["a", "b", None, "a"], "raw": [None, b"\x00\xff", b"\x01", None], "later": [None, None, None, "z"]}
        for column, values in expected.items():
            wanted = list(enumerate(values, 1))
            for name, (_, read) in READERS.items():
                faults[name] += not compare(name, read, (table, ["id", column], wanted), f"table of SQL, {column}")
            for choice in dict.fromkeys(values):
                wanted = [id for id, value in enumerate(values, 1) if value == choice]
                for name, found in conditions(table, column, choice, pa.binary() if column == "raw" else pa.string()):
                    if found != wanted:
                        print(f"{name}: table of SQL, {column} = {choice!r} finds {found} instead of {wanted}")
                        faults[name] += 1


def delta(lath, cases, faults):
    """Tables that are published as ones of Delta Lake, past two checkpoints, alone or also as ones of Iceberg; read again after the folder was moved."""
    types = {"text": pa.string(), "number": pa.int32(), "price": pa.decimal128(9, 2), "moment": pa.timestamp("us", "UTC"), "inner": pa.struct([("x", pa.int64())])}
    schema = pa.schema([("id", pa.int64()), *types.items()])
    start = datetime.datetime(2024, 2, 29, tzinfo=datetime.timezone.utc)
    values = lambda n: [None] * 5 if n % 7 == 0 else [f"é {n}", n * 7_000_000 - 10**9, decimal.Decimal(n) / 4, start + datetime.timedelta(hours=n, microseconds=n), {"x": n}]
    for seed in range(cases):
        choice = random.Random(seed)
        with tempfile.TemporaryDirectory() as folder:
            folder, rows = pathlib.Path(folder), {}
            table = Case.__new__(Case)
            table.lath, table.steps = lath, []
            base = folder / "base"
            at = ("--table", "t")

            def put(ids):
                new = {id: values(choice.randrange(300)) for id in ids}
                rows.update(new)
                pq.write_table(pa.Table.from_pylist([dict(zip(schema.names, [id, *row])) for id, row in new.items()], schema), folder / "rows.parquet")
                return folder / "rows.parquet"

            def compare_all(path, what):
                expected = [(id, *map(plain, rows[id])) for id in sorted(rows)]
                for name, read in DELTA_READERS.items():
                    read_plain = lambda path, columns: [tuple(map(plain, row)) for row in read(path, columns)]
                    faults[name] = faults.get(name, 0) + (not compare(name, read_plain, (path, schema.names, expected), f"Delta, seed {seed}, {what}"))

            table.run("table", "create", base, *at, "--key", "id", put(range(100)))
            table.run("sql", "--database", base, f"CALL publish('t', formats => '{choice.choice(['delta', 'iceberg,delta'])}')")
            for step in range(70):
                match choice.randrange(5):
                    case 0:
                        gone = choice.sample(range(400), 20)
                        [rows.pop(id, None) for id in gone]
                        table.run("table", "delete", base, *at, *gone)
                    case 1:
                        table.run("table", "compact", base, *at)
                    case _:
                        table.run("table", "upsert", base, *at, put(choice.sample(range(400), choice.choice([1, 30, 150]))))
                table.run("sql", "--database", base, "CALL publish_now('t')")
                if step % 8 == 0 or step > 60:
                    compare_all(base / "table-000001", f"step {step}")
            gone = DeltaTable(str(base / "table-000001")).vacuum(retention_hours=0, dry_run=True, enforce_retention_duration=False)
            if gone:
                print(f"deltalake: VACUUM would remove {gone[:3]}")
                faults["deltalake"] += 1
            base.rename(folder / "moved")
            compare_all(folder / "moved" / "table-000001", "moved")


def plain(value):
    """A nested value in one form: a struct is a dict, and a map a list of pairs in order."""
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    return value


def pairs(value):
    """A map in one form: readers give dicts, pairs, or structs of key and value."""
    if value is None:
        return None
    if isinstance(value, dict):
        value = value.items()
    return sorted([pair["key"], pair["value"]] if isinstance(pair, dict) else list(pair) for pair in value)


def nested(lath, faults):
    """Columns with fields within them, one of them added later, with rows that replace others, and deleted rows."""
    point = pa.struct([("x", pa.int64()), ("tags", pa.list_(pa.string()))])
    types = {
        "point": point,
        "numbers": pa.list_(pa.int32()),
        "points": pa.list_(point),
        "map": pa.map_(pa.string(), pa.int64()),
    }
    row = lambda n: {
        "id": n,
        "point": None if n % 5 == 0 else {"x": n, "tags": None if n % 3 == 0 else ["a", None, str(n)]},
        "numbers": None if n % 7 == 0 else list(range(n % 4)),
        "points": [{"x": None, "tags": []}, {"x": n, "tags": ["é"]}],
        "map": None if n % 6 == 0 else [(str(key), key * n) for key in range(n % 3)],
    }
    schema = pa.schema([("id", pa.int64()), *types.items()])
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        case = Case.__new__(Case)
        case.lath, case.steps = lath, []
        write = lambda name, rows: pq.write_table(pa.Table.from_pylist(rows, schema), folder / name)
        write("rows.parquet", [row(n) for n in range(60)])
        write("more.parquet", [row(n) for n in range(50, 90)])
        case.run("table", "create", folder / "d", "--table", "t", "--key", "id", folder / "rows.parquet")
        case.run("table", "publish", folder / "d", "--table", "t", "--as", "iceberg")
        case.run("table", "upsert", folder / "d", "--table", "t", folder / "more.parquet")
        case.run("table", "delete", folder / "d", "--table", "t", *range(10, 20))
        case.run("sql", "--database", folder / "d", "ALTER TABLE t ADD COLUMN later STRUCT<y BIGINT, z VARCHAR>")
        case.run("table", "publish", folder / "d", "--table", "t", "--now")
        wanted = [row(n) for n in range(90) if not 10 <= n < 20]
        for name, (_, read) in READERS.items():
            for column in [*types, "later"]:
                form = pairs if column == "map" else plain
                read_one = lambda path, columns: [(id, form(value)) for id, value in read(path, columns)]
                expected = [(value["id"], form(value.get(column))) for value in wanted]
                faults[name] += not compare(name, read_one, (folder / "d" / "table-000001", ["id", column], expected), f"column {column}")


def conditions(table, column, choice, type, by_pyiceberg=True):
    """For each reader the numbers of the rows with a value, in order. Bounds rule out files."""
    frame = polars.scan_iceberg(str(table))
    if choice is None:
        condition, values, expression, filter = f'"{column}" IS NULL', [], polars.col(column).is_null(), IsNull(column)
    else:
        value = polars.from_arrow(pa.table({"value": pa.array([choice], type)}))["value"]
        condition, values, expression = f'"{column}" = ?', [choice], polars.col(column) == polars.lit(value)
        # pyiceberg takes text for types that its conditions have no values of.
        filter = EqualTo(column, choice) if isinstance(choice, (bool, int, float, str, bytes, decimal.Decimal)) else None
    if not by_pyiceberg:
        filter = None
    query = f"SELECT id FROM iceberg_scan('{table}') WHERE {condition} ORDER BY id"
    yield "duckdb", [row[0] for row in CONNECTION.execute(query, values).fetchall()]
    yield "polars", frame.filter(expression).select("id").sort("id").collect()["id"].to_list()
    if filter is not None:
        scan = StaticTable.from_metadata(str(table)).scan(row_filter=filter, selected_fields=("id",))
        yield "pyiceberg", sorted(scan.to_arrow()["id"].to_pylist())


def folders(lath, faults):
    """Folders of tables with deleted rows, read as folders of Parquet files: no reader may find rows there."""
    rows = pa.table({"id": pa.array(range(400), pa.int64()), "value": pa.array(range(400), pa.int64())})
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        pq.write_table(rows, folder / "rows.parquet")
        case = Case.__new__(Case)
        case.lath, case.steps = lath, []
        (home := folder / "tables").mkdir()
        tables = {"alone": ([home / "alone"], home / "alone")}
        tables["in a database"] = ([home / "base", "--table", "t"], home / "base" / "table-000001")
        for what, (table, path) in tables.items():
            case.run("table", "create", *table, "--key", "id", folder / "rows.parquet")
            case.run("table", "compact", *table)
            case.run("table", "delete", *table, *range(100))
            for step in ("not published", "published"):
                if step == "published":
                    case.run("table", "publish", *table, "--as", "iceberg")
                    found = read_duckdb(path, ["id"])
                    assert len(found) == 300, f"{len(found)} rows are published"
                for name, read in plain_readers(path):
                    try:
                        count = read()
                    except Exception:
                        continue
                    if count:
                        print(f"{name}: a table {what}, {step}: {count} rows of its files are found")
                        faults["duckdb" if name.startswith("duckdb") else "polars"] += 1


def plain_readers(path):
    """How many rows readers of Parquet files find below a folder."""
    yield "pyarrow", lambda: pyarrow.dataset.dataset(path).count_rows()
    yield "pyarrow, the folder above", lambda: pyarrow.dataset.dataset(path.parent).count_rows()
    for pattern in (path, path / "*.parquet", path / "**" / "*.parquet", path / "*" / "*.parquet", path / "**"):
        yield f"duckdb {pattern}", lambda: CONNECTION.execute(f"SELECT count(*) FROM read_parquet('{pattern}')").fetchone()[0]
        yield f"polars {pattern}", lambda: polars.scan_parquet(pattern).select(polars.len()).collect().item()


GROUPS, MEMBERS = 40, 25


class Writer(threading.Thread):
    """Changes a table in which all rows of a group have the same value, the number of the commit that put them; publishes it, merges files,
    and removes those that no reader needs."""

    def __init__(self, lath, folder):
        super().__init__()
        self.case = Case.__new__(Case)
        self.case.lath, self.case.steps = lath, []
        self.folder, self.table, self.random = folder, folder / "t", random.Random(1)
        self.commit, self.published, self.error, self.ends = 0, 0, None, time.monotonic() + 600
        self.case.run("table", "create", self.table, "--key", "id", self.rows(range(GROUPS)))
        self.case.run("table", "publish", self.table, "--as", "iceberg", "--keep-snapshots", "20")

    def rows(self, groups):
        ids = [group * MEMBERS + member for group in groups for member in range(MEMBERS)]
        path = self.folder / "rows.parquet"
        pq.write_table(pa.table({"id": pa.array(ids, pa.int64()), "value": pa.array([self.commit] * len(ids), pa.int64())}), path)
        return path

    def step(self):
        what = self.random.randrange(8)
        if what < 5:
            self.commit += 1
            self.case.run("table", "upsert", self.table, self.rows(self.random.sample(range(GROUPS), self.random.choice([1, 3, 20]))))
        elif what == 5:
            # Keys of no row: the deletion leaves tombstones.
            self.case.run("table", "delete", self.table, *range(-9, 0))
        elif what == 6:
            self.case.run("table", "compact", self.table)
        newest = self.commit
        self.case.run("table", "publish", self.table, "--now")
        # Set later than it is so: a reader may find more than this, and never less.
        self.published = newest

    def run(self):
        try:
            while time.monotonic() < self.ends:
                self.step()
        except Exception as error:
            self.error = error


def check_rows(rows, least):
    """What is wrong with rows that were read while a table changes; None if nothing is."""
    if [row[0] for row in rows] != list(range(GROUPS * MEMBERS)):
        return f"{len(rows)} rows, {len(set(rows))} of them distinct, instead of {GROUPS * MEMBERS}"
    values = [row[1] for row in rows]
    torn = [group for group in range(GROUPS) if len(set(values[group * MEMBERS : (group + 1) * MEMBERS])) > 1]
    if torn:
        return f"groups {torn} have rows of several commits"
    return f"commit {max(values)}, and {least} was published before" if max(values) < least else None


def beside_a_writer(lath, seconds, faults):
    """Reads a table in a loop, by all readers at the same time, while another thread changes and publishes it."""
    with tempfile.TemporaryDirectory() as folder:
        writer = Writer(lath, pathlib.Path(folder))
        reads = {name: 0 for name in READERS}
        ends = time.monotonic() + seconds

        def loop(name, read):
            while time.monotonic() < ends:
                least = writer.published
                try:
                    wrong = check_rows([tuple(row) for row in read(writer.table, ["id", "value"])], least)
                except Exception as error:
                    wrong = f"{type(error).__name__}: {str(error)[:300]}"
                if wrong:
                    print(f"{name}: beside a writer, read {reads[name]}: {wrong}")
                    faults[name] += 1
                reads[name] += 1

        readers = [threading.Thread(target=loop, args=(name, read)) for name, (_, read) in READERS.items()]
        writer.ends = ends
        for thread in [writer, *readers]:
            thread.start()
        for thread in [writer, *readers]:
            thread.join()
        if writer.error:
            raise writer.error
        print(f"beside a writer of {writer.commit} commits: " + ", ".join(f"{name} {count} reads" for name, count in reads.items()))


def main(lath, cases):
    first_seed = int(os.environ.get("LATH_SEED") or (random.randrange(1 << 32) if "LATH_NEW_SEEDS" in os.environ else 1))
    equal, faults = {name: 0 for name in READERS}, {name: 0 for name in READERS}
    types(lath, faults)
    nested(lath, faults)
    mapped(lath, faults)
    tables_of_sql(lath, faults)
    delta(lath, max(1, cases // 5), faults)
    folders(lath, faults)
    beside_a_writer(lath, 60 if "LATH_FULL" in os.environ else 5, faults)
    rows = histories(lath, cases, first_seed, faults, equal)
    for name, (version, _) in READERS.items():
        print(f"{name} {version}: {equal[name]} of {6 * cases} publications equal, {rows} rows; {faults[name]} faults")
    return sum(faults.values())


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10) else 0)
