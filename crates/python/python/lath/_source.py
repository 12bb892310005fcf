"""What other libraries read rows from: files, or a table with a primary key whose folder is named."""

from __future__ import annotations

import os
from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from lath._errors import InvalidError
from lath._lath import Dataset, Table, _is_keyed_table
from lath._open import open

if TYPE_CHECKING:
    from lath._files import FileLike
    from lath._lath import TableScan, TableSnapshot, Where


def keyed_folder(source: object, options: dict[str, Any]) -> str | PathLike[str] | None:
    """The folder of a table with a primary key, if that is what ``source`` means."""
    if options.get("plain_files") or not isinstance(source, (str, os.PathLike)) or not _is_keyed_table(source):
        return None
    return source


def snapshot(folder: str | PathLike[str], options: dict[str, Any]) -> TableSnapshot:
    """The last commit of the table in a folder."""
    if options:
        raise InvalidError(f"{os.fspath(folder)} is a table with a primary key, for which there is no option {next(iter(options))}")
    return Table.open(folder, read_only=True).snapshot()


class TableSource:
    """A commit of a table with a primary key, read as a dataset is."""

    def __init__(self, rows: TableSnapshot) -> None:
        self._rows = rows
        self.files: list[str] = []

    def scan(
        self,
        columns: Sequence[str] | None = None,
        where: Where | None = None,
        limit: int | None = None,
        *,
        threads: int | None = None,
        **_: object,
    ) -> TableScan:
        """Rows in no particular order. Options that say how files are read have no effect."""
        return self._rows.scan(columns, where, limit, threads=threads)

    def count(self) -> int:
        """The number of rows."""
        return self._rows.count()


def open_rows(
    source: Dataset | FileLike | Sequence[FileLike], options: dict[str, Any]
) -> Dataset | TableSource:
    """A dataset, as it is or of what :func:`lath.open` takes; or the table in a folder."""
    if isinstance(source, Dataset):
        return source
    folder = keyed_folder(source, options)
    return open(source, **options) if folder is None else TableSource(snapshot(folder, options))
