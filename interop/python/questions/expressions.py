"""Expressions of each kind over the columns of a scope, and questions of expressions alone."""

from question import question
from tables import scope

COMPARISONS = ["=", "<>", "<", "<=", ">", ">="]
LITERALS = {
    "int": ["0", "1", "2", "3", "-1", "7", "NULL"],
    "decimal": ["1.5", "2.25", "0.01", "-1.50", "2.0", "99999.99", "0.005", "12.340", ".1", "1234567.891"],
    "text": ["'a'", "'b'", "''", "'ab'", "'A'", "'it''s'", "' a '", "'10'"],
    "double": ["CAST(1.5 AS DOUBLE)", "1e0", "2.5e-1", "CAST(0 AS DOUBLE)"],
    "date": ["DATE '2024-02-29'", "DATE '2024-03-30'", "DATE '1969-12-31'"],
    "time": ["TIMESTAMP '2024-03-01 00:00:00'", "TIMESTAMP '2024-02-28 23:59:59.999999'", "TIMESTAMP '1970-01-01 00:00:00'"],
    "bool": ["TRUE", "FALSE", "NULL"],
}
PATTERNS = ["'a%'", "'%b'", "'_'", "'%'", "''", "'a_b'", "'%a%'", "'a!%b' ESCAPE '!'", "'a#_%' ESCAPE '#'", "'Å%'"]
INTERVALS = ["INTERVAL '1 day'", "INTERVAL '1 month'", "INTERVAL '36 hours'", "INTERVAL '1 year 2 months'", "INTERVAL '-3 days'"]


class Expressions:
    """Random expressions: `make("int")` is a number, `condition()` a predicate."""

    def __init__(self, chance, columns):
        self.chance, self.columns = chance, columns

    def make(self, kind, depth=2):
        if depth <= 0 or self.chance.random() < 0.4:
            return self.leaf(kind)
        if self.chance.random() < 0.25:
            return self.choice_of_values(kind, depth - 1)
        return getattr(self, f"{kind}_operation")(depth - 1)

    def leaf(self, kind):
        columns = self.columns.get(kind)
        return self.chance.choice(columns) if columns and self.chance.random() < 0.75 else self.chance.choice(LITERALS[kind])

    def column(self, kind):
        return self.chance.choice(self.columns[kind])

    def choice_of_values(self, kind, depth):
        """CASE, COALESCE and NULLIF."""
        make = lambda: self.make(kind, depth)
        return self.chance.call(
            lambda: f"CASE WHEN {self.condition(depth)} THEN {make()} ELSE {make()} END",
            lambda: f"CASE WHEN {self.condition(depth)} THEN {make()} WHEN {self.condition(depth)} THEN {make()} END",
            lambda: f"CASE {self.make('int', depth)} WHEN {self.leaf('int')} THEN {make()} WHEN {self.leaf('int')} THEN {make()} ELSE {make()} END",
            lambda: f"coalesce({make()}, {make()})",
            lambda: f"nullif({make()}, {make()})",
            lambda: f"coalesce({make()}, {make()}, {self.leaf(kind)})",
        )

    def int_operation(self, depth):
        make = lambda: self.make("int", depth)
        return self.chance.call(
            lambda: f"({make()} + {make()})",
            lambda: f"({make()} - {make()})",
            lambda: f"({make()} * {make()})",
            lambda: f"({make()} % {self.chance.choice([2, 3, -2])})",
            lambda: f"(- {make()})",
            lambda: f"abs({make()})",
            lambda: f"length({self.make('text', depth)})",
            lambda: f"greatest({make()}, {make()})",
            lambda: f"least({make()}, {make()})",
            lambda: f"CAST({self.make('bool', depth)} AS INT)",
            lambda: f"sign({make()})",
            lambda: f"extract({self.chance.choice(['year', 'month', 'day', 'quarter', 'doy', 'dow', 'week'])} FROM {self.make(self.chance.choice(['date', 'time']), depth)})",
            lambda: f"strpos({self.make('text', depth)}, {self.leaf('text')})",
            lambda: f"({self.make('date', depth)} - {self.make('date', depth)})",
            lambda: f"CAST({self.make('decimal', depth)} AS BIGINT)",
        )

    def decimal_operation(self, depth):
        make = lambda: self.make("decimal", depth)
        either = lambda: self.make(self.chance.choice(["decimal", "int"]), depth)
        return self.chance.call(
            lambda: f"({make()} + {either()})",
            lambda: f"({either()} - {make()})",
            lambda: f"({make()} * {self.leaf('decimal')})",
            lambda: f"(- {make()})",
            lambda: f"abs({make()})",
            lambda: f"CAST({make()} AS DECIMAL({self.chance.choice(['12, 1', '20, 4', '18, 0'])}))",
            lambda: f"CAST({self.make('int', depth)} AS DECIMAL(12, 2))",
            lambda: f"round({make()}, {self.chance.choice([0, 1, 2])})",
            lambda: f"greatest({make()}, {make()})",
            lambda: f"floor({make()})",
            lambda: f"ceil({make()})",
            lambda: f"({make()} % {self.chance.choice(['1.5', '2', '0.7'])})",
        )

    def double_operation(self, depth):
        make = lambda: self.make("double", depth)
        return self.chance.call(
            lambda: f"({make()} + {make()})",
            lambda: f"({make()} * {self.leaf('double')})",
            lambda: f"({make()} - {self.make('decimal', depth)})",
            lambda: f"abs({make()})",
            lambda: f"CAST({self.make('int', depth)} AS DOUBLE)",
            lambda: f"({make()} / 4)",
            lambda: f"CAST({self.make('decimal', depth)} AS DOUBLE)",
            lambda: f"sqrt(abs({make()}))",
        )

    def text_operation(self, depth):
        make = lambda: self.make("text", depth)
        return self.chance.call(
            lambda: f"({make()} || {make()})",
            lambda: f"upper({make()})",
            lambda: f"lower({make()})",
            lambda: f"substr({make()}, {self.chance.choice([1, 2])}, {self.chance.choice([0, 1, 5])})",
            lambda: f"trim({make()})",
            lambda: f"replace({make()}, 'a', {self.leaf('text')})",
            lambda: f"concat({make()}, {make()})",
            lambda: f"CAST({self.make('int', depth)} AS VARCHAR)",
            lambda: f"CAST({self.leaf('date')} AS VARCHAR)",
            lambda: f"left({make()}, {self.chance.choice([1, 2])})",
            lambda: f"right({make()}, 1)",
            lambda: f"lpad({make()}, 3, 'x')",
            lambda: f"concat_ws('-', {make()}, {make()})",
            lambda: f"split_part({make()}, 'a', 1)",
            lambda: f"CAST({self.column('decimal') if self.columns.get('decimal') else '1.50'} AS VARCHAR)",
        )

    def date_operation(self, depth):
        make = lambda: self.make("date", depth)
        return self.chance.call(
            lambda: f"CAST({make()} + {self.chance.choice(INTERVALS)} AS DATE)",
            lambda: f"CAST(date_trunc('{self.chance.choice(['month', 'year', 'week'])}', {make()}) AS DATE)",
            lambda: f"CAST({self.make('time', depth)} AS DATE)",
            lambda: f"greatest({make()}, {make()})",
            lambda: f"({make()} + {self.chance.choice([1, 30])})",
        )

    def time_operation(self, depth):
        make = lambda: self.make("time", depth)
        return self.chance.call(
            lambda: f"({make()} + {self.chance.choice(INTERVALS)})",
            lambda: f"({make()} - {self.chance.choice(INTERVALS)})",
            lambda: f"date_trunc('{self.chance.choice(['hour', 'day', 'month', 'quarter'])}', {make()})",
            lambda: f"CAST({self.make('date', depth)} AS TIMESTAMP)",
            lambda: f"({self.make('date', depth)} + {self.chance.choice(INTERVALS)})",
            lambda: f"least({make()}, {make()})",
        )

    def bool_operation(self, depth):
        return f"({self.condition(depth)})"

    def condition(self, depth=2):
        """A predicate: true, false or null."""
        if depth > 0 and self.chance.random() < 0.4:
            return self.chance.call(
                lambda: f"NOT ({self.condition(depth - 1)})",
                lambda: f"({self.condition(depth - 1)} AND {self.condition(depth - 1)})",
                lambda: f"({self.condition(depth - 1)} OR {self.condition(depth - 1)})",
                lambda: f"({self.condition(depth - 1)}) IS {self.chance.choice(['TRUE', 'FALSE', 'NULL', 'NOT TRUE', 'NOT FALSE', 'NOT NULL'])}",
            )
        return self.predicate(depth)

    def predicate(self, depth):
        chance, kind = self.chance, self.chance.choice(["int", "int", "decimal", "decimal", "text", "date", "time", "double", "bool"])
        make, leaf = lambda: self.make(kind, depth), lambda: self.leaf(kind)
        other = chance.choice(
            {"decimal": ["decimal", "int"], "int": ["int", "decimal"], "double": ["double", "int"], "time": ["time", "date"]}.get(kind, [kind])
        )
        if kind == "bool":
            return chance.call(
                lambda: self.leaf("bool"),
                lambda: f"{leaf()} = {leaf()}",
                lambda: f"{leaf()} IS {chance.maybe('NOT ')}TRUE",
                lambda: f"{leaf()} IS {chance.maybe('NOT ')}DISTINCT FROM {leaf()}",
            )
        return chance.call(
            lambda: f"{make()} {chance.choice(COMPARISONS)} {self.make(other, depth)}",
            lambda: f"{make()} {chance.choice(COMPARISONS)} {self.leaf(other)}",
            lambda: f"{make()} IS {chance.maybe('NOT ')}NULL",
            lambda: f"{make()} {chance.maybe('NOT ')}IN ({leaf()}, {self.leaf(other)}, {chance.choice([leaf(), 'NULL'])})",
            lambda: f"{make()} {chance.maybe('NOT ')}BETWEEN {leaf()} AND {self.leaf(other)}",
            lambda: f"{make()} IS {chance.maybe('NOT ')}DISTINCT FROM {self.make(other, depth)}",
            lambda: f"{self.make('text', depth)} {chance.maybe('NOT ')}LIKE {chance.choice(PATTERNS)}",
        )


def conditions(chance):
    where = Expressions(chance, scope("t")).condition(3)
    return question("conditions", f"SELECT t.id FROM t WHERE {where}")


def values(chance):
    make = Expressions(chance, scope("t"))
    parts = ", ".join(make.make(chance.choice(list(LITERALS)), 2) for _ in range(chance.randint(1, 3)))
    return question("values", f"SELECT t.id, {parts} FROM t{chance.maybe(f' WHERE {make.condition(1)}')}")


def constants(chance):
    """Expressions without a table, which are computed before anything is read."""
    make = Expressions(chance, {})
    return question("constants", f"SELECT {make.make(chance.choice(list(LITERALS)), 3)} AS v")


CASTS = {
    "INT": ["'12'", "' 12 '", "'1x'", "''", "'99999999999'", "2147483648", "2.4", "NULL", "'-0'", "TRUE"],
    "DATE": ["'2024-02-29'", "'2023-02-29'", "'x'", "TIMESTAMP '2024-01-01 23:00:00'", "''"],
    "DECIMAL(5, 2)": ["'1.25'", "1000", "999.99", "999.994", "'abc'", "12.345", "'-1'"],
    "BOOLEAN": ["'true'", "'f'", "'x'", "0", "2", "NULL"],
    "TIMESTAMP": ["'2024-02-29 12:00:00'", "'2024-02-30 12:00:00'", "DATE '2024-01-01'"],
    "SMALLINT": ["32767", "32768", "-32769", "'7'"],
    "DOUBLE": ["'1e3'", "'x'", "1.1", "'-inf'"],
    "VARCHAR": ["1.10", "TRUE", "DATE '2024-01-01'", "12"],
}


def casts(chance):
    """Casts that fail fail in both."""
    type = chance.choice(list(CASTS))
    verb = chance.choice(["CAST", "CAST", "TRY_CAST"])
    if chance.random() < 0.5:
        return question("casts", f"SELECT {verb}({chance.choice(CASTS[type])} AS {type}) AS v")
    column = chance.choice(["a", "b", "s", "d", "day", "ts"])
    fits = {
        "s": ["VARCHAR", "INT", "DECIMAL(5, 2)"],
        "d": ["INT", "DECIMAL(5, 2)", "DECIMAL(12, 1)", "DOUBLE", "VARCHAR"],
        "day": ["VARCHAR", "TIMESTAMP"],
        "ts": ["DATE"],
    }.get(column, ["SMALLINT", "DECIMAL(5, 2)", "VARCHAR", "BOOLEAN", "DOUBLE"])
    return question("casts", f"SELECT id, {verb}({column} AS {chance.choice(fits)}) AS v FROM t{chance.maybe(' WHERE a > 0')}")
