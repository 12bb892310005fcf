"""Asks random questions of the same Parquet files by `lath sql` and by DuckDB, and compares the answers.

    queries.py LATH [QUERIES]

LATH is the command. Every ten queries have tables of their own, which `lath rewrite` has written in random encodings. Where Python has
DataFusion, its own reader of Parquet is asked, too. Prints one line an engine and difference; exits with 1 if there are differences.
"""

import datetime
import decimal
import io
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import duckdb
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

try:
    import datafusion
except ImportError:
    datafusion = None

PER_TABLES = 10
WORDS = ["Oslo", "Bergen", "", "Åre", "it's", "100%", "a_b", "a longer name of a town that is no small string"]
# Without NaN: DuckDB and DataFusion prune row groups by bounds that leave it out, and so find too few rows.
FLOATS = [math.inf, -math.inf, 0.0, 1.5, -2.25, 1e300]
PATTERNS = ["%er%", "B%", "_slo", "%", "it''s", "a%"]
NUMBERS = ["1.5", "0", "-1e300"]
DAY = datetime.date(2022, 1, 1)
MOMENT = datetime.datetime(2023, 11, 14, 22, 13, 20)


class Tables:
    """`t`: rows in three files. `u`: some of the keys of `t`, each once."""

    def __init__(self, lath, folder, chance):
        self.folder, count = folder, chance.choice([0, 7, 1000, 5000])
        for number in range(3):
            rows = self.rows(chance, number * count, count)
            self.write(lath, chance, rows, folder / "t" / f"{number}.parquet")
        keys = sorted(chance.sample(range(60), 25))
        names = [self.maybe(chance, chance.choice(WORDS)) for _ in keys]
        self.write(lath, chance, pa.table({"key": pa.array(keys, pa.int32()), "label": names}), folder / "u" / "0.parquet")

    @staticmethod
    def maybe(chance, value):
        return value if chance.random() < 0.85 else None

    def rows(self, chance, first, count):
        def column(make, type):
            return pa.array([self.maybe(chance, make()) for _ in range(count)], type)

        # A nested value that is sometimes null at each level.
        def nested():
            return {"number": self.maybe(chance, chance.randrange(5)), "word": self.maybe(chance, chance.choice(WORDS))}

        return pa.table({
            "id": pa.array(range(first, first + count), pa.int64()),
            "key": column(lambda: chance.randrange(50), pa.int32()),
            "city": column(lambda: chance.choice(WORDS), pa.string()),
            "price": column(lambda: decimal.Decimal(chance.randrange(-5000, 5000)) / 100, pa.decimal128(12, 2)),
            "ratio": column(lambda: chance.choice(FLOATS), pa.float64()),
            "weight": column(lambda: chance.randrange(-800, 800) / 8, pa.float32()),
            "day": column(lambda: DAY + datetime.timedelta(days=chance.randrange(30)), pa.date32()),
            "moment": column(lambda: MOMENT + datetime.timedelta(microseconds=chance.randrange(10**8)), pa.timestamp("us")),
            "flag": column(lambda: chance.random() < 0.5, pa.bool_()),
            "nested": column(nested, pa.struct([("number", pa.int32()), ("word", pa.string())])),
            "tags": column(lambda: [self.maybe(chance, chance.randrange(9)) for _ in range(chance.randrange(4))], pa.list_(pa.int32())),
        })

    def write(self, lath, chance, rows, path):
        path.parent.mkdir(exist_ok=True)
        plain = self.folder / "plain.parquet"
        pq.write_table(rows, plain)
        options = ["--row-group-rows", str(chance.choice([100, 1000, 100_000])), "--dictionary", chance.choice(["on", "off"])]
        options += ["--codec", chance.choice(["none", "snappy", "zstd"])]
        if chance.random() < 0.5:
            options += ["--dictionary", "off", "--encoding", "delta"]
        if chance.random() < 0.5:
            options += ["--bloom", "key"]
        subprocess.run([lath, "rewrite", plain, "-o", path, "--quiet", *options], check=True)


class Query:
    """A random query that both dialects understand, with answers in an order that leaves no choice."""

    def __init__(self, chance):
        self.chance = chance
        kinds = [self.rows, self.first_rows, self.groups, self.join, self.half_join, self.window, self.sets, self.totals, self.subquery, self.subquery]
        kind = chance.choice(kinds)
        self.text = kind()
        # DataFusion by itself rejects these, or answers them wrongly.
        self.beyond_datafusion = kind == self.subquery or "EXCEPT ALL" in self.text or "INTERSECT ALL" in self.text

    def comparison(self):
        return self.chance.choice(["=", "<>", "<", "<=", ">", ">="])

    def simple(self):
        chance, op = self.chance, self.comparison()
        # 8.53 alone is a float to DataFusion and a decimal to DuckDB.
        return chance.choice([
            lambda: f"t.id {op} {chance.randrange(-10, 15_000)}",
            lambda: f"t.key {op} {chance.randrange(-1, 52)}",
            lambda: f"t.key IN ({chance.randrange(50)}, {chance.randrange(50)}, NULL)",
            lambda: f"t.key NOT IN ({chance.randrange(50)}, {chance.randrange(50)})",
            lambda: f"t.key BETWEEN {chance.randrange(50)} AND {chance.randrange(50)}",
            lambda: f"t.key {op} t.id % 50",
            lambda: f"t.city {op} 'Bergen'",
            lambda: f"t.city {chance.choice(['LIKE', 'NOT LIKE'])} '{chance.choice(PATTERNS)}'",
            lambda: "t.city IN ('Oslo', '', 'it''s')",
            lambda: f"t.price {op} CAST('{chance.randrange(-60, 60)}.{chance.randrange(100):02}' AS DECIMAL(12, 2))",
            lambda: f"t.ratio {op} {chance.choice(NUMBERS)}",
            lambda: f"t.weight {op} {chance.randrange(-800, 800) / 8}",
            lambda: f"t.day {op} DATE '2022-01-{chance.randrange(1, 31):02}'",
            lambda: f"t.moment {op} TIMESTAMP '2023-11-14 22:14:{chance.randrange(60):02}'",
            lambda: chance.choice(["t.flag", "NOT t.flag", "t.flag IS NULL", "t.flag IS NOT TRUE", "t.flag = true"]),
            lambda: f"t.{chance.choice(['city', 'price', 'key', 'ratio', 'tags'])} IS {chance.choice(['', 'NOT '])}NULL",
            lambda: f"t.nested['number'] {op} {chance.randrange(5)}",
            lambda: f"t.nested['word'] {op} 'Oslo'",
            lambda: f"t.tags[1] {op} {chance.randrange(9)}",
            lambda: f"CASE WHEN t.flag THEN t.key ELSE {chance.randrange(50)} END {op} {chance.randrange(50)}",
            lambda: f"coalesce(t.key, -1) {op} {chance.randrange(50)}",
            lambda: f"length(t.city) {op} {chance.randrange(8)}",
        ])()

    def condition(self, depth=2):
        kind = self.chance.random()
        if depth == 0 or kind < 0.4:
            return self.simple()
        if kind < 0.5:
            return f"NOT ({self.condition(depth - 1)})"
        return f"({self.condition(depth - 1)} {self.chance.choice(['AND', 'AND', 'OR'])} {self.condition(depth - 1)})"

    def where(self):
        return f"WHERE {self.condition()}" if self.chance.random() < 0.85 else ""

    COLUMNS = ["key", "city", "price", "ratio", "weight", "day", "moment", "flag", "nested", "tags"]
    EXPRESSIONS = [
        "t.nested['number'] AS number", "t.nested['word'] AS word", "t.tags[2] AS second", "t.key + t.id AS added", "upper(t.city) AS high",
        "t.price * 2 AS twice", "t.day + INTERVAL '3 days' AS later", "t.city || '!' AS cry", "abs(t.key - 25) AS far",
        "CASE WHEN t.price > 0 THEN 'gain' WHEN t.price < 0 THEN 'loss' END AS sign", "extract(year FROM t.moment) AS year",
        "substr(t.city, 2, 3) AS part", "CAST(t.key AS VARCHAR) AS digits", "t.price > 10 AS dear",
    ]
    # Nothing of `ratio`: DataFusion's maximum of only minus infinity is the smallest finite number.
    AGGREGATES = [
        "count(*)", "count(t.key)", "count(DISTINCT t.city)", "sum(t.key)", "sum(t.price)", "min(t.price)", "max(t.price)", "min(t.city)",
        "max(t.city)", "min(t.day)", "max(t.moment)", "avg(t.key)", "avg(t.weight)", "sum(t.weight)", "bool_and(t.flag)", "max(t.weight)",
        "min(t.weight)", "sum(t.nested['number'])", "count(t.tags)", "sum(CASE WHEN t.flag THEN 1 ELSE 0 END)", "stddev(t.key)",
        "sum(t.key) FILTER (WHERE t.flag)",
    ]
    GROUPS = ["t.key", "t.city", "t.day", "t.flag", "t.price", "t.nested['number']", "t.key % 7", "length(t.city)", "date_trunc('day', t.moment)"]

    def select_list(self):
        chance = self.chance
        names = [f"t.{name}" for name in chance.sample(self.COLUMNS, chance.randrange(1, 5))]
        return ", ".join(["t.id", *names, *chance.sample(self.EXPRESSIONS, chance.randrange(3))])

    def rows(self):
        return f"SELECT {self.select_list()} FROM t {self.where()} ORDER BY t.id"

    def order(self):
        return f"{self.chance.choice(['ASC', 'DESC'])} NULLS {self.chance.choice(['FIRST', 'LAST'])}"

    def first_rows(self):
        chance = self.chance
        orders = [f"t.{name} {self.order()}" for name in chance.sample(["key", "city", "price", "ratio", "day", "moment", "flag"], chance.randrange(1, 3))]
        offset = f" OFFSET {chance.randrange(20)}" if chance.random() < 0.3 else ""
        return f"SELECT {self.select_list()} FROM t {self.where()} ORDER BY {', '.join(orders)}, t.id LIMIT {chance.choice([0, 1, 10, 100])}{offset}"

    def aggregates(self):
        return ", ".join(f"{text} AS a{at}" for at, text in enumerate(self.chance.sample(self.AGGREGATES, self.chance.randrange(1, 5))))

    def groups(self):
        groups = self.chance.sample(self.GROUPS, self.chance.randrange(1, 3))
        keys = ", ".join(f"{text} AS g{at}" for at, text in enumerate(groups))
        order = ", ".join(f"g{at} {self.order()}" for at in range(len(groups)))
        having = f"HAVING count(*) > {self.chance.randrange(5)}" if self.chance.random() < 0.3 else ""
        return f"SELECT {keys}, {self.aggregates()} FROM t {self.where()} GROUP BY {', '.join(groups)} {having} ORDER BY {order}"

    def totals(self):
        return f"SELECT {self.aggregates()} FROM t {self.where()}"

    def join(self):
        kind, chance = self.chance.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]), self.chance
        condition = chance.choice(["", f"WHERE u.label > '{chance.choice('ABO')}'", f"WHERE {self.condition(1)}", f"WHERE u.key < {chance.randrange(60)}"])
        on = chance.choice(["t.key = u.key", f"t.key = u.key AND t.id > {chance.randrange(1000)}"])
        if chance.random() < 0.5:
            order = "t.id NULLS LAST, u.key NULLS LAST"
            return f"SELECT t.id, t.city, u.key AS other, u.label FROM t {kind} u ON {on} {condition} ORDER BY {order}"
        return f"SELECT u.label AS g0, {self.aggregates()} FROM t {kind} u ON {on} {condition} GROUP BY u.label ORDER BY g0 NULLS LAST"

    def half_join(self):
        chance = self.chance
        inner = f"SELECT u.key FROM u WHERE u.label {self.comparison()} '{chance.choice(['Oslo', 'B', ''])}'"
        test = chance.choice([
            f"t.key IN ({inner})",
            f"EXISTS ({inner} AND u.key = t.key)",
            f"NOT EXISTS ({inner} AND u.key = t.key)",
            f"t.key NOT IN (SELECT u.key FROM u WHERE u.key > {chance.randrange(60)})",
            f"t.id > (SELECT max(u.key) * {chance.randrange(1, 100)} FROM u)",
        ])
        return f"SELECT t.id, t.key, t.city FROM t WHERE {test} AND {self.condition(1)} ORDER BY t.id"

    def correlated(self, column, alias):
        """A query of one column of `u` or `t` that uses columns of the outer `t`."""
        chance = self.chance
        of_t = column == "key" and chance.random() < 0.3
        table, other = ("t", "id % 50") if of_t else ("u", "key")
        condition = chance.choice([
            f"{alias}.key = t.key", f"{alias}.key = t.key", f"{alias}.key {self.comparison()} t.key", f"{alias}.{other} = t.id % 60",
            f"({alias}.key = t.key OR {alias}.key > {chance.randrange(40, 60)})", f"{alias}.key + {chance.randrange(9)} = t.key",
        ])
        if of_t:
            condition += f" AND {alias}.id < {chance.randrange(200)}"
        return chance.choice([
            f"SELECT {alias}.{column} FROM {table} {alias} WHERE {condition}",
            f"SELECT {chance.choice(['max', 'min'])}({alias}.{column}) FROM {table} {alias} WHERE {condition}",
            f"SELECT max({alias}.{column}) FROM {table} {alias} WHERE {condition} GROUP BY {alias}.key",
            f"SELECT {alias}.{column} FROM {table} {alias} WHERE {condition} ORDER BY 1 LIMIT {chance.randrange(3)}",
            f"SELECT {alias}.{column} FROM {table} {alias} WHERE {condition} {chance.choice(['EXCEPT', 'UNION', 'INTERSECT ALL'])} SELECT {column} FROM u",
        ])

    def truth(self):
        """A predicate over a correlated subquery: true, false or null."""
        chance = self.chance
        column = chance.choice(["key", "label"])
        inner, own = self.correlated(column, "v"), {"key": "t.key", "label": "t.city"}[column]
        return chance.choice([
            f"EXISTS ({inner})", f"NOT EXISTS ({inner})", f"{own} IN ({inner})", f"{own} NOT IN ({inner})",
            f"{own} {self.comparison()} {chance.choice(['ANY', 'ALL'])} ({inner})", f"({own} IN ({inner})) IS NULL",
        ])

    def subquery(self):
        chance = self.chance
        value = chance.choice([
            self.truth,
            lambda: f"(SELECT count(*) FROM u v WHERE v.key {self.comparison()} t.key)",
            lambda: f"(SELECT max(v.label) FROM u v WHERE v.key = t.key)",
            lambda: f"(SELECT v.key FROM u v WHERE v.key >= t.key ORDER BY v.key LIMIT 1)",
        ])()
        where = chance.choice(["", f"WHERE {self.truth()}", f"WHERE {self.truth()} OR {self.simple()}", f"WHERE NOT ({self.truth()})"])
        return f"SELECT t.id, t.key, {value} AS v FROM t {where} ORDER BY t.id"

    def window(self):
        chance = self.chance
        by = chance.choice(["t.key", "t.city", "t.flag", "t.day"])
        over = f"OVER (PARTITION BY {by} ORDER BY t.{chance.choice(['price', 'day', 'city'])} {self.order()}, t.id)"
        function = chance.choice([
            "row_number()", "rank()", "dense_rank()", "lag(t.id)", "lead(t.city, 2)", "sum(t.key)", "count(*)", "first_value(t.id)", "min(t.price)",
        ])
        limit = f"LIMIT {chance.randrange(1, 200)}" if chance.random() < 0.5 else ""
        return f"SELECT t.id, {by} AS g0, {function} {over} AS w FROM t {self.where()} ORDER BY t.id {limit}"

    def sets(self):
        chance = self.chance
        columns = chance.choice(["t.key AS a, t.city AS b", "t.day AS a, t.flag AS b", "t.price AS a, t.key AS b"])
        word = chance.choice(["UNION", "UNION ALL", "EXCEPT", "EXCEPT ALL", "INTERSECT", "INTERSECT ALL"])
        both = f"SELECT {columns} FROM t {self.where()} {word} SELECT {columns} FROM t {self.where()}"
        return f"SELECT a, b, count(*) AS c FROM ({both}) AS s GROUP BY a, b ORDER BY a NULLS LAST, b NULLS LAST"


def same(one, other):
    """Whether values are equal: floats nearly, whatever the types of numbers are."""
    if one is None or other is None:
        return one is other
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, datetime.date) and isinstance(other, datetime.date):
        as_moment = lambda day: day if isinstance(day, datetime.datetime) else datetime.datetime.combine(day, datetime.time())
        return as_moment(one) == as_moment(other)
    if isinstance(one, float) or isinstance(other, float):
        one, other = float(one), float(other)
        return one == other or (math.isnan(one) and math.isnan(other)) or math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-6)
    return one == other


def difference(one, other):
    """What differs first between two answers; none if they are the same."""
    if len(one) != len(other):
        return f"{len(one)} rows and {len(other)}"
    for row, (left, right) in enumerate(zip(one, other)):
        if not same(list(left), list(right)):
            return f"row {row}: {left} and {right}"
    return None


def rows_of(table):
    return list(zip(*(column.to_pylist() for column in table.columns))) if table.num_columns else []


def ask_lath(lath, folder, text):
    files = lambda match: f"{match[1]} '{folder}/{match[2]}/*.parquet' AS {match[3] or match[2]}"
    inner = re.sub(r"\b(FROM|JOIN) ([tu])\b(?!\.)(?: (v)\b)?", files, text)
    run = subprocess.run([lath, "sql", inner, "--format", "arrow"], capture_output=True)
    # A query that finds no row exits with 1 and prints nothing.
    if run.returncode != 0 and not (run.returncode == 1 and not run.stderr):
        raise RuntimeError(run.stderr.decode().strip())
    return rows_of(pa.ipc.open_stream(io.BytesIO(run.stdout)).read_all())


def duckdb_over(folder):
    duck = duckdb.connect()
    for name in "tu":
        duck.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet('{folder}/{name}/*.parquet')")
    return duck


def main(lath, queries):
    first_seed = int(os.environ.get("LATH_SEED") or (random.randrange(1 << 32) if "LATH_NEW_SEEDS" in os.environ else 1))
    engines = ["duckdb"] + (["datafusion"] if datafusion else [])
    equal, differences, found, crashes = {name: 0 for name in engines}, 0, 0, 0
    for batch in range(math.ceil(queries / PER_TABLES)):
        with tempfile.TemporaryDirectory() as folder:
            folder, chance = pathlib.Path(folder), random.Random(first_seed + batch)
            Tables(lath, folder, chance)
            duck = duckdb_over(folder)
            peers = {"duckdb": lambda text: duck.execute(text).fetchall()}
            if datafusion:
                context = datafusion.SessionContext()
                for name in "tu":
                    context.register_parquet(name, f"{folder}/{name}/")
                peers["datafusion"] = lambda text: rows_of(context.sql(text).to_arrow_table())
            for _ in range(min(PER_TABLES, queries - batch * PER_TABLES)):
                query = Query(chance)
                text = query.text
                try:
                    own = ask_lath(lath, folder, text)
                except RuntimeError as error:
                    print(f"seed {first_seed + batch}: lath cannot answer {text}: {error}")
                    differences += 1
                    continue
                found += len(own)
                for name, ask in peers.items():
                    if name == "datafusion" and query.beyond_datafusion:
                        continue
                    try:
                        other = ask(text)
                    except (duckdb.InternalException, duckdb.FatalException) as error:
                        # After that it answers nothing until it is opened again.
                        print(f"seed {first_seed + batch}: a bug of duckdb at {text}: {str(error).splitlines()[0]}")
                        crashes += 1
                        duck = duckdb_over(folder)
                        continue
                    except Exception as error:
                        print(f"seed {first_seed + batch}: {name} cannot answer {text}: {error}")
                        differences += 1
                        continue
                    what = difference(own, other)
                    if what is None:
                        equal[name] += 1
                    else:
                        print(f"seed {first_seed + batch}: lath and {name} differ in {what}: {text}")
                        differences += 1
    for name in engines:
        version = {"duckdb": duckdb, "datafusion": datafusion}[name].__version__
        print(f"{name} {version}: {equal[name]} of {queries} random queries answered the same, {found} rows")
    # This many crashes cannot all be the other engine's bugs.
    return differences + (crashes if crashes * 50 > queries + 50 else 0)


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100) else 0)
