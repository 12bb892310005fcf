"""The statements of a file."""


class Suite:
    """The statements of one file."""

    def __init__(self, about):
        self.about, self.records = about, []

    def do(self, *statements):
        for statement in statements:
            self.records.append(("statement", statement, None))

    def ask(self, *queries):
        """Queries whose rows may come in any order."""
        for query in queries:
            self.records.append(("query", query, "rowsort"))

    def ordered(self, *queries):
        for query in queries:
            self.records.append(("query", query, "nosort"))

    def values(self, *expressions):
        """Expressions without a table."""
        self.ask(*(f"SELECT {expression}" for expression in expressions))
