"""UNION, INTERSECT and EXCEPT with and without ALL, also several, of different types, and with an order."""

from question import question

COLUMNS = [["a", "b"], ["a"], ["s", "a"], ["d"], ["a", "d"], ["day"], ["p", "a"]]
# A column of another type, for another arm to compare with the column.
OTHER_TYPE = {
    "a": ["d", "b", "x", "1.5", "NULL"],
    "b": ["a", "2", "d"],
    "d": ["a", "x", "0.1"],
    "s": ["'a'", "NULL"],
    "day": ["CAST(ts AS DATE)", "NULL", "ts"],
    "p": ["NULL", "TRUE", "a > 1"],
}


def arm(chance, columns, mixed):
    table = chance.choice(["t", "u", "u", "e"])
    found = [chance.choice(OTHER_TYPE[name]) if mixed and chance.random() < 0.5 else name for name in columns]
    if table == "t":
        found = [name if name != "x" else "b" for name in found]
    listed = ", ".join(f"{text} AS c{at}" for at, text in enumerate(found))
    where = chance.choice(["", "", " WHERE a > 1", " WHERE a IS NULL", " WHERE b <> 2", " WHERE FALSE"])
    if chance.random() < 0.1:
        return f"(SELECT {listed} FROM {table}{where} ORDER BY {', '.join(str(at + 1) for at in range(len(columns)))} LIMIT 3)"
    return f"SELECT {chance.maybe('DISTINCT ', 0.2)}{listed} FROM {table}{where}"


def sets(chance):
    columns, mixed = chance.choice(COLUMNS), chance.random() < 0.4
    text = arm(chance, columns, mixed)
    for _ in range(chance.choice([1, 1, 2, 3])):
        word = chance.choice(["UNION", "UNION ALL", "EXCEPT", "EXCEPT ALL", "INTERSECT", "INTERSECT ALL"])
        other = arm(chance, columns, mixed)
        text = f"{text} {word} {other}" if chance.random() < 0.7 else f"({text}) {word} ({other})"
    names = [f"c{at}" for at in range(len(columns))]
    orders = ", ".join(f"{name} {chance.choice(['ASC', 'DESC'])} NULLS {chance.choice(['FIRST', 'LAST'])}" for name in names)
    return chance.call(
        lambda: question("sets", text),
        lambda: question("sets", text),
        lambda: question("sets", f"SELECT * FROM ({text}) AS q ORDER BY {orders} LIMIT {chance.choice([1, 5, 50])}", ordered=True),
        lambda: question("sets", f"SELECT {names[0]}, count(*) AS n FROM ({text}) AS q GROUP BY {names[0]}"),
        lambda: question("sets", f"WITH q AS ({text}) SELECT count(*) AS n FROM q WHERE {names[0]} IS NOT NULL"),
    )
