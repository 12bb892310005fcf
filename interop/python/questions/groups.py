"""Groups: aggregates with FILTER and DISTINCT, grouping sets, HAVING, groups of nothing; and orders with limits."""

from expressions import Expressions
from question import question
from tables import scope

AGGREGATES = [
    "count(*)",
    "count(t.a)",
    "count(DISTINCT t.a)",
    "count(DISTINCT t.s)",
    "sum(t.a)",
    "sum(DISTINCT t.b)",
    "sum(t.d)",
    "sum(DISTINCT t.d)",
    "avg(t.a)",
    "avg(t.d)",
    "avg(DISTINCT t.a)",
    "min(t.s)",
    "max(t.s)",
    "min(t.d)",
    "max(t.day)",
    "min(t.ts)",
    "max(t.f)",
    "bool_and(t.p)",
    "bool_or(t.p)",
    "sum(t.f)",
    "stddev(t.a)",
    "var_pop(t.b)",
    "string_agg(t.s, ',' ORDER BY t.id)",
    "sum(t.a * t.d)",
    "max(t.a) - min(t.b)",
    "sum(t.a) / 2.0",
    "coalesce(sum(t.a), 0)",
    "median(t.a)",
    "covar_samp(t.a, t.b)",
    "string_agg(DISTINCT t.s, '|' ORDER BY t.s)",
    "string_agg(t.s, '' ORDER BY t.s DESC)",
    "array_agg(t.id ORDER BY t.id DESC)",
    "array_agg(DISTINCT t.a ORDER BY t.a NULLS FIRST)",
    "array_agg(t.a ORDER BY t.a DESC NULLS LAST)",
    "bit_and(t.a)",
    "bit_xor(t.b)",
    "min(t.p)",
]
KEYS = [
    "t.a",
    "t.s",
    "t.p",
    "t.d",
    "t.day",
    "t.b % 2",
    "t.a + t.b",
    "t.a > 1",
    "upper(t.s)",
    "coalesce(t.a, -5)",
    "date_trunc('month', t.ts)",
    "CASE WHEN t.p THEN 'yes' ELSE t.s END",
]


def aggregate(chance, make):
    found = chance.choice(AGGREGATES)
    if found.endswith(")") and "- " not in found and "coalesce" not in found and chance.random() < 0.3:
        found += f" FILTER (WHERE {make.condition(1)})"
    return found


def groups(chance):
    make = Expressions(chance, scope("t"))
    keys = chance.some(KEYS, 1, 3)
    source = chance.choice(["t", "t", "t", "(SELECT k AS id, *, CAST(NULL AS DOUBLE) AS f FROM e) AS t", "(SELECT * FROM t WHERE a > 1) AS t"])
    where = chance.maybe(f" WHERE {make.condition(1)}", 0.3)
    aggregates = ", ".join(f"{aggregate(chance, make)} AS x{at}" for at in range(chance.randint(1, 3)))
    having = chance.choice(["", "", " HAVING count(*) > 1", " HAVING sum(t.a) > 1", " HAVING max(t.d) IS NOT NULL", " HAVING bool_or(t.p)"])
    listed = ", ".join(f"{key} AS g{at}" for at, key in enumerate(keys))
    kind = chance.random()
    if kind < 0.25:
        return question("groups", f"SELECT {aggregates} FROM {source}{where}{having}")
    if kind < 0.6:
        return question("groups", f"SELECT {listed}, {aggregates} FROM {source}{where} GROUP BY {', '.join(keys)}{having}")
    by = chance.choice(
        [
            f"ROLLUP ({', '.join(keys)})",
            f"CUBE ({', '.join(keys)})",
            f"GROUPING SETS (({', '.join(keys)}), ())",
            f"GROUPING SETS (({keys[0]}), ({keys[-1]}), ({', '.join(keys)}))",
            f"GROUPING SETS ((), ({keys[0]}))",
            f"{keys[0]}, ROLLUP ({keys[-1]})",
        ]
    )
    grouping = f", grouping({keys[0]}) AS h" if chance.random() < 0.5 else ""
    return question("grouping sets", f"SELECT {listed}, {aggregates}{grouping} FROM {source}{where} GROUP BY {by}{having}")


def distinct(chance):
    columns = chance.some(["t.a", "t.b", "t.s", "t.d", "t.p", "t.day", "t.a + 1 AS e"], 1, 3)
    make = Expressions(chance, scope("t"))
    if chance.random() < 0.3:
        by = chance.choice(["t.a", "t.s", "t.p"])
        return question(
            "orders",
            f"SELECT DISTINCT ON ({by}) {by}, t.id FROM t ORDER BY {by} NULLS {chance.choice(['FIRST', 'LAST'])}, t.id {chance.choice(['ASC', 'DESC'])}",
            ordered=True,
        )
    return question("orders", f"SELECT DISTINCT {', '.join(columns)} FROM t{chance.maybe(f' WHERE {make.condition(1)}')}")


def orders(chance):
    """The first rows in an order that leaves no choice."""
    make = Expressions(chance, scope("t"))
    if chance.random() < 0.25:
        return distinct(chance)
    keys = [
        chance.choice(
            [f"t.{name}" for name in ["a", "b", "s", "d", "f", "day", "ts", "p"]]
            + ["t.a + t.b", "abs(t.d)", "length(t.s)", "t.a IS NULL", "t.d * 1.5", "CASE WHEN t.p THEN t.a END"]
        )
        for _ in range(chance.randint(1, 3))
    ]
    order = ", ".join(f"{key} {chance.choice(['ASC', 'DESC'])} NULLS {chance.choice(['FIRST', 'LAST'])}" for key in keys)
    limit = chance.choice(["", " LIMIT 0", " LIMIT 1", " LIMIT 5", " LIMIT 5 OFFSET 2", " OFFSET 3", " LIMIT 100 OFFSET 1"])
    where = chance.maybe(f" WHERE {make.condition(1)}", 0.4)
    text = f"SELECT t.id, {make.make(chance.choice(['int', 'text', 'decimal']), 1)} AS v FROM t{where} ORDER BY {order}, t.id {chance.choice(['ASC', 'DESC'])}{limit}"
    if chance.random() < 0.2:
        return question("orders", f"SELECT count(*) AS n, sum(id) AS s FROM ({text}) AS q")
    return question("orders", text, ordered=True)
