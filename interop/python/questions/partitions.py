"""COPY … PARTITIONED BY, read back: the same rows as before."""

from question import Question

VALUES = [
    "a",
    "b",
    "s",
    "d",
    "day",
    "ts",
    "p",
    "a + b",
    "s || '/'",
    "s || '='",
    "s || '%'",
    "coalesce(s, '__HIVE_DEFAULT_PARTITION__')",
    "'x:' || s",
    "d * 0.1",
    "CASE WHEN a > 1 THEN '__HIVE_DEFAULT_PARTITION__' ELSE s END",
    "s || chr(10)",
    "'..'",
    "s || ' '",
    "lpad(s, 3, '0')",
]


class Partitions:
    """Each question has a folder of its own."""

    def __init__(self, folder):
        self.folder, self.number = folder, 0

    def question(self, chance):
        self.number += 1
        folder = self.folder / f"partitions{self.number}"
        values = chance.some(VALUES, 1, 2)
        listed = ", ".join(f"{value} AS v{at}" for at, value in enumerate(values))
        source = f"SELECT id, {listed} FROM t{chance.choice(['', ' WHERE a > 0', ' WHERE s IS NOT NULL'])}"
        names = ", ".join(f"v{at}" for at in range(len(values)))
        # Names of folders are text: compare the values read with the values written.
        texts = ", ".join(f"CAST(v{at} AS VARCHAR) AS v{at}" for at in range(len(values)))
        copy = f"COPY ({source}) TO '{folder}' STORED AS PARQUET PARTITIONED BY ({names})"
        read = f"SELECT id, {texts} FROM '{folder}/'"
        return Question(
            "partitions",
            [copy, read, f"SELECT count(*) AS n FROM '{folder}/' WHERE v0 IS NULL"],
            [None, f"SELECT id, {texts} FROM ({source}) AS q", f"SELECT count(*) AS n FROM ({source}) AS q WHERE v0 IS NULL"],
            "duckdb",
            False,
        )
