"""Asks random questions in SQL of small tables by `lath sql`, and by DuckDB or SQLite, and compares the answers.

    python interop/python/questions LATH [QUESTIONS [AREA …]]

LATH is the command. Each hundred questions have tables of their own, and their seed: LATH_SEED is the first. Names of areas leave out
the others. Prints one paragraph a difference that `judged.py` does not have; exits with 1 if there are any.
"""

import collections
import os
import pathlib
import random
import sys
import tempfile

import answers
import changes
import decimals
import engines
import expressions
import groups
import joins
import judged
import partitions
import rows
import sets
import subqueries
import tables
import windows
from question import Chance

PER_TABLES = 100


def areas(folder):
    """Each kind of question with its weight."""
    return {
        "using": (joins.using, 3),
        "natural": (joins.natural, 2),
        "on": (joins.on, 3),
        "rows": (rows.rows, 3),
        "rows joined": (rows.join_by_rows, 1),
        "rows in queries": (rows.rows_in, 2),
        "decimals": (decimals.decimals, 4),
        "conditions": (expressions.conditions, 5),
        "values": (expressions.values, 4),
        "constants": (expressions.constants, 2),
        "casts": (expressions.casts, 2),
        "subqueries": (subqueries.subqueries, 8),
        "sets": (sets.sets, 4),
        "windows": (windows.windows, 4),
        "groups": (groups.groups, 5),
        "orders": (groups.orders, 3),
        "changes": (changes.changes, 4),
        "partitions": (partitions.Partitions(folder).question, 1),
    }


class Tally:
    def __init__(self):
        self.asked, self.judged, self.refused_by_both, self.differences, self.bugs = (collections.Counter() for _ in range(5))

    def compare(self, question, own, other, seed):
        """Counts one question, and prints how its answers differ."""
        self.asked[question.area] += 1
        for statement, mine, theirs in zip(question.statements, own, other):
            if isinstance(theirs, engines.Refusal) and theirs.is_bug:
                self.bugs[question.area] += 1
                return
            found = found_difference(question, mine, theirs)
            if found is None:
                if isinstance(mine, engines.Refusal):
                    self.refused_by_both[question.area] += 1
                continue
            if why := judged.reason(question, found):
                self.judged[why] += 1
                return
            self.differences[question.area] += 1
            print(f"seed {seed}, {question.area}: {found}\n    {question.text}", flush=True)
            return


def found_difference(question, mine, theirs):
    if isinstance(mine, engines.Refusal):
        if mine.is_bug or not isinstance(theirs, engines.Refusal):
            return f"lath {'has a bug' if mine.is_bug else 'refuses'}: {mine}"
        return None
    if theirs is None:
        return None
    if isinstance(theirs, engines.Refusal):
        return f"{question.oracle} refuses ({theirs}), lath: {answers.shown([answers.plain(list(row)) for row in mine])}"
    what = answers.difference(mine, theirs, question.ordered)
    return what and f"lath and {question.oracle} differ: {what}"


def ask(lath, seed, count, only, tally):
    """Questions to one set of tables."""
    chance = Chance(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        made = tables.Tables(folder, chance)
        kinds = {area: kind for area, kind in areas(folder).items() if not only or area in only}
        makers, weights = zip(*kinds.values())
        questions = [chance.choices(makers, weights)[0](chance) for _ in range(count)]
        command = engines.Lath(lath, folder, chance.choice([1, 2, 3]))
        for statement, answer in zip(made.statements, command.run(made.statements)):
            if isinstance(answer, engines.Refusal):
                raise SystemExit(f"seed {seed}: {statement}: {answer}")
        peers = {"duckdb": engines.DuckDB(made.rows), "sqlite": engines.SQLite(made.rows)}
        own = iter(command.run([statement for question in questions for statement in question.statements]))
        for question in questions:
            tally.compare(question, [next(own) for _ in question.statements], peers[question.oracle].run(question.others), seed)


def main():
    lath, count, only = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1000, sys.argv[3:]
    first = int(os.environ.get("LATH_SEED") or (random.randrange(1 << 32) if "LATH_NEW_SEEDS" in os.environ else 1))
    tally = Tally()
    for batch in range(0, count, PER_TABLES):
        ask(lath, first + batch // PER_TABLES, min(PER_TABLES, count - batch), only, tally)
    for why, times in tally.judged.most_common():
        print(f"judged {times} times: {why}")
    for area, times in tally.asked.items():
        print(
            f"{area}: {times} asked, {tally.differences[area]} differ, {tally.refused_by_both[area]} refused by both, {tally.bugs[area]} bugs of the other engine"
        )
    total = sum(tally.differences.values())
    print(f"questions: {count} from seed {first}, {total} differences, {sum(tally.judged.values())} judged")
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main())
