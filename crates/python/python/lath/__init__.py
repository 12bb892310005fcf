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
    release_memory,
    where,
)
from lath._open import open

# Type checkers take it for true; `typing` itself takes as long to import as all of `lath`.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from lath_sql import Result as Result
    from lath_sql import Session as Session

    from lath._arrow_dataset import ArrowDataset as ArrowDataset
    from lath._arrow_dataset import arrow_dataset as arrow_dataset
    from lath._encryption import ReadKeys as ReadKeys
    from lath._encryption import WriteKeys as WriteKeys
    from lath._metadata import (
        ChunkStatistics,
        ColumnChunkMetaData,
        ColumnSchema,
        FileMetaData,
        LogicalType,
        ParquetSchema,
        RowGroupMetaData,
        SortingColumn,
    )
    from lath._parquet_file import ParquetFile, read_metadata, read_schema
    from lath._partitioned import WrittenFile, write_to_dataset
    from lath._polars import scan_polars
    from lath._read import read_table
    from lath._report import Pruned, Report
    from lath._sql import sql
    from lath._statistics import ColumnStatistics, Known, Statistics
    from lath._write import ParquetWriter, Written, write_table

#: Names that are imported when they are first used, with their modules.
_LATER = {
    "ArrowDataset": "_arrow_dataset",
    "ChunkStatistics": "_metadata",
    "ColumnChunkMetaData": "_metadata",
    "ColumnSchema": "_metadata",
    "ColumnStatistics": "_statistics",
    "FileMetaData": "_metadata",
    "Known": "_statistics",
    "LogicalType": "_metadata",
    "ParquetFile": "_parquet_file",
    "ParquetSchema": "_metadata",
    "ParquetWriter": "_write",
    "Pruned": "_report",
    "ReadKeys": "_encryption",
    "Report": "_report",
    "RowGroupMetaData": "_metadata",
    "SortingColumn": "_metadata",
    "Statistics": "_statistics",
    "WriteKeys": "_encryption",
    "Written": "_write",
    "WrittenFile": "_partitioned",
    "arrow_dataset": "_arrow_dataset",
    "read_metadata": "_parquet_file",
    "read_schema": "_parquet_file",
    "read_table": "_read",
    "scan_polars": "_polars",
    "sql": "_sql",
    "write_table": "_write",
    "write_to_dataset": "_partitioned",
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
    "__version__",
    "Batch",
    "Batches",
    "BusyError",
    "CancelledError",
    "Changes",
    "ChunkStatistics",
    "col",
    "Column",
    "ColumnChunkMetaData",
    "ColumnSchema",
    "ColumnStatistics",
    "CorruptError",
    "Dataset",
    "EncryptedError",
    "Entries",
    "Error",
    "ExistsError",
    "FileMetaData",
    "Follower",
    "InternalError",
    "InvalidError",
    "IoError",
    "Known",
    "LimitError",
    "LogicalType",
    "NotFoundError",
    "NotParquetError",
    "open",
    "OutOfRangeError",
    "ParquetFile",
    "ParquetSchema",
    "ParquetWriter",
    "Predicate",
    "Pruned",
    "read_metadata",
    "read_schema",
    "read_table",
    "ReadKeys",
    "release_memory",
    "Report",
    "RowGroupMetaData",
    "Scan",
    "scan_polars",
    "Schema",
    "Snapshot",
    "SortingColumn",
    "sql",
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
    "where",
    "write_table",
    "write_to_dataset",
    "WriteKeys",
    "Written",
    "WrittenFile",
]
