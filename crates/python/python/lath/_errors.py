"""The exceptions of Lath. Each is an :class:`Error`; some are also a built-in exception, so that code can catch either."""

from __future__ import annotations


class Error(Exception):
    """The base class of all errors of Lath. The attributes give the position of the error, if it is known."""

    #: Path or URL of the file.
    file: str | None = None
    #: Dotted path of the column.
    column: str | None = None
    #: Row group, counted from 0.
    row_group: int | None = None
    #: Page within the column chunk, counted from 0; the dictionary page counts.
    page: int | None = None
    #: Row within the row group, counted from 0.
    row: int | None = None
    #: Byte offset within the file.
    offset: int | None = None


class InvalidError(Error, ValueError):
    """An invalid request: a missing column, or a condition with a syntax error, for example."""


class StatementError(InvalidError):
    """An SQL statement with a syntax error, or with a name that does not exist. The message shows the position."""

    #: Line of the text, counted from 1.
    line: int | None = None
    #: Character within the line, counted from 1.
    character: int | None = None
    #: Similar names that exist.
    suggestions: tuple[str, ...] = ()


class CorruptError(Error):
    """A file is corrupt: its bytes violate the format."""


class NotParquetError(Error):
    """A file is not Parquet. The message says which format it seems to have."""


class EncryptedError(Error):
    """A file or column is encrypted, and its key was not given."""


class UnsupportedError(Error):
    """A file uses a feature that Lath does not support."""


class OutOfRangeError(Error):
    """A value that the Arrow type of its column cannot hold."""


class LimitError(Error):
    """An operation would exceed a limit."""


class IoError(Error, OSError):
    """The operating system or an object store reported an error."""


class NotFoundError(IoError, FileNotFoundError):
    """A file does not exist."""


class BusyError(Error):
    """Another process has the store or table open in a way that excludes this one."""


class ExistsError(Error, FileExistsError):
    """The name is in use already."""


class CancelledError(Error):
    """The operation was cancelled."""


class InternalError(Error):
    """A bug in Lath. Please report it."""
