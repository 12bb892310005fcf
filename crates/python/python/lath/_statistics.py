"""Statistics of rows and columns, from footers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Known(Generic[T]):
    """A statistic, and whether it is exact. An inexact minimum is at or below the smallest value, and an inexact maximum at or above the
    largest. An inexact count is an upper bound, except the count of distinct values, which is a lower bound."""

    value: T
    is_exact: bool


@dataclass(frozen=True)
class ColumnStatistics:
    """Statistics of the values of a column; ``None`` for unknown ones."""

    name: str
    #: The Arrow type, as text.
    type: str
    null_count: Known[int] | None
    nan_count: Known[int] | None
    distinct_count: Known[int] | None
    min: Known[Any] | None
    max: Known[Any] | None
    #: Bytes in the files: compressed, and uncompressed.
    byte_count: Known[int] | None
    uncompressed_byte_count: Known[int] | None


@dataclass(frozen=True)
class Statistics:
    """Statistics of a dataset, from metadata, without reading rows."""

    row_count: Known[int] | None
    byte_count: Known[int] | None
    columns: Mapping[str, ColumnStatistics]
