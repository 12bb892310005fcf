"""A question to Lath and to the engine that knows its answer."""

import dataclasses
import random


@dataclasses.dataclass
class Question:
    """Statements that run one after another; `others` are the same in the words of the engine that knows the answer: none is a
    statement that only Lath runs, and that has to succeed."""

    area: str
    statements: list
    others: list
    oracle: str
    ordered: bool

    @property
    def text(self):
        return ";\n".join(self.statements)


def question(area, text, other=None, oracle="duckdb", ordered=False):
    """A question of one statement."""
    return Question(area, [text], [other or text], oracle, ordered)


class Chance(random.Random):
    """Random choices, some of them with weights in words."""

    def maybe(self, text, share=0.5):
        return text if self.random() < share else ""

    def some(self, items, least=1, most=3):
        """A few different items, in any order."""
        items = list(items)
        return self.sample(items, min(len(items), self.randint(least, most)))

    def call(self, *makers):
        return self.choice(makers)()
