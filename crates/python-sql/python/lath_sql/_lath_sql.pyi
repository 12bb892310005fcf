from collections.abc import Iterator, Sequence
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any

from typing_extensions import Self, TypeAlias

from lath._lath import ArrowArray, ArrowStream, Batch, Dataset, Schema, Table

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

__version__: str
#: The major version of DataFusion whose sessions take datasets.
DATAFUSION_MAJOR: int

#: The source of a table: a dataset, a table with a primary key, rows of any library, or the path or URL of files.
Source: TypeAlias = Dataset | Table | ArrowStream | ArrowArray | str | PathLike[str]

class Session:
    """Named tables and settings that statements share. Any number of threads may use it.

    >>> with lath.Session(memory_limit=2**30) as session:
    ...     session.register("trips", lath.open("examples/data/trips"))
    ...     session.sql("SELECT max(minutes) AS most FROM trips").to_arrow().num_rows
    1
    """

    def __init__(
        self,
        *,
        memory_limit: int | None = None,
        threads: int | None = None,
        database: str | PathLike[str] | None = None,
        read_only: bool = False,
        wait: float | None = None,
        encryption_key: bytes | str | None = None,
        cluster: Sequence[str] | None = None,
        cluster_token: str | None = None,
        cluster_ca: str | PathLike[str] | None = None,
        cluster_min_bytes: int | None = None,
        replacement_scans: bool = True,
    ) -> None:
        """Opens a session.

        ``memory_limit`` limits the memory of sorting, joining and grouping, in bytes. Beyond it, sorting and grouping spill to disk, and
        joins raise :class:`lath.LimitError`. ``threads`` is one for each core by default. ``database`` is the folder of a database, whose
        tables can be queried by name; it is created if it does not exist. Several sessions and processes change it by turns, between
        statements and transactions; ``read_only`` refuses changes. ``wait`` is the time in seconds for which a statement waits for another process
        that writes (5 by default). ``encryption_key``, 32 bytes or their hexadecimal digits, is the key of
        encrypted tables and of the database, also of new ones.

        ``cluster`` lists workers, as ``"10.0.0.7:9301"``, on which larger queries run: those that read at least ``cluster_min_bytes``
        compressed bytes (16 MiB by default). ``cluster_token`` is the token that they ask for, and ``cluster_ca`` the PEM file of the authority
        of workers with TLS, as ``"https://10.0.0.7:9301"``, unless the system trusts it; ``"local:4"`` starts four in this process, for trying.

        With ``replacement_scans``, a name that is no table of the session is a variable of the code that calls ``sql``: a dataset, a scan or a
        table of Lath, or a data frame, table or reader of another library. The statement reads it as it is then.
        """
    def sql(self, text: str, /) -> Result:
        """Runs one or more statements, separated by ``;``, and returns the result of the last one. The others must not be queries.

        The name of a file, folder, glob or URL in quotes is a table. A query is computed while its result is read. Statements that change
        something (INSERT, COPY, CREATE…) are complete when this returns.
        """
    def _sql_within(self, text: str, frame: object, /) -> Result: ...
    def transaction(self, *, read_only: bool = False) -> SessionTransaction:
        """A transaction for a ``with`` block: its changes are committed together at the end, and undone if the block raises an exception.

        Statements of the block read its own changes, in all tables of the database. Other writers to the database wait meanwhile, unless
        it is ``read_only``: then its statements read one commit.

        >>> with lath.Session(database="shop") as session:
        ...     _ = session.sql("CREATE TABLE stock (item BIGINT PRIMARY KEY, count BIGINT)")
        ...     with session.transaction():
        ...         _ = session.sql("INSERT INTO stock VALUES (1, 10), (2, 20)")
        ...         _ = session.sql("UPDATE stock SET count = count - 1 WHERE item = 1")
        ...     session.sql("SELECT sum(count) AS count FROM stock").to_arrow().to_pylist()
        [{'count': 29}]
        """
    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open, by :meth:`transaction` or by ``BEGIN``."""
    def register(self, name: str, source: Source) -> None:
        """Registers a table under a name, and replaces an earlier one with this name.

        Queries read what they need from a dataset or from files. A table with a primary key is opened for reading, and statements see its
        newest commit. Rows of other libraries are taken now, without a copy if they are Arrow data. As in SQL, a name without double
        quotes is in lower case.
        """
    def deregister(self, name: str) -> None:
        """Removes a registered table. Its files stay."""
    @property
    def tables(self) -> list[str]:
        """The names of tables and views, in ascending order."""
    def close(self) -> None:
        """Closes the session and its database. Earlier results can still be read."""
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None, /
    ) -> None: ...

class SessionTransaction:
    """A transaction of a session, which :meth:`Session.transaction` returns. It ends with its ``with`` block."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None, /
    ) -> None: ...

class Result:
    """The rows of a statement. They are computed while they are read, and can be read once. It prints as a table of the first rows."""

    @property
    def schema(self) -> Schema: ...
    def explain(self) -> str:
        """The plan with the metrics of each operator so far; at the end, the same as ``EXPLAIN ANALYZE``."""
    @property
    def counters(self) -> dict[str, int]:
        """Counters of what scans of files have pruned and read so far, summed over all scans, by the names that ``explain`` shows."""
    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
    def to_arrow(self) -> pyarrow.Table: ...
    def to_polars(self) -> polars.DataFrame: ...
    def to_pandas(self) -> pandas.DataFrame: ...
    def arrow(self) -> pyarrow.Table: ...
    def pl(self) -> polars.DataFrame: ...
    def df(self) -> pandas.DataFrame: ...
    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row; ``None`` after the last one. Needs pyarrow, as the next two."""
    def fetchmany(self, size: int = 1) -> list[tuple[Any, ...]]:
        """The next rows, at most ``size``."""
    def fetchall(self) -> list[tuple[Any, ...]]:
        """The remaining rows."""
    def show(self) -> None:
        """Prints the first rows as a table. They can still be read."""
    def close(self) -> None:
        """Stops the statement. Unread rows are lost."""
    def _repr_html_(self) -> str: ...
    def __iter__(self) -> Batches: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...

class Batches(Iterator[Batch]):
    """The batches of a result. The statement stops when this is closed or dropped."""

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
        """The remaining batches. They can be taken once."""
    def __arrow_c_schema__(self) -> object: ...

def command(arguments: Sequence[str], /) -> int: ...
def table_provider(
    locations: Sequence[str | PathLike[str]], opening: dict[str, Any], session: object, /
) -> object: ...
