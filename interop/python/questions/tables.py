"""Small tables of few different values, so that values meet, come twice and are null; `e` has no rows."""

import datetime
import decimal

import pyarrow as pa
import pyarrow.parquet as pq

INTEGERS = [0, 1, 2, 3, 4, -1, 7]
TEXTS = ["a", "b", "A", "", "ab", "a%b", "a_b", "ba", "Åre", "it's", "10", " a "]
DECIMALS = [decimal.Decimal(text) for text in ["0", "1.50", "-1.50", "2.25", "2.00", "0.01", "12.34", "99999.99", "-0.10"]]
DOUBLES = [0.0, 1.5, -2.25, 2.0, 0.1, 1e10, -3.0]
DAYS = [datetime.date(2024, 2, 28) + datetime.timedelta(days=days) for days in (0, 1, 2, 31, 366)] + [datetime.date(1969, 12, 31)]
MOMENTS = [
    datetime.datetime(2024, 2, 28, 23, 59, 59, 999999),
    datetime.datetime(2024, 3, 1),
    datetime.datetime(1969, 12, 31, 12, 30),
    datetime.datetime(2023, 1, 31, 6),
]

TYPES = {
    "INT": (pa.int32(), INTEGERS),
    "BIGINT": (pa.int64(), INTEGERS),
    "VARCHAR": (pa.string(), TEXTS),
    "DECIMAL(10, 2)": (pa.decimal128(10, 2), DECIMALS),
    "DOUBLE": (pa.float64(), DOUBLES),
    "DATE": (pa.date32(), DAYS),
    "TIMESTAMP": (pa.timestamp("us"), MOMENTS),
    "BOOLEAN": (pa.bool_(), [True, False]),
}
T = {"id": "INT", "a": "INT", "b": "BIGINT", "s": "VARCHAR", "d": "DECIMAL(10, 2)", "f": "DOUBLE", "day": "DATE", "ts": "TIMESTAMP", "p": "BOOLEAN"}
U = {"k": "INT", "a": "INT", "b": "BIGINT", "s": "VARCHAR", "d": "DECIMAL(10, 2)", "day": "DATE", "x": "INT", "ts": "TIMESTAMP", "p": "BOOLEAN"}
V = {"z": "INT", "a": "INT", "b": "BIGINT", "s": "VARCHAR", "x": "INT", "d": "DECIMAL(10, 2)"}
TABLES = {"t": T, "u": U, "v": V, "e": U}
KEYS = {"t": "id", "u": "k", "v": "z", "e": "k"}
# The building blocks of expressions.
KINDS = {
    "INT": "int",
    "BIGINT": "int",
    "VARCHAR": "text",
    "DECIMAL(10, 2)": "decimal",
    "DOUBLE": "double",
    "DATE": "date",
    "TIMESTAMP": "time",
    "BOOLEAN": "bool",
}


def scope(*tables):
    """The columns of tables by kind: `scope("t", ("u", "w"))` has `t.a` and `w.a`."""
    found = {kind: [] for kind in KINDS.values()}
    for table in tables:
        name, alias = (table, table) if isinstance(table, str) else table
        for column, type in TABLES[name].items():
            found[KINDS[type]].append(f"{alias}.{column}")
    return found


def columns(name, chance):
    count = 0 if name == "e" else chance.choice([0, 1, 3, 6, 12, 24])
    nulls = chance.choice([0, 0.2, 0.4])
    made = {}
    for column, type in TABLES[name].items():
        arrow, values = TYPES[type]
        if column == KEYS[name]:
            made[column] = pa.array(range(1, count + 1), arrow)
        else:
            made[column] = pa.array([None if chance.random() < nulls else chance.choice(values) for _ in range(count)], arrow)
    return pa.table(made)


class Tables:
    """The tables as Arrow's, and the statements that make them in Lath: views of files, or tables with keys."""

    def __init__(self, folder, chance):
        self.rows = {name: columns(name, chance) for name in TABLES}
        self.statements = []
        keyed = chance.random() < 0.3
        for name, rows in self.rows.items():
            path = folder / f"{name}.parquet"
            pq.write_table(rows, path, row_group_size=chance.choice([2, 5, 1000]), use_dictionary=chance.random() < 0.5)
            if keyed:
                self.statements += [self.definition(name, name), f"INSERT INTO {name} SELECT * FROM '{path}'"]
            else:
                self.statements.append(f"CREATE VIEW {name} AS SELECT * FROM '{path}'")
        # A table that is changed.
        self.statements.append(self.definition("c", "t"))

    @staticmethod
    def definition(name, like):
        defined = ", ".join(f"{column} {type}{' PRIMARY KEY' if column == KEYS[like] else ''}" for column, type in TABLES[like].items())
        return f"CREATE TABLE {name} ({defined})"
