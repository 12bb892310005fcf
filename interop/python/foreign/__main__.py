"""Makes the files in `crates/sql/tests/foreign`: statements with the answers that DuckDB and SQLite give.

    python interop/python/foreign [FOLDER]

Every statement runs in DuckDB, and in SQLite where it has the syntax. The answer is DuckDB's, or SQLite's if DuckDB refuses the
statement. If both answer and differ, the file says so; `JUDGED` has the right answer where PostgreSQL answers unlike DuckDB.
Prints the number of records and the differences that are not judged, and exits with 1 if there are any.
"""

import datetime
import decimal
import math
import pathlib
import sqlite3
import sys

import changes
import duckdb
import expressions
import queries
from judged import FILES_LIKE_SQLITE, JUDGED, LIKE_SQLITE

FOLDER = pathlib.Path(__file__).parents[3] / "crates/sql/tests/foreign"
AREAS = {**queries.AREAS, **expressions.AREAS, **changes.AREAS}


def text(value):
    """A value as the tests of lath-sql write it."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return number(value)
    if isinstance(value, decimal.Decimal):
        plain = format(value, "f")
        plain = plain.rstrip("0").rstrip(".") if "." in plain else plain
        return "0" if plain in ("-0", "") else plain
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(text(item) for item in value) + "]"
    if isinstance(value, (bytes, bytearray)):
        return value.hex()
    return " ".join(str(value).split()) or "(empty)"


def number(value):
    """Twelve digits, without an exponent."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if value == 0:
        return "0"
    exponent = int(f"{value:.11e}".split("e")[1])
    plain = f"{float(f'{value:.11e}'):.{max(11 - exponent, 0)}f}"
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def answer(run, statement):
    try:
        return run(statement), None
    except Exception as error:  # Every engine has its own.
        return None, str(error).split("\n")[0]


def lines(rows, sort):
    answers = [[text(value) for value in row] for row in rows]
    if sort == "rowsort":
        answers.sort()
    return [" ".join(row) for row in answers]


def same(left, right):
    """Whether answers are the same though SQLite has no booleans, dates and decimals."""
    def plain(rows):
        def word(token):
            token = {"true": "1", "false": "0"}.get(token, token)
            try:
                return f"{float(token):.9g}"
            except ValueError:
                return token.replace("T", " ")
        return sorted(" ".join(word(token) for token in row.split(" ")) for row in rows)
    return plain(left) == plain(right)


def write(name, suite, folder):
    duck, lite = duckdb.connect(), sqlite3.connect(":memory:")
    lite.execute("PRAGMA foreign_keys = off")
    open_differences, out = [], [f"# {suite.about}", ""]
    for kind, statement, sort in suite.records:
        if kind == "statement":
            if statement in JUDGED:
                wanted, reason = JUDGED[statement]
                out.append(f"# {reason}")
                refused = wanted == "error"
            else:
                _, refused = answer(lambda s: duck.execute(s).fetchall(), statement)
                answer(lambda s: lite.execute(s).fetchall(), statement)
            out += ["statement error" if refused else "statement ok", statement, ""]
            continue
        rows, refused = answer(lambda s: duck.execute(s).fetchall(), statement)
        others, lite_refused = answer(lambda s: lite.execute(s).fetchall(), statement)
        wanted = lines(rows, sort) if rows is not None else None
        other = lines(others, sort) if others is not None else None
        if statement in JUDGED:
            wanted, reason = JUDGED[statement]
            out.append(f"# {reason}")
            if wanted == "error":
                wanted = None
            elif sort == "rowsort":
                wanted = sorted(wanted)
        elif other is not None and (statement in LIKE_SQLITE or name in FILES_LIKE_SQLITE):
            if wanted is None or not same(wanted, other):
                out.append(f"# DuckDB: {refused or '; '.join(wanted)}")
            wanted, rows = other, others
        elif wanted is None and other is not None and not refused.startswith(("Conversion Error", "Out of Range Error")):
            open_differences.append((name, statement, f"DuckDB refuses ({refused}), SQLite: {'; '.join(other)}"))
        elif wanted is not None and other is not None and not same(wanted, other):
            out.append(f"# SQLite: {'; '.join(other[:8])}")
        if wanted is None:
            out += ["statement error", statement, ""]
        else:
            out += [f"query {'?' * max(1, len(rows[0]) if rows else 1)} {sort}", statement, "----", *wanted, ""]
    (folder / f"{name}.slt").write_text("\n".join(out).rstrip("\n") + "\n")
    return open_differences


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    count, differences = 0, []
    for name, make in AREAS.items():
        suite = make()
        count += len(suite.records)
        print(f"{name}: {len(suite.records)} records")
        differences += write(name, suite, folder)
    for name, statement, difference in differences:
        print(f"{name}: {statement}\n    {difference}")
    print(f"{count} records, {len(differences)} differences that are not judged")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
