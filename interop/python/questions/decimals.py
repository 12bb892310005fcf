"""Decimals of literals: exact in conditions, arithmetic, lists and tables of values."""

from expressions import COMPARISONS
from question import question

LITERALS = ["1.5", "2.25", "-1.50", "0.01", "12.34", "12.340", "99999.99", "0.1", "0.3", "1234567.25", "-0.10", "2", "0", "100000", "0.005", ".25"]


def literal(chance):
    return chance.choice(LITERALS)


def decimals(chance):
    one, other, third = literal(chance), literal(chance), literal(chance)
    op = chance.choice(COMPARISONS)
    value = chance.choice(
        [
            f"d + {one}",
            f"d * {one}",
            f"{one} - d",
            f"d * {one} + {other}",
            f"-(d - {one})",
            f"CASE WHEN d > {one} THEN {other} ELSE d END",
            f"CASE WHEN p THEN {one} WHEN a > 1 THEN {other} END",
            f"coalesce(d, {one})",
            f"nullif(d, {one})",
            f"greatest(d, {one}, {other})",
            f"a + {one}",
            f"b * {one}",
            f"{one} + {other} * {third}",
            f"d % {chance.choice(['1.5', '2', '0.3'])}",
            f"round(d * {one}, 1)",
        ]
    )
    return chance.call(
        lambda: question("decimals", f"SELECT id FROM t WHERE {value} {op} {third}"),
        lambda: question("decimals", f"SELECT id, {value} AS v FROM t"),
        lambda: question("decimals", f"SELECT id FROM t WHERE d {chance.maybe('NOT ')}IN ({one}, {other}, {third})"),
        lambda: question("decimals", f"SELECT id FROM t WHERE d {chance.maybe('NOT ')}BETWEEN {one} AND {other} OR a = {third}"),
        lambda: question("decimals", f"SELECT sum(v) AS s, min(v) AS l, max(v) AS h, count(DISTINCT v) AS n FROM (SELECT {value} AS v FROM t) AS q"),
        lambda: question(
            "decimals", f"SELECT x, x * {one} AS y FROM (VALUES ({one}), ({other}), ({third}), (NULL)) AS w(x) WHERE x {op} {literal(chance)}"
        ),
        lambda: question("decimals", f"SELECT t.id, w.n FROM t JOIN (VALUES ({one}, 1), ({other}, 2), (2.250, 3)) AS w(x, n) ON t.d = w.x"),
        lambda: question("decimals", f"SELECT {value} AS v FROM t UNION SELECT {one} UNION ALL SELECT a FROM u"),
        lambda: question("decimals", f"SELECT {value} AS v, count(*) AS n, sum(d) AS s FROM t GROUP BY {value}"),
        lambda: question("decimals", f"SELECT f {op} {one} AS v, d {op} f AS w, a {op} {other} AS x FROM t"),
        lambda: question("decimals", f"SELECT sum(d * {one}) AS s, avg(d) AS m, sum(DISTINCT d) AS u FROM t WHERE d {op} {other}"),
    )
