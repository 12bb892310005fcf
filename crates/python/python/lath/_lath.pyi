from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar, overload

from typing_extensions import Self, TypeAlias

from lath._progress import Progress
from lath._report import Report
from lath._statistics import Statistics

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    import pyarrow.compute

__version__: str
#: Whether the command has SQL.
HAS_SQL: bool

_Path: TypeAlias = str | PathLike[str]
#: A condition: SQL text, a condition built with `lath.col`, or an expression of pyarrow or polars. If Lath cannot evaluate a part of such an
#: expression, pyarrow or polars evaluates that part on batches of the rows that pass the rest. Where no rows are read, it is an error.
Where: TypeAlias = str | Predicate | Column | polars.Expr | pyarrow.compute.Expression

_Bytes: TypeAlias = bytes | bytearray | memoryview
_Durability: TypeAlias = Literal["sync", "deferred", "off"]
_T = TypeVar("_T")
_E = TypeVar("_E")

class ArrowSchema(Protocol):
    def __arrow_c_schema__(self) -> object: ...

class ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

def open(
    paths: object,
    *,
    union_schemas: bool = False,
    partitions: bool = True,
    partition_types: Mapping[str, ArrowSchema] | None = None,
    footer_key: bytes | None = None,
    column_keys: Mapping[str, bytes] | None = None,
    aad_prefix: bytes | None = None,
    int96_unit: Literal["ns", "us", "ms"] | None = None,
    plain_files: bool = False,
    at: int | str | datetime | None = None,
    revalidate: bool = True,
    requests_in_flight: int | None = None,
    retries: int | None = None,
    request_timeout: float | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> Dataset: ...
def _reopen(locations: object, opening: dict[str, Any]) -> Dataset: ...
def command(arguments: Sequence[str], /) -> int:
    """Runs the ``lath`` command, and returns its exit code. Call it only once: afterwards, signals end the process."""

def _is_keyed_table(path: str | PathLike[str]) -> bool: ...
def release_memory() -> None:
    """Returns freed memory to the system. Otherwise it is kept for two seconds (``MIMALLOC_PURGE_DELAY`` in the environment sets another
    time, in milliseconds), because the next table that is read needs it again, and is returned at the next allocation or release after
    that."""

def col(name: str, *, exact: bool = False) -> Column:
    """The column called ``name``, to build a condition. Dots separate fields of structs, unless ``exact`` is true.

    >>> print((lath.col("price") > 12) & ~lath.col("rider.plan").isin(["by minute"]))
    "price" > 12 AND "rider"."plan" NOT IN ('by minute')
    """

def where(condition: Where, /) -> Predicate:
    """The condition of an SQL text, to combine with others.

    >>> print(lath.where("minutes > 5") | lath.col("price").is_null())
    minutes > 5 OR "price" IS NULL
    """

class Column:
    """A column, or a field or map value in one. Comparisons (``==``, ``!=``, ``<``, ``<=``, ``>``, ``>=``, with a value or another column) and
    methods return conditions, which are null where the column is null."""

    def field(self, name: str) -> Column:
        """A field of a struct. Its name may have any characters."""
    def at(self, key: object) -> Column:
        """The value of ``key`` in a map."""
    def between(self, low: object, high: object) -> Predicate:
        """``BETWEEN``, which includes both ends."""
    def isin(self, values: Iterable[object]) -> Predicate:
        """``IN``, with any number of values: an iterable, an array or a series. A ``None`` in it matches nothing."""
    def is_null(self) -> Predicate:
        """``IS NULL``."""
    def is_not_null(self) -> Predicate:
        """``IS NOT NULL``."""
    def is_distinct_from(self, value: object) -> Predicate:
        """``IS DISTINCT FROM``: ``<>``, but null is a value like any other."""
    def like(self, pattern: str) -> Predicate:
        """``LIKE``: ``%`` matches any characters, ``_`` matches one."""
    def ilike(self, pattern: str) -> Predicate:
        """Like ``like``, but ignores case."""
    def starts_with(self, prefix: str) -> Predicate:
        """Whether a string begins with ``prefix``."""
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
    """A condition on rows: ``&``, ``|`` and ``~`` are AND, OR and NOT. ``str`` returns it as SQL text."""

    def __and__(self, other: Predicate | Column) -> Predicate: ...
    def __or__(self, other: Predicate | Column) -> Predicate: ...
    def __invert__(self) -> Predicate: ...

class Schema:
    """The names and types of columns."""

    @property
    def names(self) -> list[str]: ...
    @property
    def types(self) -> list[str]: ...
    def to_arrow(self) -> pyarrow.Schema:
        """The schema as a pyarrow schema."""
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
        """The names of the partition columns, which come from directory names."""
    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
    @property
    def num_rows(self) -> int:
        """The number of rows, which is also ``len(dataset)``."""
    def head(self, rows: int = 5, columns: Sequence[str] | None = None) -> Scan:
        """The first rows.

        >>> lath.open("examples/data/trips").head(2, ["price"]).to_arrow().num_rows
        2
        """
    def count(
        self, where: Where | None = None, *, threads: int | None = None, progress: Progress | None = None
    ) -> int:
        """The number of rows for which ``where`` is true. It reads only what counting needs.

        >>> lath.open("examples/data/trips").count("price > 12 AND rider.plan = 'by minute'")
        780
        """
    def find(
        self,
        where: Where,
        columns: Sequence[str] | None = None,
        limit: int | None = None,
        *,
        progress: Progress | None = None,
    ) -> Scan:
        """The rows for which ``where`` is true: only these ``columns``, and at most ``limit`` rows. For ``progress`` see ``scan``.

        >>> found = lath.open("examples/data/trips").find(lath.col("price") > 12, ["started", "price"], limit=10)
        >>> found.to_arrow().num_rows
        10
        """
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
        row_groups: Sequence[int] | None = None,
        progress: Progress | None = None,
    ) -> Scan:
        """Rows and columns to read.

        ``columns`` are dotted paths, in the order of the result. Batches have at most ``batch_size`` rows (8192 by default) and come in
        the order of files and rows, unless ``ordered`` is false. ``threads`` is one for each core by default. ``strings`` sets the layout of
        strings: views, which are not copied, or offsets; by default, pyarrow and pandas get offsets, and others views.
        ``dictionary_columns`` are returned as dictionaries. ``file_name`` and ``row_number`` are the names of columns to add.
        ``verify_checksums`` checks the pages that have a checksum. ``row_groups`` are the numbers of row groups, counted from 0, to which each
        file is restricted.

        ``progress`` is called while rows are read, with the number of rows read so far and the number of rows left after pruning, which is
        ``None`` until all files are planned. ``True`` shows a tqdm bar. It is called on the thread that requests the rows, at most ten
        times a second and once at the end. An exception that it raises ends the scan and is raised from there. A library that reads
        ``__arrow_c_stream__`` raises its own error with that message, and does not call ``progress`` on its own threads.

        >>> trips = lath.open("examples/data/trips")
        >>> sum(len(batch) for batch in trips.scan(["price"], "minutes < 5", batch_size=1000)) == trips.count("minutes < 5")
        True
        """
    def lookup(
        self,
        column: str,
        keys: Iterable[object],
        columns: Sequence[str] | None = None,
        limit: int | None = None,
        *,
        progress: Progress | None = None,
    ) -> Scan:
        """The rows whose column ``column`` (a dotted path) has one of ``keys``.

        >>> trips = lath.open("examples/data/trips")
        >>> trips.lookup("from", ["Harbour", "Opera"]).count() == trips.count(lath.col("from").isin(["Harbour", "Opera"]))
        True
        """
    def explain(self, where: Where, *, threads: int | None = None, progress: Progress | None = None) -> Report:
        """Counts the rows for which ``where`` is true, and reports what was pruned without reading it.

        >>> report = lath.open("examples/data/trips").explain("started < TIMESTAMP '2025-01-10'")
        >>> report.row_groups, report.row_groups_pruned > 0
        (9, True)
        """
    async def find_async(
        self, where: Where, columns: Sequence[str] | None = None, limit: int | None = None
    ) -> pyarrow.Table:
        """The rows for which ``where`` is true, to be awaited. If the task is cancelled, the scan is stopped.

        >>> import asyncio
        >>> asyncio.run(lath.open("examples/data/trips").find_async("price > 12", ["price"], limit=10)).num_rows
        10
        """
    async def count_async(self, where: Where | None = None) -> int:
        """The number of rows for which ``where`` is true, to be awaited."""
    def statistics(self) -> Statistics:
        """Statistics of all files together, from their footers, without reading rows.

        >>> lath.open("examples/data/trips").statistics().row_count
        Known(value=30000, is_exact=True)
        """
    def to_arrow(self) -> pyarrow.Table: ...
    def to_polars(self) -> polars.DataFrame: ...
    def to_pandas(self) -> pandas.DataFrame: ...
    @property
    def _is_lake(self) -> bool: ...
    def _partition_rows(self) -> Batch: ...
    def _opening(self) -> tuple[list[Any], dict[str, Any]]: ...
    def _file_metadata(self, file: int) -> dict[str, Any]: ...
    def _repr_html_(self) -> str | None: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def __iter__(self) -> Batches: ...
    def __aiter__(self) -> Batches: ...
    def __datafusion_table_provider__(self, session: Any) -> object:
        """The files as a table of the package ``datafusion``, whose ``register_table`` takes a dataset. Needs ``lath[sql]``."""
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...

class Scan:
    """Rows and columns to read. It iterates over batches, by ``for`` and ``async for``, and libraries that take Arrow streams take it directly.
    Each use reads again.

    >>> async def largest(scan: lath.Scan) -> int:
    ...     return max([len(batch) async for batch in scan])
    >>> asyncio.run(largest(lath.open("examples/data/trips").scan(["price"], batch_size=1000)))
    1000
    """

    @property
    def schema(self) -> Schema: ...
    @property
    def report(self) -> Report | None:
        """The report of the last run, also while it runs; ``None`` before the first."""
    def count(self) -> int:
        """The number of rows. It reads only what counting needs."""
    def to_arrow(self) -> pyarrow.Table: ...
    def to_polars(self) -> polars.DataFrame: ...
    def to_pandas(self) -> pandas.DataFrame: ...
    async def count_async(self) -> int:
        """As ``count``, to be awaited. If the task is cancelled, the scan is stopped; also by the next three."""
    async def to_arrow_async(self) -> pyarrow.Table: ...
    async def to_polars_async(self) -> polars.DataFrame: ...
    async def to_pandas_async(self) -> pandas.DataFrame: ...
    def _stop(self) -> None: ...
    def _repr_html_(self) -> str | None: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def __iter__(self) -> Batches: ...
    def __aiter__(self) -> Batches: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...

class Batches(Iterator[Batch]):
    """The batches of a running scan. Threads decode ahead; the scan stops when this is closed or dropped."""

    @property
    def schema(self) -> Schema: ...
    def close(self) -> None: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> Batch: ...
    def __aiter__(self) -> Self: ...
    async def __anext__(self) -> Batch: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None, /
    ) -> None: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The remaining batches. They can be taken once."""
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

class Stream:
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...

def batch(capsules: tuple[object, object], /) -> Batch: ...
def schema(capsule: object, /) -> Schema: ...
def schema_metadata(schema: ArrowSchema, /) -> list[tuple[bytes, bytes]]: ...
def stream(rows: ArrowStream | ArrowArray, /) -> Stream: ...

class Writer:
    def __init__(self, target: object, schema: object, settings: Sequence[tuple[str, str, str | None, object]]) -> None: ...
    @property
    def schema(self) -> Schema: ...
    def write(
        self,
        rows: ArrowStream | ArrowArray,
        progress: Progress | None = None,
        total: int | None = None,
        row_group_rows: int | None = None,
    ) -> int: ...
    def set_metadata(self, key: str, value: str | None) -> None: ...
    def flush_row_group(self) -> None: ...
    def finish(self) -> dict[str, int]: ...
    def abort(self) -> None: ...

class Entries(Iterator[_E], Generic[_E]):
    """An iterator over keys in order."""

    def __iter__(self) -> Self: ...
    def __next__(self) -> _E: ...

class Tree:
    """A map from bytes to bytes, in the order of keys. In a store, each change is a commit; in a transaction, changes are committed together;
    a snapshot does not change.

    It is used like a dict: ``tree[key]``, ``tree[key] = value``, ``del tree[key]``, ``key in tree``, ``len(tree)``. It iterates over the keys
    in order, and with ``reversed`` in descending order.
    """

    def __getitem__(self, key: _Bytes) -> bytes: ...
    @overload
    def get(self, key: _Bytes, /) -> bytes | None: ...
    @overload
    def get(self, key: _Bytes, default: _T, /) -> bytes | _T: ...
    def get_many(self, keys: Iterable[_Bytes]) -> list[bytes | None]:
        """The values of several keys, in the order of the keys. This is faster than several calls of ``get``."""
    def __contains__(self, key: object) -> bool: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def __setitem__(self, key: _Bytes, value: _Bytes) -> None: ...
    def __delitem__(self, key: _Bytes) -> None: ...
    def insert(self, key: _Bytes, value: _Bytes) -> bool:
        """Puts a value if the key is new, and returns whether it was."""
    @overload
    def pop(self, key: _Bytes) -> bytes: ...
    @overload
    def pop(self, key: _Bytes, default: _T) -> bytes | _T: ...
    def setdefault(self, key: _Bytes, value: _Bytes) -> bytes:
        """The value of a key, which is ``value`` from now on if the key is new."""
    def popitem(self) -> tuple[bytes, bytes]:
        """Removes the last entry, and returns it; ``KeyError`` if there is none."""
    def update(self, entries: Mapping[bytes, bytes] | Iterable[tuple[_Bytes, _Bytes]]) -> None:
        """Puts entries together, in one commit."""
    def remove_range(self, start: _Bytes | None = None, end: _Bytes | None = None) -> int:
        """Removes the keys from ``start`` on, up to but not including ``end``, and returns their number."""
    def clear(self) -> None:
        """Removes all keys."""
    def range(
        self, start: _Bytes | None = None, end: _Bytes | None = None, *, reverse: bool = False, limit: int | None = None
    ) -> Entries[tuple[bytes, bytes]]:
        """The keys from ``start`` on, up to but not including ``end``, with their values."""
    def prefix(
        self, prefix: _Bytes, *, reverse: bool = False, limit: int | None = None
    ) -> Entries[tuple[bytes, bytes]]:
        """The keys that begin with ``prefix``, with their values."""
    def count(self, start: _Bytes | None = None, end: _Bytes | None = None) -> int:
        """The number of keys from ``start`` on, up to but not including ``end``, without reading them."""
    def first(self) -> tuple[bytes, bytes] | None:
        """The smallest key, and its value."""
    def last(self) -> tuple[bytes, bytes] | None:
        """The largest key, and its value."""
    def keys(self) -> Entries[bytes]: ...
    def values(self) -> Entries[bytes]: ...
    def items(self) -> Entries[tuple[bytes, bytes]]: ...
    def __iter__(self) -> Entries[bytes]: ...
    def __reversed__(self) -> Entries[bytes]: ...

class Store(Tree):
    """Ordered keys in a file: named trees, transactions over all of them, and snapshots. The store itself is used as its tree ``tree``.

    >>> store = lath.Store("names.lath")
    >>> store[b"b"] = b"second"
    >>> with store.transaction() as changes:
    ...     changes[b"a"] = b"first"
    ...     changes.tree("others")[b"x"] = b"elsewhere"
    >>> list(store.range(b"a", b"c")), store.tree_names()
    ([(b'a', b'first'), (b'b', b'second')], ['main', 'others'])
    """

    def __init__(
        self,
        path: _Path,
        *,
        tree: str = "main",
        create: bool = True,
        read_only: bool = False,
        durability: _Durability = "sync",
        capacity_bytes: int | None = None,
        log_limit_bytes: int | None = None,
        wait: float = 0,
        encryption_key: bytes | str | None = None,
    ) -> None:
        """Opens a store, which is created if it does not exist.

        ``durability`` is what a commit survives: a power failure ("sync"), the end of the process ("deferred"), or nothing ("off").
        ``wait`` is the time in seconds to wait for a process that has the store open in a way that excludes this one.
        ``encryption_key``, 32 bytes or their hexadecimal digits, is the key of an encrypted store.
        The store is closed by ``close``, at the end of ``with``, or when there are no more references to it and to its trees, snapshots and
        transactions.
        """
    def tree(self, name: str) -> Tree:
        """The tree with this name. It exists once it has a key."""
    def tree_names(self) -> list[str]:
        """The names of all trees that have a key."""
    def snapshot(self, name: str | None = None) -> Snapshot:
        """A snapshot of the last commit, or the kept snapshot with this name."""
    def snapshot_names(self) -> list[str]:
        """The names of the kept snapshots."""
    def keep_snapshot(self, name: str) -> None:
        """Keeps the last commit as a snapshot with this name."""
    def drop_snapshot(self, name: str) -> bool:
        """Drops the kept snapshot with this name, and returns whether it existed."""
    def transaction(self, *, durability: _Durability | None = None) -> Transaction:
        """Begins a transaction, whose changes become visible together: at the end of ``with``, or by ``commit``. Waits until an open one ends."""
    def sync(self) -> None:
        """Makes all commits so far durable."""
    def close(self) -> None:
        """Closes the store, as the end of ``with`` does; not while a transaction is open. Snapshots can still be read, and keep the file open."""
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None, /
    ) -> None: ...

class Snapshot(Tree):
    """A snapshot of a store at one commit."""

    @property
    def sequence(self) -> int:
        """The number of the commit."""
    def tree(self, name: str) -> Tree: ...
    def tree_names(self) -> list[str]:
        """The names of all trees that have a key."""

class Transaction(Tree):
    """Changes that become visible together, or not at all."""

    def tree(self, name: str) -> Tree: ...
    def tree_names(self) -> list[str]:
        """The names of all trees that have a key."""
    def drop_tree(self, name: str) -> bool:
        """Removes a tree with all its keys, and returns whether it existed."""
    def commit(self) -> None:
        """Makes the changes visible to others, with the durability of the transaction."""
    def abort(self) -> None:
        """Discards the changes."""
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None, /
    ) -> None: ...

class Table:
    """A table with a primary key: a folder with a store for recently written rows, and Parquet files for the others.

    >>> import pyarrow as pa
    >>> schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("name", pa.string())])
    >>> with lath.Table.create("people", schema, ["id"]) as people:
    ...     people.upsert(pa.table({"id": [1, 2], "name": ["Ada", "Grace"]}, schema=schema))
    ...     people.upsert(pa.table({"id": [2], "name": ["Grace H."]}, schema=schema))
    ...     people.get(2).to_arrow().to_pylist(), people.count("name LIKE 'A%'")
    ([{'id': 2, 'name': 'Grace H.'}], 1)
    """

    @staticmethod
    def create(
        folder: _Path,
        schema: ArrowSchema,
        key: Sequence[str],
        *,
        cold: str | None = None,
        durability: _Durability | None = None,
        background: bool = True,
        flush_rows: int | None = None,
        cache_bytes: int | None = None,
        disk_cache_bytes: int | None = None,
        wait: float | None = None,
        encryption_key: bytes | str | None = None,
    ) -> Table:
        """Creates a table with the key columns ``key`` in a folder, which is created if it does not exist.

        ``cold`` is a URL of a bucket, such as ``s3://bucket/prefix``, below which the Parquet files are; recent rows stay in the folder. At most
        ``disk_cache_bytes`` (1 GiB by default) of what is read from there is cached on the local disk. ``encryption_key``, 32 bytes or their
        hexadecimal digits, encrypts the table.
        """
    @staticmethod
    def import_from(
        folder: _Path,
        source: Dataset | _Path | Sequence[_Path],
        key: Sequence[str],
        *,
        copy: bool = False,
        progress: Progress | None = None,
        durability: _Durability | None = None,
        background: bool = True,
        flush_rows: int | None = None,
        cache_bytes: int | None = None,
        wait: float | None = None,
        encryption_key: bytes | str | None = None,
    ) -> tuple[Table, dict[str, Any]]:
        """Creates a table in a folder with the rows of files: of a table of Delta Lake or Iceberg, also at a version (``lath.open(…, at=7)``), or
        of Parquet files. They become files of the table by hard links, or as copies (``copy``), and only their key columns are decoded.
        Returns the table and counts: ``rows``, ``files`` that were taken as they are, ``linked`` ones among them, and ``rewritten``, a list of
        the files that were written again, each with its ``location``, the ``reason`` and ``rows``. After an error or Ctrl-C there is no table.
        """
    @staticmethod
    def open(
        folder: _Path,
        *,
        read_only: bool = False,
        durability: _Durability | None = None,
        background: bool = True,
        flush_rows: int | None = None,
        cache_bytes: int | None = None,
        disk_cache_bytes: int | None = None,
        wait: float | None = None,
        encryption_key: bytes | str | None = None,
    ) -> Table:
        """Opens a table. One process at a time can have it open for writing, and any number ``read_only``.

        ``wait`` is the time in seconds to wait for a process that has the table open in a way that excludes this one (5 by default).
        ``encryption_key`` is the key of an encrypted table.
        """
    @property
    def schema(self) -> Schema: ...
    @property
    def folder(self) -> Path:
        """The folder of the table."""
    @property
    def cold(self) -> str | None:
        """The URL below which the Parquet files are; ``None`` if they are in the folder."""
    def remove_objects(self) -> int:
        """Removes the objects of a table whose files are in a bucket, and returns the number of files: its rows are lost. For a table whose folder
        is to be removed.
        """
    def upsert(self, rows: ArrowStream | ArrowArray, *, progress: Progress | None = None) -> None:
        """Puts rows in one commit. They replace existing rows with the same keys.

        ``progress`` is called with the number of rows put so far and the number of all rows, which is ``None`` if ``rows`` does not know it.
        ``True`` shows a tqdm bar. An exception that it raises undoes the change, except in the last call, which comes after the commit.
        """
    def insert(self, rows: ArrowStream | ArrowArray, *, progress: Progress | None = None) -> None:
        """Puts rows whose keys are new, in one commit."""
    def update(self, rows: ArrowStream | ArrowArray) -> tuple[int, int]:
        """Changes some columns of existing rows. Returns the number of changed rows, and the number of keys without a row."""
    def delete(self, keys: Iterable[Any]) -> None:
        """Deletes the rows with these keys, if they exist. Keys are values, tuples of values, or a table with the key columns."""
    def delete_where(self, where: Where) -> int:
        """Deletes the rows for which ``where`` is true, and returns their number."""
    def get(self, key: Any) -> Batch | None:
        """The row with this key, a value or a tuple of values, as a batch of one row."""
    def get_many(self, keys: Iterable[Any]) -> Batch:
        """The rows with these keys, each once, in the order in which their keys are first given."""
    def scan(
        self,
        columns: Sequence[str] | None = None,
        where: Where | None = None,
        limit: int | None = None,
        *,
        threads: int | None = None,
    ) -> TableScan:
        """Rows and columns to read, in no particular order."""
    def count(self, where: Where | None = None) -> int: ...
    def snapshot(
        self, name: str | None = None, *, version: int | None = None, time: datetime | None = None
    ) -> TableSnapshot:
        """A snapshot of the last commit, or the kept snapshot with this name. With ``version`` or ``time``, which has a time zone, the state
        after that commit or at that time, if ``keep_history`` keeps it."""
    def keep_history(self, *, age: float | None = None, commits: int | None = None) -> None:
        """Keeps the states after later commits, of all tables of a database: the states of the last ``age`` seconds (a day), and at most
        ``commits`` (10,000)."""
    def drop_history(self) -> None:
        """Drops all earlier states, and keeps none from now on. Snapshots that were kept by name stay."""
    def history(self) -> list[tuple[int, datetime]]:
        """The versions whose states can be read, the oldest first, each with the time since which it was the state."""
    def keep_snapshot(self, name: str) -> None:
        """Keeps the last commit as a snapshot with this name."""
    def drop_snapshot(self, name: str) -> None:
        """Drops the kept snapshot with this name."""
    def snapshot_names(self) -> list[str]:
        """The names of the kept snapshots."""
    def set_ttl(self, column: str, lifetime: float = 0.0) -> None:
        """Lets rows expire ``lifetime`` seconds after the time in ``column``, which has timestamps or dates; rows without a time stay. Expired rows
        vanish from all reads at once, and are removed later."""
    def drop_ttl(self) -> None:
        """Ends the expiry of rows. Rows that have expired already do not come back."""
    def ttl(self) -> tuple[str, float] | None:
        """The column by which rows expire, and their lifetime in seconds; ``None`` if they do not."""
    def keep_changes(self, rows: int | None = None) -> None:
        """Turns the change feed on: later commits record their changes for ``changes``. At most ``rows`` changes are kept."""
    def changes(self, since: int) -> Changes:
        """The changes of commits after ``since``."""
    def add_consumer(self, name: str, *, bootstrap: bool = False, rows: int | None = None) -> None:
        """Adds a consumer of the change feed, whose position is kept with the table. It begins after the last commit, or with ``bootstrap`` with
        all rows of the table. The feed keeps what it needs, up to ``rows`` changes (16,777,216)."""
    def drop_consumer(self, name: str) -> None:
        """Drops a consumer with its position."""
    def consumers(self) -> dict[str, int]:
        """The consumers, each with the last commit all of whose changes it has acknowledged."""
    def consume(self, name: str) -> Changes:
        """The changes that a consumer has not acknowledged, up to the last commit."""
    def acknowledge(self, name: str, sequence: int) -> None:
        """Moves the position of a consumer to ``Changes.resume_at``, once its changes are stored elsewhere. It never goes back."""
    def follow(
        self,
        consumer: str | None = None,
        *,
        since: int | None = None,
        bootstrap: bool = False,
        rows: int | None = None,
        timeout: float | None = None,
    ) -> Follower:
        """Follows the changes as ``consumer``, which is added if it does not exist, or those after the commit ``since``. Asking for the next batch
        acknowledges the ones before it. The iteration ends after ``timeout`` seconds without changes, or never."""
    def publish(self, *, keep: float = 600.0, max_age: float | None = None, map_types: bool = False, formats: list[str] | None = None) -> dict[str, Any]:
        """Publishes the table as one of Iceberg, now and at each flush, and returns what is published: ``version``, ``rows``, ``files`` and
        ``metadata``, the path that readers open, or the URL as text. Files stay for readers of older snapshots for ``keep`` seconds. With ``max_age``, the
        published rows are at most that old while the table is open, in seconds. With ``map_types``, columns of types that Iceberg lacks
        are published in a wider type; ``mapped`` names them, with that type. ``formats`` are ``["iceberg"]``, ``["delta"]`` or both."""
    def publish_now(self) -> dict[str, Any]:
        """Flushes and publishes the last commit, and returns what is published."""
    def stop_publishing(self) -> None:
        """Ends publishing, and removes the metadata."""
    def publication(self) -> dict[str, Any] | None:
        """The published snapshot: ``version``, ``time``, ``snapshots`` (how many are kept), ``metadata`` and ``mapped``."""
    def flush(self) -> dict[str, int]:
        """Moves recently written rows from the store to files."""
    def compact(self) -> dict[str, int]:
        """Merges small files, and files with many deleted rows."""
    def vacuum(self) -> int:
        """Removes files that are no longer needed, and returns their number."""
    def sync(self) -> None:
        """Makes all commits so far durable."""
    def close(self) -> None:
        """Ends background work and closes the table."""
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None, /
    ) -> None: ...

class TableSnapshot:
    """A snapshot of a table at one commit."""

    @property
    def schema(self) -> Schema: ...
    @property
    def version(self) -> int:
        """The number of the commit."""
    def get(self, key: Any) -> Batch | None: ...
    def get_many(self, keys: Iterable[Any]) -> Batch: ...
    def scan(
        self,
        columns: Sequence[str] | None = None,
        where: Where | None = None,
        limit: int | None = None,
        *,
        threads: int | None = None,
    ) -> TableScan: ...
    def count(self, where: Where | None = None) -> int: ...
    def changes(self, since: int) -> Changes: ...

class TableScan:
    """Rows and columns of a table to read. It iterates over batches, and libraries that take Arrow streams take it directly."""

    def count(self) -> int: ...
    def to_arrow(self) -> pyarrow.Table: ...
    def to_polars(self) -> polars.DataFrame: ...
    def to_pandas(self) -> pandas.DataFrame: ...
    def __iter__(self) -> TableBatches: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class TableBatches(Iterator[Batch]):
    def __iter__(self) -> Self: ...
    def __next__(self) -> Batch: ...

class Follower(Iterator[Batch]):
    """The changes of a table, as they are committed. Iterating waits for the next ones; Ctrl-C ends it."""

    @property
    def sequence(self) -> int:
        """The commit up to which all changes were returned."""
    def __iter__(self) -> Self: ...
    def __next__(self) -> Batch: ...

class Changes(Iterator[Batch]):
    """The changes of commits: the columns ``_change`` and ``_sequence``, and the columns of the table."""

    @property
    def schema(self) -> Schema: ...
    @property
    def resume_at(self) -> int:
        """The commit up to which all changes were returned, for the next call."""
    def to_arrow(self) -> pyarrow.Table: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> Batch: ...
