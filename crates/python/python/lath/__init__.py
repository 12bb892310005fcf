"""Parquet files that are searched, read and written at memory speed.

>>> import lath
>>> trips = lath.open("examples/data/trips")
>>> trips.count("price > 12 AND rider.plan = 'by minute'")
183
"""

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
from lath._read import read_table
from lath._report import Pruned, Report
from lath._statistics import ColumnStatistics, Known, Statistics
from lath._write import ParquetWriter, Written, write_table

__all__ = [
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
    "Scan",
    "Schema",
    "Snapshot",
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
    "col",
    "open",
    "read_table",
    "where",
    "write_table",
]
