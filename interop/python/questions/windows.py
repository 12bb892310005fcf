"""Windows with frames of rows, ranges and groups, filters, names, and over groups."""

from expressions import Expressions
from question import question
from tables import scope


def bounds(chance, least):
    """A frame from one bound to another; `least` makes a number before or after the row."""
    starts = ["UNBOUNDED PRECEDING", f"{least()} PRECEDING", "CURRENT ROW", f"{least()} FOLLOWING"]
    at = chance.randrange(4)
    ends = ["UNBOUNDED PRECEDING", f"{least()} PRECEDING", "CURRENT ROW", f"{least()} FOLLOWING", "UNBOUNDED FOLLOWING"][max(at, 1) :]
    return f"BETWEEN {starts[at]} AND {chance.choice(ends)}"


def frame(chance):
    """An order and a frame that leave no choice."""
    direction = f"{chance.choice(['ASC', 'DESC'])} NULLS {chance.choice(['FIRST', 'LAST'])}"
    number = lambda: str(chance.choice([0, 1, 2, 3]))
    return chance.call(
        lambda: f"ORDER BY t.a {direction}, t.id ROWS {bounds(chance, number)}",
        lambda: f"ORDER BY t.id {chance.choice(['', 'DESC '])}ROWS {bounds(chance, number)}",
        lambda: f"ORDER BY t.a {direction} RANGE {bounds(chance, number)}",
        lambda: f"ORDER BY t.d {direction} RANGE {bounds(chance, lambda: chance.choice(['0', '0.5', '1.50', '10']))}",
        lambda: f"ORDER BY t.day {direction} RANGE {bounds(chance, lambda: chance.choice(['INTERVAL 1 DAY', 'INTERVAL 1 MONTH']))}".replace(
            "1 DAY", "'1 day'"
        ).replace("1 MONTH", "'1 month'"),
        lambda: f"ORDER BY t.s {direction} GROUPS {bounds(chance, number)}",
        lambda: f"ORDER BY t.b {direction}",
        lambda: f"ORDER BY t.s {direction}, t.b {direction}",
        lambda: "",
    )


# The order of a row's peers is undefined: these get a complete order.
BY_ROW = [
    "row_number()",
    "lag(t.a)",
    "lead(t.s, 2)",
    "lag(t.b, 1, -1)",
    "ntile(3)",
    "first_value(t.id)",
    "last_value(t.id)",
    "nth_value(t.id, 2)",
    "lag(t.d, 2, 0.5)",
]
BY_PEERS = ["rank()", "dense_rank()", "percent_rank()", "cume_dist()"]
AGGREGATES = [
    "sum(t.a)",
    "count(*)",
    "count(t.s)",
    "min(t.d)",
    "max(t.s)",
    "avg(t.a)",
    "sum(t.d)",
    "min(t.day)",
    "bool_or(t.p)",
    "max(t.ts)",
    "sum(t.a) FILTER (WHERE t.p)",
    "count(*) FILTER (WHERE t.b > 1)",
    "max(t.a + t.b)",
]


def windows(chance):
    make = Expressions(chance, scope("t"))
    partition = chance.choice(
        ["", "", "PARTITION BY t.s ", "PARTITION BY t.p ", "PARTITION BY t.a ", "PARTITION BY t.a, t.p ", "PARTITION BY t.b % 2 "]
    )
    where = chance.maybe(f" WHERE {make.condition(1)}", 0.3)
    kind = chance.random()
    if kind < 0.2:
        total = f"ORDER BY t.{chance.choice('abs')} {chance.choice(['ASC', 'DESC'])} NULLS {chance.choice(['FIRST', 'LAST'])}, t.id"
        call = f"{chance.choice(BY_ROW)} OVER ({partition}{total})"
    elif kind < 0.3:
        call = f"{chance.choice(BY_PEERS)} OVER ({partition}ORDER BY t.{chance.choice('abs')} {chance.choice(['ASC', 'DESC'])} NULLS LAST)"
    elif kind < 0.4:
        return question(
            "windows",
            f"SELECT t.a AS g, count(*) AS n, sum(count(*)) OVER (ORDER BY t.a NULLS {chance.choice(['FIRST', 'LAST'])}) AS w, rank() OVER (ORDER BY count(*), max(t.b) NULLS LAST) AS r FROM t{where} GROUP BY t.a",
        )
    elif kind < 0.5:
        return question(
            "windows",
            f"SELECT t.id, sum(t.b) OVER w AS x, count(t.d) OVER w AS y, row_number() OVER (w ORDER BY t.id) AS z FROM t{where} WINDOW w AS (PARTITION BY t.{chance.choice('aspd')})".replace(
                "OVER (w ORDER", "OVER (PARTITION BY t.p ORDER"
            ),
        )
    else:
        call = f"{chance.choice(AGGREGATES)} OVER ({partition}{frame(chance)})"
    if chance.random() < 0.2:
        return question("windows", f"SELECT id, w FROM (SELECT t.id, {call} AS w FROM t{where}) AS q WHERE w IS NOT NULL AND id > 2")
    return question("windows", f"SELECT t.id, {call} AS w FROM t{where}")
