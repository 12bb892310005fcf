"""Changes tables of Delta Lake by random operations of delta-rs, and says at which version Lath and delta-rs read different rows.

    delta.py LATH [CASES [FIRST]]

LATH is the command. Each case is a table, with its seed as its number, from FIRST on (0): appends, overwrites (also of the rows of a condition), deletes,
updates, merges, new columns and fields, columns that are dropped and moved, compaction, checkpoints, restores and vacuum; partitions by texts that paths have to encode, by dates, numbers and times, with nulls. Every
version that delta-rs can read is read by Lath, too, and conditions are compared with the rows. Prints one line a fault; exits with 1 if
there are faults.
"""

import datetime
import decimal
import json
import math
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import urllib.parse
import uuid
import zlib

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
import pyarrow.parquet as pq
from deltalake import DeltaTable, QueryBuilder, WriterProperties, write_deltalake

OPERATIONS = 9
TEXTS = ["", "a", "b", "it's", "ä/ø", "50%", "a=b", "x y", "%20", "..", "#?&", "__HIVE_DEFAULT_PARTITION__", "2024-01-01", "🙂", "a+b", "NULL"]
DAYS = [datetime.date(1969, 12, 31), datetime.date(2024, 2, 29), datetime.date(1, 1, 1)]
TIMES = [
    datetime.datetime(2024, 2, 29, 12, 30, tzinfo=datetime.timezone.utc),
    datetime.datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=datetime.timezone.utc),
]
TYPES = {
    "id": pa.int64(),
    "a": pa.int32(),
    "s": pa.string(),
    "f": pa.float64(),
    "day": pa.date32(),
    "at": pa.timestamp("us", "UTC"),
    "price": pa.decimal128(7, 2),
    "yes": pa.bool_(),
    "raw": pa.binary(),
    "items": pa.list_(pa.int32()),
    "inner": pa.struct([("x", pa.int32()), ("y", pa.string())]),
}
PARTITIONS = ["s", "a", "day", "at", "yes", "price"]


class Case:
    def __init__(self, lath, folder, seed):
        self.lath, self.folder, self.random = lath, folder / f"t{seed}", random.Random(seed)
        columns = [name for name in TYPES if name in ("id", "s", "a") or self.random.random() < 0.6]
        self.random.shuffle(columns)
        self.schema = pa.schema([(name, TYPES[name]) for name in columns])
        chosen = [name for name in PARTITIONS if name in columns]
        self.partitions = self.random.sample(chosen, self.random.choice([0, 0, 1, 1, 2]))
        self.added = 0
        self.deleted = {}
        # Every third table has deletion vectors, which this program writes, because delta-rs does not.
        self.has_vectors = seed % 3 == 2
        self.properties = WriterProperties(max_row_group_size=random.Random(seed).choice([3, 8, 1000]))

    def value(self, name, data_type):
        choose = self.random.choice
        if self.random.random() < 0.15 and name != "id":
            return None
        match name:
            case "id":
                return self.random.randrange(40)
            case "s":
                return choose(TEXTS)
            case "day":
                return choose(DAYS)
            case "at":
                return choose(TIMES)
            case "price":  # delta-rs 1.6.6 cannot write negative ones as values of partitions
                return decimal.Decimal(choose(["0.00", "12.50", "99999.99", "0.01"]))
            case "f":
                return choose([0.0, -0.0, 0.1, -1.5, 1e300, math.inf])
            case "yes":
                return choose([True, False])
            case "raw":
                return choose([b"", b"\x00\xff", b"a"])
            case "items":
                return [choose([None, 1, 2]) for _ in range(self.random.randrange(3))]
            case "inner":
                return {field.name: choose(TEXTS if field.name == "y" else [None, 1, 2]) for field in data_type}
        return choose(TEXTS) if pa.types.is_string(data_type) else self.random.randrange(-3, 4)

    def rows(self, count=None):
        count = count or self.random.randrange(1, 30)
        rows = [{field.name: self.value(field.name, field.type) for field in self.schema} for _ in range(count)]
        return pa.Table.from_pylist(rows, schema=self.schema)

    def distinct_rows(self):
        table = self.rows(20)
        seen, kept = set(), []
        for at, key in enumerate(table["id"].to_pylist()):
            if key not in seen:
                seen.add(key)
                kept.append(at)
        return table.take(kept)

    def table(self):
        return DeltaTable(self.folder)

    def write(self, **options):
        configuration = {"delta.enableDeletionVectors": "true"} if self.has_vectors else None
        write_deltalake(
            self.folder,
            self.rows(),
            partition_by=self.partitions or None,
            configuration=configuration,
            writer_properties=self.properties,
            **options,
        )

    def delete_by_vectors(self):
        """Deletes random rows of random files by a commit with deletion vectors."""
        table = self.table()
        files = {}
        for version in range(table.version() + 1):
            for line in (self.folder / "_delta_log" / f"{version:020}.json").read_text().splitlines():
                action = json.loads(line)
                if "remove" in action:
                    files.pop(action["remove"]["path"], None)
            for line in (self.folder / "_delta_log" / f"{version:020}.json").read_text().splitlines():
                if "add" in (action := json.loads(line)):
                    files[action["add"]["path"]] = action["add"]
        actions, vectors, offset = [], [b"\x01"], 1
        name = uuid.UUID(int=self.random.getrandbits(128))
        for path in self.random.sample(sorted(files), min(len(files), 3)):
            add = files[path]
            count = pq.read_metadata(self.folder / urllib.parse.unquote(path)).num_rows
            deleted = set(self.random.sample(range(count), self.random.randrange(1, count + 1)))
            if vector := add.get("deletionVector"):
                deleted |= self.deleted[vector["pathOrInlineDv"], vector.get("offset")]
                if deleted == self.deleted[vector["pathOrInlineDv"], vector.get("offset")]:
                    # A commit may not remove and add the same file.
                    continue
            data = struct.pack("<I", 1681511377) + roaring(sorted(deleted))
            vector = {"sizeInBytes": len(data), "cardinality": len(deleted)}
            if self.random.random() < 0.3:
                text = z85(data + bytes(-len(data) % 4))
                vector |= {"storageType": "i", "pathOrInlineDv": text}
            else:
                vector |= {"storageType": "u", "pathOrInlineDv": z85(name.bytes), "offset": offset}
                framed = struct.pack(">I", len(data)) + data + struct.pack(">I", zlib.crc32(data))
                vectors.append(framed)
                offset += len(framed)
            self.deleted[vector["pathOrInlineDv"], vector.get("offset")] = deleted
            remove = {"path": path, "deletionTimestamp": 0, "dataChange": True}
            if "deletionVector" in add:
                remove["deletionVector"] = add["deletionVector"]
            # Bounds of all rows, also the deleted ones.
            stats = json.loads(add["stats"]) | {"tightBounds": False}
            actions += [{"remove": remove}, {"add": add | {"deletionVector": vector, "stats": json.dumps(stats)}}]
        (self.folder / f"deletion_vector_{name}.bin").write_bytes(b"".join(vectors))
        log = self.folder / "_delta_log" / f"{table.version() + 1:020}.json"
        log.write_text("".join(json.dumps(action) + "\n" for action in [{"commitInfo": {"timestamp": 0}}, *actions]))

    def step(self):
        if self.has_vectors:
            match self.random.choice(["append", "vectors", "vectors", "checkpoint"]):
                case "append":
                    self.write(mode="append")
                case "vectors":
                    self.delete_by_vectors()
                case "checkpoint":
                    self.table().create_checkpoint()
            return
        operation = self.random.choice(
            ["append"] * 4
            + ["delete", "delete", "update", "merge", "overwrite", "evolve", "compact", "checkpoint", "vacuum", "clean"]
            + ["replace", "inner", "reshape", "restore", "order"]
        )
        key = self.random.randrange(40)
        match operation:
            case "append":
                self.write(mode="append")
            case "delete":
                self.table().delete(self.random.choice([f"id < {key // 4}", f"id = {key}", "a IS NULL", "s = 'it''s'"]))
            case "update":
                self.table().update(updates={"f" if "f" in self.schema.names else "id": "7"}, predicate=f"id = {key}")
            case "merge":
                merge = self.table().merge(self.distinct_rows(), "t.id = s.id", source_alias="s", target_alias="t")
                merge.when_matched_update_all().when_not_matched_insert_all().execute()
            case "overwrite" if self.random.random() < 0.4:
                self.write(mode="overwrite")
            case "evolve" if self.added < 2:
                self.added += 1
                self.schema = self.schema.append(pa.field(f"new{self.added}", self.random.choice([pa.int32(), pa.string()])))
                self.write(mode="append", schema_mode="merge")
            case "replace":
                # delta-rs refuses rows that do not hold the condition.
                rows = self.rows(20)
                kept = rows.filter(pc.equal(rows["id"], key))
                write_deltalake(self.folder, kept, mode="overwrite", predicate=f"id = {key}", partition_by=self.partitions or None)
            case "inner" if "inner" in self.schema.names and self.added < 4:
                self.added += 1
                at = self.schema.get_field_index("inner")
                fields = [*self.schema.field(at).type, pa.field(f"z{self.added}", pa.int32())]
                self.schema = self.schema.set(at, pa.field("inner", pa.struct(fields)))
                self.write(mode="append", schema_mode="merge")
            case "reshape" if self.random.random() < 0.5:
                # Drops a column and moves the others.
                free = [name for name in self.schema.names if name not in ("id", "s", "a", *self.partitions)]
                dropped = self.random.choice(free) if free else None
                fields = [field for field in self.schema if field.name != dropped]
                self.random.shuffle(fields)
                self.schema = pa.schema(fields)
                self.write(mode="overwrite", schema_mode="overwrite")
            case "restore":
                version = self.table().version()
                if version:
                    self.table().restore(self.random.randrange(version))
                    self.schema = pa.schema(self.table().schema().to_arrow())
            case "order":
                self.table().optimize.z_order(["id"])
            case "compact":
                self.table().optimize.compact()
            case "checkpoint":
                self.table().create_checkpoint()
            case "vacuum" if self.random.random() < 0.3:
                self.table().vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
            case "clean" if self.random.random() < 0.3:
                self.table().cleanup_metadata()

    def run(self, *arguments):
        return subprocess.run([self.lath, *map(str, arguments)], capture_output=True, text=True)

    def read(self, version):
        """The rows that Lath reads, or the text of its error."""
        output = self.folder.parent / "rows.arrow"
        done = self.run("cat", self.folder, "--at", version, "-o", output, "--format", "arrow")
        if done.returncode:
            return done.stderr
        with pa.ipc.open_file(output) as reader:
            return reader.read_all()

    def expected(self, version):
        """The rows that delta-rs reads; `None` if files are gone."""
        table = DeltaTable(self.folder, version=version)
        if not all(pathlib.Path(uri).exists() for uri in table.file_uris()):
            return table, None
        rows = QueryBuilder().register("t", table).execute("SELECT * FROM t")
        return table, pa.table(rows)

    def faults(self):
        self.write(mode="error")
        for _ in range(OPERATIONS):
            try:
                self.step()
            except Exception as error:
                # delta-rs refuses some changes.
                if "DeltaError" not in type(error).__name__ and "DeltaProtocolError" not in type(error).__name__ and not isinstance(error, (ValueError, OSError)):
                    raise
        latest = self.table().version()
        for version in range(latest + 1):
            try:
                table, expected = self.expected(version)
            except Exception as error:
                if "cannot be read" not in (found := str(self.read(version))) and "lacks" not in found:
                    yield f"version {version}: delta-rs says {error}, Lath {found[:200]}"
                continue
            found = self.read(version)
            if expected is None:
                if not isinstance(found, str):
                    yield f"version {version}: files are gone, and Lath reads {found.num_rows} rows"
                continue
            if isinstance(found, str):
                yield f"version {version}: {found.strip()}"
                continue
            if found.schema.names != expected.schema.names:
                yield f"version {version}: columns {found.schema.names}, expected {expected.schema.names}"
                continue
            found = sorted(map(key_of, found.to_pylist()))
            expected = sorted(key_of(self.as_read(row)) for row in expected.to_pylist())
            if found != expected:
                lacks = [row for row in expected if row not in found][:2]
                more = [row for row in found if row not in expected][:2]
                yield f"version {version}: {len(found)} rows, expected {len(expected)}; lacks {lacks}, has {more}"
                continue
            yield from self.conditions(version, table)
        yield from self.times(latest)
        yield from self.first_and_last()

    def as_read(self, row):
        """By the protocol, an empty text of a partition column is null. delta-rs (1.6.6) reads it back as it wrote it."""
        if "s" in self.partitions and row["s"] == "":
            row["s"] = None
        return row

    def first_and_last(self):
        """The first, last and random rows of the latest version."""

        def lines(*arguments):
            return self.run(*arguments, self.folder, "--format", "jsonl").stdout.splitlines()

        rows, count = lines("cat"), self.random.randrange(1, 12)
        if lines("head", "-n", count) != rows[:count]:
            yield f"head -n {count} differs from the first rows"
        if lines("tail", "-n", count) != rows[-count:]:
            yield f"tail -n {count} differs from the last rows"
        sample = lines("sample", "-n", count)
        if len(sample) != min(count, len(rows)) or not set(sample) <= set(rows):
            yield f"sample -n {count} has {len(sample)} rows of {len(rows)}"

    def conditions(self, version, table):
        """Counts by conditions, with files and row groups ruled out."""
        whole = pa.table(QueryBuilder().register("t", table).execute("SELECT * FROM t"))
        rows = list(map(self.as_read, whole.to_pylist()))
        whole = pa.Table.from_pylist(rows, schema=whole.schema)
        total = self.run("count", self.folder, "--at", version)
        if total.stdout.strip() != str(len(rows)):
            yield f"version {version}: count is {total.stdout.strip() or total.stderr.strip()}, expected {len(rows)}"
        key, text = self.random.randrange(40), self.random.choice(TEXTS)
        quoted = text.replace("'", "''")
        tests = [
            (f"id = {key}", lambda row: row["id"] == key),
            (f"s = '{quoted}'", lambda row: row["s"] == text),
            ("s IS NULL", lambda row: row["s"] is None),
            ("a > 0 AND s IS NOT NULL", lambda row: row["a"] is not None and row["a"] > 0 and row["s"] is not None),
        ]
        condition, test = self.random.choice(tests)
        found = self.run("count", self.folder, "--at", version, "--where", condition)
        if found.stdout.strip() != str(expected := sum(map(test, rows))):
            yield f"version {version}: {condition}: {found.stdout.strip() or found.stderr.strip()}, expected {expected}"
        yield from self.judged(version, whole)

    def judged(self, version, rows):
        """Conditions on columns of other types, and on fields within structs, as DuckDB judges them, with and without pruning."""
        duck = duckdb.connect()
        duck.execute("SET TimeZone = 'UTC'")
        duck.register("rows", rows)
        leaves = [(f'"{name}"', (name,)) for name in rows.column_names if name not in ("raw", "items", "inner")]
        if "inner" in rows.column_names:
            leaves += [(f'"inner"."{field.name}"', ("inner", field.name)) for field in rows.schema.field("inner").type]
        values = rows.to_pylist()
        for name, path in self.random.sample(leaves, 2):
            found = [row[path[0]] if len(path) == 1 else (row[path[0]] or {}).get(path[1]) for row in values]
            literals = [text for value in found if (text := literal(value))]
            tests = [f"{name} IS NULL", f"{name} IS NOT NULL"]
            if literals:
                tests += [f"{name} {operator} {self.random.choice(literals)}" for operator in ("=", "<", ">=", "<>")]
            test = self.random.choice(tests)
            (expected,) = duck.execute(f"SELECT count(*) FROM rows WHERE {test}").fetchone()
            for prune in ([], ["--no-prune"]):
                done = self.run("find", self.folder, "--at", version, "--where", test, "--format", "jsonl", *prune)
                if done.stderr or len(done.stdout.splitlines()) != expected:
                    yield f"version {version}: {test} {prune}: {len(done.stdout.splitlines())} {done.stderr.strip()}, expected {expected}"

    def times(self, latest):
        """The version at the time of each commit."""
        for version in self.random.sample(range(latest + 1), min(2, latest + 1)):
            path = self.folder / "_delta_log" / f"{version:020}.json"
            if not path.exists():
                continue
            moment = datetime.datetime.fromtimestamp(path.stat().st_mtime_ns // 1_000_000 / 1000, datetime.timezone.utc)
            table = DeltaTable(self.folder)
            try:
                table.load_as_version(moment)
            except Exception:
                continue
            done = self.run("schema", self.folder, "--at", moment.isoformat(), "--json")
            found = json.loads(done.stdout)["version"] if done.returncode == 0 else done.stderr.strip()
            if found != table.version():
                yield f"at {moment.isoformat()}: version {found}, expected {table.version()}"


def literal(value):
    """A value as text of a condition; `None` for values that have none."""
    match value:
        case bool():
            return str(value).lower()
        case float():
            return f"CAST('{value!r}' AS DOUBLE)"
        case int() | decimal.Decimal():
            return str(value)
        case datetime.datetime():
            return f"'{value.isoformat(sep=' ')}'"
        case datetime.date():
            return f"'{value.isoformat()}'"
        case str():
            return "'" + value.replace("'", "''") + "'"
    return None


def roaring(rows):
    """A Roaring bitmap of 64 bits in its portable format, of rows below 2¹⁶ in ascending order."""
    if len(rows) <= 4096:
        container = struct.pack(f"<{len(rows)}H", *rows)
    else:
        container = sum(1 << row for row in rows).to_bytes(8192, "little")
    return struct.pack("<QIIIHHI", 1, 0, 12346, 1, 0, len(rows) - 1, 16) + container


def z85(data):
    """Bytes, of which there are a multiple of four, as Z85."""
    digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    values = struct.unpack(f">{len(data) // 4}I", data)
    return "".join(digits[value // 85**power % 85] for value in values for power in range(4, -1, -1))


def key_of(row):
    """A row as a text by which rows compare: NaN equals NaN, zeros of both signs differ."""

    def text(value):
        match value:
            case dict():
                return {name: text(inner) for name, inner in value.items()}
            case list():
                return [text(inner) for inner in value]
            case float():
                return repr(value)
        return value if value is None or isinstance(value, (bool, int, str)) else repr(value)

    return json.dumps({name: text(value) for name, value in row.items()})


def main():
    lath, cases, first = sys.argv[1], int((sys.argv + ["20"])[2]), int((sys.argv + ["", "0"])[3] if len(sys.argv) > 3 else 0)
    faults = 0
    for seed in range(first, first + cases):
        with tempfile.TemporaryDirectory() as folder:
            for fault in Case(lath, pathlib.Path(folder), seed).faults():
                faults += 1
                print(f"case {seed}: {fault}", flush=True)
    print(f"delta: {cases} tables, {faults} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
