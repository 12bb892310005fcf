"""Reading with the names that pyarrow has for the options."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from lath._arguments import refuse
from lath._errors import InvalidError
from lath._lath import Column, Predicate, col, open
from lath._progress import Progress
from lath._source import keyed_folder, snapshot

if TYPE_CHECKING:
    import pyarrow
    from typing_extensions import TypeAlias

    from lath._lath import Where

    #: A condition of Lath, or pyarrow's lists of ``(column, operator, value)``.
    Filters: TypeAlias = Where | Sequence[tuple[str, str, Any]] | Sequence[Sequence[tuple[str, str, Any]]]


def read_table(
    source: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    columns: Sequence[str] | None = None,
    use_threads: bool = True,
    schema: None = None,
    use_pandas_metadata: bool = False,
    read_dictionary: Sequence[str] | None = None,
    binary_type: None = None,
    list_type: None = None,
    memory_map: bool = False,
    buffer_size: int = 0,
    partitioning: str | None = "hive",
    filesystem: None = None,
    filters: Filters | None = None,
    ignore_prefixes: None = None,
    pre_buffer: bool = True,
    coerce_int96_timestamp_unit: str | None = None,
    decryption_properties: None = None,
    thrift_string_size_limit: None = None,
    thrift_container_size_limit: None = None,
    schema_depth_limit: None = None,
    page_checksum_verification: bool = True,
    arrow_extensions_enabled: bool = True,
    progress: Progress | None = None,
    **options: Any,
) -> pyarrow.Table:
    """Reads files, or the table with a primary key in a folder, as a ``pyarrow.Table``.

    Arguments have the names and values of ``pyarrow.parquet.read_table``; checksums are verified unless
    ``page_checksum_verification`` is false. One that Lath does not have raises an error. ``filters`` are pyarrow's lists, in which
    nulls and NaN count as they do there, or a condition as :meth:`Dataset.scan` takes it. ``progress`` is called with the number of
    rows looked at and that of all; ``True`` shows a bar of tqdm. ``options`` are those of :func:`lath.open`.

    >>> lath.read_table("examples/data/trips", columns=["price"], filters=[("price", ">", 12), ("minutes", "<", 30)]).column_names
    ['price']
    """
    refuse(
        schema=schema is None,
        use_pandas_metadata=not use_pandas_metadata or columns is None,
        binary_type=binary_type is None,
        list_type=list_type is None,
        memory_map=not memory_map,
        buffer_size=buffer_size == 0,
        partitioning=partitioning in ("hive", None),
        filesystem=filesystem is None,
        ignore_prefixes=ignore_prefixes is None,
        pre_buffer=pre_buffer,
        decryption_properties=decryption_properties is None,
        thrift_string_size_limit=thrift_string_size_limit is None,
        thrift_container_size_limit=thrift_container_size_limit is None,
        schema_depth_limit=schema_depth_limit is None,
        arrow_extensions_enabled=arrow_extensions_enabled,
    )
    if coerce_int96_timestamp_unit is not None:
        options["int96_unit"] = coerce_int96_timestamp_unit
    folder = keyed_folder(source, options)
    if folder is not None:
        refuse(read_dictionary=read_dictionary is None, progress=progress is None)
        rows = snapshot(folder, options)
        return rows.scan(columns, None if filters is None else condition(filters), threads=None if use_threads else 1).to_arrow()
    dataset = open(source, partitions=partitioning is not None, **options)
    return dataset.scan(
        columns,
        None if filters is None else condition(filters),
        threads=None if use_threads else 1,
        dictionary_columns=read_dictionary,
        verify_checksums=page_checksum_verification,
        progress=progress,
    ).to_arrow()


def condition(filters: Filters) -> Where:
    """The condition that pyarrow's lists of filters say: one list is joined by AND, lists of lists by OR."""
    if not isinstance(filters, (list, tuple)):
        return filters
    if not filters:
        raise InvalidError("filters: the list is empty; leave it out to read all rows")
    each: Any = list(filters)
    lists = [each] if isinstance(each[0], tuple) else each
    return functools.reduce(operator.or_, [functools.reduce(operator.and_, map(_single, single)) for single in lists])


def _single(filter: Any) -> Predicate:
    if not isinstance(filter, tuple) or len(filter) != 3:
        raise InvalidError(f"filters: {filter!r} is not (column, operator, value)")
    name, symbol, value = filter
    column = col(name)
    if symbol in ("in", "not in"):
        return _within(column, value, symbol == "in")
    if symbol not in _COMPARISONS:
        raise InvalidError(f"filters: there is no operator {symbol!r}; there are {', '.join(_COMPARISONS)}, in and not in")
    if _is_nan(value):
        # Nothing compares with it for pyarrow, but that it differs from everything.
        return column.is_not_null() if symbol == "!=" else column.is_null() & column.is_not_null()
    compared: Predicate = _COMPARISONS[symbol](column, value)
    if symbol in (">", ">=") and isinstance(value, (int, float)) and not isinstance(value, bool):
        # For Lath NaN is above all numbers, for pyarrow it is not.
        return compared & (column < float("nan"))
    return compared


def _within(column: Column, values: Any, is_in: bool) -> Predicate:
    some = [value for value in values if value is not None]
    found = column.isin(some)
    # For pyarrow null is in a list that has null, and in no other.
    has_null = len(some) < len(list(values))
    if is_in:
        return found | column.is_null() if has_null else found
    return ~found & column.is_not_null() if has_null else ~found | column.is_null()


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and value != value


_COMPARISONS: dict[str, Any] = {
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
