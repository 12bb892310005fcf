"""Changes Iceberg tables by random steps with pyiceberg, and compares Lath's rows with pyiceberg's at every snapshot.

    iceberg.py LATH [CASES [FIRST]]

LATH is the command. Each case is a table, with its seed as its number, from FIRST on (0). Steps append, overwrite, delete and upsert rows, add,
drop, rename, widen and move columns (within structs too), change the partitioning, make branches and tags, append to branches, replace
partitions, expire snapshots, and upgrade the format; some cases move the
table's folder afterwards. Conditions are compared with and without pruning, and the rows of a keyed
table that is made of the newest files. Prints one line a fault; exits with 1 if there are faults.
"""

import datetime
import decimal
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

import duckdb
import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import And, EqualTo, GreaterThan, IsNull, LessThan, Not, Or
from pyiceberg.schema import Schema
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    TruncateTransform,
    YearTransform,
)
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
)

STEPS = 12
UTC = datetime.timezone.utc


class Lath:
    """The command, for one question at a time."""

    def __init__(self, command):
        self.command = command

    def rows(self, location, at=None, where=None, prune=True):
        arguments = [self.command, "find", location, "--where", where or "TRUE", "--format", "arrow"]
        arguments += ["--at", str(at)] if at is not None else []
        arguments += [] if prune else ["--no-prune"]
        run = subprocess.run(arguments, capture_output=True)
        # It ends with 1 if no row is found.
        if run.returncode > 1 or run.stderr:
            raise RuntimeError(run.stderr.decode().strip())
        return pa.ipc.open_stream(run.stdout).read_all()


class Case:
    def __init__(self, folder, seed):
        self.random = random.Random(seed)
        self.seed = seed
        self.folder = folder
        self.catalog = SqlCatalog("c", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/lake")
        self.catalog.create_namespace("n")
        self.names = 0
        columns = [
            NestedField(1, "id", IntegerType(), required=False),
            NestedField(2, "name", StringType(), required=False),
            NestedField(3, "amount", FloatType(), required=False),
            NestedField(4, "price", DecimalType(9, 2), required=False),
            NestedField(5, "day", DateType(), required=False),
            NestedField(6, "at", TimestampType(), required=False),
            NestedField(7, "zoned", TimestamptzType(), required=False),
            NestedField(8, "is", BooleanType(), required=False),
            NestedField(9, "bytes", BinaryType(), required=False),
            NestedField(
                10,
                "s",
                StructType(
                    NestedField(11, "x", IntegerType(), required=False), NestedField(12, "y", StringType(), required=False)
                ),
                required=False,
            ),
            NestedField(13, "l", ListType(14, IntegerType(), element_required=False), required=False),
            NestedField(
                15,
                "m",
                MapType(
                    16, StringType(), 17, StructType(NestedField(18, "v", IntegerType(), required=False)), value_required=False
                ),
                required=False,
            ),
            NestedField(19, "number", LongType(), required=False),
        ]
        version = self.random.choice([1, 2, 2])
        self.table = self.catalog.create_table("n.t", Schema(*columns), properties={"format-version": str(version)})
        self.steps = []
        # A column whose values are distinct, whatever its name.
        self.number, self.next_number = self.table.schema().find_field("number").field_id, 0

    # Rows.

    def distinct_column(self):
        """The name of the column whose values are distinct; None if it was dropped."""
        return next((field.name for field in self.table.schema().fields if field.field_id == self.number), None)

    def value(self, field_type):
        draw = self.random
        if draw.random() < 0.15:
            return None
        if isinstance(field_type, (IntegerType, LongType)):
            return draw.choice([draw.randrange(-10, 30), draw.randrange(-10, 30), 2**31 - 1])
        if isinstance(field_type, (FloatType, DoubleType)):
            return draw.choice([0.0, -1.5, 0.25, 3.0, float(draw.randrange(-9, 9)), float("inf"), float("nan")])
        if isinstance(field_type, DecimalType):
            return decimal.Decimal(draw.randrange(-999, 9999)).scaleb(-2)
        if isinstance(field_type, DateType):
            return datetime.date(1970, 1, 1) + datetime.timedelta(days=draw.randrange(-400, 20000, 97))
        if isinstance(field_type, (TimestampType, TimestamptzType)):
            at = datetime.datetime(1970, 1, 1) + datetime.timedelta(
                days=draw.randrange(-40, 400, 13), seconds=draw.randrange(86400), microseconds=draw.choice([0, 1, 999999])
            )
            return at.replace(tzinfo=UTC) if isinstance(field_type, TimestamptzType) else at
        if isinstance(field_type, BooleanType):
            return draw.random() < 0.5
        if isinstance(field_type, BinaryType):
            return draw.randbytes(draw.randrange(4))
        if isinstance(field_type, StringType):
            return draw.choice(["", "a", "abc", "abcd", "ø", "x/y=z", "it's", "\U0001f600", "zz"])
        if isinstance(field_type, StructType):
            return {field.name: self.value(field.field_type) for field in field_type.fields}
        if isinstance(field_type, ListType):
            return [self.value(field_type.element_type) for _ in range(draw.randrange(3))]
        if isinstance(field_type, MapType):
            return [(f"k{at}", self.value(field_type.value_type)) for at in range(draw.randrange(3))]
        raise AssertionError(field_type)

    def rows(self, count):
        schema = self.table.schema()
        columns = {field.name: [self.value(field.field_type) for _ in range(count)] for field in schema.fields}
        if name := self.distinct_column():
            columns[name] = range(self.next_number, self.next_number + count)
            self.next_number += count
        return pa.table(columns, schema=schema.as_arrow())

    # Steps.

    def step(self):
        steps = ["append"] * 4 + ["delete"] * 2 + ["overwrite", "upsert", "evolve", "evolve", "evolve", "partition", "name"]
        steps += ["replace", "branch", "expire", "upgrade"]
        kind = self.random.choice(steps)
        self.steps.append(kind)
        try:
            getattr(self, kind)()
        except Exception as error:
            # pyiceberg refuses some changes and some values, in several ways; the table is then as it was.
            self.steps[-1] += f" refused ({type(error).__name__})"
        self.table = self.catalog.load_table("n.t")

    def append(self):
        self.table.append(self.rows(self.random.randrange(1, 30)))

    def overwrite(self):
        self.table.overwrite(self.rows(self.random.randrange(5)), overwrite_filter=self.condition()[0])

    def delete(self):
        self.table.delete(self.condition()[0])

    def upsert(self):
        rows = self.rows(6)
        names = rows.column_names
        key = self.random.choice([name for name in names if name.startswith(("id", "c"))] or names[:1])
        firsts = {}
        for at, value in enumerate(rows.column(key).to_pylist()):
            if value is not None and value == value:
                firsts.setdefault(value, at)
        self.table.upsert(rows.take(list(firsts.values())), join_cols=[key])

    def replace(self):
        self.table.dynamic_partition_overwrite(self.rows(3))

    def branch(self):
        snapshots = self.table.snapshots()
        if snapshots:
            self.names += 1
            with self.table.manage_snapshots() as manage:
                manage.create_branch(self.random.choice(snapshots).snapshot_id, f"branch{self.names}")
            self.table = self.catalog.load_table("n.t")
            self.table.append(self.rows(2), branch=f"branch{self.names}")

    def expire(self):
        snapshots = self.table.snapshots()
        if len(snapshots) > 2:
            self.table.maintenance.expire_snapshots().by_id(self.random.choice(snapshots).snapshot_id).commit()

    def upgrade(self):
        with self.table.transaction() as transaction:
            transaction.upgrade_table_version(2)

    def new_name(self):
        # Names of dropped columns come back.
        self.names += 1
        taken = self.table.schema().column_names
        free = [name for name in ["id", "name", "amount", "price", "x", "y", "c1", "c2"] if name not in taken]
        return self.random.choice(free) if free and self.random.random() < 0.7 else f"new{self.names}"

    def evolve(self):
        draw, schema = self.random, self.table.schema()
        field = draw.choice(schema.fields)
        inner = [path for path in schema.column_names if path.startswith(("s.", "m.value."))]
        with self.table.update_schema(allow_incompatible_changes=False) as update:
            kind = draw.choice(["add", "add", "add inner", "drop", "drop inner", "rename", "rename inner", "widen", "move"])
            new_type = draw.choice([IntegerType(), StringType(), DoubleType(), DateType(), DecimalType(12, 2)])
            if kind == "add":
                update.add_column(self.new_name(), new_type)
            elif kind == "add inner":
                update.add_column(("s", f"z{self.names}"), new_type)
                self.names += 1
            elif kind == "drop":
                update.delete_column(field.name)
            elif kind == "drop inner" and inner:
                update.delete_column(tuple(draw.choice(inner).split(".")))
            elif kind == "rename":
                update.rename_column(field.name, self.new_name())
            elif kind == "rename inner" and inner:
                path = draw.choice(inner)
                update.rename_column(tuple(path.split(".")), draw.choice(["x", "y", "v", "w"]))
            elif kind == "widen":
                wider = {IntegerType: LongType(), FloatType: DoubleType(), DecimalType: DecimalType(18, 2)}
                columns = [f for f in schema.fields if type(f.field_type) in wider]
                if columns:
                    column = draw.choice(columns)
                    update.update_column(column.name, field_type=wider[type(column.field_type)])
            elif kind == "move":
                update.move_first(field.name)
        self.steps[-1] += f" ({kind})"

    def partition(self):
        draw, schema = self.random, self.table.schema()
        spec = self.table.spec()
        with self.table.update_spec() as update:
            if spec.fields and draw.random() < 0.5:
                update.remove_field(draw.choice(spec.fields).name)
                return
            field = draw.choice([f for f in schema.fields if not isinstance(f.field_type, (StructType, ListType, MapType))])
            transforms = [IdentityTransform()]
            if isinstance(field.field_type, (IntegerType, LongType, StringType, DecimalType)):
                transforms += [BucketTransform(4), TruncateTransform(3)]
            if isinstance(field.field_type, (DateType, TimestampType, TimestamptzType)):
                transforms += [YearTransform(), MonthTransform(), DayTransform(), BucketTransform(3)]
            if isinstance(field.field_type, (TimestampType, TimestamptzType)):
                transforms.append(HourTransform())
            if isinstance(field.field_type, (FloatType, DoubleType, BinaryType)):
                return
            update.add_field(field.name, draw.choice(transforms), f"p{self.names}")
            self.names += 1

    def name(self):
        snapshots = self.table.snapshots()
        if snapshots:
            with self.table.manage_snapshots() as manage:
                manage.create_tag(self.random.choice(snapshots).snapshot_id, f"tag{self.names}")
            self.names += 1

    # Conditions: of pyiceberg, and the same as text.

    def condition(self, schema=None, depth=0):
        draw, schema = self.random, schema or self.table.schema()
        if depth < 2 and draw.random() < 0.3:
            left, right = self.condition(schema, depth + 1), self.condition(schema, depth + 1)
            both = draw.choice([(And, "AND"), (Or, "OR")])
            return both[0](left[0], right[0]), f"({left[1]} {both[1]} {right[1]})"
        plain = [f for f in schema.fields if isinstance(f.field_type, (IntegerType, LongType, StringType, DecimalType, DateType, TimestampType, DoubleType, FloatType, BooleanType))]
        field = draw.choice(plain)
        quoted = '"' + field.name.replace('"', '""') + '"'
        value = None
        while value is None or value != value:
            value = self.value(field.field_type)
        if draw.random() < 0.15:
            return IsNull(field.name), f"{quoted} IS NULL"
        kinds = [(EqualTo, "=")] if isinstance(field.field_type, BooleanType) else [(EqualTo, "="), (LessThan, "<"), (GreaterThan, ">")]
        kind = draw.choice(kinds)
        literal = value if not isinstance(value, (datetime.date, datetime.datetime)) else value.isoformat()
        if isinstance(value, bool):
            text = str(value).lower()
        elif isinstance(value, float):
            text = f"CAST('{value!r}' AS DOUBLE)" if value in (float("inf"), float("-inf")) else repr(value)
        elif isinstance(value, (int, decimal.Decimal)):
            text = str(value)
        elif isinstance(value, datetime.datetime):
            text = f"'{value.isoformat(sep=' ')}'"
        else:
            text = "'" + str(value).replace("'", "''") + "'"
        made = kind[0](field.name, literal)
        if draw.random() < 0.1:
            return Not(made), f"NOT ({quoted} {kind[1]} {text})"
        return made, f"{quoted} {kind[1]} {text}"


def plain(value):
    """The value in a form in which equal ones have equal text."""
    if isinstance(value, float):
        return "nan" if value != value else repr(value + 0.0)
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in sorted(value.items())}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    if isinstance(value, datetime.datetime):
        return (value.astimezone(UTC) if value.tzinfo else value).isoformat()
    return str(value) if value is not None else None


def counted(table):
    rows = table.to_pylist()
    return sorted(json.dumps(plain(row), sort_keys=True) for row in rows)


def has_empty_struct(data_type):
    """Whether a type is or has a struct without fields."""
    if pa.types.is_struct(data_type) and data_type.num_fields == 0:
        return True
    return pa.types.is_nested(data_type) and any(has_empty_struct(data_type.field(at).type) for at in range(data_type.num_fields))


def difference(ours, theirs):
    if set(ours.column_names) != set(theirs.column_names):
        return f"columns {ours.column_names} and {theirs.column_names}"
    if ours.column_names != theirs.column_names:
        return f"the order of columns {ours.column_names} and {theirs.column_names}"
    left, right = counted(ours), counted(theirs)
    if left == right:
        return None
    more = [row for row in left if row not in right][:1]
    fewer = [row for row in right if row not in left][:1]
    return f"{len(left)} rows and {len(right)}; only in Lath: {more}; only in pyiceberg: {fewer}"


def check_import(case, lath, location, theirs):
    """What is wrong with a keyed table that is made of the table's files; None if nothing is, or there is no key."""
    key = case.distinct_column()
    if key is None or theirs.column(key).null_count or any(map(has_empty_struct, theirs.schema.types)):
        return None
    imported = f"{case.folder}/imported"
    run = subprocess.run([lath.command, "table", "import", imported, location, "--key", key], capture_output=True, text=True)
    numbers = theirs.column(key).to_pylist()
    if len(set(numbers)) < len(numbers):
        # An upsert of pyiceberg writes a row for each one that it matches.
        return None if f"two rows have the key {key} = " in run.stderr else "two rows with the same key were imported"
    return run.stderr.strip() if run.returncode else difference(lath.rows(imported), theirs)


def check(case, lath, duck, faults):
    def fault(what):
        faults.append(what)
        print(f"case {case.seed}: {what}; steps: {', '.join(case.steps)}", flush=True)

    table = case.table
    metadata = table.metadata_location.removeprefix("file://")
    location = str(pathlib.Path(metadata).parent.parent)
    if case.seed % 3 == 0:
        moved = f"{case.folder}/moved"
        shutil.copytree(location, moved)
        location = moved
        metadata = f"{moved}/metadata/{pathlib.Path(metadata).name}"
    checks = [(None, table.scan())]
    checks += [(snapshot.snapshot_id, table.scan(snapshot_id=snapshot.snapshot_id)) for snapshot in table.snapshots()]
    # The head of a branch has the table's columns, and pyiceberg reads it with the snapshot's.
    current = table.metadata.current_schema_id
    refs = [(name, ref) for name, ref in table.metadata.refs.items() if name != "main"]
    refs = [(name, ref) for name, ref in refs if ref.snapshot_ref_type == "tag" or table.snapshot_by_id(ref.snapshot_id).schema_id == current]
    checks += [(name, table.scan(snapshot_id=ref.snapshot_id)) for name, ref in refs]
    count = 0
    for at, scan in checks:
        try:
            theirs = scan.to_arrow()
        except Exception as error:
            # Some of pyiceberg's faults; its schema is right.
            case.steps.append(f"pyiceberg failed ({type(error).__name__}: {error})")
            continue
        try:
            ours = lath.rows(metadata, at)
        except RuntimeError as error:
            fault(f"at {at}: {error}")
            continue
        count += 1
        wrong = difference(ours, theirs)
        if wrong:
            fault(f"at {at}: {wrong}")
            continue
        if at is None and (wrong := check_import(case, lath, metadata, theirs)):
            fault(f"imported: {wrong}")
        if at is not None and at != table.metadata.current_snapshot_id:
            continue
        schema = scan.projection()
        if any(map(has_empty_struct, theirs.schema.types)):
            # DuckDB has no structs without fields.
            continue
        # Copied, because DuckDB lets pyarrow test conditions on rows of Arrow, to which NaN is not larger than a number.
        duck.register("given", theirs)
        duck.execute("CREATE OR REPLACE TEMP TABLE expected AS SELECT * FROM given").fetchall()
        for _ in range(6):
            # pyiceberg's comparisons leave out NaN, and its NOT keeps nulls: DuckDB tests the condition on pyiceberg's rows.
            _, text = case.condition(schema)
            theirs = duck.execute(f"SELECT * FROM expected WHERE {text}").to_arrow_table()
            for prune in (True, False):
                try:
                    ours = lath.rows(metadata, at, text, prune)
                except RuntimeError as error:
                    fault(f"at {at}, {text}: {error}")
                    continue
                count += 1
                wrong = difference(ours, theirs)
                if wrong:
                    fault(f"at {at}, {text}, pruning {prune}: {wrong}")
    return count


def main():
    lath = Lath(sys.argv[1])
    cases = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    duck = duckdb.connect()
    duck.execute("SET TimeZone = 'UTC'")
    faults, count = [], 0
    for seed in range(first, first + cases):
        with tempfile.TemporaryDirectory() as folder:
            case = Case(folder, seed)
            for _ in range(STEPS):
                case.step()
            count += check(case, lath, duck, faults)
    print(f"{cases} tables, {count} comparisons, {len(faults)} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
