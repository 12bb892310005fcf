from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Protocol

from typing_extensions import Self, TypeAlias

from lath._report import Report
from lath._statistics import Statistics

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

__version__: str

_Path: TypeAlias = str | PathLike[str]
#: A condition: SQL text, or what `lath.col` makes.
Where: TypeAlias = str | Predicate | Column

class ArrowSchema(Protocol):
    def __arrow_c_schema__(self) -> object: ...

def open(
    paths: _Path | Sequence[_Path],
    *,
    union_schemas: bool = False,
    partitions: bool = True,
    partition_types: Mapping[str, ArrowSchema] | None = None,
    footer_key: bytes | None = None,
    column_keys: Mapping[str, bytes] | None = None,
    aad_prefix: bytes | None = None,
    int96_unit: Literal["ns", "us", "ms"] | None = None,
    revalidate: bool = True,
    requests_in_flight: int | None = None,
    retries: int | None = None,
    request_timeout: float | None = None,
) -> Dataset:
    """Opens files as one table.

    ``paths`` is one or more of: paths of files; directories, which stand for the files below them whose names end in ``.parquet``;
    globs; ``@`` and the path of a list; URLs (``s3://``, ``gs://``, ``az://``, ``http://``, ``https://``, ``file://``). Directories
    called ``key=value`` on the way to a file are columns, unless ``partitions`` is false; ``partition_types`` sets their types.

    The schema is that of the first file, or with ``union_schemas`` that of all. ``footer_key``, ``column_keys`` and ``aad_prefix``
    decrypt files; ``int96_unit`` is the unit of INT96 timestamps. ``revalidate`` says whether a local file is looked at before its
    cached footer is used. The others are about object stores; ``request_timeout`` is in seconds.
    """

def col(name: str, *, exact: bool = False) -> Column:
    """The column called ``name``, to make a condition of. Dots lead to fields of structs, unless ``exact`` is true."""

def where(condition: Where, /) -> Predicate:
    """The condition that SQL text says, to be joined with others."""

class Column:
    """A column, or what is within it. Comparisons and methods make conditions, which are null where the column is null."""

    def field(self, name: str) -> Column:
        """The field of a struct, whatever its name has in it."""
    def at(self, key: object) -> Column:
        """The value that a map has for ``key``."""
    def between(self, low: object, high: object) -> Predicate:
        """``BETWEEN``, which includes both ends."""
    def isin(self, values: Iterable[object]) -> Predicate:
        """``IN``, with any number of values: an iterable, an array or a series. ``None`` among them is equal to nothing."""
    def is_null(self) -> Predicate: ...
    def is_not_null(self) -> Predicate: ...
    def is_distinct_from(self, value: object) -> Predicate:
        """``<>``, for which null is a value like others."""
    def like(self, pattern: str) -> Predicate:
        """``LIKE``: ``%`` stands for any characters, ``_`` for one."""
    def ilike(self, pattern: str) -> Predicate:
        """As ``like``, whatever the case of letters."""
    def starts_with(self, prefix: str) -> Predicate: ...
    def list_contains(self, element: object) -> Predicate:
        """Whether a list has ``element``."""
    def __eq__(self, other: object) -> Predicate: ...  # type: ignore[override]
    def __ne__(self, other: object) -> Predicate: ...  # type: ignore[override]
    def __lt__(self, other: object) -> Predicate: ...
    def __le__(self, other: object) -> Predicate: ...
    def __gt__(self, other: object) -> Predicate: ...
    def __ge__(self, other: object) -> Predicate: ...
    def __and__(self, other: Predicate | Column) -> Predicate: ...
    def __or__(self, other: Predicate | Column) -> Predicate: ...
    def __invert__(self) -> Predicate: ...

class Predicate:
    """A condition on rows. ``str`` gives it as SQL text."""

    def __and__(self, other: Predicate | Column) -> Predicate: ...
    def __or__(self, other: Predicate | Column) -> Predicate: ...
    def __invert__(self) -> Predicate: ...

class Schema:
    """The names and types of columns."""

    @property
    def names(self) -> list[str]: ...
    @property
    def types(self) -> list[str]: ...
    def to_arrow(self) -> pyarrow.Schema: ...
    def __arrow_c_schema__(self) -> object: ...
    def __len__(self) -> int: ...
    def __contains__(self, name: str, /) -> bool: ...
    def __getitem__(self, name: str, /) -> str:
        """The type of the column called ``name``, as text."""
    def __eq__(self, other: object) -> bool: ...
    def __ne__(self, other: object) -> bool: ...

class Dataset:
    """Files that are read as one table."""

    @property
    def schema(self) -> Schema: ...
    @property
    def files(self) -> list[str]:
        """The paths and URLs of the files."""
    @property
    def partitions(self) -> list[str]:
        """The names of the columns that come from the names of directories."""
    def count(self, where: Where | None = None, *, threads: int | None = None) -> int:
        """The number of rows for which ``where`` is true. No more is read than that takes."""
    def find(self, where: Where, columns: Sequence[str] | None = None, limit: int | None = None) -> Scan:
        """The rows for which ``where`` is true: ``columns`` of them, ``limit`` at most."""
    def scan(
        self,
        columns: Sequence[str] | None = None,
        where: Where | None = None,
        limit: int | None = None,
        *,
        batch_size: int | None = None,
        threads: int | None = None,
        ordered: bool = True,
        strings: Literal["views", "offsets"] | None = None,
        dictionary_columns: Sequence[str] | None = None,
        file_name: str | None = None,
        row_number: str | None = None,
        verify_checksums: bool = True,
    ) -> Scan:
        """Rows and columns to read.

        ``columns`` are dotted paths, in the order in which they come. Batches have at most ``batch_size`` rows, 8192 unless told
        otherwise, and come in the order of files and rows, unless ``ordered`` is false. ``threads`` is one for each core unless told
        otherwise. ``strings`` says whether strings come as views, which are not copied, or with offsets; unless told otherwise,
        pyarrow and pandas get offsets, others views. ``dictionary_columns`` come as dictionaries. ``file_name`` and ``row_number`` name
        columns to be added. ``verify_checksums`` checks the pages that have a checksum.
        """
    def lookup(
        self,
        column: str,
        keys: Iterable[object],
        columns: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> Scan:
        """The rows that have one of ``keys`` in the column at the dotted path ``column``."""
    def explain(self, where: Where, *, threads: int | None = None) -> Report:
        """Counts the rows for which ``where`` is true, and reports what was ruled out without reading it."""
    def statistics(self) -> Statistics:
        """What the footers of all files say together."""
    def to_arrow(self) -> pyarrow.Table: ...
    def to_polars(self) -> polars.DataFrame: ...
    def to_pandas(self) -> pandas.DataFrame: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...

class Scan:
    """Rows and columns to read. Each time that it is iterated or given to another library, it reads them anew."""

    @property
    def schema(self) -> Schema: ...
    @property
    def report(self) -> Report | None:
        """What the last run has done, so far or when it ended; ``None`` before the first."""
    def count(self) -> int:
        """The number of rows, without reading more than that takes."""
    def to_arrow(self) -> pyarrow.Table: ...
    def to_polars(self) -> polars.DataFrame: ...
    def to_pandas(self) -> pandas.DataFrame: ...
    def __iter__(self) -> Batches: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...

class Batches(Iterator[Batch]):
    """The batches of a scan that runs. Threads decode ahead; the scan stops when this is closed or dropped."""

    @property
    def schema(self) -> Schema: ...
    def close(self) -> None: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> Batch: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None, /
    ) -> None: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """What is left of the batches. They can be taken once."""
    def __arrow_c_schema__(self) -> object: ...

class Batch:
    """Some rows, as Arrow arrays."""

    @property
    def num_rows(self) -> int: ...
    @property
    def num_columns(self) -> int: ...
    @property
    def schema(self) -> Schema: ...
    def to_arrow(self) -> pyarrow.RecordBatch: ...
    def to_polars(self) -> polars.DataFrame: ...
    def to_pandas(self) -> pandas.DataFrame: ...
    def __len__(self) -> int: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...
    def __arrow_c_schema__(self) -> object: ...
