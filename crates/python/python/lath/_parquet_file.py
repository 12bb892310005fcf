"""One file: its metadata and its row groups, with pyarrow's names."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from lath._arguments import refuse
from lath._encryption import read_keys
from lath._errors import InvalidError, IoError
from lath._extensions import plain_schema, plain_table
from lath._metadata import FileMetaData, ParquetSchema
from lath._open import open

if TYPE_CHECKING:
    import pyarrow

    from lath._files import FileLike


class ParquetFile:
    """One Parquet file: its metadata, and the rows of its row groups.

    ``source`` is a path, a URL, bytes or a file object. Arguments have the names of ``pyarrow.parquet.ParquetFile``; ``options`` are the ones
    of :func:`lath.open`. Checksums are verified unless ``page_checksum_verification`` is false. A file object that was passed stays open.

    >>> with lath.ParquetFile("examples/data/trips/2025-01.parquet") as file:
    ...     file.num_row_groups, file.metadata.num_rows, file.read_row_group(0, columns=["price"]).num_rows
    (3, 10000, 4000)
    """

    def __init__(
        self,
        source: FileLike,
        *,
        metadata: FileMetaData | None = None,
        read_dictionary: Sequence[str] | None = None,
        memory_map: bool = False,
        buffer_size: int = 0,
        pre_buffer: bool = True,
        coerce_int96_timestamp_unit: str | None = None,
        decryption_properties: Mapping[str, Any] | None = None,
        filesystem: Any = None,
        page_checksum_verification: bool = True,
        arrow_extensions_enabled: bool = True,
        **options: Any,
    ) -> None:
        refuse(
            memory_map=not memory_map,
            buffer_size=buffer_size == 0,
            pre_buffer=pre_buffer,
        )
        self._has_extensions = arrow_extensions_enabled
        if isinstance(source, (str, os.PathLike)) and filesystem is None and os.path.isdir(source):
            raise IoError(f"{os.fspath(source)} is a directory: read it by lath.open or lath.read_table")
        if coerce_int96_timestamp_unit is not None:
            options["int96_unit"] = coerce_int96_timestamp_unit
        options.update(read_keys(decryption_properties))
        options.setdefault("plain_files", True)
        self._dataset = open(source, filesystem=filesystem, partitions=False, **options)
        if len(self._dataset.files) != 1:
            raise InvalidError(f"{source!r}: expected one file, found {len(self._dataset.files)}: read them by lath.open")
        self._source = source
        self._read_dictionary = read_dictionary
        self._verify_checksums = page_checksum_verification
        self._metadata = metadata
        self._is_open = True

    @property
    def metadata(self) -> FileMetaData:
        """The metadata in the footer."""
        if self._metadata is None:
            self._metadata = FileMetaData(self._opened()._file_metadata(0), self._dataset.schema)
        return self._metadata

    @property
    def schema(self) -> ParquetSchema:
        """The leaf columns."""
        return self.metadata.schema

    @property
    def schema_arrow(self) -> pyarrow.Schema:
        """The schema of the rows that are read."""
        schema = self._opened().head(0).to_arrow().schema
        return schema if self._has_extensions else plain_schema(schema)

    @property
    def num_row_groups(self) -> int:
        """The number of row groups."""
        return self.metadata.num_row_groups

    def read(
        self, columns: Sequence[str] | None = None, use_threads: bool = True, use_pandas_metadata: bool = False
    ) -> pyarrow.Table:
        """All rows."""
        return self._table(self._scan(None, columns, use_threads, use_pandas_metadata))

    def read_row_group(
        self,
        i: int,
        columns: Sequence[str] | None = None,
        use_threads: bool = True,
        use_pandas_metadata: bool = False,
    ) -> pyarrow.Table:
        """The rows of a row group, counted from 0."""
        return self.read_row_groups([i], columns, use_threads, use_pandas_metadata)

    def read_row_groups(
        self,
        row_groups: Iterable[int],
        columns: Sequence[str] | None = None,
        use_threads: bool = True,
        use_pandas_metadata: bool = False,
    ) -> pyarrow.Table:
        """The rows of several row groups."""
        return self._table(self._scan(row_groups, columns, use_threads, use_pandas_metadata))

    def iter_batches(
        self,
        batch_size: int = 65536,
        row_groups: Iterable[int] | None = None,
        columns: Sequence[str] | None = None,
        use_threads: bool = True,
        use_pandas_metadata: bool = False,
    ) -> Iterator[pyarrow.RecordBatch]:
        """The rows as batches of ``batch_size`` rows, and a last one of the rest."""
        if batch_size < 1:
            raise InvalidError("batch_size: it has to be at least 1")
        scan = self._scan(row_groups, columns, use_threads, use_pandas_metadata, batch_size)
        batches = _batches(iter(scan), batch_size)
        if self._has_extensions:
            return batches
        return (plain_table(pyarrow_table([batch])).to_batches()[0] for batch in batches)

    def scan_contents(self, columns: Sequence[str] | None = None, batch_size: int = 65536) -> int:
        """Reads the columns, and returns the number of rows."""
        return sum(batch.num_rows for batch in self.iter_batches(batch_size, columns=columns))

    def close(self, force: bool = False) -> None:
        """Closes the file; with ``force`` also a file object that was passed."""
        self._is_open = False
        if force and hasattr(self._source, "close"):
            self._source.close()

    @property
    def closed(self) -> bool:
        """Whether it was closed. A file object that was passed decides itself."""
        closed = getattr(self._source, "closed", None)
        return closed if isinstance(closed, bool) else not self._is_open

    def _opened(self) -> Any:
        if not self._is_open:
            raise InvalidError("the file is closed: open it again")
        return self._dataset

    def _table(self, scan: Any) -> pyarrow.Table:
        table = scan.to_arrow()
        return table if self._has_extensions else plain_table(table)

    def _scan(
        self,
        row_groups: Iterable[int] | None,
        columns: Sequence[str] | None,
        use_threads: bool,
        use_pandas_metadata: bool,
        batch_size: int | None = None,
    ) -> Any:
        names = None if columns is None else list(dict.fromkeys(columns))
        dataset = self._opened()
        if use_pandas_metadata and names is not None:
            names += [name for name in index_columns(dataset) if name not in names]
        return dataset.scan(
            names,
            batch_size=batch_size,
            threads=None if use_threads else 1,
            strings="offsets",
            dictionary_columns=self._read_dictionary,
            verify_checksums=self._verify_checksums,
            row_groups=None if row_groups is None else list(row_groups),
        )

    def __enter__(self) -> ParquetFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<lath.ParquetFile {self._dataset.files[0]}>"


def read_metadata(
    where: FileLike,
    memory_map: bool = False,
    decryption_properties: Mapping[str, Any] | None = None,
    filesystem: Any = None,
    **options: Any,
) -> FileMetaData:
    """The metadata in the footer of a file.

    >>> lath.read_metadata("examples/data/trips/2025-01.parquet").num_rows
    10000
    """
    return ParquetFile(where, memory_map=memory_map, decryption_properties=decryption_properties, filesystem=filesystem, **options).metadata


def read_schema(
    where: FileLike,
    memory_map: bool = False,
    decryption_properties: Mapping[str, Any] | None = None,
    filesystem: Any = None,
    **options: Any,
) -> pyarrow.Schema:
    """The schema with which a file is read, as a ``pyarrow.Schema``.

    >>> lath.read_schema("examples/data/trips/2025-01.parquet").names[:2]
    ['trip', 'started']
    """
    return ParquetFile(where, memory_map=memory_map, decryption_properties=decryption_properties, filesystem=filesystem, **options).schema_arrow


def index_columns(dataset: Any) -> list[str]:
    """The columns that were the index of a data frame of pandas, as the metadata of the schema says."""
    import json

    from lath._lath import schema_metadata

    for key, value in schema_metadata(dataset.schema):
        if key == b"pandas":
            named = json.loads(value).get("index_columns", [])
            known = set(dataset.schema.names)
            return [name for name in named if isinstance(name, str) and name in known]
    return []


def _batches(scanned: Iterator[Any], batch_size: int) -> Iterator[pyarrow.RecordBatch]:
    """Divides the rows into batches of ``batch_size`` rows."""
    import pyarrow as pa

    waiting: list[Any] = []
    count = 0
    for batch in scanned:
        rows = batch.to_arrow()
        while count + rows.num_rows >= batch_size:
            taken = batch_size - count
            yield _joined([*waiting, rows.slice(0, taken)], pa)
            rows, waiting, count = rows.slice(taken), [], 0
        if rows.num_rows:
            waiting.append(rows)
            count += rows.num_rows
    if waiting:
        yield _joined(waiting, pa)


def pyarrow_table(batches: list[Any]) -> Any:
    """Batches as a table."""
    import pyarrow as pa

    return pa.Table.from_batches(batches)


def _joined(batches: list[Any], pa: Any) -> Any:
    if len(batches) == 1:
        return batches[0]
    table = pa.Table.from_batches(batches)
    if any(pa.types.is_dictionary(field.type) for field in table.schema):
        table = table.unify_dictionaries()
    (batch,) = table.combine_chunks().to_batches()
    return batch
