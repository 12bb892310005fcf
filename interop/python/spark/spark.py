"""Changes tables of Delta Lake and Iceberg by random statements of Spark, and says at which version Lath and Spark read different rows.

    spark.py LATH JARS [CASES [FIRST]]

LATH is the command, JARS the folder with the jars of Iceberg's runtime and of Delta Lake. Each case is a table of each format, with its seed
as its number, from FIRST on (0): inserts, merges, deletes and updates, by deletion vectors, by files of positions or by writing files anew;
columns that are added, dropped, renamed, widened and moved; partitions that change; checkpoints of both formats, compaction, branches
and tags, rollbacks. Conditions are counted as DuckDB counts them in Spark's rows. A third table is one of Lath that is published as both formats,
and Spark reads the rows of each publication. Prints one line a fault; exits with 1 if there are faults.
"""

import datetime
import decimal
import glob
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import duckdb
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

OPERATIONS = 7
TYPES = {
    "id": "BIGINT",
    "a": "INT",
    "s": "STRING",
    "f": "DOUBLE",
    "r": "FLOAT",
    "day": "DATE",
    "at": "TIMESTAMP",
    "local": "TIMESTAMP_NTZ",
    "price": "DECIMAL(9,2)",
    "yes": "BOOLEAN",
    "raw": "BINARY",
    "inner": "STRUCT<x: INT, y: STRING, deep: STRUCT<z: BIGINT>>",
    "items": "ARRAY<STRUCT<x: INT, y: STRING>>",
    "dict": "MAP<STRING, STRUCT<v: INT>>",
}
PARTITIONS = ["s", "a", "day", "at", "yes", "price", "local"]
WIDER = {"INT": "BIGINT", "FLOAT": "DOUBLE", "DECIMAL(9,2)": "DECIMAL(18,2)"}
TEXTS = ["", "a", "b", "it''s", "ä/ø", "50%", "a=b", "x y", "%20", "#?&", "2024-01-01", "a:b", "long " * 12, "🙂" * 9]


def literal(draw, data_type):
    if draw.random() < 0.15:
        return f"CAST(NULL AS {data_type})"
    pick = draw.choice
    match data_type:
        case "BIGINT":
            return f"{draw.randrange(40)}L"
        case "INT":
            return str(draw.randrange(-3, 4))
        case "STRING":
            return f"'{pick(TEXTS)}'"
        case "DOUBLE" | "FLOAT":
            return f"CAST('{pick(['0.0', '-0.0', '0.1', '-1.5', '1e30', 'NaN', 'Infinity'])}' AS {data_type})"
        case "DATE":
            return f"DATE '{pick(['1969-12-31', '2024-02-29', '0001-01-01', '1582-10-04', '9999-12-31'])}'"
        case "TIMESTAMP" | "TIMESTAMP_NTZ":
            times = ["2024-02-29 12:30:00", "1969-12-31 23:59:59.999999", "1900-01-01 00:00:00.000001", "2024-02-29 12:30:00.123456"]
            return f"{data_type} '{pick(times)}'"
        case "BOOLEAN":
            return pick(["true", "false"])
        case "BINARY":
            return pick(["X''", "X'00FF'", "X'61'"])
    if data_type.startswith("DECIMAL"):
        return f"CAST({pick(['0', '12.50', '-99999.99', '0.01'])} AS {data_type})"
    raise AssertionError(data_type)


class Case:
    """A table of a format."""

    def __init__(self, spark, lath, duck, folder, seed):
        self.spark, self.lath, self.duck, self.seed = spark, lath, duck, seed
        self.random = random.Random(seed)
        self.folder = folder
        self.steps, self.names = [], 0

    def sql(self, text):
        self.steps.append(text)
        return self.spark.sql(text)

    def columns(self):
        return {field.name: field.dataType.simpleString().upper() for field in self.spark.table(self.name).schema}

    def value(self, data_type):
        return literal(self.random, data_type)

    def expression(self, field_type):
        """A value of a type of Spark."""
        from pyspark.sql.types import ArrayType, MapType, StructType

        if not isinstance(field_type, (StructType, ArrayType, MapType)):
            return self.value(field_type.simpleString().upper())
        text = field_type.simpleString()
        if self.random.random() < 0.15:
            return f"CAST(NULL AS {text})"
        if isinstance(field_type, StructType):
            fields = ", ".join(f"'{field.name}', {self.expression(field.dataType)}" for field in field_type)
            return f"CAST(named_struct({fields}) AS {text})"
        if isinstance(field_type, ArrayType):
            items = ", ".join(self.expression(field_type.elementType) for _ in range(self.random.randrange(3)))
            return f"CAST(array({items}) AS {text})"
        entries = ", ".join(f"'k{at}', {self.expression(field_type.valueType)}" for at in range(self.random.randrange(3)))
        return f"CAST(map({entries}) AS {text})"

    def rows(self, count):
        schema = self.spark.table(self.name).schema
        row = lambda: ", ".join(self.expression(field.dataType) + f" AS `{field.name}`" for field in schema)
        return " UNION ALL ".join(f"SELECT {row()}" for _ in range(count))

    def insert(self):
        self.sql(f"INSERT INTO {self.name} {self.rows(self.random.randrange(1, 9))}")

    def condition(self):
        columns = {name: kind for name, kind in self.columns().items() if kind in ("BIGINT", "INT", "STRING", "DATE", "BOOLEAN")}
        name = self.random.choice(list(columns))
        if self.random.random() < 0.2:
            return f"`{name}` IS NULL"
        value = self.value(columns[name])
        return f"`{name}` {self.random.choice(['=', '<', '>'])} {value}"

    def delete(self):
        self.sql(f"DELETE FROM {self.name} WHERE {self.condition()}")

    def update(self):
        kinds = {name: kind for name, kind in self.columns().items() if "<" not in kind}
        name = self.random.choice(list(kinds))
        self.sql(f"UPDATE {self.name} SET `{name}` = {self.value(kinds[name])} WHERE {self.condition()}")

    def merge(self):
        key = next(iter(self.columns()))
        rows = f"SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY `{key}` ORDER BY 1) AS n FROM ({self.rows(6)})) WHERE n = 1"
        matched = self.random.choice(["UPDATE SET *", "DELETE"])
        self.sql(f"MERGE INTO {self.name} t USING ({rows}) s ON t.`{key}` = s.`{key}` WHEN MATCHED THEN {matched} WHEN NOT MATCHED THEN INSERT *")

    def overwrite(self):
        self.sql(f"INSERT OVERWRITE {self.name} {self.rows(4)}")

    def evolve(self):
        draw = self.random
        columns = self.columns()
        name = draw.choice(list(columns))
        self.names += 1
        kind = draw.choice(["add", "add", "add inner", "add item", "drop", "rename", "rename inner", "widen", "move"])
        if kind == "add":
            data_type = draw.choice(["INT", "STRING", "DOUBLE", "DECIMAL(9,2)", "STRUCT<x: INT>"])
            # The name of a column that was dropped may come back.
            new = draw.choice([f"new{self.names}", "back"])
            self.sql(f"ALTER TABLE {self.name} ADD COLUMNS (`{new}` {data_type})")
        elif kind == "add inner":
            self.sql(f"ALTER TABLE {self.name} ADD COLUMNS (inner.`z{self.names}` INT)")
        elif kind == "add item":
            self.sql(f"ALTER TABLE {self.name} ADD COLUMNS (items.element.`z{self.names}` INT, dict.value.`w{self.names}` STRING)")
        elif kind == "drop" and name != "id":
            self.sql(f"ALTER TABLE {self.name} DROP COLUMN `{name}`")
        elif kind == "rename" and name != "id":
            self.sql(f"ALTER TABLE {self.name} RENAME COLUMN `{name}` TO `{draw.choice(['other', 'back', f'n{self.names}'])}`")
        elif kind == "rename inner":
            self.sql(f"ALTER TABLE {self.name} RENAME COLUMN inner.x TO `u{self.names}`")
        elif kind == "widen" and columns[name] in WIDER:
            self.sql(f"ALTER TABLE {self.name} ALTER COLUMN `{name}` TYPE {WIDER[columns[name]]}")
        elif kind == "move":
            self.sql(f"ALTER TABLE {self.name} ALTER COLUMN `{name}` FIRST")

    def step(self):
        kind = self.random.choice(self.kinds)
        try:
            getattr(self, kind)()
        except Exception as error:
            if "NoClassDefFoundError" in str(error):
                # The versions of Spark and of the formats do not fit.
                raise
            # Spark refuses some changes.
            self.steps.append(f"-- refused: {str(error).splitlines()[0][:120]}")

    # Reading.

    def run(self, *arguments):
        return subprocess.run([self.lath, *map(str, arguments)], capture_output=True, text=True)

    def read(self, at):
        output = self.folder / "rows.arrow"
        done = self.run("cat", self.location, *at, "-o", output, "--format", "arrow")
        if done.returncode:
            return done.stderr
        with pa.ipc.open_file(output) as reader:
            return reader.read_all()

    def compare(self, at, frame, label):
        try:
            # An error within `toArrow` is never answered.
            frame.count()
            theirs = frame.toArrow()
        except Exception as error:
            self.steps.append(f"-- {label}: Spark: {str(error).splitlines()[0][:120]}")
            return
        ours = self.read(at)
        if isinstance(ours, str):
            yield f"{label}: {ours.strip()}"
            return
        if ours.column_names != theirs.column_names:
            yield f"{label}: columns {ours.column_names}, expected {theirs.column_names}"
            return
        found, expected = sorted(map(key_of, ours.to_pylist())), sorted(map(key_of, theirs.to_pylist()))
        if found != expected:
            lacks = [row for row in expected if row not in found][:1]
            more = [row for row in found if row not in expected][:1]
            yield f"{label}: {len(found)} rows, expected {len(expected)}; lacks {lacks}, has {more}"
            return
        yield from self.conditions(at, theirs, label)

    def conditions(self, at, theirs, label):
        self.duck.register("theirs", theirs)
        for path, data_type in self.random.sample(leaves := list(leaf_columns(theirs.schema)), min(4, len(leaves))):
            name = ".".join(f'"{part}"' for part in path)
            values = [value for row in theirs.to_pylist() if (value := field_of(row, path)) is not None and value == value]
            tests = [f"{name} IS NULL"]
            if values and (text := text_of(self.random.choice(values))):
                tests += [f"{name} {operator} {text}" for operator in self.random.sample(["=", "<", ">", "<>"], 2)]
            for test in tests:
                if pa.types.is_floating(data_type) and " IS " not in test:
                    # In DuckDB, NaN is the largest number.
                    expected = f"SELECT count(*) FROM theirs WHERE {test} AND NOT isnan({name})"
                    if "<>" in test:
                        continue
                    test = f"{test} AND {name} <= CAST('Infinity' AS DOUBLE)"
                else:
                    expected = f"SELECT count(*) FROM theirs WHERE {test}"
                expected = self.duck.execute(expected).fetchone()[0]
                done = self.run("count", self.location, *at, "--where", test)
                if done.stdout.strip() != str(expected):
                    yield f"{label}: {test}: {done.stdout.strip() or done.stderr.strip()}, expected {expected}"


class Delta(Case):
    kinds = ["insert"] * 4 + ["delete"] * 2 + ["update", "merge", "overwrite", "evolve", "evolve", "evolve", "compact", "checkpoint", "restore"]

    def create(self):
        draw = self.random
        self.location = self.folder / "delta"
        self.name = f"delta.`{self.location}`"
        columns = [name for name in TYPES if name in ("id", "s", "a") or draw.random() < 0.7]
        draw.shuffle(columns)
        chosen = [name for name in PARTITIONS if name in columns]
        partitions = draw.sample(chosen, draw.choice([0, 0, 1, 2]))
        properties = {
            "delta.columnMapping.mode": draw.choice(["none", "name", "id"]),
            "delta.enableDeletionVectors": draw.choice(["true", "true", "false"]),
            "delta.enableTypeWidening": draw.choice(["true", "false"]),
            "delta.checkpointInterval": str(draw.choice([2, 3, 100])),
            "delta.checkpoint.writeStatsAsStruct": draw.choice(["true", "false"]),
            "delta.checkpoint.writeStatsAsJson": draw.choice(["true", "false"]),
            "delta.enableRowTracking": draw.choice(["true", "false"]),
            "delta.enableInCommitTimestamps": draw.choice(["true", "false"]),
            "delta.randomizeFilePrefixes": draw.choice(["true", "false"]),
        }
        by = f"PARTITIONED BY ({', '.join(partitions)})" if partitions else ""
        made = ", ".join(f"`{name}` {TYPES[name]}" for name in columns)
        listed = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
        self.sql(f"CREATE TABLE {self.name} ({made}) USING delta {by} TBLPROPERTIES ({listed})")

    def compact(self):
        self.sql(f"OPTIMIZE {self.name}")

    def latest(self):
        return self.spark.sql(f"DESCRIBE HISTORY {self.name} LIMIT 1").collect()[0]["version"]

    def restore(self):
        self.sql(f"RESTORE TABLE {self.name} TO VERSION AS OF {self.random.randrange(self.latest() + 1)}")

    def checkpoint(self):
        jvm = self.spark._jvm
        log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(self.spark._jsparkSession, str(self.location))
        log.checkpoint(log.update(False, jvm.scala.Option.empty(), jvm.scala.Option.empty()), jvm.scala.Option.empty())

    def faults(self):
        for version in range(self.latest() + 1):
            frame = self.spark.read.format("delta").option("versionAsOf", version).load(str(self.location))
            yield from self.compare(["--at", version], frame, f"version {version}")


class Iceberg(Case):
    kinds = ["insert"] * 4 + ["delete"] * 2 + ["update", "merge", "overwrite", "evolve", "evolve", "evolve", "partition", "partition", "upgrade", "procedure", "name_it"]

    def create(self):
        draw = self.random
        self.location = self.folder / "n" / "t"
        self.name = f"c{self.seed}.n.t"
        self.spark.conf.set(f"spark.sql.catalog.c{self.seed}", "org.apache.iceberg.spark.SparkCatalog")
        self.spark.conf.set(f"spark.sql.catalog.c{self.seed}.type", "hadoop")
        self.spark.conf.set(f"spark.sql.catalog.c{self.seed}.warehouse", str(self.folder))
        columns = [name for name in TYPES if name in ("id", "s", "a") or draw.random() < 0.7]
        draw.shuffle(columns)
        self.version = draw.choice([1, 2, 3])
        mode = draw.choice(["merge-on-read", "merge-on-read", "copy-on-write"]) if self.version > 1 else "copy-on-write"
        properties = {
            "format-version": self.version,
            "write.delete.mode": mode,
            "write.update.mode": mode,
            "write.merge.mode": mode,
            "write.delete.granularity": draw.choice(["file", "partition"]),
            "write.metadata.compression-codec": draw.choice(["none", "gzip"]),
            "write.metadata.metrics.default": draw.choice(["truncate(4)", "full", "counts", "none", "truncate(16)"]),
            "write.parquet.row-group-size-bytes": draw.choice([1000, 134217728]),
        }
        by = f"PARTITIONED BY ({self.transform(draw.choice(columns))})" if draw.random() < 0.5 else ""
        made = ", ".join(f"`{name}` {TYPES[name]}" for name in columns)
        listed = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
        try:
            self.sql(f"CREATE TABLE {self.name} ({made}) USING iceberg {by} TBLPROPERTIES ({listed})")
        except Exception:
            self.sql(f"CREATE TABLE {self.name} ({made}) USING iceberg TBLPROPERTIES ({listed})")

    def transform(self, name):
        return self.random.choice(["{0}", "bucket(4, {0})", "truncate(3, {0})", "years({0})", "months({0})", "days({0})", "hours({0})"]).format(f"`{name}`")

    def partition(self):
        fields = self.spark._jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(self.spark._jsparkSession, self.name).spec().fields()
        if fields.size() and self.random.random() < 0.5:
            self.sql(f"ALTER TABLE {self.name} DROP PARTITION FIELD `{fields.get(0).name()}`")
            return
        self.sql(f"ALTER TABLE {self.name} ADD PARTITION FIELD {self.transform(self.random.choice(list(self.columns())))}")

    def upgrade(self):
        if self.version < 3:
            self.sql(f"ALTER TABLE {self.name} SET TBLPROPERTIES ('format-version' = '{self.version + 1}')")
            self.version += 1
            if self.version > 1:
                modes = ", ".join(f"'write.{kind}.mode' = 'merge-on-read'" for kind in ("delete", "update", "merge"))
                self.sql(f"ALTER TABLE {self.name} SET TBLPROPERTIES ({modes})")

    def procedure(self):
        kind = self.random.choice(["rewrite_data_files", "rewrite_manifests", "rewrite_position_delete_files"])
        options = ", options => map('rewrite-all', 'true')" if "manifests" not in kind and self.random.random() < 0.5 else ""
        self.sql(f"CALL c{self.seed}.system.{kind}(table => 'n.t'{options})")

    def snapshots(self):
        return [row["snapshot_id"] for row in self.spark.sql(f"SELECT snapshot_id FROM {self.name}.snapshots").collect()]

    def name_it(self):
        self.names += 1
        kind = self.random.choice(["BRANCH", "TAG"])
        self.sql(f"ALTER TABLE {self.name} CREATE {kind} `x{self.names}`")
        if kind == "BRANCH":
            self.sql(f"INSERT INTO {self.name}.`branch_x{self.names}` {self.rows(2)}")
        elif self.random.random() < 0.4:
            self.sql(f"CALL c{self.seed}.system.rollback_to_snapshot('n.t', {self.random.choice(self.snapshots())})")

    def faults(self):
        yield from self.compare([], self.spark.table(self.name), "the newest")
        for snapshot in self.snapshots():
            frame = self.spark.sql(f"SELECT * FROM {self.name} VERSION AS OF {snapshot}")
            yield from self.compare(["--at", snapshot], frame, f"snapshot {snapshot}")
        for row in self.spark.sql(f"SELECT name FROM {self.name}.refs").collect():
            frame = self.spark.sql(f"SELECT * FROM {self.name} VERSION AS OF '{row['name']}'")
            yield from self.compare(["--at", row["name"]], frame, f"{row['name']}")


class Published:
    """A table of Lath, published as one of Delta Lake and of Iceberg."""

    schema = pa.schema(
        [
            ("id", pa.int64()),
            ("text", pa.string()),
            ("number", pa.int32()),
            ("price", pa.decimal128(9, 2)),
            ("moment", pa.timestamp("us", "UTC")),
            ("inner", pa.struct([("x", pa.int64())])),
            ("items", pa.list_(pa.string())),
        ]
    )

    def __init__(self, spark, lath, folder, seed):
        self.spark, self.lath, self.folder, self.seed = spark, lath, folder, seed
        self.random, self.steps, self.rows = random.Random(seed), [], {}
        self.database = folder / "database"

    def run(self, *arguments):
        self.steps.append(" ".join(map(str, arguments)))
        subprocess.run([self.lath, *map(str, arguments)], check=True, capture_output=True)

    def row(self, id):
        n = self.random.randrange(1_000)
        if n % 7 == 0:
            return {name: id if name == "id" else None for name in self.schema.names}
        moment = datetime.datetime(2024, 2, 29, tzinfo=datetime.timezone.utc) + datetime.timedelta(hours=n, microseconds=n)
        price = decimal.Decimal(n).scaleb(-2)
        return {"id": id, "text": f"é {n}", "number": n * 700 - 10**5, "price": price, "moment": moment, "inner": {"x": n}, "items": [f"{n}", None][: n % 3]}

    def put(self, ids):
        new = {id: self.row(id) for id in ids}
        self.rows.update(new)
        pq.write_table(pa.Table.from_pylist(list(new.values()), self.schema), self.folder / "rows.parquet")
        return self.folder / "rows.parquet"

    def step(self):
        at = (self.database, "--table", "t")
        match self.random.randrange(6):
            case 0:
                gone = self.random.sample(range(400), 20)
                [self.rows.pop(id, None) for id in gone]
                self.run("table", "delete", *at, *gone)
            case 1:
                self.run("table", "compact", *at)
            case _:
                self.run("table", "upsert", *at, self.put(self.random.sample(range(400), self.random.choice([1, 30, 150]))))

    def faults(self):
        """What Spark reads wrongly after each of some publications."""
        at = (self.database, "--table", "t")
        self.run("table", "create", *at, "--key", "id", self.put(range(100)))
        self.run("table", "publish", *at, "--as", "iceberg,delta")
        table = self.database / "table-000001"
        for number in range(4):
            for _ in range(self.random.randrange(1, 5)):
                self.step()
            self.run("table", "publish", *at, "--now")
            expected = [key_of(self.rows[id]) for id in sorted(self.rows)]
            for kind in ("iceberg", "delta"):
                found = self.spark.read.format(kind).load(str(table)).orderBy("id").select(*self.schema.names)
                found = [key_of(row) for row in found.toArrow().to_pylist()]
                if found != expected:
                    wrong = [pair for pair in zip(found, expected) if pair[0] != pair[1]][:2]
                    yield f"publication {number} as {kind}: {len(found)} rows instead of {len(expected)}, {wrong}"


def leaf_columns(fields, above=()):
    for field in fields:
        if pa.types.is_struct(field.type):
            yield from leaf_columns([field.type.field(at) for at in range(field.type.num_fields)], (*above, field.name))
        elif not pa.types.is_nested(field.type) and not pa.types.is_binary(field.type):
            yield (*above, field.name), field.type


def field_of(row, path):
    for name in path:
        row = row[name] if row is not None else None
    return row


def text_of(value):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"CAST('{value!r}' AS DOUBLE)"
    if isinstance(value, (int, decimal.Decimal)):
        return str(value)
    if isinstance(value, datetime.datetime):
        return f"'{value.isoformat(sep=' ')}'"
    if isinstance(value, datetime.date):
        return f"'{value.isoformat()}'"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else None


def plain(value):
    """The value in a form in which equal ones have equal text."""
    if isinstance(value, float):
        return "nan" if value != value else repr(value + 0.0)
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    if isinstance(value, datetime.datetime):
        return (value.astimezone(datetime.timezone.utc) if value.tzinfo else value).isoformat()
    return str(value) if value is not None else None


def key_of(row):
    return json.dumps(list(map(plain, row.values())))


def session(jars):
    builder = SparkSession.builder.master("local[2]").config("spark.jars", ",".join(glob.glob(f"{jars}/*.jar")))
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension,org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.driver.extraJavaOptions": "-Duser.timezone=UTC",
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def main():
    lath, jars = sys.argv[1:3]
    cases, first = (int(argument) for argument in (sys.argv[3:5] + ["10", "0"][len(sys.argv) - 3 :]))
    spark = session(jars)
    duck = duckdb.connect()
    duck.execute("SET TimeZone = 'UTC'")
    count = 0
    for seed in range(first, first + cases):
        for kind in (Iceberg, Delta):
            with tempfile.TemporaryDirectory() as folder:
                case = kind(spark, lath, duck, pathlib.Path(folder), seed)
                case.create()
                case.insert()
                for _ in range(OPERATIONS):
                    case.step()
                for fault in case.faults():
                    count += 1
                    print(f"{kind.__name__} {seed}: {fault}\n    " + "\n    ".join(case.steps), flush=True)
                print(f"{kind.__name__} {seed}: {len(case.steps)} steps", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            case = Published(spark, lath, pathlib.Path(folder), seed)
            for fault in case.faults():
                count += 1
                print(f"Published {seed}: {fault}\n    " + "\n    ".join(case.steps), flush=True)
            print(f"Published {seed}: {len(case.steps)} steps", file=sys.stderr, flush=True)
    print(f"{cases} tables of each format, and as many of Lath, {count} faults")
    sys.exit(1 if count else 0)


if __name__ == "__main__":
    main()
