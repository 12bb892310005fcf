"""Changes of a table with a key, with subqueries in their conditions and values; all rows of the table are compared afterwards."""

from expressions import Expressions
from question import Question
from subqueries import Subqueries
from tables import scope

READ = "SELECT * FROM c"
NEW = [
    "a = excluded.a",
    "b = c.b + excluded.b",
    "s = excluded.s || c.s, d = 0.1 + 0.2",
    "d = coalesce(excluded.d, 1.25)",
    "a = CASE WHEN excluded.p THEN 1 ELSE c.a END",
    "f = excluded.d, p = NOT c.p",
]


def over_c(text):
    """An expression over `t` as one over the table that is changed."""
    return text.replace("t.", "c.")


def assignment(chance, subqueries):
    make = Expressions(chance, scope("t"))
    return chance.call(
        lambda: f"a = {make.leaf('int')}",
        lambda: "a = a + 1, b = a",
        lambda: f"d = {make.leaf('decimal')} + 0.25",
        lambda: "d = d * 2, f = d",
        lambda: f"s = {over_c(make.make('text', 1))}",
        lambda: f"p = {over_c(make.condition(1))}",
        lambda: f"b = {over_c(subqueries.scalar())}",
        lambda: f"d = {over_c(subqueries.scalar('decimal'))}",
        lambda: f"p = ({over_c(subqueries.truth())})",
        lambda: f"day = {over_c(make.make('date', 1))}, a = NULL",
        lambda: "a = b, b = a",
    )


def insertion(chance):
    """Rows of `u` with keys that are there or new."""
    first = chance.choice([0, 3, 100])
    limit = chance.choice(
        [
            "",
            " WHERE k > 2",
            " WHERE a > 1 AND d <> 1.5",
            " WHERE FALSE",
            " WHERE k IN (SELECT z FROM v WHERE a IS NOT NULL)",
            " WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.id = u.k)",
        ]
    )
    source = f"SELECT k + {first} AS id, a, b, s, d, CAST(x AS DOUBLE) AS f, day, ts, p FROM u{limit}"
    tail = chance.choice(
        [
            "",
            " ON CONFLICT DO NOTHING",
            *(f" ON CONFLICT (id) DO UPDATE SET {change}" for change in NEW),
            " ON CONFLICT (id) DO UPDATE SET a = excluded.a WHERE c.a < excluded.a",
            " ON CONFLICT (id) DO UPDATE SET b = 9 WHERE excluded.d <> 1.5 OR c.s IS NULL",
        ]
    )
    verb = "INSERT OR REPLACE INTO" if not tail and chance.random() < 0.5 else "INSERT INTO"
    if chance.random() < 0.2:
        rows = ", ".join(
            f"({key}, {chance.choice(['1', 'NULL', '2 + 1'])}, {chance.choice(['1.5', '0.1 + 0.2', 'NULL', '12345.67'])}, {chance.choice(['NULL', repr('x'), repr('')])})"
            for key in chance.sample(range(1, 40), chance.randint(1, 4))
        )
        tail = chance.choice(["", " ON CONFLICT DO NOTHING", " ON CONFLICT (id) DO UPDATE SET a = excluded.a, d = c.d + excluded.d"])
        return f"INSERT INTO c (id, a, d, s) VALUES {rows}{tail}"
    return f"{verb} c (id, a, b, s, d, f, day, ts, p) {source}{tail}" if "OR REPLACE" not in verb else f"{verb} c {source}"


def merge(chance):
    make = Expressions(chance, {kind: [name.replace("t.", "q.") for name in names] for kind, names in scope("u").items()})
    source = chance.choice(["u AS q", "(SELECT * FROM u WHERE a > 0 OR a IS NULL) AS q", "(SELECT k + 3 AS k, a, b, s, d FROM u) AS q"])
    if "k + 3" in source:
        make = Expressions(chance, {"int": ["q.a", "q.b", "c.a"], "text": ["q.s", "c.s"], "decimal": ["q.d", "c.d"]})
    else:
        make = Expressions(chance, {"int": ["q.a", "q.b", "c.a"], "text": ["q.s", "c.s"], "decimal": ["q.d", "c.d"], "date": ["q.day", "c.day"]})
    arms = []
    if chance.random() < 0.5:
        arms.append(f"WHEN MATCHED AND {make.condition(1)} THEN {chance.choice(['DELETE', 'UPDATE SET a = q.b, d = q.d + 0.5'])}")
    if chance.random() < 0.7:
        arms.append(f"WHEN MATCHED THEN {chance.choice(['DELETE', 'UPDATE SET a = c.a + 1, s = q.s', 'UPDATE SET d = coalesce(q.d, 0.75)'])}")
    if chance.random() < 0.7 or not arms:
        arms.append(f"WHEN NOT MATCHED{chance.maybe(' AND q.a > 1')} THEN INSERT (id, a, s, d) VALUES (q.k, q.a, q.s, q.d)")
    return f"MERGE INTO c USING {source} ON c.id = q.k {' '.join(arms)}"


def changes(chance):
    subqueries = Subqueries(chance)
    make = Expressions(chance, scope("t"))
    where = lambda: over_c(
        chance.call(
            subqueries.truth,
            subqueries.truth,
            lambda: make.condition(2),
            lambda: f"{subqueries.truth()} OR {make.condition(1)}",
            lambda: f"({subqueries.truth()}) IS NOT FALSE",
        )
    )
    text = chance.call(
        lambda: f"UPDATE c SET {assignment(chance, subqueries)}{chance.maybe(f' WHERE {where()}', 0.8)}",
        lambda: f"UPDATE c SET {assignment(chance, subqueries)} WHERE {where()}",
        lambda: f"DELETE FROM c WHERE {where()}",
        lambda: f"DELETE FROM c WHERE {where()}",
        lambda: insertion(chance),
        lambda: insertion(chance),
        lambda: merge(chance),
    )
    statements = ["DELETE FROM c", "INSERT INTO c SELECT * FROM t", text, READ]
    return Question("changes", statements, statements, "duckdb", False)
