"""Asks random questions in SQL by one process of `lath sql` and on workers, and compares the answers.

    workers.py LATH [QUESTIONS]

LATH is the command. Two thirds of the questions are from `questions`, of small tables in row groups of a few rows, and of the same tables with a
primary key; a third from `queries.py`, of tables in several files. Each is answered by one process, and on 1, 2, 3 and 5 workers. LATH_SEED is the first seed. Prints one paragraph
a difference; exits with 1 if there are any.
"""

import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent / "questions"))

import pyarrow.parquet as pq

import answers
import engines
import expressions
import groups
import joins
import queries
import rows
import sets
import subqueries
import tables
import windows
from question import Chance

COUNTS = [1, 2, 3, 5]
MAX_PER_TABLES = 50
# One question of this many is explained, so that it is known how many ran on workers.
EXPLAINED = 5
# Each kind of question with its weight.
AREAS = [
    (joins.using, 3),
    (joins.natural, 2),
    (joins.on, 3),
    (rows.rows, 3),
    (rows.join_by_rows, 1),
    (rows.rows_in, 2),
    (expressions.conditions, 5),
    (expressions.values, 4),
    (expressions.casts, 2),
    (subqueries.subqueries, 8),
    (sets.sets, 4),
    (windows.windows, 4),
    (groups.groups, 8),
    (groups.orders, 3),
]


class Workers:
    """Processes of `lath worker`, which end with this."""

    def __init__(self, lath, folder, count):
        self.processes = [
            subprocess.Popen(
                [lath, "worker", "--listen", "0", "--threads", str(number % 3 + 1), "--allow", folder], stdout=subprocess.PIPE, text=True
            )
            for number in range(count)
        ]
        self.addresses = [process.stdout.readline().split(" ")[0] for process in self.processes]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()

    def engine(self, lath, folder, threads, count):
        engine = engines.Lath(lath, folder, threads)
        addresses = ",".join(self.addresses[:count])
        engine.command = ["env", f"LATH_CLUSTER={addresses}", "LATH_CLUSTER_MIN_BYTES=0", *engine.command]
        return engine


def small_tables(folder, chance):
    """Views of files with a row group every few rows, and questions about them."""
    for name, made in tables.Tables(folder, chance).rows.items():
        pq.write_table(made, folder / f"{name}.parquet", row_group_size=chance.choice([1, 2, 5]))
    views = [f"CREATE VIEW {name} AS SELECT * FROM '{folder}/{name}.parquet'" for name in tables.TABLES]
    makers, weights = zip(*AREAS)

    def question():
        made = chance.choices(makers, weights)[0](chance)
        return made.statements[-1], made.ordered

    return views, question


def keyed_tables(folder, chance):
    """The small tables with a primary key: some rows in files, and some in the store, which replace or delete rows of files."""
    _, question = small_tables(folder, chance)
    made = []
    for name in tables.TABLES:
        numbered = f"SELECT CAST(row_number() OVER () AS BIGINT) AS number, * FROM '{folder}/{name}.parquet'"
        made += [
            f"CREATE TABLE {name} (PRIMARY KEY (number)) AS SELECT * FROM ({numbered}) WHERE number % 4 < 2",
            f"CALL flush('{name}')",
            f"INSERT INTO {name} SELECT * FROM ({numbered}) WHERE number % 4 = 2",
            f"INSERT INTO {name} SELECT -number, * EXCLUDE (number) FROM {name}",
            f"CALL flush('{name}')",
            f"INSERT OR REPLACE INTO {name} SELECT * FROM {name} WHERE number > 0 AND number % 3 = 0",
            f"INSERT INTO {name} SELECT * FROM ({numbered}) WHERE number % 4 = 3",
            f"DELETE FROM {name} WHERE number < 0",
        ]
    return made, question


def larger_tables(lath, folder, chance):
    queries.Tables(lath, folder, chance)
    views = [f"CREATE VIEW {name} AS SELECT * FROM '{folder}/{name}/*.parquet'" for name in "tu"]
    return views, lambda: (queries.Query(chance).text, True)


KINDS = [
    ("small", lambda lath, folder, chance: small_tables(folder, chance)),
    ("larger", larger_tables),
    ("keyed", lambda lath, folder, chance: keyed_tables(folder, chance)),
]


def found_difference(own, other, ordered):
    is_error = [isinstance(answer, engines.Refusal) for answer in (own, other)]
    if all(is_error):
        return None if without_worker(own) == without_worker(other) else f"one process: {own}, workers: {other}"
    if any(is_error):
        shown = [str(answer) if failed else f"{len(answer)} rows" for answer, failed in zip((own, other), is_error)]
        return f"one process: {shown[0]}, workers: {shown[1]}"
    return answers.difference(own, other, ordered)


def without_worker(error):
    """An error without the address of the worker that it happened on, and the place in the script."""
    return re.sub(r"worker \[?[\w.:]+\]?:\d+: |line \d+, column \d+: ", "", str(error))


def ask(lath, folder, workers, chance, made, count):
    """Returns the numbers of differences, of questions that were explained, and of these that ran on workers."""
    views, question = made
    asked = [question() for _ in range(count)]
    statements = [statement for statement, _ in asked]
    threads = chance.choice([1, 2, 3])
    alone = engines.Lath(lath, folder, threads)
    for view, answer in zip(views, alone.run(views)):
        if isinstance(answer, engines.Refusal):
            raise SystemExit(f"{view}: {answer}")
    expected = alone.run(statements)
    differences, explained, remote = 0, 0, 0
    for count in COUNTS:
        engine = workers.engine(lath, folder, threads, count)
        for (statement, ordered), own, other in zip(asked, expected, engine.run(statements)):
            if found := found_difference(own, other, ordered):
                differences += 1
                print(f"{count} workers: {found}\n    {statement}", flush=True)
        plans = engine.run([f"EXPLAIN ANALYZE {statement}" for statement in statements[::EXPLAINED]])
        plans = [str(plan) for plan in plans if not isinstance(plan, engines.Refusal)]
        explained += len(plans)
        remote += sum(re.search(r"ClusterExec, metrics=\[[^\]]*parts=[1-9]", plan) is not None for plan in plans)
    return differences, explained, remote


def main(lath, questions):
    first = int(os.environ.get("LATH_SEED") or (random.randrange(1 << 32) if "LATH_NEW_SEEDS" in os.environ else 1))
    totals = (0, 0, 0)
    with tempfile.TemporaryDirectory() as name, Workers(lath, name, max(COUNTS)) as workers:
        # All kinds of tables, however few the questions are.
        per_tables = min(MAX_PER_TABLES, -(-questions // len(KINDS)))
        for batch, asked in enumerate(range(0, questions, per_tables)):
            folder, chance = pathlib.Path(name) / str(batch), Chance(first + batch)
            folder.mkdir()
            kind, make = KINDS[batch % len(KINDS)]
            made = make(lath, folder, chance)
            found = ask(lath, folder, workers, chance, made, min(per_tables, questions - asked))
            if found[0]:
                print(f"seed {first + batch}, {kind} tables: {found[0]} differences", flush=True)
            totals = tuple(map(sum, zip(totals, found)))
    differences, explained, remote = totals
    counts = ", ".join(map(str, COUNTS))
    print(f"workers: {questions} questions on {counts} workers, {differences} differences; {remote} of {explained} explained ran on workers")
    # Many questions are about tables without rows, or need an operator that stays at the coordinator.
    return 1 if differences or remote * 3 < explained else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100))
