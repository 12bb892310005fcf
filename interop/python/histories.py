"""Changes tables by random statements, in Lath and in SQLite, and says after which statement they differ.

    histories.py LATH [CASES [FIRST]]

LATH is the command. Each case is a table in a database, with its seed as its number, from FIRST on (0). Rows come from VALUES, from files of
several row groups, and from both together; some tables have no key; keys come twice within a statement, are null, and are zeros of both signs. Statements fail in
both or in neither. A constraint allows no 5 in column a. Some updates and deletions return rows. Some are parts of transactions with savepoints, whose own changes are read. Prints one line a fault; exits with 1 if there are faults.
"""

import json
import pathlib
import random
import sqlite3
import subprocess
import sys
import tempfile

import pyarrow as pa
import pyarrow.parquet as pq

STATEMENTS = 25
COLUMNS = ["id", "a", "f", "s"]


def in_order(rows):
    return sorted(rows, key=lambda row: [(value is not None, value or 0 if not isinstance(value, str) else value) for value in row])


class Case:
    def __init__(self, lath, folder, seed):
        self.lath, self.folder, self.random = lath, folder, random.Random(seed)
        # A table with a float key treats the zeros of both signs as one key.
        self.key = "DOUBLE" if seed % 4 == 3 else "BIGINT"
        self.threads = str(self.random.choice([1, 2, 4]))
        self.has_key = seed % 5 != 2
        self.sqlite = sqlite3.connect(":memory:", isolation_level=None)
        constraint = "NOT NULL PRIMARY KEY" if self.has_key else ""
        self.sqlite.execute(f"CREATE TABLE t (id {self.key} {constraint}, a BIGINT CHECK (a <> 5), f DOUBLE, s TEXT)")
        self.files = 0
        # The savepoints of the open transaction; `None` if there is none.
        self.savepoints = None
        # Statements of Lath with the expected table, up to one that must fail.
        constraint = "PRIMARY KEY" if self.has_key else ""
        self.pending = [(f"CREATE TABLE t (id {self.key} {constraint}, a BIGINT CHECK (a <> 5), f DOUBLE, s VARCHAR)", None)]
        # The rows that pending statements return, by their places.
        self.returned = {}

    def rows(self, count):
        def row():
            key = self.random.randrange(-8, 40)
            if self.key == "DOUBLE":
                key = self.random.choice([0.0, -0.0, float(key), key / 2])
            a = self.random.choice([None, 0, self.random.randrange(-9, 10), 2**62])
            f = self.random.choice([None, 0.0, -0.0, 0.1, -1.5, 1e300])
            s = self.random.choice([None, "", "x", "it's", "ø", "__HIVE_DEFAULT_PARTITION__"])
            return (key, a, f, s)

        rows = [row() for _ in range(count)]
        if self.random.random() < 0.9:
            rows = [row for row in rows if row[1] != 5] or [(1, None, None, None)]
            count = len(rows)
        if self.random.random() < 0.05:
            rows[self.random.randrange(count)] = (None, *rows[0][1:])
        return rows

    def values(self, rows):
        def text(value, name):
            if value is None:
                return "NULL"
            if name == "s":
                return "'" + value.replace("'", "''") + "'"
            return f"CAST('{value!r}' AS DOUBLE)" if isinstance(value, float) else str(value)

        return ", ".join("(" + ", ".join(map(text, row, COLUMNS)) + ")" for row in rows)

    def source(self, rows):
        """A query with the rows in their order."""
        names = ", ".join(COLUMNS)
        if len(rows) < 12:
            return f"VALUES {self.values(rows)}"
        at = self.random.choice([0, len(rows) // 2])
        self.files += 1
        path = self.folder / f"rows{self.files}.parquet"
        types = [pa.float64() if self.key == "DOUBLE" else pa.int64(), pa.int64(), pa.float64(), pa.string()]
        columns = {name: pa.array([row[n] for row in rows[at:]], types[n]) for n, name in enumerate(COLUMNS)}
        pq.write_table(pa.table(columns), path, row_group_size=self.random.choice([3, 50]))
        file = f"SELECT {names} FROM '{path}'"
        if at == 0:
            return file
        names = ", ".join(f"column{n + 1} AS {name}" for n, name in enumerate(COLUMNS))
        self.files += 1
        first = self.folder / f"rows{self.files}.parquet"
        columns = {name: pa.array([row[n] for row in rows[:at]], types[n]) for n, name in enumerate(COLUMNS)}
        pq.write_table(pa.table(columns), first, row_group_size=5)
        return f"SELECT {', '.join(COLUMNS)} FROM '{first}' UNION ALL {file}"

    def insertion(self):
        rows = self.rows(self.random.choice([1, 3, 8, 40, 200]))
        what = self.random.randrange(4)
        # SQLite also checks rows that it then ignores, or that update others.
        if what > 1 and self.has_key:
            rows = [row for row in rows if row[1] != 5] or [(1, None, None, None)]
        keys = [row[0] for row in rows]
        is_null = None in keys
        if not self.has_key:
            return ("INSERT INTO t", "", rows, "INSERT INTO t VALUES (?, ?, ?, ?)", None)
        if what == 0:
            # Most insertions have new keys.
            if self.random.random() < 0.8:
                there = {key for (key,) in self.sqlite.execute("SELECT id FROM t")}
                rows = list({row[0]: row for row in rows if row[0] not in there}.values()) or rows
            return ("INSERT INTO t", "", rows, "INSERT INTO t VALUES (?, ?, ?, ?)", None)
        if what == 1:
            return ("INSERT OR REPLACE INTO t", "", rows, "INSERT OR REPLACE INTO t VALUES (?, ?, ?, ?)", None)
        if what == 2 and not is_null:
            # SQLite also ignores null keys, which are an error here.
            verb, tail = self.random.choice([("INSERT OR IGNORE INTO t", ""), ("INSERT INTO t", " ON CONFLICT DO NOTHING")])
            return (verb, tail, rows, f"{verb} VALUES (?, ?, ?, ?){tail}", None)
        change = self.random.choice(
            ["a = coalesce(a, 0) % 100 + 1", "a = excluded.a, s = t.s", "f = excluded.f WHERE t.a > 0 AND excluded.s IS NOT NULL"]
        )
        tail = f" ON CONFLICT (id) DO UPDATE SET {change}"
        # Changing a row twice is an error here, but not in SQLite. A row that the condition excludes is not changed.
        if "WHERE" in change:
            rows = list({row[0]: row for row in rows}.values())
            keys = [row[0] for row in rows]
        fails = len(set(keys)) < len(keys)
        return ("INSERT INTO t", tail, rows, f"INSERT INTO t VALUES (?, ?, ?, ?){tail}", fails or None)

    def transact(self):
        """Begins or ends a transaction, or marks or undoes a part of one."""
        if self.savepoints is None:
            self.control("BEGIN")
            self.savepoints = []
            return
        what = self.random.randrange(6)
        if what == 0 or (what <= 3 and not self.savepoints):
            self.savepoints.append(self.random.choice(["one", "two"]))
            self.control(f"SAVEPOINT {self.savepoints[-1]}")
        elif what <= 3:
            name = self.random.choice(self.savepoints)
            at = max(place for place, other in enumerate(self.savepoints) if other == name)
            verb, left = self.random.choice([("ROLLBACK TO", at + 1), ("RELEASE", at)])
            self.control(f"{verb} {name}")
            self.savepoints = self.savepoints[:left]
        else:
            self.end(self.random.choice(["COMMIT", "COMMIT", "ROLLBACK"]))

    def end(self, statement):
        self.control(statement)
        self.savepoints = None

    def control(self, statement):
        self.sqlite.execute(statement)
        self.pending.append((statement, self.contents()))

    def step(self):
        if self.random.random() < 0.2:
            return self.transact()
        what = self.random.randrange(10)
        if what < 6:
            verb, tail, rows, statement, fails = self.insertion()
            self.change(f"{verb} {self.source(rows)}{tail}", statement, rows, fails)
        elif what < 8:
            number = self.random.randrange(-9, 10)
            statement = self.random.choice(
                [
                    f"UPDATE t SET a = a % 1000 - {number}, s = s || 'y' WHERE id > {number}",
                    f"UPDATE t SET id = -id - 100 WHERE id >= 0 AND id < {number + 12}",
                    "UPDATE t SET id = 7 WHERE a > 3",
                    f"UPDATE t SET f = (SELECT max(f) FROM t) WHERE a = {number}",
                    f"UPDATE t SET a = NULL WHERE s = 'x' OR f < {number}",
                    "UPDATE t SET id = NULL WHERE s = 'ø'",
                ]
            )
            self.change(statement, statement)
        elif what == 8:
            number = self.random.randrange(-9, 20)
            statement = self.random.choice(
                [
                    f"DELETE FROM t WHERE id = {number}",
                    f"DELETE FROM t WHERE a <> {number} AND id > {number}",
                    "DELETE FROM t WHERE f = 0",
                    "DELETE FROM t AS x WHERE x.id IN (SELECT id + 1 FROM t WHERE a > 0)",
                    f"DELETE FROM t WHERE s IS NULL AND id BETWEEN {number} AND {number + 5}",
                ]
            )
            self.change(statement, statement)
        elif self.savepoints is None:
            self.pending.append((self.random.choice(["CALL flush('t')", "CALL compact('t')"]), None))

    def change(self, statement, sqlite, rows=None, fails=None):
        returned = None
        if rows is None and self.random.random() < 0.4:
            statement, sqlite = (text + " RETURNING id, a, f, s" for text in (statement, sqlite))
        self.sqlite.execute("SAVEPOINT statement")
        try:
            if fails:
                raise sqlite3.IntegrityError("several rows with one key")
            if rows is None:
                returned = self.sqlite.execute(sqlite).fetchall()
            else:
                self.sqlite.executemany(sqlite, rows)
            self.sqlite.execute("RELEASE statement")
        except sqlite3.IntegrityError as error:
            self.sqlite.execute("ROLLBACK TO statement")
            self.sqlite.execute("RELEASE statement")
            if self.savepoints is not None:
                # The failure would end the process, and with it the transaction.
                return
            self.run()
            refused = self.lath_sql(statement)
            if refused.returncode == 0:
                raise ValueError(f"{statement[:300]}: no error, and in SQLite {error}")
            self.pending.append(("SELECT 1 AS count", self.contents()))
            return
        if returned is not None:
            self.returned[len(self.pending)] = in_order(returned)
        self.pending.append((statement, self.contents()))

    def contents(self):
        return in_order(self.sqlite.execute("SELECT id, a, f, s FROM t").fetchall())

    def lath_sql(self, text):
        command = [self.lath, "sql", "--database", self.folder / "database", "--threads", self.threads, "--format", "jsonl", text]
        return subprocess.run(list(map(str, command)), capture_output=True, text=True)

    def run(self):
        """Runs the statements that are pending in one process, and compares the table after each."""
        read = "SELECT id, a, f, s FROM t"
        text = ";\n".join(f"{statement};\nSELECT 'table' AS mark;\n{read};\nSELECT 'end' AS mark" for statement, _ in self.pending)
        run = self.lath_sql(text)
        if run.returncode != 0:
            raise ValueError(run.stderr.strip()[:600])
        parts = [[]]
        for line in map(json.loads, run.stdout.splitlines()):
            if "mark" in line:
                parts.append([])
            elif "count" not in line:
                parts[-1].append(tuple(line.get(name) for name in COLUMNS))
        for number, (statement, expected) in enumerate(self.pending):
            answer, found = parts[2 * number], parts[2 * number + 1]
            returned = self.returned.get(number)
            if returned is not None and in_order(answer) != returned:
                raise ValueError(f"{statement[:300]}: returned {answer[:3]} and not {returned[:3]}")
            if expected is not None and in_order(found) != expected:
                missing, extra = set(expected) - set(found), set(found) - set(expected)
                raise ValueError(f"{statement[:300]}: missing {sorted(missing, key=repr)[:3]}, extra {sorted(extra, key=repr)[:3]}")
        self.pending, self.returned = [], {}


def main():
    lath, cases, first = sys.argv[1], int((sys.argv + ["20"])[2]), int((sys.argv + ["20", "0"])[3] if len(sys.argv) > 3 else 0)
    faults = 0
    for seed in range(first, first + cases):
        with tempfile.TemporaryDirectory() as folder:
            case = Case(lath, pathlib.Path(folder), seed)
            try:
                for _ in range(STATEMENTS):
                    case.step()
                if case.savepoints is not None:
                    case.end("COMMIT")
                case.run()
            except ValueError as error:
                faults += 1
                print(f"history {seed}: {error}")
    print(f"histories: {cases} of {STATEMENTS} statements, {faults} with a fault")
    sys.exit(1 if faults else 0)


main()
