"""Parquet files that are searched, read and written at memory speed.

>>> import lath
>>> trips = lath.open("examples/data/trips")
>>> trips.count("price > 12 AND rider.plan = 'by minute'")
780
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
    StatementError,
    UnsupportedError,
)
from lath._lath import (
    Batch,
    Batches,
    Changes,
    Follower,
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
    release_memory,
    where,
)
# Type checkers take it for true; `typing` itself takes as long to import as all of `lath`.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from lath_sql import Result as Result
    from lath_sql import Session as Session

    from lath._arrow_dataset import ArrowDataset as ArrowDataset
    from lath._arrow_dataset import arrow_dataset as arrow_dataset
    from lath._polars import scan_polars
    from lath._read import read_table
    from lath._report import Pruned, Report
    from lath._sql import sql
    from lath._statistics import ColumnStatistics, Known, Statistics
    from lath._write import ParquetWriter, Written, write_table

#: Names that are imported when they are first used, with their modules.
_LATER = {
    "ArrowDataset": "_arrow_dataset",
    "ColumnStatistics": "_statistics",
    "Known": "_statistics",
    "ParquetWriter": "_write",
    "Pruned": "_report",
    "Report": "_report",
    "Statistics": "_statistics",
    "Written": "_write",
    "arrow_dataset": "_arrow_dataset",
    "read_table": "_read",
    "scan_polars": "_polars",
    "sql": "_sql",
    "write_table": "_write",
}


def __getattr__(name: str) -> object:
    if name in _LATER:
        from importlib import import_module

        value = getattr(import_module(f"lath.{_LATER[name]}"), name)
        globals()[name] = value
        return value
    if name in ("Result", "Session"):
        import lath._sql

        return getattr(lath._sql.module(), name)
    raise AttributeError(f"module 'lath' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER, "Result", "Session"})


# Without what needs pyarrow or `lath_sql`, so that `from lath import *` needs neither.
__all__ = [
    "Batch",
    "Batches",
    "BusyError",
    "CancelledError",
    "Changes",
    "Follower",
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
    "col",
    "open",
    "read_table",
    "release_memory",
    "scan_polars",
    "sql",
    "where",
    "write_table",
]
