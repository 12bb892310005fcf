"""Rows of a result as tuples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow


def tuples(table: pyarrow.Table) -> list[tuple[Any, ...]]:
    """The rows, with values of Python. Columns may have the same name."""
    if table.num_columns == 0:
        return [()] * table.num_rows
    return list(zip(*(column.to_pylist() for column in table.columns)))
