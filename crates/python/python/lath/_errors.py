"""The exceptions of Lath. Each is an :class:`Error`; some are a built-in exception too, so that code can catch either."""

from __future__ import annotations


class Error(Exception):
    """What can go wrong. The attributes say where, as far as that is known."""

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
    """A request that cannot be served: a column that is not there, or a condition that is not understood."""


class StatementError(InvalidError):
    """A statement in SQL that is not understood, or names what there is not. The message shows the place."""

    #: Line of the text, counted from 1.
    line: int | None = None
    #: Character within the line, counted from 1.
    character: int | None = None
    #: Names that may have been meant.
    suggestions: tuple[str, ...] = ()


class CorruptError(Error):
    """The bytes of a file break the format's rules."""


class NotParquetError(Error):
    """A file is not Parquet. The message says what it looks like."""


class EncryptedError(Error):
    """Something is encrypted, and its key was not given."""


class UnsupportedError(Error):
    """A file uses something that Lath does not read."""


class OutOfRangeError(Error):
    """A value that the Arrow type of its column cannot hold."""


class LimitError(Error):
    """Reading on would pass a limit."""


class IoError(Error, OSError):
    """The operating system or an object store reported an error."""


class NotFoundError(IoError, FileNotFoundError):
    """There is no such file."""


class BusyError(Error):
    """Another process has the store or table open in a way that excludes this."""


class ExistsError(Error, FileExistsError):
    """There is something of this name already."""


class CancelledError(Error):
    """The work was stopped."""


class InternalError(Error):
    """A bug of Lath."""
