"""Subqueries, correlated or not, at each place that takes one."""

from expressions import COMPARISONS, Expressions
from question import question
from tables import scope

OUTER = {"int": ["t.a", "t.b", "t.id"], "text": ["t.s"], "decimal": ["t.d"], "date": ["t.day"]}


class Subqueries:
    def __init__(self, chance):
        self.chance = chance
        self.outer = Expressions(chance, scope("t"))

    def source(self):
        """A table as `w`, and a condition with columns of the outer `t`."""
        chance = self.chance
        table = chance.choice(["u", "u", "u", "v", "e"])
        correlated = chance.choice(
            [
                "w.a = t.a",
                "w.a = t.a",
                "w.b = t.b",
                "w.s = t.s",
                "w.d = t.d",
                "w.a > t.a",
                "w.a <> t.b",
                "w.a + 1 = t.b",
                "w.x = t.id",
                "(w.a = t.a OR w.b = t.b)",
                "w.a IS NOT DISTINCT FROM t.a",
                "w.d <= t.d",
                "t.a = 1",
            ]
        )
        inner = Expressions(chance, scope((table, "w")))
        where = chance.choice([correlated, correlated, f"{correlated} AND {inner.condition(0)}", inner.condition(0), "TRUE"])
        return f"{table} AS w WHERE {where}"

    def scalar(self, kind="int"):
        """A query of one row at most."""
        column = self.chance.choice({"int": ["w.a", "w.b", "w.x"], "text": ["w.s"], "decimal": ["w.d"]}[kind])
        table_and_where = self.source()
        own = "w.z" if table_and_where.startswith("v") else "w.k"
        number = (
            [
                f"(SELECT count(*) FROM {table_and_where})",
                f"(SELECT count({column}) FROM {table_and_where})",
                f"(SELECT sum(w.a) + 1 FROM {table_and_where})",
                f"(SELECT coalesce(sum({column}), 0) FROM {table_and_where})",
            ]
            if kind == "int"
            else []
        )
        return self.chance.choice(
            [
                *number,
                f"(SELECT {self.chance.choice(['max', 'min'])}({column}) FROM {table_and_where})",
                f"(SELECT {column} FROM {table_and_where} ORDER BY {own} {self.chance.choice(['', 'DESC '])}LIMIT 1{self.chance.maybe(' OFFSET 1', 0.3)})",
                f"(SELECT max({column}) FROM {table_and_where} HAVING count(*) > 1)",
                f"(SELECT max(n) FROM (SELECT {column} AS n FROM {table_and_where}) AS q)",
                f"(SELECT DISTINCT min({column}) FROM {table_and_where})",
            ]
        )

    def column_query(self, column):
        """A query of one column and any number of rows."""
        table_and_where = self.source()
        own = "w.z" if table_and_where.startswith("v") else "w.k"
        return self.chance.choice(
            [
                f"SELECT w.{column} FROM {table_and_where}",
                f"SELECT w.{column} FROM {table_and_where}",
                f"SELECT DISTINCT w.{column} FROM {table_and_where}",
                f"SELECT max(w.{column}) FROM {table_and_where}",
                f"SELECT max(w.{column}) FROM {table_and_where} GROUP BY w.b",
                f"SELECT w.{column} FROM {table_and_where} ORDER BY {own} LIMIT 2",
                f"SELECT w.{column} FROM {table_and_where} {self.chance.choice(['UNION', 'EXCEPT', 'INTERSECT', 'UNION ALL'])} SELECT {column} FROM v",
            ]
        )

    def truth(self):
        chance, column = self.chance, self.chance.choice(["a", "b", "s", "d"])
        left = chance.choice([f"t.{column}", f"t.{column}", {"a": "1", "b": "t.b + 1", "s": "'a'", "d": "1.5"}[column], "NULL"])
        query = self.column_query(column)
        return chance.choice(
            [
                f"EXISTS ({query})",
                f"NOT EXISTS ({query})",
                f"{left} IN ({query})",
                f"{left} NOT IN ({query})",
                f"{left} {chance.choice(COMPARISONS)} ANY ({query})",
                f"{left} {chance.choice(COMPARISONS)} ALL ({query})",
                f"({left} IN ({query})) IS NULL",
                f"t.a {chance.choice(COMPARISONS)} {self.scalar()}",
            ]
        )

    def question(self):
        chance, where = self.chance, self.chance.maybe(f" WHERE {self.outer.condition(1)}")
        truth, scalar = self.truth, self.scalar
        text = chance.call(
            lambda: f"SELECT t.id FROM t WHERE {truth()}",
            lambda: f"SELECT t.id FROM t WHERE {truth()} OR {self.outer.condition(1)}",
            lambda: f"SELECT t.id FROM t WHERE NOT ({truth()} AND {truth()})",
            lambda: f"SELECT t.id FROM t WHERE ({truth()}) IS NOT TRUE",
            lambda: f"SELECT t.id, {scalar()} AS v FROM t{where}",
            lambda: f"SELECT t.id, {truth()} AS v FROM t{where}",
            lambda: f"SELECT t.id, CASE WHEN {truth()} THEN {scalar()} ELSE t.a END AS v FROM t{where}",
            lambda: f"SELECT t.id, coalesce({scalar()}, {scalar()}, 0) + 1 AS v FROM t{where}",
            lambda: f"SELECT t.a, count(*) AS n FROM t GROUP BY t.a HAVING count(*) > (SELECT count(*) FROM u AS w WHERE w.a = t.a)",
            lambda: f"SELECT sum({scalar()}) AS v FROM t{where}",
            lambda: f"SELECT {scalar()} AS g, count(*) AS n FROM t GROUP BY 1",
            lambda: f"SELECT t.id, v.z FROM t LEFT JOIN v ON v.a = t.a AND v.b > (SELECT min(w.b) FROM u AS w)",
            lambda: f"SELECT t.id FROM t JOIN v ON t.a = v.a WHERE {truth()}",
            lambda: f"SELECT t.id, q.n FROM t CROSS JOIN LATERAL (SELECT count(*) AS n FROM {self.source()}) AS q",
            lambda: f"SELECT t.id, q.n FROM t LEFT JOIN LATERAL (SELECT w.a AS n FROM {self.source()}) AS q ON TRUE",
            lambda: f"SELECT t.id FROM t WHERE {scalar('text')} {chance.choice(COMPARISONS)} t.s",
            lambda: f"SELECT t.id FROM t WHERE t.d {chance.choice(COMPARISONS)} {scalar('decimal')}",
            lambda: f"SELECT count(*) FILTER (WHERE {truth()}) AS n FROM t",
            lambda: f"WITH q AS (SELECT * FROM t WHERE {truth()}) SELECT q.id, (SELECT count(*) FROM q AS r WHERE r.a = q.a) AS n FROM q",
            lambda: f"SELECT DISTINCT {scalar()} AS v FROM t{where}",
            lambda: f"SELECT t.id FROM t WHERE EXISTS (SELECT 1 FROM u AS w WHERE w.a = t.a AND EXISTS (SELECT 1 FROM v WHERE v.a = w.b AND v.b {chance.choice(COMPARISONS)} t.b))",
            lambda: f"SELECT t.id FROM t WHERE t.a IN (SELECT w.a FROM u AS w WHERE w.b {chance.choice(['NOT IN', 'IN'])} (SELECT v.b FROM v WHERE v.a = t.a))",
        )
        return question("subqueries", text)


def subqueries(chance):
    return Subqueries(chance).question()
