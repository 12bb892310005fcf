"""Options of functions that open files, for type checkers."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    from lath._lath import ArrowSchema


class ReadOptions(TypedDict, total=False):
    """The options of :func:`lath.open` that :func:`lath.read_table` passes on."""

    storage_options: Mapping[str, str] | None
    union_schemas: bool
    partition_types: Mapping[str, ArrowSchema] | None
    footer_key: bytes | None
    column_keys: Mapping[str, bytes] | None
    aad_prefix: bytes | None
    int96_unit: Literal["ns", "us", "ms"] | None
    plain_files: bool
    at: int | str | datetime | None
    revalidate: bool
    requests_in_flight: int | None
    retries: int | None
    request_timeout: float | None


class OpenOptions(ReadOptions, total=False):
    """The options of :func:`lath.open`, for other functions that open files."""

    filesystem: Any
    partitions: bool
