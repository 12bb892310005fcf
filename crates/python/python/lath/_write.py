"""Writing Parquet files, with pyarrow's names of options."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from types import EllipsisType, TracebackType
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypedDict

from lath._arguments import refuse
from lath._encryption import WriteKeys, write_keys
from lath._errors import InvalidError
from lath._files import FileSystem, fsspec_place, has_other_scheme, local_paths
from lath._lath import Schema, Writer, stream
from lath._progress import Progress, row_count


if TYPE_CHECKING:
    from typing_extensions import Unpack


class ArrowStream(Protocol):
    """Rows: a table, a data frame, a reader, a scan…"""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


class ArrowArray(Protocol):
    """Rows of one batch."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...


class ArrowSchema(Protocol):
    """Names and types of columns."""

    def __arrow_c_schema__(self) -> object: ...


class BinaryFile(Protocol):
    """A file object that takes bytes."""

    def write(self, data: bytes, /) -> object: ...


class WriteOptions(TypedDict, total=False):
    """The options of :class:`ParquetWriter`, for other functions that write files."""

    version: Literal["1.0", "2.4", "2.6"]
    use_dictionary: bool | Sequence[str] | None
    compression: str | Mapping[str, str] | EllipsisType | None
    write_statistics: bool | Sequence[str]
    compression_level: int | Mapping[str, int] | None
    use_byte_stream_split: bool | Sequence[str]
    column_encoding: str | Mapping[str, str] | None
    data_page_version: str | None
    data_page_size: int | None
    encryption_properties: WriteKeys | None
    dictionary_pagesize_limit: int | None
    store_schema: bool
    write_page_index: bool
    write_page_checksum: bool
    sorting_columns: Sequence[Any] | None
    max_rows_per_page: int | None
    bloom_filter_options: Mapping[str, bool | Mapping[str, float]] | None
    coerce_timestamps: Literal["ms", "us", "ns"] | None
    allow_truncated_timestamps: bool
    profile: str | None
    row_group_bytes: int | None
    threads: int
    memory_budget: int | None
    metadata: Mapping[str, str | None] | None


@dataclass(frozen=True)
class Written:
    """Counts of a written file."""

    rows: int
    row_groups: int
    #: Bytes of the file.
    bytes: int


class ParquetWriter:
    """Writes a Parquet file. In a ``with`` statement, the file is finished at the end, or discarded after an exception.

    ``where`` is a path, at which the file appears whole or not at all, or a file object. ``schema`` is a schema, or rows with the schema.

    Options have the names, values and defaults of ``pyarrow.parquet.ParquetWriter``, with the exceptions below. An option that Lath does
    not support raises an error.

    - The page index and checksums are written by default (``write_page_index``, ``write_page_checksum``).
    - ``bloom_filter_options`` maps columns to ``True``, or to a dict with ``fpp`` and ``ndv``. Without ``ndv``, the distinct values
      are counted while they are written, and determine the size of the filter.
    - ``compression`` is Snappy by default, or the codec of ``profile``; ``None`` means no compression.
    - ``sorting_columns`` declares the columns by which the rows are sorted: names, or pairs of a name and "ascending" or "descending", or
      objects with ``column_index``, ``descending`` and ``nulls_first``.
    - ``filesystem`` is a file system of pyarrow or fsspec, in which ``where`` is a path. If its files are not local, a file that was not
      finished is removed. URLs of schemes that Lath does not write itself, such as ``hf://``, are written by fsspec.
    - ``encryption_properties`` is a dict with ``footer_key`` (16 or 32 bytes), and perhaps ``column_keys``, ``plaintext_columns``,
      ``plaintext_footer``, ``footer_key_metadata``, ``aad_prefix`` and ``store_aad_prefix``.
    - ``coerce_timestamps`` ("ms", "us" or "ns") is the unit of all timestamps. Losing digits is an error, unless
      ``allow_truncated_timestamps`` is true. In version "2.4" and before, nanoseconds become microseconds, in "1.0" also unsigned integers
      of 32 bits signed ones of 64.
    - With ``store_schema`` false, the Arrow schema is not in the file: readers get the types that Parquet has.

    Additional options: ``profile`` is "compatible", "compact" or "lookup"; ``row_group_size`` and ``row_group_bytes`` limit row groups in
    rows and bytes; ``threads`` is the number of threads that encode columns, 0 for one for each core; ``memory_budget`` limits the bytes
    that the writer holds.

    The metadata of ``schema`` goes into the footer. Known keys that describe rows or columns are kept as far as they can hold for any
    rows with these columns, with a warning: the ``bbox`` of GeoParquet's ``geo`` and columns that ``schema`` lacks are left out.
    ``metadata`` sets keys by name, unchanged.

    >>> import pyarrow as pa
    >>> part = pa.table({"id": range(100)})
    >>> with lath.ParquetWriter("ids.parquet", part.schema, profile="compact") as writer:
    ...     for _ in range(3):
    ...         writer.write_table(part)
    >>> lath.open("ids.parquet").count("id < 10")
    30
    """

    def __init__(
        self,
        where: str | PathLike[str] | BinaryFile,
        schema: ArrowSchema | ArrowStream,
        filesystem: Any = None,
        flavor: None = None,
        version: Literal["1.0", "2.4", "2.6"] = "2.6",
        use_dictionary: bool | Sequence[str] | None = None,
        compression: str | Mapping[str, str] | EllipsisType | None = ...,
        write_statistics: bool | Sequence[str] = True,
        use_deprecated_int96_timestamps: bool | None = None,
        compression_level: int | Mapping[str, int] | None = None,
        use_byte_stream_split: bool | Sequence[str] = False,
        column_encoding: str | Mapping[str, str] | None = None,
        data_page_version: str | None = None,
        data_page_size: int | None = None,
        use_compliant_nested_type: bool = True,
        encryption_properties: WriteKeys | None = None,
        write_batch_size: None = None,
        dictionary_pagesize_limit: int | None = None,
        store_schema: bool = True,
        write_page_index: bool = True,
        write_page_checksum: bool = True,
        sorting_columns: Sequence[Any] | None = None,
        store_decimal_as_integer: bool = True,
        write_time_adjusted_to_utc: bool = False,
        max_rows_per_page: int | None = None,
        bloom_filter_options: Mapping[str, bool | Mapping[str, float]] | None = None,
        use_content_defined_chunking: bool = False,
        coerce_timestamps: Literal["ms", "us", "ns"] | None = None,
        allow_truncated_timestamps: bool = False,
        *,
        row_group_size: float | None = None,
        profile: str | None = None,
        row_group_bytes: int | None = None,
        threads: int = 1,
        memory_budget: int | None = None,
        metadata: Mapping[str, str | None] | None = None,
    ) -> None:
        refuse(
            flavor=flavor is None,
            use_deprecated_int96_timestamps=not use_deprecated_int96_timestamps,
            use_compliant_nested_type=use_compliant_nested_type,
            write_batch_size=write_batch_size is None,
            store_decimal_as_integer=store_decimal_as_integer,
            write_time_adjusted_to_utc=not write_time_adjusted_to_utc,
            use_content_defined_chunking=not use_content_defined_chunking,
        )
        if version not in ("1.0", "2.4", "2.6"):
            raise InvalidError(f'version={version!r}: give "1.0", "2.4" or "2.6"')
        settings = _Settings()
        if version != "2.6" or coerce_timestamps is not None:
            settings.add("coerce_timestamps", "conversion", (coerce_timestamps, version, allow_truncated_timestamps))
        elif allow_truncated_timestamps:
            raise InvalidError("allow_truncated_timestamps: nothing is truncated: give coerce_timestamps, or leave it out")
        if not store_schema:
            settings.add("store_schema", "no_arrow_schema", True)
        if encryption_properties is not None:
            settings.add("encryption_properties", "encryption", write_keys(encryption_properties))
        settings.add("profile", "profile", profile)
        settings.add("row_group_size", "row_group_rows", _rows("row_group_size", row_group_size))
        settings.add("row_group_bytes", "row_group_bytes", row_group_bytes)
        settings.add("memory_budget", "memory_budget_bytes", memory_budget)
        settings.add("threads", "threads", threads)
        settings.add("data_page_size", "page_bytes", data_page_size)
        settings.add("max_rows_per_page", "page_rows", max_rows_per_page)
        settings.add("dictionary_pagesize_limit", "dictionary_bytes", dictionary_pagesize_limit)
        settings.codecs(compression, compression_level, profile is not None)
        settings.switch("use_dictionary", "dictionary", use_dictionary, (True, False))
        split = use_byte_stream_split if use_byte_stream_split is not False else None
        settings.switch("use_byte_stream_split", "encoding", split, ("byte-stream-split", None))
        settings.choose("column_encoding", "encoding", column_encoding)
        level = "page" if write_page_index else "chunk"
        settings.switch("write_statistics", "statistics", write_statistics, (level, "none"))
        settings.add("write_page_index", "offset_index", write_page_index)
        settings.add("write_page_checksum", "crc", write_page_checksum)
        settings.page_version(data_page_version)
        settings.bloom_filters(bloom_filter_options)
        settings.sorting(sorting_columns, schema)
        for key, value in (metadata or {}).items():
            settings.all.append(("metadata", "metadata", key, value))
        if not hasattr(schema, "__arrow_c_schema__"):
            # A table of pyarrow has rows, and its schema apart.
            schema = getattr(schema, "schema", schema)
        self._target: _NewFile | None = None
        target: Any = where
        if filesystem is None and isinstance(where, str) and has_other_scheme(where):
            filesystem, where = fsspec_place(where)
        if filesystem is not None:
            named = stored_target(where, filesystem)
            if isinstance(named, _NewFile):
                self._target = named
                target = named.file
            else:
                target = named
        try:
            self._writer = Writer(target, schema, settings.all)
        except BaseException:
            self._discard()
            raise
        self._written: Written | None = None
        self._is_open = True

    @property
    def schema(self) -> Schema:
        """Names and types of the columns."""
        return self._writer.schema

    @property
    def written(self) -> Written | None:
        """Counts of the written file, after it is finished; else ``None``."""
        return self._written

    @property
    def is_open(self) -> bool:
        """Whether the file is neither finished nor discarded."""
        return self._is_open

    def write(
        self,
        rows: ArrowStream | ArrowArray,
        row_group_size: float | None = None,
        *,
        progress: Progress | None = None,
    ) -> None:
        """Writes rows: a table, a data frame, a batch, a reader. A row group may have rows of several calls; with ``row_group_size``, the rows
        begin a row group, and row groups have this number of rows.

        ``progress`` is called with the number of these rows that are written; see :func:`write_table`.
        """
        self._writer.write(rows, progress, row_count(rows), _rows("row_group_size", row_group_size))

    def write_table(self, table: ArrowStream, row_group_size: float | None = None) -> None:
        """The same as :meth:`write`."""
        self.write(table, row_group_size)

    def write_batch(self, batch: ArrowArray, row_group_size: float | None = None) -> None:
        """The same as :meth:`write`."""
        self.write(batch, row_group_size)

    def flush_row_group(self) -> None:
        """Ends the current row group, if it has rows."""
        self._writer.flush_row_group()

    def add_key_value_metadata(self, key_value_metadata: Mapping[str, str]) -> None:
        """Adds keys with their values to the metadata of the file, which replace earlier values."""
        for key, value in key_value_metadata.items():
            self._writer.set_metadata(_text(key), _text(value))

    def close(self) -> None:
        """Finishes the file, which then appears at its path."""
        if not self._is_open:
            return
        self._is_open = False
        try:
            written = Written(**self._writer.finish())
        except BaseException:
            self._discard()
            raise
        if self._target is not None:
            self._target.file.close()
        self._written = written

    def abort(self) -> None:
        """Discards the file: no file appears at the path, and an existing file stays. A file system writes files from their start on: a file of
        it is removed."""
        self._is_open = False
        self._writer.abort()
        self._discard()

    def _discard(self) -> None:
        if self._target is not None:
            self._target.discard()
            self._target = None

    def __enter__(self) -> ParquetWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()


def write_table(
    table: ArrowStream | ArrowArray,
    where: str | PathLike[str] | BinaryFile,
    row_group_size: float | None = None,
    *,
    filesystem: Any = None,
    progress: Progress | None = None,
    **options: Unpack[WriteOptions],
) -> Written:
    """Writes rows (a table, a data frame, a reader or a scan) to a Parquet file, which appears whole or not at all.

    ``options`` are the options of :class:`ParquetWriter`. ``progress`` is called with the number of rows written and the number of all
    rows, which is ``None`` if ``table`` does not know it; ``True`` shows a tqdm bar. An exception that it raises ends the writing.

    >>> import pyarrow as pa
    >>> rows = pa.table({"id": range(1000), "name": [f"name {row}" for row in range(1000)]})
    >>> written = lath.write_table(rows, "names.parquet", compression="zstd", bloom_filter_options={"id": True})
    >>> written.rows, lath.open("names.parquet").lookup("id", [17]).count()
    (1000, 1)
    """
    rows = stream(table)
    with ParquetWriter(where, rows, filesystem, row_group_size=row_group_size, **options) as writer:
        writer._writer.write(rows, progress, row_count(table))
    written = writer.written
    assert written is not None
    return written


class _NewFile:
    """A file that is written to a file system."""

    def __init__(self, system: FileSystem, path: str) -> None:
        self._system = system
        self._path = path
        self.file = system.create(path)

    def discard(self) -> None:
        """Removes the file."""
        try:
            # Files of fsspec that were written in parts.
            self.file.discard() if hasattr(self.file, "discard") else self.file.close()
        finally:
            self._system.remove(self._path)


def stored_target(where: object, filesystem: Any) -> Any:
    """The new file at a path of a file system: a path if its files are local."""
    if not isinstance(where, (str, PathLike)):
        raise InvalidError("filesystem: it has paths, and the target is a file object already: leave it out")
    (local,) = local_paths([where], filesystem) or (None,)
    return _NewFile(FileSystem(filesystem), os.fspath(where)) if local is None else local


def _rows(argument: str, count: float | None) -> int | None:
    if count is None:
        return None
    if count != int(count) or count < 1:
        raise InvalidError(f"{argument}={count}: give a number of rows")
    return int(count)


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


class _Settings:
    """Options as the writer takes them: the argument, the option, the column or ``None``, and the value."""

    def __init__(self) -> None:
        self.all: list[tuple[str, str, str | None, object]] = []

    def add(self, argument: str, option: str, value: object) -> None:
        """Sets an option of all columns, unless it is left open."""
        if value is not None:
            self.all.append((argument, option, None, value))

    def choose(self, argument: str, option: str, value: object | Mapping[str, object] | None) -> None:
        """Sets an option of all columns, or of some."""
        if isinstance(value, Mapping):
            self.all += [(argument, option, column, choice) for column, choice in value.items()]
        else:
            self.add(argument, option, value)

    def switch(
        self, argument: str, option: str, value: bool | Sequence[str] | None, values: tuple[object, object]
    ) -> None:
        """Turns an option on or off for all columns, or on for those that are listed and off for the others."""
        if isinstance(value, bool) or value is None:
            self.add(argument, option, None if value is None else values[0] if value else values[1])
            return
        if isinstance(value, str):
            raise TypeError(f"{argument}: give a list of columns")
        self.add(argument, option, values[1])
        self.all += [(argument, option, column, values[0]) for column in value]

    def codecs(
        self,
        compression: str | Mapping[str, str] | EllipsisType | None,
        level: int | Mapping[str, int] | None,
        has_profile: bool,
    ) -> None:
        if compression is ...:
            if not has_profile:
                self.add("compression", "codec", "snappy")
            if level is not None:
                raise InvalidError("compression_level: name the codec with compression")
            return
        by_column = level if isinstance(level, Mapping) else {}
        for_all = None if isinstance(level, Mapping) else level

        def codec(name: str | None, level: int | None) -> str:
            name = "none" if name is None else name.lower()
            return name if level is None else f"{name}:{level}"

        if isinstance(compression, Mapping):
            unknown = set(by_column) - set(compression)
            if unknown:
                raise InvalidError(f"compression_level: name the codec of {', '.join(sorted(unknown))} with compression")
            for column, name in compression.items():
                self.all.append(("compression", "codec", column, codec(name, by_column.get(column, for_all))))
            return
        self.add("compression", "codec", codec(compression, for_all))
        for column, column_level in by_column.items():
            self.all.append(("compression_level", "codec", column, codec(compression, column_level)))

    def page_version(self, version: str | None) -> None:
        if version not in (None, "1.0", "2.0"):
            raise InvalidError(f'data_page_version={version!r}: give "1.0" or "2.0"')
        self.add("data_page_version", "page_version", None if version is None else version[0])

    def bloom_filters(self, options: Mapping[str, bool | Mapping[str, float]] | None) -> None:
        for column, choice in (options or {}).items():
            if choice is False:
                continue
            given = {} if choice is True else dict(choice)
            rate, count = given.pop("fpp", None), given.pop("ndv", None)
            if given:
                raise InvalidError(f"bloom_filter_options: there is no option {', '.join(given)}; there are ndv and fpp")
            if rate is not None and not 0 < rate < 1:
                raise InvalidError("bloom_filter_options: fpp is between 0 and 1")
            if count is None:
                self.all.append(("bloom_filter_options", "bloom_rate", column, 0.01 if rate is None else rate))
            else:
                size = _filter_bytes(int(count), 0.05 if rate is None else rate)
                self.all.append(("bloom_filter_options", "bloom_bytes", column, size))

    def sorting(self, columns: Iterable[Any] | None, schema: Any) -> None:
        if columns is None:
            return
        chosen = []
        for column in columns:
            if hasattr(column, "column_index"):
                name = _leaf(schema, column.column_index)
                chosen.append((name, bool(column.descending), bool(column.nulls_first)))
                continue
            name, order = (column, "ascending") if isinstance(column, str) else _pair(column)
            if order not in ("ascending", "descending"):
                raise InvalidError(f'sorting_columns: {order!r}: give "ascending" or "descending"')
            chosen.append((name, order == "descending", False))
        self.add("sorting_columns", "sort", chosen)


def _leaf(schema: Any, index: int) -> str:
    """The name of the leaf with a number, in a schema without nested columns."""
    import pyarrow as pa

    fields = list(pa.schema(schema) if hasattr(schema, "__arrow_c_schema__") else schema.schema)
    if any(pa.types.is_nested(field.type) for field in fields):
        raise InvalidError("sorting_columns: numbers of leaves are for schemas without nested columns: give names")
    if not 0 <= index < len(fields):
        raise InvalidError(f"sorting_columns: there is no column {index}; there are {len(fields)}, counted from 0")
    return str(fields[index].name)


def _pair(column: Any) -> tuple[str, str]:
    if isinstance(column, tuple) and len(column) == 2:
        return column
    raise InvalidError("sorting_columns: give names of columns, or pairs of a name and an order")


def _filter_bytes(distinct: int, rate: float) -> int:
    """The size of a split-block Bloom filter for so many distinct values, by the formula of the specification."""
    if distinct < 1:
        raise InvalidError("bloom_filter_options: ndv has to be at least 1")
    return min(max(math.ceil(-distinct / math.log(1 - rate ** (1 / 8))), 32), 128 << 20)
