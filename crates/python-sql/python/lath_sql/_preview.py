"""The first rows of a result as a table, in text or HTML."""

from __future__ import annotations

import html as markup
import shutil
import unicodedata
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

    #: Rows, of which ``None`` is null, and whether there are more; ``None`` if they were taken.
    Rows: TypeAlias = "tuple[list[list[str | None]], bool] | None"

#: Columns of the terminal that a value may take.
_CELL_WIDTH = 40
#: Values are aligned at the right for types that begin so.
_NUMBERS = ("Int", "UInt", "Float", "Decimal")


def text(names: Sequence[str], types: Sequence[str], rows: Rows) -> str:
    """The table for a terminal: as many columns as it has room for."""
    if rows is None:
        return f"<lath_sql.Result of the columns {', '.join(names)}: the rows were taken>"
    if not names:
        return "<lath_sql.Result without columns>"
    cells, has_more = rows
    columns = [
        [_cut(name), _cut(kind), *(_cut("NULL" if row[at] is None else row[at]) for row in cells)]
        for at, (name, kind) in enumerate(zip(names, types))
    ]
    widths = [max(map(_width, column)) for column in columns]
    room = shutil.get_terminal_size((100, 24)).columns
    shown = _fitting(widths, room)
    lines = []
    for line in range(2 + len(cells)):
        parts = [_aligned(columns[at][line], widths[at], types[at]) for at in range(shown)]
        lines.append("  ".join(parts).rstrip())
    rule = "  ".join("─" * width for width in widths[:shown])
    return "\n".join([*lines[:2], rule, *lines[2:], *_notes(len(cells), has_more, names[shown:])])


def html(names: Sequence[str], types: Sequence[str], rows: Rows) -> str:
    """The table for a notebook."""
    if rows is None or not names:
        return f"<pre>{markup.escape(text(names, types, rows))}</pre>"
    cells, has_more = rows
    head = "".join(
        f"<th>{markup.escape(name)}<br><small>{markup.escape(kind)}</small></th>" for name, kind in zip(names, types)
    )
    body = "".join(f"<tr>{''.join(_html_cell(*it) for it in zip(row, types))}</tr>" for row in cells)
    notes = "".join(f"<div>{markup.escape(note)}</div>" for note in _notes(len(cells), has_more, ()))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}"


def _html_cell(value: str | None, kind: str) -> str:
    align = "right" if kind.startswith(_NUMBERS) else "left"
    shown = "<i>NULL</i>" if value is None else markup.escape(value)
    return f'<td style="text-align:{align}">{shown}</td>'


def _notes(row_count: int, has_more: bool, hidden: Sequence[str]) -> Iterator[str]:
    if has_more:
        yield f"the first {row_count} rows; there are more"
    else:
        yield f"{row_count} row" if row_count == 1 else f"{row_count} rows"
    if hidden:
        yield f"not shown: {', '.join(hidden)}"


def _fitting(widths: Sequence[int], room: int) -> int:
    """How many columns there is room for, at least one."""
    taken = 0
    for count, width in enumerate(widths):
        taken += width + (2 if count else 0)
        if count and taken > room:
            return count
    return len(widths)


def _aligned(value: str, width: int, kind: str) -> str:
    blanks = " " * (width - _width(value))
    return blanks + value if kind.startswith(_NUMBERS) else value + blanks


def _cut(value: str | None) -> str:
    plain = "".join(" " if unicodedata.category(char) == "Cc" else char for char in value or "")
    if _width(plain) <= _CELL_WIDTH:
        return plain
    while _width(plain) >= _CELL_WIDTH:
        plain = plain[: min(len(plain) - 1, _CELL_WIDTH)]
    return f"{plain}…"


def _width(value: str) -> int:
    """Columns of the terminal that a text takes."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in value
    )
