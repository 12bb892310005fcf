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

#: What becomes a table: a dataset, a table with a primary key, rows of any library, or the path or URL of files.
Source: TypeAlias = Dataset | Table | ArrowStream | ArrowArray | str | PathLike[str]

class Session:
    """Tables by name, and settings, that statements share. Any number of threads may use it.

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
    ) -> None:
        """Opens a session.

        ``memory_limit`` bounds, in bytes, the memory of sorting, joining and grouping. Beyond it, sorting and grouping go to disk, and
        joins are a :class:`lath.LimitError`. ``threads`` is one for each core unless told otherwise. ``database`` is a folder whose
        tables with a primary key are found by their names; it is made if it is not there. One process at a time has it open, and any
        number ``read_only``. ``wait`` is how many seconds to wait for a process that excludes this one, 5 unless told otherwise.
        """
    def sql(self, text: str, /) -> Result:
        """Runs the statements of a text, which ``;`` separates. The result is that of the last; those before it may not be queries.

        Files, folders, globs and URLs are tables by their names in quotes. A query is computed while its result is read. What changes
        something (INSERT, COPY, CREATE…) is done when this returns.
        """
    def register(self, name: str, source: Source) -> None:
        """Makes a table, instead of one that was registered by this name before.

        Of a dataset and of files, queries read what they need. A table with a primary key is opened to be read: statements see the newest
        commit. Rows of other libraries are taken now; where they are Arrow data, they are not copied. As in SQL, a name without double
        quotes is in lower case.
        """
    def deregister(self, name: str) -> None:
        """Removes a table that was registered. Its files stay."""
    @property
    def tables(self) -> list[str]:
        """The names of tables and views, in order."""
    def close(self) -> None:
        """Closes the session and its database. Results that were not read yet can still be."""
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None, /
    ) -> None: ...

class Result:
    """The rows of a statement, computed while they are read, and read once. It prints as a table of the first."""

    @property
    def schema(self) -> Schema: ...
    def explain(self) -> str:
        """The plan, with what each of its operators has done so far: at the end, what ``EXPLAIN ANALYZE`` shows."""
    @property
    def counters(self) -> dict[str, int]:
        """What scans of files have ruled out and read so far, by the names that ``explain`` shows; of several scans the sums."""
    def to_arrow(self) -> pyarrow.Table: ...
    def to_polars(self) -> polars.DataFrame: ...
    def to_pandas(self) -> pandas.DataFrame: ...
    def close(self) -> None:
        """Stops the statement. Rows that were not read are lost."""
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
        """What is left of the batches. They can be taken once."""
    def __arrow_c_schema__(self) -> object: ...

def command(arguments: Sequence[str], /) -> int: ...
def table_provider(
    locations: Sequence[str | PathLike[str]], opening: dict[str, Any], session: object, /
) -> object: ...
