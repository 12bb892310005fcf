"""Differences that are no faults, or are known: dialects and refusals. Each has its reason."""

import re

# The area (or any), a pattern for the statement, a pattern for the error or difference, and the reason.
JUDGED = [
    ("windows", "OVER", "Invalid window frame: start bound", "Frames that end before they start are refused."),
    (
        None,
        "WITH q AS|LIMIT",
        "depends on rows that LIMIT or a random value has chosen",
        "Rows that LIMIT chose are read twice and may be others; the error says what to write.",
    ),
    ("partitions", "PARTITIONED BY", "cannot find files: No such file", "COPY of no rows makes no folder."),
    (
        None,
        "date_trunc",
        "date_trunc.rs",
        "DataFusion computes with what stands below nulls, which ends builds that check for overflow, and no others.",
    ),
    (None, "sign\\(", r"differ: row .*1\.0", "sign answers a double, as in PostgreSQL."),
    (None, "VARCHAR", r"differ: row .*\d{4}-\d\d-\d\dT\d\d:\d\d", "Timestamps become text as ISO 8601 has them, with a T."),
]


def reason(question, found):
    for area, statement, difference, why in JUDGED:
        if area in (None, question.area) and re.search(statement, question.text, re.S) and re.search(difference, found, re.S):
            return why
    return None
