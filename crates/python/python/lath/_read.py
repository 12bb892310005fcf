"""Reading, with pyarrow's names of options."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

from lath._arguments import refuse
from lath._encryption import ReadKeys, read_keys
from lath._errors import InvalidError
from lath._extensions import plain_table
from lath._lath import Predicate, col
from lath._open import open
from lath._options import ReadOptions
from lath._parquet_file import index_columns
from lath._progress import Progress
from lath._source import keyed_folder, snapshot

if TYPE_CHECKING:
    import pyarrow
    from typing_extensions import TypeAlias, Unpack

    from lath._files import FileLike
    from lath._lath import Dataset, Where

    #: A condition of Lath, or pyarrow's lists of ``(column, operator, value)``.
    Filters: TypeAlias = Where | Sequence[tuple[str, str, Any]] | Sequence[Sequence[tuple[str, str, Any]]]


def read_table(
    source: FileLike | Sequence[FileLike],
    *,
    columns: Sequence[str] | None = None,
    use_threads: bool = True,
    schema: pyarrow.Schema | None = None,
    use_pandas_metadata: bool = False,
    read_dictionary: Sequence[str] | None = None,
    binary_type: None = None,
    list_type: None = None,
    memory_map: bool = False,
    buffer_size: int = 0,
    partitioning: str | None = "hive",
    filesystem: Any = None,
    filters: Filters | None = None,
    ignore_prefixes: None = None,
    pre_buffer: bool = True,
    coerce_int96_timestamp_unit: str | None = None,
    decryption_properties: ReadKeys | None = None,
    thrift_string_size_limit: None = None,
    thrift_container_size_limit: None = None,
    schema_depth_limit: None = None,
    page_checksum_verification: bool = True,
    arrow_extensions_enabled: bool = True,
    progress: Progress | None = None,
    **options: Unpack[ReadOptions],
) -> pyarrow.Table:
    """Reads files, or the table with a primary key in a folder, as a ``pyarrow.Table``.

    Arguments have the names and values of ``pyarrow.parquet.read_table``, except that checksums are verified unless
    ``page_checksum_verification`` is false. An argument that Lath does not support raises an error. ``filters`` are pyarrow's lists, with
    pyarrow's rules for nulls and NaN, or a condition as in :meth:`Dataset.scan`. ``schema`` gives the columns and their types: columns that
    the files lack are null, and values that a type cannot hold are an error. ``decryption_properties`` is a dict with ``footer_key``, and perhaps
    ``column_keys`` and ``aad_prefix``. Without ``arrow_extensions_enabled``, columns have the types in which extension types, such as UUIDs,
    are stored. ``use_pandas_metadata`` adds the index of a data frame to ``columns``. ``progress`` is called with the
    number of rows read so far and the number of all rows; ``True`` shows a tqdm bar. ``options`` are the options of :func:`lath.open`.

    >>> lath.read_table("examples/data/trips", columns=["price"], filters=[("price", ">", 12), ("minutes", "<", 30)]).column_names
    ['price']
    """
    refuse(
        binary_type=binary_type is None,
        list_type=list_type is None,
        memory_map=not memory_map,
        buffer_size=buffer_size == 0,
        partitioning=partitioning in ("hive", None),
        ignore_prefixes=ignore_prefixes is None,
        pre_buffer=pre_buffer,
        thrift_string_size_limit=thrift_string_size_limit is None,
        thrift_container_size_limit=thrift_container_size_limit is None,
        schema_depth_limit=schema_depth_limit is None,
    )
    repeated = columns
    if columns is not None:
        columns = list(dict.fromkeys(columns))
    given: dict[str, Any] = {**options, **read_keys(decryption_properties)}
    if coerce_int96_timestamp_unit is not None:
        given["int96_unit"] = coerce_int96_timestamp_unit
    folder = None if filesystem is not None else keyed_folder(source, given)
    if folder is not None:
        refuse(read_dictionary=read_dictionary is None, progress=progress is None, schema=schema is None)
        refuse(arrow_extensions_enabled=arrow_extensions_enabled)
        rows = snapshot(folder, given)
        where = None if filters is None else condition(filters, rows.schema.names)
        return _repeat(rows.scan(columns, where, threads=None if use_threads else 1).to_arrow(), repeated)
    dataset = open(source, filesystem=filesystem, partitions=partitioning is not None, **given)
    if use_pandas_metadata and columns is not None:
        columns = [*columns, *(name for name in index_columns(dataset) if name not in columns)]

    def read(columns: Sequence[str] | None, filters: Filters | None) -> pyarrow.Table:
        return dataset.scan(
            columns,
            None if filters is None else condition(filters, dataset.schema.names),
            threads=None if use_threads else 1,
            dictionary_columns=read_dictionary,
            verify_checksums=page_checksum_verification,
            progress=progress,
        ).to_arrow()

    table = read(columns, filters) if schema is None else _read_as(schema, columns, filters, dataset, read)
    return _repeat(table if arrow_extensions_enabled else plain_table(table), repeated)


def _repeat(table: pyarrow.Table, columns: Sequence[str] | None) -> pyarrow.Table:
    """The table with columns that were named twice, as pyarrow returns them."""
    if columns is None or len(set(columns)) == len(columns):
        return table
    return table.select([*columns, *(name for name in table.column_names if name not in columns)])


def _read_as(
    schema: pyarrow.Schema, columns: Sequence[str] | None, filters: Filters | None, dataset: Dataset, read: Any
) -> pyarrow.Table:
    """The rows with the columns and types of a schema."""
    import pyarrow as pa

    unknown = next((name for name in columns or () if name not in schema.names), None)
    if unknown is not None:
        raise InvalidError(f"columns: the schema has no column {unknown!r}; it has {', '.join(schema.names)}")
    stored = dataset.head(0).to_arrow().schema
    wanted = schema if columns is None else pa.schema([schema.field(name) for name in columns], schema.metadata)
    # A filter is about the values of the schema's types: where these are other ones, it is evaluated after the conversion.
    is_same = all(name in stored.names and stored.field(name).type == schema.field(name).type for name in schema.names)
    pushed = filters if is_same else None
    whole = wanted if pushed is filters else schema
    rows = read([name for name in whole.names if name in stored.names], pushed)
    arrays = [
        rows[field.name].cast(field.type) if field.name in stored.names else pa.nulls(rows.num_rows, field.type)
        for field in whole
    ]
    result = pa.table(arrays, schema=whole) if whole.names else rows
    if filters is None or pushed is not None:
        return result
    lists = condition(filters, schema.names)
    if not isinstance(lists, pa.compute.Expression):
        raise InvalidError("filters: with a schema that changes types, give lists of pyarrow or one of its expressions")
    return result.filter(lists).select(wanted.names)


def condition(filters: Filters, names: Sequence[str]) -> Where:
    """The condition that pyarrow's lists of filters say: one list is joined by AND, lists of lists by OR. ``names`` are the columns, which may
    have dots."""
    if not isinstance(filters, (list, tuple)):
        return filters
    if not filters:
        raise InvalidError("filters: the list is empty; leave it out to read all rows")
    each: Any = list(filters)
    lists = [each] if isinstance(each[0], tuple) else each
    for filter in (filter for single in lists for filter in single):
        _check(filter)
    known = frozenset(names)
    try:
        # Values of every library mean what they mean to pyarrow.
        return _joined(lists, lambda filter: _arrow_single(filter, known))
    except _NO_VALUE_OF_ARROW:
        return _joined(lists, lambda filter: _single(*filter))


def _joined(lists: Any, single: Callable[[Any], Any]) -> Any:
    return functools.reduce(operator.or_, [functools.reduce(operator.and_, map(single, some)) for some in lists])


def _check(filter: Any) -> None:
    if not isinstance(filter, tuple) or len(filter) != 3:
        raise InvalidError(f"filters: {filter!r} is not (column, operator, value)")
    if filter[1] not in _COMPARISONS and filter[1] not in ("in", "not in"):
        names = ", ".join(_COMPARISONS)
        raise InvalidError(f"filters: there is no operator {filter[1]!r}; there are {names}, in and not in")


#: Raised by pyarrow for values that it does not know. The errors of pyarrow are of these classes, too.
_NO_VALUE_OF_ARROW = (TypeError, ValueError, NotImplementedError, OverflowError)


def _arrow_single(filter: tuple[str, str, Any], names: Collection[str]) -> Any:
    import pyarrow.compute as pc

    name, symbol, value = filter
    column = pc.field(name) if name in names else pc.field(*name.split("."))
    if symbol in ("in", "not in"):
        found = column.isin(value)
        return found if symbol == "in" else ~found
    return _COMPARISONS[symbol](column, value)


def _single(name: str, symbol: str, value: Any) -> Predicate:
    column = col(name)
    if symbol in ("in", "not in"):
        found = column.isin([value for value in value if value is not None])
        return found if symbol == "in" else ~found | column.is_null()
    compared: Predicate = _COMPARISONS[symbol](column, value)
    return compared


_COMPARISONS: dict[str, Any] = {
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
