"""Changes keyed tables by the command, exports them, and says whether other readers find in the exported files the rows that a dict has.

    keyed.py LATH [CASES]

LATH is the command. Each case is a table in a database: rows of Parquet files are put and deleted, columns are added, dropped, renamed and
widened by SQL, and hot rows become files now and then. Prints one line a reader and fault; exits with 1 if there are faults.
"""

import os
import pathlib
import random
import subprocess
import sys
import tempfile

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

KEYS = 500


class Case:
    """A table, and what it has to have: for each key the values of the other columns, by their names."""

    def __init__(self, lath, folder, seed):
        self.lath, self.folder, self.random = lath, folder, random.Random(seed)
        self.database = folder / "database"
        self.types = {"count": pa.int32(), "text": pa.string(), "price": pa.float64()}
        self.rows, self.added, self.steps = {}, 0, []
        self.run("table", "create", self.database, "--table", "t", "--key", "id", self.file(self.random_rows(0)))

    def run(self, *command):
        self.steps.append(" ".join(map(str, command[:4])))
        run = subprocess.run([self.lath, *map(str, command)], capture_output=True, text=True)
        # A deletion that finds nothing exits with 1 and prints nothing.
        if run.returncode != 0 and not (command[1] == "delete" and run.returncode == 1 and not run.stderr):
            raise RuntimeError(f"{' '.join(map(str, command))}: {run.stderr.strip()}")

    def value(self, type):
        if self.random.random() < 0.1:
            return None
        if type == pa.string():
            return "".join(self.random.choices("aé日 '", k=self.random.randrange(12)))
        if type == pa.float64():
            return self.random.choice([0.0, -1.5, 1e300, self.random.random()])
        return self.random.randrange(-1000, 1000)

    def random_rows(self, count):
        keys = [self.random.randrange(KEYS) for _ in range(count)]
        return {key: {name: self.value(type) for name, type in self.types.items()} for key in keys}

    def file(self, rows):
        columns = {"id": pa.array(rows.keys(), pa.int64())}
        for name, type in self.types.items():
            columns[name] = pa.array([row[name] for row in rows.values()], type)
        path = self.folder / "rows.parquet"
        pq.write_table(pa.table(columns), path)
        return path

    def alter(self, change):
        self.run("sql", "--database", self.database, f"ALTER TABLE t {change}")

    def step(self):
        names = [name for name in self.types if name not in ("count", "text")]
        what = self.random.randrange(12)
        if what < 5:
            rows = self.random_rows(self.random.choice([1, 20, 200]))
            self.run("table", "upsert", self.database, "--table", "t", self.file(rows))
            self.rows.update(rows)
        elif what == 5:
            keys = [self.random.randrange(KEYS) for _ in range(10)]
            self.run("table", "delete", self.database, "--table", "t", *keys)
            self.rows = {key: row for key, row in self.rows.items() if key not in keys}
        elif what == 6:
            bound = self.random.randrange(-1000, -500)
            self.run("table", "delete", self.database, "--table", "t", "--where", f"count < {bound}")
            self.rows = {key: row for key, row in self.rows.items() if row["count"] is None or row["count"] >= bound}
        elif what < 9:
            self.run("table", "compact", self.database, "--table", "t")
        elif what == 9:
            self.added += 1
            name, default = f"added{self.added}", self.random.randrange(100)
            self.alter(f"ADD COLUMN {name} INT DEFAULT {default}")
            self.types[name] = pa.int32()
            for row in self.rows.values():
                row[name] = default
        elif what == 10 and names:
            name = self.random.choice(names)
            if self.random.random() < 0.5:
                self.alter(f"DROP COLUMN {name}")
                del self.types[name]
                for row in self.rows.values():
                    del row[name]
            else:
                self.added += 1
                new = f"renamed{self.added}"
                self.alter(f"RENAME COLUMN {name} TO {new}")
                self.types = {new if other == name else other: type for other, type in self.types.items()}
                for row in self.rows.values():
                    row[new] = row.pop(name)
        elif self.types["count"] == pa.int32():
            self.alter("ALTER COLUMN count TYPE BIGINT")
            self.types["count"] = pa.int64()

    def expected(self):
        return [(key, *(self.rows[key][name] for name in self.types)) for key in sorted(self.rows)]


def read_pyarrow(case, folder):
    table = pq.read_table(folder / "plain").sort_by("id")
    found = {field.name: field.type for field in table.schema}
    string_like = lambda type: pa.string() if type in (pa.large_string(), pa.string_view()) else type
    if {name: string_like(type) for name, type in found.items()} != {"id": pa.int64(), **case.types}:
        raise ValueError(f"columns {found}")
    return list(zip(*(table.column(name).to_pylist() for name in ["id", *case.types])))


def read_duckdb(case, folder):
    names = ", ".join(f'"{name}"' for name in ["id", *case.types])
    with duckdb.connect() as connection:
        return connection.execute(f"SELECT {names} FROM read_parquet(?) ORDER BY id", [f"{folder}/plain/*.parquet"]).fetchall()


def read_duckdb_with_deletes(case, folder):
    """The table's own files without the rows that are listed as deleted."""
    names = ", ".join(f'"{name}"' for name in ["id", *case.types])
    data, deletes = folder / "with-deletes" / "data", folder / "with-deletes" / "deletes"
    rest = ""
    if deletes.exists():
        rest = "ANTI JOIN read_parquet(?) AS deletes ON data.filename = deletes.file_path AND data.file_row_number = deletes.pos"
    query = f"SELECT {names} FROM read_parquet(?, filename = true, file_row_number = true) AS data {rest} ORDER BY id"
    files = [f"{data}/*.parquet"] + ([f"{deletes}/*.parquet"] if rest else [])
    with duckdb.connect() as connection:
        return connection.execute(query, files).fetchall()


READERS = {
    "pyarrow": (pa.__version__, read_pyarrow),
    "duckdb": (duckdb.__version__, read_duckdb),
    "duckdb, with position deletes": (duckdb.__version__, read_duckdb_with_deletes),
}


def main(lath, cases):
    first_seed = int(os.environ.get("LATH_SEED") or (random.randrange(1 << 32) if "LATH_NEW_SEEDS" in os.environ else 1))
    equal, faults, rows = {name: 0 for name in READERS}, 0, 0
    for seed in range(first_seed, first_seed + cases):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            case = Case(lath, folder, seed)
            for _ in range(25):
                case.step()
            # At least one row, because a folder without files has no columns.
            last = case.random_rows(1)
            case.run("table", "upsert", case.database, "--table", "t", case.file(last))
            case.rows.update(last)
            case.run("table", "export", case.database, "--table", "t", folder / "plain")
            case.run("table", "export", case.database, "--table", "t", folder / "with-deletes", "--position-deletes")
            rows += len(case.rows)
            for name, (_, read) in READERS.items():
                found = read(case, folder)
                if found == case.expected():
                    equal[name] += 1
                else:
                    print(f"{name}: seed {seed}: reads other rows than were put, after {case.steps}")
                    faults += 1
    for name, (version, _) in READERS.items():
        print(f"{name} {version}: {equal[name]} of {cases} exported keyed tables equal, {rows} rows")
    return faults


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10) else 0)
