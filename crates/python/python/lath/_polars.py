"""A dataset of Lath as a lazy frame of polars."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from lath._lath import Dataset, Scan
from lath._report import Report
from lath._source import open_rows
from lath._translate import polars_parts

if TYPE_CHECKING:
    import polars
    from typing_extensions import Unpack

    from lath._files import FileLike
    from lath._options import OpenOptions


def scan_polars(
    source: Dataset | FileLike | Sequence[FileLike],
    *,
    on_report: Callable[[Report], object] | None = None,
    **options: Unpack[OpenOptions],
) -> polars.LazyFrame:
    """Files as a polars lazy frame. polars pushes the columns, the filter and the number of rows of a query down to Lath.

    The parts of a filter that Lath can evaluate prune files, row groups and pages. Then the whole filter is applied to the remaining rows.

    ``source`` is a dataset, the folder of a table with a primary key, or the paths and ``options`` of :func:`lath.open`. ``on_report`` is
    called with the report of each scan when it ends.

    >>> import polars as pl
    >>> trips = lath.scan_polars("examples/data/trips")
    >>> trips.filter(pl.col("price") > 12).select(pl.len()).collect().item() == lath.open("examples/data/trips").count("price > 12")
    True
    """
    import polars as pl
    from polars.io.plugins import register_io_source

    dataset = open_rows(source, dict(options))
    schema = pl.DataFrame(dataset.scan(limit=0)).schema

    def read(
        columns: list[str] | None, predicate: polars.Expr | None, row_count: int | None, batch_size: int | None
    ) -> Iterator[polars.DataFrame]:
        names = list(schema) if columns is None else columns
        needed = names
        if predicate is not None:
            needed = names + [name for name in predicate.meta.root_names() if name not in names]
        parts = None if predicate is None else polars_parts(predicate)
        condition = None if parts is None else parts[0]
        # A filter that polars applies afterwards may need more rows.
        limit = row_count if predicate is None else None
        scan = dataset.scan(needed, condition, limit, batch_size=batch_size or None)
        left = row_count
        for batch in scan:
            frame = batch.to_polars()
            if predicate is not None:
                frame = frame.filter(predicate).select(names)
            if left is not None:
                frame = frame.head(left)
                left -= frame.height
            yield frame
            if left == 0:
                break
        if on_report is not None and isinstance(scan, Scan) and scan.report is not None:
            on_report(scan.report)

    return register_io_source(read, schema=schema, is_pure=True)
