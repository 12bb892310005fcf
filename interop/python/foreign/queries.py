"""Subqueries, joins, set operations, windows, groups."""

import itertools
import random

from suite import Suite

TABLES = [
    "CREATE TABLE o (id INT PRIMARY KEY, g INT, x INT, t VARCHAR)",
    "CREATE TABLE i (n INT PRIMARY KEY, id INT, g INT, t VARCHAR)",
    "CREATE TABLE e (n INT PRIMARY KEY, id INT, g INT, t VARCHAR)",
    "INSERT INTO o VALUES (1, 1, 1, 'a'), (2, 2, 2, 'b'), (3, 3, NULL, NULL), (4, 4, 7, ''), (5, 1, NULL, 'a'), (6, NULL, 3, 'c')",
    "INSERT INTO i VALUES (1, 1, 1, 'a'), (2, NULL, 2, 'b'), (3, 7, 4, NULL), (4, 5, 1, ''), (5, NULL, 3, 'd'), (6, 3, NULL, 'a'), (7, 2, 2, 'b')",
]
INNER = ["", "i.g = o.g", "i.g > o.g", "i.g < o.g AND i.id > 2", "i.id = o.x", "i.id IS NULL", "i.g = o.g AND i.id IS NOT NULL", "1 = 0"]


def where(condition):
    return f" WHERE {condition}" if condition else ""


def memberships():
    suite = Suite("IN and NOT IN with subqueries: three-valued logic in every place")
    suite.do(*TABLES)
    for left, inner, negated in itertools.product(["o.x", "3", "NULL", "o.x + 1"], INNER, ["IN", "NOT IN"]):
        member = f"{left} {negated} (SELECT i.id FROM i{where(inner)})"
        suite.ask(f"SELECT id FROM o WHERE {member}")
    places = ["SELECT id FROM o WHERE {} OR o.g = 4", "SELECT id FROM o WHERE ({}) IS NULL", "SELECT id, {} FROM o",
              "SELECT id FROM o WHERE NOT ({})", "SELECT id, CASE WHEN {} THEN 'y' ELSE 'n' END FROM o",
              "SELECT count(*) FROM o WHERE {} AND o.g > 1"]
    for place, (left, inner, negated) in itertools.product(places, [
            ("o.x", "i.g = o.g", "IN"), ("o.x", "i.g = o.g", "NOT IN"), ("o.x", "", "NOT IN"), ("3", "i.g > o.g", "NOT IN"),
            ("3", "i.g > o.g", "IN"), ("o.x", "i.id = o.x", "NOT IN")]):
        suite.ask(place.format(f"{left} {negated} (SELECT i.id FROM i{where(inner)})"))
    for negated in ["IN", "NOT IN"]:
        suite.ask(
            f"SELECT id FROM o WHERE x {negated} (SELECT id FROM e)",
            f"SELECT id FROM o WHERE NULL {negated} (SELECT id FROM e)",
            f"SELECT id FROM o WHERE x {negated} (SELECT max(id) FROM i WHERE i.g = o.g)",
            f"SELECT id FROM o WHERE x {negated} (SELECT count(*) FROM i WHERE i.g = o.g)",
            f"SELECT id FROM o WHERE x {negated} (SELECT DISTINCT g FROM i)",
            f"SELECT id FROM o WHERE t {negated} (SELECT t FROM i WHERE t IS NOT NULL)",
            f"SELECT id FROM o WHERE x {negated} (SELECT id FROM i UNION SELECT g FROM i)",
            f"SELECT id FROM o WHERE (g, x) {negated} (SELECT g, id FROM i WHERE id IS NOT NULL AND g IS NOT NULL)",
            f"SELECT id FROM o WHERE x {negated} (SELECT id FROM i WHERE t {negated} (SELECT t FROM o p WHERE p.g = i.g))",
            f"SELECT id FROM o WHERE x {negated} (SELECT id FROM i ORDER BY n LIMIT 1)",
        )
    return suite


def existences():
    suite = Suite("EXISTS in every place, also over aggregates and empty groups")
    suite.do(*TABLES)
    inner = ["SELECT 1 FROM i", "SELECT * FROM e", "SELECT max(id) FROM e", "SELECT 1 FROM i WHERE i.g = o.g", "SELECT 1 FROM i WHERE i.g > o.g",
             "SELECT max(i.id) FROM i WHERE i.g = o.g", "SELECT count(*) FROM i WHERE i.g = o.g", "SELECT max(i.id) FROM i WHERE i.g = o.g GROUP BY i.g",
             "SELECT max(i.id) FROM i WHERE i.g = o.g HAVING max(i.id) > 1", "SELECT count(*) FROM i WHERE i.g = o.g HAVING count(*) = 0",
             "SELECT 1 FROM i WHERE i.g = o.g AND i.id = o.x", "SELECT 1 FROM i WHERE i.g = o.g OR i.id = o.x", "SELECT 1 FROM i WHERE i.g = o.g LIMIT 0",
             "SELECT 1 FROM i WHERE i.g = o.g LIMIT 1", "SELECT NULL FROM i WHERE i.t = o.t", "SELECT 1 FROM i JOIN o p ON p.g = i.g WHERE p.id > o.id",
             "SELECT 1 FROM i WHERE i.g IS NOT DISTINCT FROM o.g", "SELECT i.id FROM i WHERE i.g = o.g UNION ALL SELECT 1 FROM e"]
    places = ["SELECT id FROM o WHERE {}", "SELECT id FROM o WHERE NOT {}", "SELECT id, {} FROM o", "SELECT id FROM o WHERE {} OR id = 6",
              "SELECT count(*) FROM o WHERE {} = (id > 2)"]
    for place, query in itertools.product(places, inner):
        suite.ask(place.format(f"EXISTS ({query})"))
    return suite


def scalars():
    suite = Suite("Subqueries as values")
    suite.do(*TABLES)
    values = ["SELECT max(id) FROM i", "SELECT max(id) FROM e", "SELECT count(*) FROM e", "SELECT id FROM e", "SELECT max(i.id) FROM i WHERE i.g = o.g",
              "SELECT count(*) FROM i WHERE i.g = o.g", "SELECT count(i.id) FROM i WHERE i.g = o.g", "SELECT sum(i.id) FROM i WHERE i.g > o.g",
              "SELECT count(*) FROM i WHERE i.g > o.g", "SELECT count(*) + 1 FROM i WHERE i.g = o.g", "SELECT coalesce(sum(i.id), -1) FROM i WHERE i.g = o.g",
              "SELECT i.id FROM i WHERE i.g = o.g ORDER BY i.n LIMIT 1", "SELECT i.id FROM i WHERE i.g > o.g ORDER BY i.n DESC LIMIT 1",
              "SELECT i.n FROM i WHERE i.n = o.id", "SELECT min(i.t) FROM i WHERE i.t > o.t", "SELECT o.x", "SELECT o.x + max(i.id) FROM i",
              "SELECT max(i.id) FROM i WHERE i.g = o.g HAVING count(*) > 1", "SELECT max(p.x) FROM o p WHERE p.g = o.g AND p.id <> o.id",
              "SELECT count(DISTINCT i.t) FROM i WHERE i.g <= o.g", "SELECT max(i.id) FROM i WHERE i.g = (SELECT min(p.g) FROM o p WHERE p.id >= o.id)"]
    places = ["SELECT id, ({}) FROM o", "SELECT id FROM o WHERE ({}) = 2", "SELECT id FROM o WHERE x < ({}) OR x IS NULL", "SELECT id FROM o WHERE ({}) IS NULL",
              "SELECT id, coalesce(({}), 0) FROM o"]
    for place, value in itertools.product(places, values):
        if "i.t)" in value and "DISTINCT" not in value and place.count("x <") + place.count("= 2") + place.count("coalesce"):
            continue
        suite.ask(place.format(value))
    suite.ask(
        "SELECT g, (SELECT count(*) FROM i WHERE i.g = o.g) AS n FROM o GROUP BY g",
        "SELECT g, max(x) FROM o GROUP BY g HAVING max(x) > (SELECT min(id) FROM i)",
        "SELECT (SELECT max(id) FROM i) + (SELECT min(id) FROM i)",
        "SELECT id FROM o ORDER BY (SELECT count(*) FROM i WHERE i.g = o.g), id",
    )
    return suite


def quantified():
    suite = Suite("ANY, SOME and ALL")
    suite.do(*TABLES)
    for operator, quantifier, inner in itertools.product(["=", "<>", "<", "<=", ">", ">="], ["ANY", "ALL"], ["", "i.g = o.g", "i.id IS NOT NULL", "1 = 0"]):
        suite.ask(f"SELECT id FROM o WHERE o.x {operator} {quantifier} (SELECT i.id FROM i{where(inner)})")
    for operator, quantifier in itertools.product(["=", "<>", "<", ">="], ["ANY", "ALL"]):
        suite.ask(f"SELECT id, o.x {operator} {quantifier} (SELECT i.id FROM i WHERE i.g = o.g) FROM o")
        suite.ask(f"SELECT id FROM o WHERE (o.x {operator} {quantifier} (SELECT i.id FROM i)) IS NULL")
    return suite


def joins():
    suite = Suite("Joins: conditions, USING and NATURAL")
    suite.do(
        "CREATE TABLE a (id INT PRIMARY KEY, k INT, x INT)", "CREATE TABLE b (id2 INT PRIMARY KEY, k INT, y INT)", "CREATE TABLE c (id3 INT PRIMARY KEY, k INT, z INT)",
        "INSERT INTO a VALUES (1, 1, 10), (2, 2, 20), (3, NULL, 30), (4, 2, 40)",
        "INSERT INTO b VALUES (1, 2, 200), (2, 3, 300), (3, NULL, 400), (4, 2, 500)",
        "INSERT INTO c VALUES (1, 3, 3000), (2, 1, 1000), (3, 5, 5000), (4, NULL, 7000)",
    )
    kinds = ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]
    for kind in kinds:
        table = f"a {kind} b USING (k)"
        suite.ask(
            f"SELECT k FROM {table}", f"SELECT * FROM {table}", f"SELECT k, a.k, b.k FROM {table}", f"SELECT k, x, y FROM {table} WHERE k = 2",
            f"SELECT x, y FROM {table} WHERE k = 3", f"SELECT k, count(*), sum(y) FROM {table} GROUP BY k", f"SELECT count(k) FROM {table}",
            f"SELECT k FROM {table} WHERE k IS NULL", f"SELECT k + 1 FROM {table}", f"SELECT max(k) FROM {table}", f"SELECT DISTINCT k FROM {table}",
            f"SELECT k, x FROM a NATURAL {kind} b", f"SELECT * FROM (SELECT id, k FROM a) p NATURAL {kind} (SELECT k, y FROM b) q",
            f"SELECT q.k, q.n FROM (SELECT k, count(*) AS n FROM {table} GROUP BY k) q WHERE q.n > 1",
            f"SELECT k FROM {table} WHERE a.k IS NULL", f"SELECT a.x FROM {table} WHERE b.y > 100 OR b.y IS NULL",
            f"SELECT k, x, y FROM {table} WHERE k IN (SELECT k FROM c)", f"SELECT k, (SELECT count(*) FROM c WHERE c.k = b.k) FROM {table}",
        )
        suite.ordered(f"SELECT k, x, y FROM {table} ORDER BY k NULLS LAST, x NULLS LAST, y NULLS LAST")
        for other in kinds:
            suite.ask(f"SELECT k, x, y, z FROM a {kind} b USING (k) {other} c USING (k)", f"SELECT a.x, b.y, c.z FROM a {kind} b ON a.k = b.k {other} c ON b.k = c.k")
        for condition in ["a.k = b.k", "a.k < b.k", "a.k = b.k AND a.x > 20", "a.k = b.k AND b.y > 200", "a.k = b.k OR a.x = b.y / 10", "a.k IS NOT DISTINCT FROM b.k"]:
            if kind in ("RIGHT JOIN", "FULL JOIN") and condition == "a.k < b.k" and False:
                continue
            suite.ask(f"SELECT a.id, b.id2 FROM a {kind} b ON {condition}")
        suite.ask(f"SELECT a.id, b.id2 FROM a {kind} b ON a.k = b.k WHERE a.x IS NULL OR b.y > 200", f"SELECT count(*), count(a.id), count(b.id2) FROM a {kind} b ON a.k = b.k")
    suite.ask(
        "SELECT a.id, b.id2 FROM a, b WHERE a.k = b.k", "SELECT count(*) FROM a CROSS JOIN b", "SELECT a.id, p.id FROM a JOIN a p ON a.k = p.k AND a.id < p.id",
        "SELECT a.id FROM a LEFT JOIN b ON a.k = b.k WHERE b.id2 IS NULL", "SELECT a.id, b.id2 FROM a JOIN b ON true WHERE a.x = b.y / 10",
        "SELECT a.id, s.m FROM a LEFT JOIN (SELECT k, max(y) AS m FROM b GROUP BY k) s ON s.k = a.k",
        "SELECT * FROM a NATURAL JOIN (SELECT k, z FROM c) d", "SELECT a.id, l.y FROM a, LATERAL (SELECT b.y FROM b WHERE b.k = a.k) l",
        "SELECT a.id, l.n FROM a, LATERAL (SELECT count(*) AS n FROM b WHERE b.k = a.k) l",
        "SELECT a.id, l.m FROM a LEFT JOIN LATERAL (SELECT max(b.y) AS m FROM b WHERE b.k > a.k) l ON true",
    )
    return suite


def set_operations():
    suite = Suite("UNION, INTERSECT and EXCEPT, distinct and with all")
    suite.do(
        "CREATE TABLE p (n INT PRIMARY KEY, v INT, s VARCHAR)", "CREATE TABLE q (n INT PRIMARY KEY, v INT, s VARCHAR)",
        "INSERT INTO p VALUES (1, 1, 'a'), (2, 1, 'a'), (3, 2, 'b'), (4, NULL, NULL), (5, NULL, NULL), (6, 3, 'c'), (7, 1, 'z')",
        "INSERT INTO q VALUES (1, 1, 'a'), (2, 2, 'b'), (3, 2, 'b'), (4, NULL, NULL), (5, 4, 'd'), (6, 1, 'a'), (7, 2, 'x')",
    )
    operations = ["UNION", "UNION ALL", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL"]
    for operation, columns in itertools.product(operations, ["v", "s", "v, s"]):
        suite.ask(
            f"SELECT {columns} FROM p {operation} SELECT {columns} FROM q", f"SELECT {columns} FROM q {operation} SELECT {columns} FROM p",
            f"SELECT {columns} FROM p {operation} SELECT {columns} FROM q WHERE 1 = 0", f"SELECT {columns} FROM p WHERE 1 = 0 {operation} SELECT {columns} FROM q",
            f"SELECT count(*) FROM (SELECT {columns} FROM p {operation} SELECT {columns} FROM q) u",
        )
    for first, second in itertools.product(operations, operations):
        suite.ask(f"SELECT v FROM p {first} SELECT v FROM q {second} SELECT 1", f"(SELECT v FROM p {first} SELECT v FROM q) {second} SELECT v FROM p WHERE v = 2")
    for operation in operations:
        suite.ask(
            f"SELECT 1 {operation} SELECT 1.0", f"SELECT v FROM p {operation} SELECT n FROM q", f"SELECT id FROM (SELECT v AS id FROM p {operation} SELECT v FROM q) u WHERE id > 1",
            f"SELECT v FROM p WHERE v IN (SELECT v FROM p {operation} SELECT v FROM q)", f"SELECT NULL {operation} SELECT v FROM p",
        )
        suite.ordered(f"SELECT v FROM p {operation} SELECT v FROM q ORDER BY v NULLS FIRST LIMIT 3", f"SELECT v AS w FROM p {operation} SELECT v FROM q ORDER BY w DESC NULLS LAST")
    return suite


def windows():
    suite = Suite("Window functions and frames")
    suite.do(
        "CREATE TABLE w (id INT PRIMARY KEY, g INT, v INT, d DECIMAL(10, 2))",
        "INSERT INTO w VALUES (1, 1, 10, 1.50), (2, 1, 20, 2.25), (3, 1, 20, NULL), (4, 2, NULL, 0.10), (5, 2, 5, 3.00), (6, 2, 7, 9.99), (7, NULL, 1, 1.00), (8, NULL, 2, -4.00)",
    )
    functions = ["row_number()", "rank()", "dense_rank()", "sum(v)", "count(*)", "count(v)", "min(v)", "max(v)", "sum(d)", "avg(v)", "first_value(v)", "last_value(v)",
                 "lag(v)", "lead(v)", "lag(v, 2, -1)", "lead(v, 1, 0)", "ntile(3)", "nth_value(v, 2)", "percent_rank()", "cume_dist()"]
    for function in functions:
        suite.ask(f"SELECT id, {function} OVER (PARTITION BY g ORDER BY id) FROM w", f"SELECT id, {function} OVER (ORDER BY id DESC) FROM w")
    for function in ["rank()", "dense_rank()", "sum(v)", "count(*)", "cume_dist()", "last_value(v)"]:
        suite.ask(f"SELECT id, {function} OVER (ORDER BY v NULLS FIRST) FROM w", f"SELECT id, {function} OVER (PARTITION BY g ORDER BY v DESC NULLS LAST) FROM w" if function != "last_value(v)" else "SELECT 1")
    frames = ["ROWS BETWEEN 1 PRECEDING AND CURRENT ROW", "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING", "ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING",
              "ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING", "RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING", "RANGE UNBOUNDED PRECEDING", "ROWS UNBOUNDED PRECEDING",
              "GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW"]
    for function, frame in itertools.product(["sum(v)", "count(v)", "min(v)", "max(v)", "first_value(v)", "last_value(id)"], frames):
        suite.ask(f"SELECT id, {function} OVER (PARTITION BY g ORDER BY id {frame}) FROM w")
    suite.ask(
        "SELECT g, sum(sum(v)) OVER (ORDER BY g NULLS FIRST) FROM w GROUP BY g", "SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY g ORDER BY v DESC NULLS LAST, id) AS n FROM w) r WHERE n = 1",
        "SELECT id, sum(v) OVER w1, count(*) OVER w2 FROM w WINDOW w1 AS (PARTITION BY g), w2 AS (ORDER BY id)",
        "SELECT id, sum(v) FILTER (WHERE v > 5) OVER (ORDER BY id) FROM w", "SELECT id, v - lag(v) OVER (ORDER BY id) FROM w",
        "SELECT id, max(rank) FROM (SELECT id, rank() OVER (ORDER BY v) AS rank FROM w WHERE v IS NOT NULL) r GROUP BY id",
    )
    return suite


def groups():
    suite = Suite("Aggregates and groups")
    suite.do(
        "CREATE TABLE s (id INT PRIMARY KEY, a INT, b VARCHAR, n BIGINT, d DECIMAL(12, 3), f DOUBLE)", "CREATE TABLE z (id INT PRIMARY KEY, a INT, n BIGINT)",
        "INSERT INTO s VALUES (1, 1, 'x', 10, 1.125, 0.5), (2, 1, 'y', NULL, 2.5, 1.5), (3, 2, 'x', 30, NULL, NULL), (4, NULL, 'x', 40, -1.0, 2.25), (5, NULL, NULL, NULL, 100.001, -3.0), (6, 2, 'y', 60, 0.0, 0.0)",
    )
    aggregates = ["count(*)", "count(n)", "sum(n)", "avg(n)", "min(n)", "max(n)", "sum(d)", "min(b)", "max(b)", "count(DISTINCT b)", "sum(DISTINCT a)", "sum(f)", "min(d)", "count(DISTINCT a)",
                  "count(*) FILTER (WHERE n > 20)", "sum(n) FILTER (WHERE b = 'x')", "max(n) - min(n)", "sum(n + a)", "bool_and(n > 5)", "bool_or(n > 50)"]
    for aggregate in aggregates:
        suite.ask(f"SELECT {aggregate} FROM s", f"SELECT a, {aggregate} FROM s GROUP BY a", f"SELECT a, b, {aggregate} FROM s GROUP BY a, b", f"SELECT {aggregate} FROM s WHERE 1 = 0",
                  f"SELECT a FROM s GROUP BY a HAVING ({aggregate}) IS NULL")
    suite.ask(
        "SELECT sum(n), count(*) FROM z", "SELECT a, sum(n) FROM z GROUP BY a", "SELECT count(*) FROM z HAVING count(*) > 0", "SELECT a, b, sum(n) FROM s GROUP BY GROUPING SETS ((a), (b), ())",
        "SELECT a, b, count(*) FROM s GROUP BY ROLLUP (a, b)", "SELECT a, b, count(*) FROM s GROUP BY CUBE (a, b)", "SELECT a, grouping(a), count(*) FROM s GROUP BY ROLLUP (a)",
        "SELECT a + 1, count(*) FROM s GROUP BY a + 1", "SELECT a, count(*) FROM s GROUP BY 1", "SELECT a AS k, count(*) FROM s GROUP BY k", "SELECT DISTINCT a, b FROM s", "SELECT DISTINCT a FROM s WHERE n IS NULL",
        "SELECT count(*) FROM (SELECT DISTINCT a, b FROM s) t", "SELECT sum(c) FROM (SELECT a, count(*) AS c FROM s GROUP BY a) t", "SELECT a, max(b) FROM s GROUP BY a HAVING count(*) > 1 AND max(b) = 'y'",
        "SELECT upper(b), sum(n) FROM s GROUP BY upper(b)", "SELECT CASE WHEN n > 20 THEN 'big' ELSE 'small' END AS size, count(*) FROM s GROUP BY size", "SELECT a FROM s GROUP BY a",
        "SELECT avg(d) FROM s WHERE id < 3", "SELECT sum(d * n) FROM s", "SELECT sum(CASE WHEN a = 1 THEN 1 ELSE 0 END) FROM s", "SELECT count(a), count(b), count(n) FROM s",
    )
    suite.ordered(
        "SELECT a, count(*) FROM s GROUP BY a ORDER BY a NULLS FIRST", "SELECT b, sum(n) AS t FROM s GROUP BY b ORDER BY t DESC NULLS LAST, b", "SELECT a FROM s ORDER BY a DESC NULLS LAST, id LIMIT 3",
        "SELECT id FROM s ORDER BY n NULLS FIRST, id DESC", "SELECT id FROM s ORDER BY -n NULLS LAST, id", "SELECT id FROM s ORDER BY b NULLS LAST, d DESC NULLS FIRST LIMIT 2 OFFSET 1", "SELECT id AS x FROM s ORDER BY x DESC",
        "SELECT id, n FROM s ORDER BY 2 NULLS LAST, 1", "SELECT string_agg(b, ',' ORDER BY id) FROM s", "SELECT DISTINCT b FROM s ORDER BY b NULLS LAST",
    )
    return suite


def with_clauses():
    suite = Suite("WITH, also recursive, VALUES and derived tables")
    suite.do(*TABLES)
    suite.ask(
        "WITH c AS (SELECT g, count(*) AS n FROM o GROUP BY g) SELECT * FROM c WHERE n > 1", "WITH c AS (SELECT 1 AS x), d AS (SELECT x + 1 AS y FROM c) SELECT * FROM c, d",
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT sum(n) FROM r", "WITH RECURSIVE r AS (SELECT 1 AS n, 1 AS f UNION ALL SELECT n + 1, f * (n + 1) FROM r WHERE n < 6) SELECT * FROM r",
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT (n + 1) % 4 FROM r) SELECT n FROM r",
        "WITH o AS (SELECT 42 AS id) SELECT id FROM o", "WITH c(a, b) AS (SELECT g, x FROM o) SELECT a FROM c WHERE b = 2", "SELECT * FROM (VALUES (1, 'a'), (2, NULL)) v(n, s)", "VALUES (1, 2), (3, 4)",
        "SELECT n + 0.5 FROM (VALUES (1), (2)) v(n)", "SELECT * FROM (SELECT id, g FROM o WHERE g = 1) s WHERE id > 1", "SELECT s.id FROM (SELECT * FROM o) AS s JOIN (SELECT * FROM i) AS u ON s.g = u.g",
        "WITH c AS (SELECT id FROM i WHERE g = 1) SELECT id FROM o WHERE x IN (SELECT id FROM c) OR EXISTS (SELECT 1 FROM c WHERE c.id = o.id)",
        "SELECT (SELECT max(n) FROM (VALUES (1), (o.id)) v(n)) FROM o" if False else "SELECT max(n) FROM (VALUES (1), (7)) v(n)",
        "WITH c AS (SELECT * FROM o WHERE x > 1) SELECT count(*) FROM c a, c b WHERE a.id = b.id",
    )
    return suite


def random_questions():
    """Conditions put together by chance, over nulls."""
    suite = Suite("Conditions put together by chance")
    suite.do(*TABLES)
    chance = random.Random(20261128)

    def value(depth):
        if depth == 0 or chance.random() < .5:
            return chance.choice(["o.id", "o.g", "o.x", "1", "3", "NULL"])
        return f"({value(depth - 1)} {chance.choice(['+', '-', '*'])} {value(depth - 1)})"

    def condition(depth):
        kind = chance.randrange(9) if depth else chance.randrange(4)
        if kind == 0:
            return f"{value(1)} {chance.choice(['=', '<>', '<', '>=', 'IS DISTINCT FROM', 'IS NOT DISTINCT FROM'])} {value(1)}"
        if kind == 1:
            return f"{value(1)} IS {chance.choice(['', 'NOT '])}NULL"
        if kind == 2:
            return f"{value(1)} {chance.choice(['', 'NOT '])}IN ({value(0)}, {value(0)}, 2)"
        if kind == 3:
            return f"{value(1)} {chance.choice(['', 'NOT '])}BETWEEN {value(0)} AND {value(0)}"
        if kind == 4:
            return f"({condition(depth - 1)} AND {condition(depth - 1)})"
        if kind == 5:
            return f"({condition(depth - 1)} OR {condition(depth - 1)})"
        if kind == 6:
            return f"NOT ({condition(depth - 1)})"
        inner = chance.choice(INNER)
        if kind == 7:
            return f"{value(0)} {chance.choice(['', 'NOT '])}IN (SELECT {chance.choice(['i.id', 'i.g', 'i.n'])} FROM i{where(inner)})"
        return f"{chance.choice(['', 'NOT '])}EXISTS (SELECT 1 FROM i{where(inner)})"

    for _ in range(160):
        suite.ask(chance.choice(["SELECT id FROM o WHERE {}", "SELECT id, {} FROM o", "SELECT count(*) FROM o WHERE {}"]).format(condition(3)))
    return suite


AREAS = {
    "subqueries_in": memberships, "subqueries_exists": existences, "subqueries_values": scalars, "subqueries_any": quantified, "joins": joins,
    "set_operations": set_operations, "windows": windows, "groups": groups, "with": with_clauses, "random_conditions": random_questions,
}
