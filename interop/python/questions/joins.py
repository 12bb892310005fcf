"""Joins by USING, NATURAL and ON, also chains of them."""

from expressions import Expressions
from question import question
from tables import scope

KINDS = ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]
# The columns that all three tables have.
SHARED = ["a", "b", "s", "d"]
OWN = {"t": "t.id", "u": "u.k", "v": "v.z", "e": "e.k"}


def using(chance):
    """A chain of tables that are joined by the same columns: then the merged column has one value, whatever the order of the joins."""
    names, by = chance.sample(["t", "u", "v"], chance.choice([2, 2, 3])), chance.some(SHARED, 1, 2)
    if chance.random() < 0.15:
        names[chance.randrange(len(names))] = "e"
    text = names[0] + "".join(f" {chance.choice(KINDS)} {name} USING ({', '.join(by)})" for name in names[1:])
    columns = chance.some([*by, *(OWN[name] for name in names), *(f"{name}.{by[0]}" for name in names)], 2, 6)
    make = Expressions(
        chance,
        {
            "int": [OWN[name] for name in names] + [name for name in by if name in "ab"],
            "text": [name for name in by if name == "s"],
            "decimal": [name for name in by if name == "d"],
        },
    )
    where = chance.maybe(f" WHERE {make.condition(1)}")
    return chance.call(
        lambda: question("using", f"SELECT {', '.join(columns)} FROM {text}{where}"),
        lambda: question(
            "using", f"SELECT {', '.join(by)}, count(*) AS n, count({OWN[names[0]]}) AS own FROM {text}{where} GROUP BY {', '.join(by)}"
        ),
        lambda: question(
            "using", f"SELECT DISTINCT {by[0]} FROM {text}{where} ORDER BY {by[0]} {chance.choice(['ASC', 'DESC'])} NULLS LAST", ordered=True
        ),
        lambda: question("using", f"SELECT count({by[0]}) AS n, max({by[-1]}) AS m FROM {text}{where}"),
    )


def side(chance, name, alias, columns):
    own = OWN[name].split(".")[1]
    return f"(SELECT {', '.join(columns)}, {own} AS {alias}_own FROM {name}{chance.maybe(' WHERE b > 0', 0.2)}) AS {alias}"


def natural(chance):
    columns = chance.some(SHARED, 1, 3)
    count = chance.choice([2, 2, 3])
    sides = [side(chance, chance.choice(["t", "u", "v", "e"] if at else ["t", "u", "v"]), f"q{at}", columns) for at in range(count)]
    text = sides[0] + "".join(f" NATURAL {chance.choice(KINDS)} {one}" for one in sides[1:])
    owns = [f"q{at}_own" for at in range(count)]
    return chance.call(
        lambda: question("natural", f"SELECT {', '.join(columns + owns)} FROM {text}"),
        lambda: question("natural", f"SELECT {', '.join([*columns, *owns])} FROM (SELECT * FROM {text}) AS all_of_them"),
        lambda: question("natural", f"SELECT {columns[0]}, {owns[-1]} FROM {text} WHERE {columns[0]} IS NOT NULL"),
    )


def condition_on(chance, left, right):
    make = Expressions(chance, scope(left, right))
    shared = chance.choice(SHARED)
    equal = f"{left}.{shared} = {right}.{shared}"
    return chance.call(
        lambda: equal,
        lambda: f"{equal} AND {make.condition(1)}",
        lambda: make.condition(1),
        lambda: f"{left}.{shared} IS NOT DISTINCT FROM {right}.{shared}",
        lambda: f"({equal} OR {left}.a < {right}.b)",
        lambda: f"{left}.a {chance.choice(['<', '>=', '<>'])} {right}.b",
        lambda: f"{left}.d = {right}.a",
        lambda: f"{left}.a + 1 = {right}.b AND {left}.s >= {right}.s",
    )


def on(chance):
    names = chance.sample(["t", "u", "v"], chance.choice([2, 2, 3]))
    text = names[0]
    for at, name in enumerate(names[1:]):
        kind = chance.choice([*KINDS, "CROSS JOIN"])
        text += f" {kind} {name}" + ("" if kind == "CROSS JOIN" else f" ON {condition_on(chance, names[at], name)}")
    make = Expressions(chance, scope(*names))
    where = chance.maybe(f" WHERE {make.condition(1)}")
    if chance.random() < 0.3:
        key = make.column(chance.choice(["int", "text", "decimal"]))
        return question("on", f"SELECT {key} AS g, count(*) AS n, max({make.column('int')}) AS m FROM {text}{where} GROUP BY {key}")
    return question("on", f"SELECT {', '.join(OWN[name] for name in names)}, {make.make('int', 1)} AS n FROM {text}{where}")
