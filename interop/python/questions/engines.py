"""The engines: each has a list of statements run and says for each one its rows or its error."""

import io
import sqlite3
import subprocess

import duckdb
import pyarrow as pa
import pyarrow.ipc

import tables

MARK = "end of statement"


class Refusal(Exception):
    """A statement that an engine refused. `is_bug`: it says that it is wrong itself, or did not end by itself."""

    def __init__(self, text, is_bug=False):
        super().__init__(text)
        self.is_bug = is_bug


class Lath:
    """The command over a database."""

    def __init__(self, command, folder, threads):
        self.command = [command, "sql", "--database", str(folder / "database"), "--threads", str(threads), "--format", "arrow", "-"]

    def run(self, statements):
        """One process for as many statements as answer: the next one begins behind the one that failed."""
        answers = []
        while len(answers) < len(statements):
            rest = statements[len(answers) :]
            script = ";\n".join(f"{statement};\nSELECT '{MARK}' AS \"{MARK}\"" for statement in rest)
            try:
                run = subprocess.run(self.command, input=script.encode(), capture_output=True, timeout=200)
            except subprocess.TimeoutExpired:
                raise SystemExit(f"no answer after 200 s to one of {script[:2000]}")
            done = parts(run.stdout)
            answers += done
            if len(done) < len(rest):
                text = run.stderr.decode().strip()
                answers.append(Refusal(text.splitlines()[0] if text else "no word", is_bug=run.returncode not in (1, 2) or "bug" in text))
        return answers


def parts(output):
    """The rows of each statement that has ended."""
    source, done, rows = io.BytesIO(output), [], []
    while True:
        try:
            table = pa.ipc.open_stream(source).read_all()
        except (pa.ArrowInvalid, EOFError):
            return done
        if table.column_names == [MARK]:
            done.append(rows)
            rows = []
        else:
            rows = list(zip(*(column.to_pylist() for column in table.columns)))


class DuckDB:
    def __init__(self, arrow):
        self.arrow = arrow
        self.open()

    def open(self):
        self.connection = duckdb.connect()
        self.connection.execute("SET threads = 1")
        for name, rows in self.arrow.items():
            self.connection.register("rows", rows)
            self.connection.execute(f"CREATE TABLE {name} AS SELECT * FROM rows")
            self.connection.unregister("rows")
        self.connection.execute(tables.Tables.definition("c", "t"))

    def run(self, statements):
        return [statement and self.ask(statement) for statement in statements]

    def ask(self, statement):
        try:
            return self.connection.execute(statement).fetchall()
        except (duckdb.InternalException, duckdb.FatalException) as error:
            # After that it answers nothing until it is opened again.
            self.open()
            return Refusal(str(error).splitlines()[0], is_bug=True)
        except duckdb.Error as error:
            return Refusal(str(error).splitlines()[0], is_bug="did not return a BoundFunctionExpression" in str(error))


class SQLite:
    """Integers and texts; the other columns are there as texts."""

    def __init__(self, arrow):
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        for name, rows in arrow.items():
            defined = ", ".join(f"{column} {'INTEGER' if 'INT' in type else 'TEXT'}" for column, type in tables.TABLES[name].items())
            self.connection.execute(f"CREATE TABLE {name} ({defined})")
            plain = [
                tuple(value if isinstance(value, (int, str, type(None))) else str(value) for value in row)
                for row in zip(*(c.to_pylist() for c in rows.columns))
            ]
            if plain:
                self.connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(plain[0]))})", plain)

    def run(self, statements):
        return [statement and self.ask(statement) for statement in statements]

    def ask(self, statement):
        try:
            return self.connection.execute(statement).fetchall()
        except sqlite3.Error as error:
            return Refusal(str(error))
