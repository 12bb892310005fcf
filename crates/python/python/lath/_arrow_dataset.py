"""A dataset of Lath as a ``pyarrow.dataset.Dataset``, to which DuckDB, DataFusion and others hand filters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from os import PathLike
from typing import Any

import pyarrow as pa
import pyarrow.dataset as pads

from lath._lath import Dataset, Scan, open
from lath._progress import Progress
from lath._report import Report


class ArrowDataset(pads.Dataset):  # type: ignore[misc]
    """Files that Lath reads, as a ``pyarrow.dataset.Dataset``.

    What Lath can test of a filter rules out files, row groups and pages; the rest is applied to the rows that are left.
    """

    def __init__(self, dataset: Dataset) -> None:
        self._lath = dataset
        self._schema = pa.schema(dataset.scan(strings="offsets"))
        self._last: Scan | None = None

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
        """What the last scan has done; ``None`` before the first."""
        return None if self._last is None else self._last.report

    def scanner(
        self,
        columns: Sequence[str] | None = None,
        filter: Any = None,
        batch_size: int | None = None,
        use_threads: bool = True,
        *,
        progress: Progress | None = None,
        **options: Any,
    ) -> pads.Scanner:
        """A scan of some columns of the rows that satisfy a filter. Other arguments say how pyarrow reads files, and have no effect."""
        names = self._schema.names if columns is None else list(columns)
        if isinstance(columns, dict):
            raise pa.ArrowInvalid("columns that are computed: read those that they need, and compute them")
        scan = self._lath.scan(
            names,
            filter,
            batch_size=batch_size,
            threads=None if use_threads else 1,
            strings="offsets",
            progress=progress,
        )
        self._last = scan
        schema = pa.schema([self._schema.field(name) for name in names], self._schema.metadata)
        reader = pa.RecordBatchReader.from_batches(schema, _rows(scan, schema))
        return pads.Scanner.from_batches(reader)

    def to_table(self, columns: Sequence[str] | None = None, filter: Any = None, **options: Any) -> pa.Table:
        """The rows that satisfy a filter."""
        return self.scanner(columns, filter, **options).to_table()

    def to_batches(
        self, columns: Sequence[str] | None = None, filter: Any = None, **options: Any
    ) -> Iterator[pa.RecordBatch]:
        """The rows that satisfy a filter, as batches."""
        yield from self.scanner(columns, filter, **options).to_batches()

    def count_rows(self, filter: Any = None, **options: Any) -> int:
        """The number of rows that satisfy a filter."""
        if filter is None:
            return self._lath.count()
        return int(self.scanner([], filter, **options).count_rows())

    def head(self, num_rows: int, columns: Sequence[str] | None = None, filter: Any = None, **options: Any) -> pa.Table:
        """The first rows that satisfy a filter."""
        return self.scanner(columns, filter, **options).head(num_rows)

    def get_fragments(self, filter: Any = None) -> Iterator[ArrowFragment]:
        """All files as one part: Lath shares them among its threads, and rules out those that ``filter`` excludes when it is scanned."""
        yield ArrowFragment(self)


class ArrowFragment:
    """All files of a dataset, with what engines ask of a ``pyarrow.dataset.Fragment``."""

    def __init__(self, dataset: ArrowDataset) -> None:
        self._dataset = dataset

    @property
    def physical_schema(self) -> pa.Schema:
        """Names and types of the columns."""
        return self._dataset.schema

    def scanner(self, schema: pa.Schema | None = None, **options: Any) -> pads.Scanner:
        """As that of the dataset, whose schema this is."""
        if schema is not None and not schema.equals(self._dataset.schema):
            raise pa.ArrowInvalid("schema: files are read with the schema of their dataset; cast what is read")
        return self._dataset.scanner(**options)

    def to_table(self, schema: pa.Schema | None = None, **options: Any) -> pa.Table:
        """The rows that satisfy a filter."""
        return self.scanner(schema, **options).to_table()

    def to_batches(self, schema: pa.Schema | None = None, **options: Any) -> Iterator[pa.RecordBatch]:
        """The rows that satisfy a filter, as batches."""
        yield from self.scanner(schema, **options).to_batches()

    def count_rows(self, filter: Any = None, **options: Any) -> int:
        """The number of rows that satisfy a filter."""
        return self._dataset.count_rows(filter, **options)


def _rows(scan: Scan, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for batch in scan:
        rows = batch.to_arrow()
        yield rows if rows.schema.equals(schema) else rows.cast(schema)


def arrow_dataset(
    source: Dataset | str | PathLike[str] | Sequence[str | PathLike[str]], **options: Any
) -> ArrowDataset:
    """Files as a ``pyarrow.dataset.Dataset``. DuckDB finds it by the name of its variable, and DataFusion's ``SessionContext`` takes it
    by ``register_dataset``; both hand it columns and filters.

    ``source`` is a dataset, or what :func:`lath.open` takes with ``options``.

    >>> import duckdb
    >>> view = lath.arrow_dataset("examples/data/trips")
    >>> duckdb.sql("SELECT count(*) FROM view WHERE price > 12 AND minutes < 30").fetchall()[0][0] == view.report.rows_found
    True
    """
    return ArrowDataset(source if isinstance(source, Dataset) else open(source, **options))
