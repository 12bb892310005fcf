"""The first rows of a dataset or a scan as a table of a notebook."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lath._lath import Dataset, Scan

#: Rows and columns that are shown.
_ROWS = 10
_COLUMNS = 30
#: Characters of a value that are shown.
_CELL_WIDTH = 60


def dataset(dataset: Dataset) -> str | None:
    """The first rows of all files."""
    return _table(dataset.head(_ROWS, dataset.columns[:_COLUMNS]), repr(dataset), len(dataset.columns))


def scan(scan: Scan) -> str | None:
    """The first rows of a scan."""
    return _table(scan, repr(scan), len(scan.schema.names))


def _table(scan: Scan, title: str, column_count: int) -> str | None:
    try:
        import pyarrow as pa
    except ImportError:
        # A notebook shows the text then.
        return None
    rows: list[dict[str, Any]] = []
    batches = iter(scan)
    try:
        for batch in batches:
            rows += pa.record_batch(batch).slice(0, _ROWS - len(rows)).to_pylist()
            if len(rows) >= _ROWS:
                break
    finally:
        batches.close()
    names = scan.schema.names[:_COLUMNS]
    head = "".join(
        f"<th>{html.escape(name)}<br><small>{html.escape(kind)}</small></th>"
        for name, kind in zip(names, scan.schema.types)
    )
    body = "".join(f"<tr>{''.join(_cell(row[name]) for name in names)}</tr>" for row in rows)
    hidden = column_count - len(names)
    note = f"; {hidden} more columns are not shown" if hidden > 0 else ""
    return (
        f"<table><caption>{html.escape(title)}: the first {len(rows)} rows{note}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def _cell(value: object) -> str:
    if value is None:
        return "<td><i>null</i></td>"
    text = str(value)
    return f"<td>{html.escape(text if len(text) <= _CELL_WIDTH else text[: _CELL_WIDTH - 1] + '…')}</td>"
