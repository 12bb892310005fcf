"""Row values: the other engine gets what they mean by the standard, column by column."""

from question import question
from tables import scope

PAIRS = [("a", "b"), ("b", "a"), ("s", "a"), ("a", "s"), ("d", "a"), ("day", "b")]
VALUES = {
    "a": ["0", "1", "2", "NULL", "b"],
    "b": ["0", "1", "3", "NULL", "a + 1"],
    "s": ["'a'", "'b'", "''", "NULL"],
    "d": ["1.5", "2.25", "2", "NULL", "0.01"],
    "day": ["DATE '2024-02-29'", "NULL", "DATE '1969-12-31'"],
}


def compared(op, left, right):
    """`left op right` without row values."""
    if op == "=":
        return "(" + " AND ".join(f"{one} = {other}" for one, other in zip(left, right)) + ")"
    if op == "<>":
        return f"(NOT {compared('=', left, right)})"
    one, other = left[0], right[0]
    if len(left) == 1:
        return f"({one} {op} {other})"
    return f"({one} {op[0]} {other} OR ({one} = {other} AND {compared(op, left[1:], right[1:])}))"


def row(chance, columns):
    return [chance.choice(VALUES[column]) for column in columns]


def written(values):
    return f"({', '.join(values)})"


def predicate(chance):
    columns = [*chance.choice(PAIRS)]
    if chance.random() < 0.3:
        columns.append(chance.choice([name for name in VALUES if name not in columns]))
    kind = chance.random()
    if kind < 0.5:
        op, right = chance.choice(["=", "<>", "<", "<=", ">", ">="]), row(chance, columns)
        return f"{written(columns)} {op} {written(right)}", compared(op, columns, right)
    if kind < 0.8:
        rights, word = [row(chance, columns) for _ in range(chance.randint(1, 3))], chance.maybe("NOT ")
        return (
            f"{written(columns)} {word}IN ({', '.join(map(written, rights))})",
            f"({word}({' OR '.join(compared('=', columns, right) for right in rights)}))",
        )
    if kind < 0.9:
        low, high = row(chance, columns), row(chance, columns)
        return (
            f"{written(columns)} BETWEEN {written(low)} AND {written(high)}",
            f"({compared('>=', columns, low)} AND {compared('<=', columns, high)})",
        )
    return (
        f"{written(columns)} IS NOT DISTINCT FROM {written(right := row(chance, columns))}",
        "(" + " AND ".join(f"{one} IS NOT DISTINCT FROM {other}" for one, other in zip(columns, right)) + ")",
    )


def rows(chance):
    text, other = predicate(chance)
    if chance.random() < 0.3:
        more, another = predicate(chance)
        word = chance.choice([" AND ", " OR "])
        text, other = text + word + more, other + word + another
    make = chance.choice(
        [
            "SELECT id FROM t WHERE {}",
            "SELECT id FROM t WHERE NOT ({})",
            "SELECT id, ({}) AS v FROM t",
            "SELECT id, CASE WHEN {} THEN 1 ELSE 2 END AS v FROM t",
            "SELECT count(*) FILTER (WHERE {}) AS n FROM t",
        ]
    )
    return question("rows", make.format(text), make.format(other))


def join_by_rows(chance):
    op = chance.choice(["=", "<", ">="])
    left, right = ["t.a", "t.b"], ["u.a", "u.b"]
    make = f"SELECT t.id, u.k FROM t {chance.choice(['JOIN', 'LEFT JOIN', 'FULL JOIN'])} u ON {{}}"
    if op != "=":
        make = make.replace("FULL", "RIGHT")
    return question("rows", make.format(f"{written(left)} {op} {written(right)}"), make.format(compared(op, left, right)))


def rows_in(chance):
    """`(a, b) IN (SELECT …)`, which SQLite answers, or the same by a join."""
    columns = chance.choice([("a", "b"), ("b", "a"), ("a", "s")])
    inner = ", ".join(f"w.{name}" for name in columns)
    where = chance.choice(["", f" WHERE w.{columns[0]} > 0", " WHERE w.a = t.a", " WHERE w.b >= t.b", f" WHERE w.{columns[0]} IS NOT NULL"])
    test = f"(t.{columns[0]}, t.{columns[1]}) {chance.maybe('NOT ')}IN (SELECT {inner} FROM {chance.choice(['u', 'u', 'v', 'e'])} AS w{where})"
    make = chance.choice(
        ["SELECT id FROM t WHERE {}", "SELECT id, ({}) AS v FROM t", "SELECT id FROM t WHERE {} OR t.id < 3", "SELECT id FROM t WHERE ({}) IS NULL"]
    )
    return question("rows in queries", make.format(test), oracle="sqlite")
