"""A dataset of Lath as a ``pyarrow.dataset.Dataset``, to which DuckDB, DataFusion and others hand filters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
from pyarrow.fs import LocalFileSystem

from lath._lath import Dataset, Scan, TableScan
from lath._options import OpenOptions
from lath._progress import Progress
from lath._report import Report
from lath._source import TableSource, open_rows

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from lath._files import FileLike


class ArrowDataset(pads.FileSystemDataset):  # type: ignore[misc]
    """Files that Lath reads, as a ``pyarrow.dataset.Dataset``.

    The parts of a filter that Lath can evaluate prune files, row groups and pages; the rest is applied to the remaining rows.

    Operations of pyarrow's C++ code, such as :meth:`replace_schema`, unions of datasets and ``Scanner.from_dataset``, read the files with
    pyarrow's own reader, which fails for files that only Lath can read.
    """

    def __init__(self, dataset: Dataset | TableSource, filter: pc.Expression | None = None) -> None:
        schema = pa.schema(dataset.scan(strings="offsets"))
        file_format = pads.ParquetFileFormat()
        super().__init__(_fragments(dataset, file_format), schema, file_format, LocalFileSystem())
        self._lath = dataset
        self._schema = schema
        self._last: Scan | TableScan | None = None
        if filter is not None:
            # The name that pyarrow has for it, which its functions look at.
            self._scan_options = {"filter": filter}

    def __reduce__(self) -> tuple[Any, ...]:
        if not isinstance(self._lath, Dataset):
            raise TypeError("a table with a primary key is not pickled: open it where it is needed")
        return ArrowDataset, (self._lath, self._scan_options.get("filter"))

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        return self._schema

    @property
    def files(self) -> list[str]:
        """The paths and URLs of the files."""
        return self._lath.files

    @property
    def report(self) -> Report | None:
        """What the last scan has done; ``None`` before the first, and for a table with a primary key."""
        return self._last.report if isinstance(self._last, Scan) else None

    def _scan(
        self,
        columns: Sequence[str],
        filter: Any,
        batch_size: int | None = None,
        use_threads: bool = True,
        *,
        limit: int | None = None,
        progress: Progress | None = None,
        **options: Any,
    ) -> Scan | TableScan:
        own = self._scan_options.get("filter")
        if own is not None:
            filter = own if filter is None else own & filter
        scan = self._lath.scan(
            columns,
            filter,
            limit,
            batch_size=batch_size,
            threads=None if use_threads else 1,
            strings="offsets",
            progress=progress,
        )
        self._last = scan
        return scan

    def _reader(self, columns: Any, filter: Any, options: dict[str, Any]) -> pa.RecordBatchReader:
        names = self._schema.names if columns is None or isinstance(columns, dict) else list(columns)
        schema = pa.schema([self._schema.field(name) for name in names], self._schema.metadata)
        # A stream of Lath, which pyarrow's threads can read without Python.
        reader = pa.RecordBatchReader.from_stream(self._scan(names, filter, **options))
        return reader if reader.schema.equals(schema, check_metadata=True) else reader.cast(schema)

    def scanner(
        self,
        columns: Sequence[str] | dict[str, Any] | None = None,
        filter: Any = None,
        batch_size: int | None = None,
        use_threads: bool = True,
        *,
        progress: Progress | None = None,
        **options: Any,
    ) -> pads.Scanner:
        """A scan of some columns of the rows that satisfy a filter; all columns are read where some are computed by expressions. Other
        arguments say how pyarrow reads files, and have no effect."""
        options = {"batch_size": batch_size, "use_threads": use_threads, "progress": progress}
        reader = self._reader(columns, filter, options)
        return pads.Scanner.from_batches(reader, columns=columns if isinstance(columns, dict) else None)

    def to_table(self, columns: Any = None, filter: Any = None, **options: Any) -> pa.Table:
        """The rows that satisfy a filter."""
        if isinstance(columns, dict):
            return self.scanner(columns, filter, **options).to_table()
        return self._reader(columns, filter, options).read_all()

    def to_batches(self, columns: Any = None, filter: Any = None, **options: Any) -> Iterator[pa.RecordBatch]:
        """The rows that satisfy a filter, as batches."""
        if isinstance(columns, dict):
            yield from self.scanner(columns, filter, **options).to_batches()
        else:
            yield from self._reader(columns, filter, options)

    def count_rows(self, filter: Any = None, **options: Any) -> int:
        """The number of rows that satisfy a filter."""
        if filter is None and not self._scan_options:
            return self._lath.count()
        return self._scan([], filter, **options).count()

    def head(self, num_rows: int, columns: Any = None, filter: Any = None, **options: Any) -> pa.Table:
        """The first rows that satisfy a filter."""
        return self.to_table(columns, filter, **options, limit=num_rows) if not isinstance(columns, dict) else (
            self.to_table(columns, filter, **options).slice(0, num_rows)
        )

    def take(self, indices: Any, columns: Any = None, filter: Any = None, **options: Any) -> pa.Table:
        """The rows that satisfy a filter and have these numbers among them."""
        return self.to_table(columns, filter, **options).take(indices)

    def filter(self, expression: Any) -> ArrowDataset:
        """The rows that satisfy a filter, as a dataset."""
        own = self._scan_options.get("filter")
        return ArrowDataset(self._lath, expression if own is None else own & expression)

    def sort_by(self, sorting: Any, **options: Any) -> pads.InMemoryDataset:
        """All rows in an order."""
        return pads.InMemoryDataset(self.to_table().sort_by(sorting, **options))

    def join(
        self,
        right_dataset: Any,
        keys: Any,
        right_keys: Any = None,
        join_type: str = "left outer",
        left_suffix: str | None = None,
        right_suffix: str | None = None,
        coalesce_keys: bool = True,
        use_threads: bool = True,
    ) -> pads.InMemoryDataset:
        """All rows with those of another dataset."""
        joined = self.to_table().join(
            _table(right_dataset),
            keys,
            right_keys,
            join_type,
            left_suffix=left_suffix,
            right_suffix=right_suffix,
            coalesce_keys=coalesce_keys,
            use_threads=use_threads,
        )
        return pads.InMemoryDataset(joined)

    def join_asof(
        self, right_dataset: Any, on: str, by: Any, tolerance: int, right_on: str | None = None, right_by: Any = None
    ) -> pads.InMemoryDataset:
        """All rows with the nearest ones of another dataset."""
        joined = self.to_table().join_asof(_table(right_dataset), on, by, tolerance, right_on, right_by)
        return pads.InMemoryDataset(joined)

    def get_fragments(self, filter: Any = None) -> Iterator[ArrowFragment]:
        """All files as one part: Lath shares them among its threads, and rules out those that ``filter`` excludes when it is scanned."""
        if self._scan_options:
            raise ValueError("the dataset is filtered: hand the filter to its scanner, or take the fragments of the dataset before")
        yield ArrowFragment(self)


class ArrowFragment:
    """All files of a dataset, with what engines ask of a ``pyarrow.dataset.Fragment``."""

    def __init__(self, dataset: ArrowDataset) -> None:
        self._dataset = dataset

    @property
    def physical_schema(self) -> pa.Schema:
        """Names and types of the columns."""
        return self._dataset.schema

    @property
    def partition_expression(self) -> pc.Expression:
        """What is true for all rows."""
        return self._dataset.partition_expression

    def scanner(self, schema: pa.Schema | None = None, **options: Any) -> pads.Scanner:
        """As that of the dataset, whose schema this is."""
        self._check(schema)
        return self._dataset.scanner(**options)

    def to_table(self, schema: pa.Schema | None = None, **options: Any) -> pa.Table:
        """The rows that satisfy a filter."""
        self._check(schema)
        return self._dataset.to_table(**options)

    def to_batches(self, schema: pa.Schema | None = None, **options: Any) -> Iterator[pa.RecordBatch]:
        """The rows that satisfy a filter, as batches."""
        self._check(schema)
        return self._dataset.to_batches(**options)

    def head(self, num_rows: int, **options: Any) -> pa.Table:
        """The first rows that satisfy a filter."""
        return self._dataset.head(num_rows, **options)

    def take(self, indices: Any, **options: Any) -> pa.Table:
        """The rows that satisfy a filter and have these numbers among them."""
        return self._dataset.take(indices, **options)

    def count_rows(self, filter: Any = None, **options: Any) -> int:
        """The number of rows that satisfy a filter."""
        return self._dataset.count_rows(filter, **options)

    def _check(self, schema: pa.Schema | None) -> None:
        if schema is not None and not schema.equals(self._dataset.schema):
            raise pa.ArrowInvalid("schema: files are read with the schema of their dataset; cast what is read")


def _table(rows: Any) -> pa.Table:
    return rows.to_table() if isinstance(rows, pads.Dataset) else rows


def _fragments(dataset: Dataset | TableSource, file_format: pads.ParquetFileFormat) -> list[pads.ParquetFileFragment]:
    """The files for pyarrow's own reader, which opens them when it has to."""
    local = LocalFileSystem()
    if isinstance(dataset, TableSource):
        # Rows of a table are more and less than its files: pyarrow's reader has to fail.
        return [file_format.make_fragment("a table with a primary key is read by Lath alone", local)]
    if dataset._is_lake:
        return [file_format.make_fragment("a table of Delta Lake or Iceberg is read by Lath alone", local)]
    partitions = dataset.partitions
    values = pa.record_batch(dataset._partition_rows()).to_pylist() if partitions else [{}] * len(dataset.files)
    return [
        file_format.make_fragment(file, local, _partition_expression(row)) for file, row in zip(dataset.files, values)
    ]


def _partition_expression(row: dict[str, Any]) -> pc.Expression | None:
    expression = None
    for name, value in row.items():
        own = pc.field(name).is_null() if value is None else pc.field(name) == pc.scalar(value)
        expression = own if expression is None else expression & own
    return expression


def arrow_dataset(
    source: Dataset | FileLike | Sequence[FileLike], **options: Unpack[OpenOptions]
) -> ArrowDataset:
    """Files as a ``pyarrow.dataset.Dataset``. DuckDB finds it by the name of its variable, and DataFusion's ``SessionContext`` by
    ``register_dataset``; both push columns and filters down to it.

    ``source`` is a dataset, the folder of a table with a primary key, or the paths and ``options`` of :func:`lath.open`.

    >>> import duckdb
    >>> view = lath.arrow_dataset("examples/data/trips")
    >>> duckdb.sql("SELECT count(*) FROM view WHERE price > 12 AND minutes < 30").fetchall()[0][0] == view.report.rows_found
    True
    """
    return ArrowDataset(open_rows(source, dict(options)))
