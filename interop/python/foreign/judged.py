"""Statements whose right answer is not DuckDB's: PostgreSQL decides."""

UPPER = ["1 ABC", "10 NAÏVE CAFÉ", "2 ABC", "3 (empty)", "4 NULL", "5 A%C", "6 A_C", "7 STRASSE", "8 PAD", "9 IT'S"]

# The rows, or "error", and the reason.
JUDGED = {
    "SELECT CAST(1e40 AS FLOAT)": (["inf"], "A double that is too large for a float is infinite, as everywhere in Arrow."),
    "SELECT id FROM v WHERE n + 1 > 0": ("error", "The sum of a row does not fit; DuckDB takes 1 to the other side."),
    "SELECT id, a / 2 * 2 = a FROM y": (["1 false", "2 true", "3 NULL", "4 true", "5 true"], "Integers divide as integers, as in SQLite."),
    "SELECT CAST('1.5' AS INT)": ("error", "A text of a fraction is no integer; DuckDB rounds."),
    "SELECT substr('hello', -3)": (["hello"], "Places before the first character count; DuckDB counts them from the end."),
    "SELECT upper('ß')": (["SS"], "As Unicode has it; DuckDB: ẞ."),
    "SELECT id, upper(s) FROM x": (UPPER, "As Unicode has it; DuckDB: STRAẞE."),
    "SELECT id, upper(lower(s)) FROM x": (UPPER, "As Unicode has it; DuckDB: STRAẞE."),
}

# PostgreSQL answers like SQLite.
LIKE_SQLITE = {
    # Integers divide as integers.
    "SELECT id FROM y WHERE a / 2 * 2 = a",
}

# Files in which PostgreSQL answers like SQLite wherever that has the syntax: DuckDB compares rows as values, in which
# nulls are equal.
FILES_LIKE_SQLITE = {"rows"}
