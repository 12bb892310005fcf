"""The metadata in the footer of a file."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

if TYPE_CHECKING:
    import pyarrow

    from lath._lath import Schema

_T = TypeVar("_T")


@dataclass(frozen=True)
class LogicalType:
    """The logical type of a column: its name in the specification, and its parameters. ``str`` shows it as pyarrow does."""

    type: str
    parameters: dict[str, Any]

    def __str__(self) -> str:
        name = _CAMEL.get(self.type, self.type.title())
        shown = ", ".join(f"{key}={_shown(value)}" for key, value in self.parameters.items())
        return f"{name}({shown})" if shown else name


@dataclass(frozen=True)
class ColumnSchema:
    """A leaf column in the schema of a file."""

    #: The name of the leaf, and its path with dots.
    name: str
    path: str
    #: BOOLEAN, INT32, INT64, INT96, FLOAT, DOUBLE, BYTE_ARRAY or FIXED_LEN_BYTE_ARRAY.
    physical_type: str
    #: Bytes of FIXED_LEN_BYTE_ARRAY; otherwise ``None``.
    length: int | None
    logical_type: LogicalType | None
    #: The type by the older names, such as UTF8; "NONE" if there is none.
    converted_type: str
    #: Digits of a decimal; otherwise ``None``.
    precision: int | None
    scale: int | None
    max_definition_level: int
    max_repetition_level: int

    def equals(self, other: ColumnSchema) -> bool:
        """Whether name and types are the same."""
        return self == other


class ParquetSchema(Sequence[ColumnSchema]):
    """The leaf columns of a file in their order, and the Arrow schema with which Lath reads them."""

    def __init__(self, columns: Sequence[ColumnSchema], arrow: Schema) -> None:
        self._columns = list(columns)
        self._arrow = arrow

    @property
    def names(self) -> list[str]:
        """The names of the leaves."""
        return [column.name for column in self._columns]

    def column(self, index: int) -> ColumnSchema:
        """The leaf with this number, counted from 0."""
        return _at(self._columns, index, "column")

    def to_arrow_schema(self) -> pyarrow.Schema:
        """The schema with which Lath reads the file."""
        import pyarrow

        return pyarrow.schema(self._arrow)

    def equals(self, other: ParquetSchema) -> bool:
        """Whether the leaf columns are the same."""
        return self._columns == other._columns

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ParquetSchema) and self.equals(other)

    def __hash__(self) -> int:
        return hash(tuple(self.names))

    def __getitem__(self, index: Any) -> Any:
        return self.column(index)

    def __iter__(self) -> Iterator[ColumnSchema]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        return "\n".join(f"{column.path}: {column.physical_type} {column.logical_type or ''}".rstrip() for column in self)


@dataclass(frozen=True)
class SortingColumn:
    """A column by which the rows of a row group are sorted, by the number of its leaf."""

    column_index: int
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True)
class ChunkStatistics:
    """The statistics of a column in a row group."""

    #: The bounds as values of Python; ``None`` if there are none, or for a type without an order.
    min: Any
    max: Any
    #: The bounds as the file has them.
    min_raw: bytes | None
    max_raw: bytes | None
    #: Whether the bounds are values of the column, and not shortened.
    is_min_exact: bool
    is_max_exact: bool
    null_count: int | None
    distinct_count: int | None
    nan_count: int | None
    #: The number of values that are not null; ``None`` if the number of nulls is unknown.
    num_values: int | None
    physical_type: str

    @property
    def has_min_max(self) -> bool:
        """Whether there are both bounds."""
        return self.min_raw is not None and self.max_raw is not None

    @property
    def has_null_count(self) -> bool:
        """Whether the number of nulls is known."""
        return self.null_count is not None

    @property
    def has_distinct_count(self) -> bool:
        """Whether the number of different values is known."""
        return self.distinct_count is not None

    def to_dict(self) -> dict[str, Any]:
        """The figures as a dictionary."""
        names = ("has_min_max", "min", "max", "null_count", "distinct_count", "num_values", "physical_type")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class ColumnChunkMetaData:
    """A column in a row group."""

    #: The file that has the data, if it is another one; otherwise empty.
    file_path: str
    #: The path of the leaf with dots, and its type.
    path_in_schema: str
    physical_type: str
    #: Values, including nulls.
    num_values: int
    #: The codec: UNCOMPRESSED, SNAPPY, ZSTD…
    compression: str
    encodings: tuple[str, ...]
    data_page_offset: int
    dictionary_page_offset: int | None
    #: Bytes in the file, and without compression.
    total_compressed_size: int
    total_uncompressed_size: int
    statistics: ChunkStatistics | None
    is_encrypted: bool
    #: The place of its Bloom filter, and the length if the file says it; ``None`` if there is none.
    bloom_filter_offset: int | None
    bloom_filter_length: int | None
    #: Whether the file has indexes of its pages.
    has_column_index: bool
    has_offset_index: bool
    #: Keys that a writer has added, with their values.
    metadata: dict[bytes, bytes] | None

    @property
    def has_dictionary_page(self) -> bool:
        """Whether it begins with a dictionary."""
        return self.dictionary_page_offset is not None

    @property
    def is_stats_set(self) -> bool:
        """Whether there are statistics."""
        return self.statistics is not None

    def to_dict(self) -> dict[str, Any]:
        """The figures as a dictionary."""
        names = (
            "file_path", "physical_type", "num_values", "path_in_schema", "is_stats_set", "compression", "encodings",
            "has_dictionary_page", "dictionary_page_offset", "data_page_offset", "total_compressed_size",
            "total_uncompressed_size", "bloom_filter_offset", "bloom_filter_length",
        )  # fmt: skip
        statistics = None if self.statistics is None else self.statistics.to_dict()
        return {**{name: getattr(self, name) for name in names}, "statistics": statistics}


@dataclass(frozen=True)
class RowGroupMetaData:
    """A row group."""

    num_rows: int
    #: Bytes of all columns before compression; ``None`` if the file does not say it.
    total_byte_size: int | None
    sorting_columns: tuple[SortingColumn, ...]
    columns: tuple[ColumnChunkMetaData, ...]

    @property
    def num_columns(self) -> int:
        """The number of leaf columns."""
        return len(self.columns)

    def column(self, index: int) -> ColumnChunkMetaData:
        """The leaf column with this number, counted from 0."""
        return _at(self.columns, index, "column")

    def to_dict(self) -> dict[str, Any]:
        """The figures as a dictionary."""
        columns = [column.to_dict() for column in self.columns]
        return {
            "num_columns": self.num_columns,
            "num_rows": self.num_rows,
            "total_byte_size": self.total_byte_size,
            "columns": columns,
        }


class FileMetaData:
    """The metadata in the footer of a file: rows, columns, row groups, and keys with values.

    >>> metadata = lath.read_metadata("examples/data/trips/2025-01.parquet")
    >>> metadata.num_rows, metadata.num_row_groups, metadata.row_group(0).column(0).path_in_schema
    (10000, 3, 'trip')
    """

    def __init__(self, values: dict[str, Any], arrow: Schema) -> None:
        self._values = values
        self._arrow = arrow
        self._columns = [_column(column) for column in values["columns"]]
        self._schema = ParquetSchema(self._columns, arrow)

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return int(self._values["num_rows"])

    @property
    def num_columns(self) -> int:
        """The number of leaf columns."""
        return len(self._columns)

    @property
    def num_row_groups(self) -> int:
        """The number of row groups."""
        return len(self._values["row_groups"])

    @property
    def created_by(self) -> str | None:
        """The writer of the file."""
        return self._values["created_by"]  # type: ignore[no-any-return]

    @property
    def format_version(self) -> str:
        """The version of the format, as pyarrow names it: "1.0" or "2.6"."""
        return "1.0" if self._values["version"] == 1 else "2.6"

    @property
    def serialized_size(self) -> int:
        """Bytes of the metadata in the file."""
        return int(self._values["serialized_size"])

    @property
    def metadata(self) -> dict[bytes, bytes] | None:
        """The keys with their values; ``None`` if there are none."""
        return _pairs(self._values["key_values"])

    @property
    def schema(self) -> ParquetSchema:
        """The leaf columns."""
        return self._schema

    def row_group(self, index: int) -> RowGroupMetaData:
        """The row group with this number, counted from 0."""
        groups: list[dict[str, Any]] = self._values["row_groups"]
        values = _at(groups, index, "row group")
        sorting = tuple(SortingColumn(*each) for each in values["sorting_columns"])
        columns = tuple(map(_chunk, values["columns"], self._columns))
        return RowGroupMetaData(values["num_rows"], values["total_byte_size"], sorting, columns)

    def to_dict(self) -> dict[str, Any]:
        """The figures as a dictionary."""
        names = ("created_by", "num_columns", "num_rows", "num_row_groups", "format_version", "serialized_size")
        row_groups = [self.row_group(index).to_dict() for index in range(self.num_row_groups)]
        return {**{name: getattr(self, name) for name in names}, "row_groups": row_groups}

    def equals(self, other: FileMetaData) -> bool:
        """Whether all of it is the same."""
        if not isinstance(other, FileMetaData):
            raise TypeError(f"expected FileMetaData, found {type(other).__name__}")
        return self._values == other._values

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FileMetaData) and self.equals(other)

    def __hash__(self) -> int:
        columns = tuple((column.path, column.physical_type, str(column.logical_type)) for column in self._columns)
        return hash((self.num_rows, self.num_row_groups, self.serialized_size, columns))

    def __getstate__(self) -> dict[str, Any]:
        return {"values": self._values, "arrow": self._arrow.to_arrow().serialize().to_pybytes()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        import pyarrow

        from lath._lath import schema

        arrow = pyarrow.ipc.read_schema(pyarrow.py_buffer(state["arrow"]))
        FileMetaData.__init__(self, state["values"], schema(arrow.__arrow_c_schema__()))

    def __repr__(self) -> str:
        return (
            f"<lath.FileMetaData: {self.num_rows} rows, {self.num_columns} columns, "
            f"{self.num_row_groups} row groups, by {self.created_by or 'an unknown writer'}>"
        )


def _at(items: Sequence[_T], index: int, what: str) -> _T:
    if not 0 <= index < len(items):
        raise IndexError(f"there is no {what} {index}; there are {len(items)}, counted from 0")
    return items[index]


def _pairs(pairs: Sequence[tuple[str, str | None]]) -> dict[bytes, bytes] | None:
    return {key.encode(): (value or "").encode() for key, value in pairs} or None


def _column(values: dict[str, Any]) -> ColumnSchema:
    is_decimal = values["converted_type"] == "DECIMAL" or (values["logical_type"] or ("",))[0] == "DECIMAL"
    return ColumnSchema(
        name=values["path"][-1],
        path=".".join(values["path"]),
        physical_type=values["physical_type"],
        length=values["length"] if values["physical_type"] == "FIXED_LEN_BYTE_ARRAY" else None,
        logical_type=None if values["logical_type"] is None else LogicalType(*values["logical_type"]),
        # The older names have no local times.
        converted_type="NONE" if _is_local(values["logical_type"]) else values["converted_type"] or "NONE",
        precision=values["precision"] if is_decimal else None,
        scale=values["scale"] if is_decimal else None,
        max_definition_level=values["max_definition_level"],
        max_repetition_level=values["max_repetition_level"],
    )


def _is_local(logical: tuple[str, dict[str, Any]] | None) -> bool:
    return logical is not None and logical[1].get("isAdjustedToUTC") is False


def _chunk(values: dict[str, Any], column: ColumnSchema) -> ColumnChunkMetaData:
    statistics = values["statistics"]
    if statistics is not None:
        nulls = statistics["null_count"]
        statistics = ChunkStatistics(
            min=_value(statistics["min_raw"], column),
            max=_value(statistics["max_raw"], column),
            num_values=None if nulls is None else values["num_values"] - nulls,
            physical_type=column.physical_type,
            **statistics,
        )
    return ColumnChunkMetaData(
        file_path=values["file_path"] or "",
        path_in_schema=column.path,
        physical_type=column.physical_type,
        num_values=values["num_values"],
        compression=values["compression"],
        encodings=tuple(values["encodings"]),
        data_page_offset=values["data_page_offset"],
        dictionary_page_offset=values["dictionary_page_offset"],
        total_compressed_size=values["total_compressed_size"],
        total_uncompressed_size=values["total_uncompressed_size"],
        statistics=statistics,
        is_encrypted=values["is_encrypted"],
        bloom_filter_offset=None if values["bloom_filter"] is None else values["bloom_filter"][0],
        bloom_filter_length=None if values["bloom_filter"] is None else values["bloom_filter"][1],
        has_column_index=values["column_index"] is not None,
        has_offset_index=values["offset_index"] is not None,
        metadata=_pairs(values["key_values"]),
    )


#: How the bytes of a bound are read: physical types, and whether the value is unsigned.
_FORMATS = {
    ("INT32", False): "<i",
    ("INT32", True): "<I",
    ("INT64", False): "<q",
    ("INT64", True): "<Q",
    ("FLOAT", False): "<f",
    ("DOUBLE", False): "<d",
    ("BOOLEAN", False): "<?",
}
_CAMEL = {"INT": "Int", "UUID": "UUID", "JSON": "JSON", "BSON": "BSON", "FLOAT16": "Float16", "NULL": "Null"}
_PER_SECOND = {"milliseconds": 10**3, "microseconds": 10**6, "nanoseconds": 10**9}


def _value(raw: bytes | None, column: ColumnSchema) -> Any:
    """A bound as a value of Python; ``None`` if it has another length than its type."""
    if raw is None:
        return None
    logical = column.logical_type
    kind = logical.type if logical is not None else _LOGICAL.get(column.converted_type, "")
    parameters = dict(logical.parameters) if logical is not None else _PARAMETERS.get(column.converted_type, {})
    is_unsigned = kind == "INT" and not parameters.get("isSigned", True)
    form = _FORMATS.get((column.physical_type, is_unsigned))
    if kind == "DECIMAL":
        whole = int.from_bytes(raw, "little" if form else "big", signed=True)
        return Decimal(whole).scaleb(-(column.scale or 0))
    if form is None:
        return _text(raw, kind)
    if len(raw) != struct.calcsize(form):
        return None
    return _moment(struct.unpack(form, raw)[0], kind, parameters)


def _text(raw: bytes, kind: str) -> Any:
    if kind in ("STRING", "JSON", "ENUM"):
        return raw.decode(errors="replace")
    if kind == "UUID" and len(raw) == 16:
        return UUID(bytes=raw)
    if kind == "FLOAT16" and len(raw) == 2:
        return struct.unpack("<e", raw)[0]
    return raw


def _moment(value: Any, kind: str, parameters: dict[str, Any]) -> Any:
    """A date or a time; as a number if Python has no such value."""
    try:
        if kind == "DATE":
            return date(1970, 1, 1) + timedelta(days=value)
        if kind not in ("TIME", "TIMESTAMP"):
            return value
        seconds, rest = divmod(value, _PER_SECOND[parameters["timeUnit"]])
        micros, lost = divmod(rest * 10**6, _PER_SECOND[parameters["timeUnit"]])
        if lost:
            # Nanoseconds, which Python does not have.
            return value
        is_utc = parameters.get("isAdjustedToUTC", False)
        moment = datetime(1970, 1, 1, tzinfo=timezone.utc if is_utc else None) + timedelta(seconds=seconds, microseconds=micros)
        return moment if kind == "TIMESTAMP" else time(moment.hour, moment.minute, moment.second, moment.microsecond)
    except OverflowError:
        return value


#: Logical types of files that have only the older names.
_LOGICAL = {
    "UTF8": "STRING",
    "JSON": "JSON",
    "ENUM": "ENUM",
    "DATE": "DATE",
    "DECIMAL": "DECIMAL",
    "TIME_MILLIS": "TIME",
    "TIME_MICROS": "TIME",
    "TIMESTAMP_MILLIS": "TIMESTAMP",
    "TIMESTAMP_MICROS": "TIMESTAMP",
    **{f"UINT_{bits}": "INT" for bits in (8, 16, 32, 64)},
}
_PARAMETERS: dict[str, dict[str, Any]] = {
    "TIME_MILLIS": {"timeUnit": "milliseconds", "isAdjustedToUTC": True},
    "TIME_MICROS": {"timeUnit": "microseconds", "isAdjustedToUTC": True},
    "TIMESTAMP_MILLIS": {"timeUnit": "milliseconds", "isAdjustedToUTC": True},
    "TIMESTAMP_MICROS": {"timeUnit": "microseconds", "isAdjustedToUTC": True},
    **{f"UINT_{bits}": {"isSigned": False} for bits in (8, 16, 32, 64)},
}


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
