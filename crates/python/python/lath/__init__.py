"""Parquet files that are searched, read and written at memory speed.

>>> import lath
>>> trips = lath.open("examples/data/trips")
>>> trips.count("price > 12 AND rider.plan = 'by minute'")
183
"""

from lath._errors import (
    CancelledError,
    CorruptError,
    EncryptedError,
    Error,
    InternalError,
    InvalidError,
    IoError,
    LimitError,
    NotFoundError,
    NotParquetError,
    OutOfRangeError,
    UnsupportedError,
)
from lath._lath import (
    Batch,
    Batches,
    Column,
    Dataset,
    Predicate,
    Scan,
    Schema,
    __version__,
    col,
    open,
    where,
)
from lath._report import Pruned, Report
from lath._statistics import ColumnStatistics, Known, Statistics

__all__ = [
    "Batch",
    "Batches",
    "CancelledError",
    "Column",
    "ColumnStatistics",
    "CorruptError",
    "Dataset",
    "EncryptedError",
    "Error",
    "InternalError",
    "InvalidError",
    "IoError",
    "Known",
    "LimitError",
    "NotFoundError",
    "NotParquetError",
    "OutOfRangeError",
    "Predicate",
    "Pruned",
    "Report",
    "Scan",
    "Schema",
    "Statistics",
    "UnsupportedError",
    "__version__",
    "col",
    "open",
    "where",
]
