"""Writing folders of files, with pyarrow's names of options."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote
from uuid import uuid4

from lath._errors import ExistsError, InvalidError
from lath._files import FileSystem, local_paths
from lath._write import ArrowStream, WriteOptions, Written, write_table

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: The directory of rows without a value, as Hive names it.
_NULL = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class WrittenFile:
    """A file that was written to a folder: its path, and its counts."""

    path: str
    written: Written


def write_to_dataset(
    table: ArrowStream,
    root_path: str | PathLike[str],
    partition_cols: Sequence[str] | None = None,
    *,
    filesystem: Any = None,
    basename_template: str | None = None,
    file_visitor: Callable[[WrittenFile], object] | None = None,
    existing_data_behavior: Literal["overwrite_or_ignore", "error", "delete_matching"] = "overwrite_or_ignore",
    row_group_size: float | None = None,
    **options: Unpack[WriteOptions],
) -> list[WrittenFile]:
    """Writes rows to a folder: a file for each combination of values of ``partition_cols``, in directories called ``key=value``.

    Arguments have the names of ``pyarrow.parquet.write_to_dataset``, and files get new names, so that rows are appended to a folder that has
    files. ``basename_template`` names files instead, with ``{i}`` for a number; a file of this name is replaced. With
    ``existing_data_behavior`` "error", a folder with files raises :class:`ExistsError`; with "delete_matching", other Parquet files in the
    directories that are written are removed once all files are written. ``file_visitor`` is called with each file. ``options`` are the
    options of :class:`ParquetWriter`. Each file appears whole or not at all. Needs pyarrow.

    >>> import pyarrow as pa
    >>> rows = pa.table({"year": [2024, 2025, 2025], "price": [1.5, 2.5, 3.5]})
    >>> [file.written.rows for file in lath.write_to_dataset(rows, "sales", ["year"])]
    [1, 2]
    >>> len(lath.write_to_dataset(rows, "sales", ["year"])), lath.open("sales").count("year = 2025")
    (2, 4)
    """
    import pyarrow as pa

    if existing_data_behavior not in ("overwrite_or_ignore", "error", "delete_matching"):
        kinds = '"overwrite_or_ignore", "error" or "delete_matching"'
        raise InvalidError(f"existing_data_behavior={existing_data_behavior!r}: give {kinds}")
    if basename_template is not None and "{i}" not in basename_template:
        raise InvalidError("basename_template: it has to contain {i}, which becomes the number of the file")
    rows = table if isinstance(table, pa.Table) else pa.table(table)
    folder = _Folder(os.fspath(root_path), filesystem)
    if existing_data_behavior == "error" and folder.files():
        raise ExistsError(f"{folder.path}: the folder has files: give another one, or another existing_data_behavior")
    template = basename_template or f"{uuid4().hex}-{{i}}.parquet"
    result = []
    for directory, part in _parts(rows, list(partition_cols or ())):
        path = "/".join([folder.path, *directory, template.replace("{i}", "0")])
        before = folder.files("/".join([folder.path, *directory])) if existing_data_behavior == "delete_matching" else []
        folder.prepare(path)
        written = write_table(part, path, row_group_size, filesystem=filesystem, **options)
        for earlier in before:
            if earlier != path:
                folder.remove(earlier)
        file = WrittenFile(path, written)
        result.append(file)
        if file_visitor is not None:
            file_visitor(file)
    return result


class _Folder:
    """The folder that is written, which may be in a file system."""

    def __init__(self, path: str, filesystem: Any) -> None:
        self.path = path.rstrip("/") or path
        local = None if filesystem is None else local_paths([self.path], filesystem)
        self._system = None if filesystem is None or local is not None else FileSystem(filesystem)
        self._is_url = filesystem is None and "://" in self.path
        if local is not None:
            self._local = local[0]
        else:
            self._local = self.path

    def files(self, directory: str | None = None) -> list[str]:
        """The Parquet files in the folder, at any depth, or those in one directory below it."""
        from lath._errors import NotFoundError

        at = directory or self.path
        if self._system is not None:
            try:
                found = [name for name, _ in self._system.files(at)]
            except NotFoundError:
                return []
        elif self._is_url:
            raise InvalidError("existing_data_behavior: objects of a store are not listed here: give filesystem=")
        else:
            local = self._local + at[len(self.path) :]
            if not os.path.isdir(local):
                return []
            found = [
                at + os.path.join(place, name)[len(local) :].replace(os.sep, "/")
                for place, _, names in os.walk(local)
                for name in names
                if name.endswith(".parquet")
            ]
        if directory is not None:
            found = [name for name in found if "/" not in name[len(at) :].strip("/")]
        return found

    def prepare(self, path: str) -> None:
        """Creates the directory of a file."""
        if self._system is None and not self._is_url:
            os.makedirs(os.path.dirname(self._local + path[len(self.path) :]), exist_ok=True)

    def remove(self, path: str) -> None:
        """Removes a file."""
        if self._system is not None:
            self._system.remove(path)
        else:
            os.remove(self._local + path[len(self.path) :])


def _parts(rows: Any, names: list[str]) -> list[tuple[list[str], Any]]:
    """The rows of each combination of values, in the order in which they come, without the columns of the values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not names:
        return [([], rows)]
    missing = next((name for name in names if name not in rows.column_names), None)
    if missing is not None:
        raise InvalidError(f"partition_cols: there is no column {missing!r}; there are {', '.join(rows.column_names)}")
    if len(names) == len(rows.column_names):
        raise InvalidError("partition_cols: no column would be left for the files")
    plain = [_decoded(rows[name]) for name in names]
    for column in plain:
        kind = column.type
        if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            raise InvalidError(f"partition_cols: values of the type {kind} are no names of directories")
    numbered = pa.table([*plain, pa.array(range(rows.num_rows), pa.int64())], names=[*map(str, range(len(names))), "row"])
    groups = numbered.group_by([*map(str, range(len(names)))], use_threads=False).aggregate([("row", "list")])
    others = rows.drop_columns(names)
    result = []
    for group in range(groups.num_rows):
        values = [groups[str(at)][group] for at in range(len(names))]
        directory = [f"{quote(name, safe=_SAFE)}={_directory(value)}" for name, value in zip(names, values)]
        indices = pc.list_flatten(groups["row_list"].slice(group, 1))
        result.append((directory, others.take(indices)))
    return result


#: Characters that names of directories have as they are; others are written as %XX, as Hive does.
_SAFE = " ,;!@()+$"


def _decoded(column: Any) -> Any:
    import pyarrow as pa

    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _directory(value: Any) -> str:
    import pyarrow as pa

    if not value.is_valid:
        return _NULL
    text = value.cast(pa.string()).as_py()
    if text == "":
        raise InvalidError("partition_cols: an empty string is no name of a directory")
    return quote(text, safe=_SAFE)
