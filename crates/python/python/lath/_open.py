"""Opening files as one table."""

from __future__ import annotations

from lath import _lath

# As in `lath`: importing `typing` takes long.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from typing import Any, Literal

    from lath._files import FileLike
    from lath._lath import ArrowSchema, Dataset


def open(
    paths: FileLike | Sequence[FileLike],
    *,
    filesystem: Any = None,
    storage_options: Mapping[str, str] | None = None,
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
) -> Dataset:
    """Opens files as one table.

    ``paths`` is one or more of: paths of files; directories, in which all files named ``*.parquet`` are read, at any depth; globs; ``@``
    followed by the path of a file that lists paths; URLs (``s3://``, ``gs://``, ``az://``, ``http://``, ``https://``, ``file://``); the
    contents of a file as ``bytes``, ``bytearray``, ``memoryview`` or a buffer of pyarrow; file objects that can seek. Directories called
    ``key=value`` on the path to a file are columns, unless ``partitions`` is false; ``partition_types`` sets their types.

    ``filesystem`` is a file system of pyarrow or fsspec, or a URI of one, whose files or folders ``paths`` are; URLs of other schemes, such as
    ``hf://``, are read by fsspec if it is installed. A library that takes rows as an Arrow stream
    gets the rows of such files, and of file objects, once all are read; SQL and DataFusion read these files into memory. ``storage_options``
    are used for S3 instead of environment variables: ``access_key_id``, ``secret_access_key``, ``session_token``, ``region``,
    ``endpoint_url`` and ``virtual_hosted_style_request``, also with ``aws_`` in front.

    The schema is the first file's, or with ``union_schemas`` the union of all. ``footer_key``, ``column_keys`` and ``aad_prefix``
    decrypt files; ``int96_unit`` is the unit of INT96 timestamps. The folder of a table of Delta Lake or Iceberg, named alone, gives the rows
    of that table; ``at`` selects a version, a time (in UTC, unless it has an offset), or a branch or tag of Iceberg. The folder of a table
    with a primary key or of Hudi is an error, because its files have rows that were deleted: open the first kind by :meth:`Table.open`, or
    read the files of any table as they are with ``plain_files``. With ``revalidate``, a local file is checked for changes before its cached
    footer is used. The other arguments are for object stores; ``request_timeout`` is in seconds.

    >>> import lath
    >>> trips = lath.open("examples/data/trips")
    >>> trips
    <lath.Dataset of 3 files from examples/data/trips/2025-01.parquet on: 10 columns>
    >>> trips.schema["price"]
    'Decimal128(7, 2)'
    >>> with open("examples/data/trips/2025-01.parquet", "rb") as file:
    ...     lath.open(file).count("price > 12")
    256
    """
    named: Any = paths
    if filesystem is not None or not isinstance(paths, str) or "://" in paths:
        from lath._files import locations

        named = locations(paths, filesystem)
    return _lath.open(
        named,
        union_schemas=union_schemas,
        partitions=partitions,
        partition_types=partition_types,
        footer_key=footer_key,
        column_keys=column_keys,
        aad_prefix=aad_prefix,
        int96_unit=int96_unit,
        plain_files=plain_files,
        at=at,
        revalidate=revalidate,
        requests_in_flight=requests_in_flight,
        retries=retries,
        request_timeout=request_timeout,
        storage_options=None if storage_options is None else dict(storage_options),
    )
