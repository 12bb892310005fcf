"""Parquet files that are searched, read and written at memory speed.

>>> import lath
>>> trips = lath.open("examples/data/trips")
>>> trips.count("price > 12 AND rider.plan = 'by minute'")
780
"""

from typing import TYPE_CHECKING

from lath._errors import (
    BusyError,
    CancelledError,
    CorruptError,
    EncryptedError,
    Error,
    ExistsError,
    InternalError,
    InvalidError,
    IoError,
    LimitError,
    NotFoundError,
    NotParquetError,
    OutOfRangeError,
    StatementError,
    UnsupportedError,
)
from lath._lath import (
    Batch,
    Batches,
    Changes,
    Column,
    Dataset,
    Entries,
    Predicate,
    Scan,
    Schema,
    Snapshot,
    Store,
    Table,
    TableBatches,
    TableScan,
    TableSnapshot,
    Transaction,
    Tree,
    __version__,
    col,
    open,
    where,
)
from lath._polars import scan_polars
from lath._read import read_table
from lath._report import Pruned, Report
from lath._sql import sql
from lath._statistics import ColumnStatistics, Known, Statistics
from lath._write import ParquetWriter, Written, write_table

if TYPE_CHECKING:
    from lath_sql import Result, Session

    from lath._arrow_dataset import ArrowDataset, arrow_dataset


def __getattr__(name: str) -> object:
    # Imports pyarrow, which only those need who ask for this.
    if name in ("ArrowDataset", "arrow_dataset"):
        import lath._arrow_dataset

        return getattr(lath._arrow_dataset, name)
    if name in ("Result", "Session"):
        import lath._sql

        return getattr(lath._sql.module(), name)
    raise AttributeError(f"module 'lath' has no attribute {name!r}")


__all__ = [
    "ArrowDataset",
    "Batch",
    "Batches",
    "BusyError",
    "CancelledError",
    "Changes",
    "Column",
    "ColumnStatistics",
    "CorruptError",
    "Dataset",
    "EncryptedError",
    "Entries",
    "Error",
    "ExistsError",
    "InternalError",
    "InvalidError",
    "IoError",
    "Known",
    "LimitError",
    "NotFoundError",
    "NotParquetError",
    "OutOfRangeError",
    "ParquetWriter",
    "Predicate",
    "Pruned",
    "Report",
    "Result",
    "Scan",
    "Schema",
    "Session",
    "Snapshot",
    "StatementError",
    "Statistics",
    "Store",
    "Table",
    "TableBatches",
    "TableScan",
    "TableSnapshot",
    "Transaction",
    "Tree",
    "UnsupportedError",
    "Written",
    "__version__",
    "arrow_dataset",
    "col",
    "open",
    "read_table",
    "scan_polars",
    "sql",
    "where",
    "write_table",
]
