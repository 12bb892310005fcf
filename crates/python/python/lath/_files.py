"""Files that are not named by a path: bytes, file objects, and files of a file system of pyarrow or fsspec."""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Iterable, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol

from lath._errors import InvalidError, NotFoundError

if TYPE_CHECKING:
    from typing_extensions import TypeAlias


class ReadableFile(Protocol):
    """A file object that can be read at any place, such as ``open(path, "rb")``, ``io.BytesIO`` or a file of fsspec."""

    def read(self, size: int = -1, /) -> bytes: ...
    def seek(self, offset: int, whence: int = 0, /) -> object: ...


#: A path or URL, the bytes of a file, or a file object.
FileLike: TypeAlias = "str | PathLike[str] | bytes | bytearray | memoryview | ReadableFile"


class FileObject:
    """A file object as Lath reads it: any thread may ask for a range of bytes."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._lock = threading.Lock()
        self.size = _size(file)
        name = getattr(file, "name", None)
        self.name = name if isinstance(name, str) else f"<{type(file).__name__}>"

    def read_at(self, start: int, length: int) -> bytes:
        """The ``length`` bytes from ``start`` on."""
        with self._lock:
            self._file.seek(start)
            return _exactly(self._file, length)

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(f"{self.name} is an open file object, which is not pickled: open a path, or give filesystem=")


class StoredFile:
    """A file of a file system. It is opened at its first read; each process opens it."""

    def __init__(self, system: FileSystem, path: str, size: int) -> None:
        self._system = system
        self._path = path
        self._lock = threading.Lock()
        self._file: Any = None
        self.size = size
        self.name = path

    def read_at(self, start: int, length: int) -> bytes:
        """The ``length`` bytes from ``start`` on."""
        with self._lock:
            if self._file is None:
                self._file = self._system.open(self._path)
            self._file.seek(start)
            return _exactly(self._file, length)

    def __reduce__(self) -> tuple[Any, ...]:
        return StoredFile, (self._system, self._path, self.size)


class FileSystem:
    """What is needed of a file system of pyarrow or fsspec."""

    def __init__(self, system: Any) -> None:
        system = file_system(system)
        self._system = system
        self._is_arrow = hasattr(system, "get_file_info")
        if not self._is_arrow and not (hasattr(system, "open") and hasattr(system, "info")):
            raise TypeError(f"filesystem: give a file system of pyarrow or fsspec, not {type(system).__name__}")

    def files(self, path: str) -> list[tuple[str, int]]:
        """The Parquet files at a path: the file itself, or those below a folder; each with its size."""
        if self._is_arrow:
            return self._arrow_files(path)
        path = self._system._strip_protocol(path)
        try:
            info = self._system.info(path)
        except FileNotFoundError:
            raise NotFoundError(f"{path}: the file system has no such file") from None
        if info["type"] != "directory":
            return [(path, info["size"])]
        found = self._system.find(path, detail=True)
        return _parquet(path, ((name, info["size"]) for name, info in found.items()))

    def _arrow_files(self, path: str) -> list[tuple[str, int]]:
        from pyarrow.fs import FileSelector, FileType

        info = self._system.get_file_info(path)
        if info.type == FileType.NotFound:
            raise NotFoundError(f"{path}: the file system has no such file")
        if info.type != FileType.Directory:
            return [(path, info.size)]
        found = self._system.get_file_info(FileSelector(path, recursive=True))
        return _parquet(path, ((info.path, info.size) for info in found if info.type == FileType.File))

    def open(self, path: str) -> Any:
        """A file that can be read at any place."""
        return self._system.open_input_file(path) if self._is_arrow else self._system.open(path, "rb")

    def create(self, path: str) -> Any:
        """A new file that is written from its start on. Folders are created for it."""
        folder = path.rpartition("/")[0]
        if self._is_arrow:
            if folder:
                self._system.create_dir(folder, recursive=True)
            return self._system.open_output_stream(path)
        if folder:
            self._system.makedirs(folder, exist_ok=True)
        return self._system.open(path, "wb")

    def remove(self, path: str) -> None:
        """Removes a file, if it exists."""
        try:
            self._system.delete_file(path) if self._is_arrow else self._system.rm_file(path)
        except FileNotFoundError:
            pass


def locations(paths: Any, filesystem: Any = None) -> Any:
    """What :func:`lath.open` takes, as the compiled part takes it."""
    if isinstance(paths, (str, bytes)) or isinstance(paths, PathLike) and filesystem is None:
        is_one = True
    else:
        is_one = not isinstance(paths, (list, tuple, set, frozenset)) and (
            _is_file(paths) or _is_buffer(paths) or isinstance(paths, PathLike) or not isinstance(paths, Iterable)
        )
    each = [paths] if is_one else list(paths)
    if filesystem is not None:
        return stored(each, filesystem)
    return [found for path in each for found in _found(path)]


#: The schemes of URLs that Lath reads itself.
_SCHEMES = ("s3", "s3a", "gs", "az", "azure", "abfs", "abfss", "adl", "http", "https", "file")


def has_other_scheme(path: str) -> bool:
    """Whether fsspec reads a URL: of a scheme that it knows and Lath does not, such as ``hf``, or of any scheme behind ``fsspec+``."""
    scheme, separator, _ = path.partition("://")
    if not separator or scheme.lower() in _SCHEMES:
        return False
    if scheme.startswith("fsspec+"):
        return True
    try:
        from fsspec import available_protocols
    except ImportError:
        return False
    return scheme in available_protocols()


def _found(path: Any) -> list[Any]:
    if not isinstance(path, str) or not has_other_scheme(path):
        return [_location(path)]
    system, at = fsspec_place(path)
    return stored([at], system)


def fsspec_place(url: str) -> tuple[Any, str]:
    """The file system of fsspec for a URL, and the path in it."""
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise InvalidError(f"{url}: fsspec, which would read it, is not installed") from None
    try:
        system, path = url_to_fs(url.removeprefix("fsspec+"))
    except ValueError as error:
        raise InvalidError(f"{url}: {error}") from error
    return system, path


def file_system(system: Any) -> Any:
    """A file system, also by its URI, as pyarrow has them."""
    if not isinstance(system, str):
        return system
    from pyarrow.fs import FileSystem, SubTreeFileSystem

    found, path = FileSystem.from_uri(system)
    return SubTreeFileSystem(path, found) if path.strip("/") else found


def stored(paths: Sequence[Any], filesystem: Any) -> list[Any]:
    """The files at paths of a file system."""
    filesystem = file_system(filesystem)
    local = local_paths(paths, filesystem)
    if local is not None:
        return local
    system = FileSystem(filesystem)
    named = [os.fspath(path) if isinstance(path, PathLike) else path for path in paths]
    wrong = next((path for path in named if not isinstance(path, str)), None)
    if wrong is not None:
        raise InvalidError(f"filesystem: it has paths, and {type(wrong).__name__} is a file already: leave it out")
    return [StoredFile(system, *file) for path in named for file in system.files(path)]


def local_paths(paths: Sequence[Any], filesystem: Any) -> list[Any] | None:
    """The local paths of files in a file system; ``None`` if its files are not local."""
    root = _local_root(file_system(filesystem))
    if root is None:
        return None
    return [os.path.join(root, os.fspath(path).lstrip("/")) if root else os.fspath(path) for path in paths]


def _location(path: Any) -> Any:
    if isinstance(path, (str, PathLike, bytes, FileObject, StoredFile)):
        return path
    if isinstance(path, io.BytesIO):
        return path.getvalue()
    if _is_buffer(path):
        return bytes(memoryview(path))
    if _is_file(path):
        return FileObject(path)
    raise TypeError(f"paths: give paths, URLs, bytes or file objects, not {type(path).__name__}")


def _is_file(value: Any) -> bool:
    return hasattr(value, "read") and hasattr(value, "seek")


def _is_buffer(value: Any) -> bool:
    if isinstance(value, (bytearray, memoryview)):
        return True
    # A buffer of pyarrow, which any object that lends its memory is to it, too.
    return type(value).__module__.startswith("pyarrow") and hasattr(value, "to_pybytes")


def _local_root(filesystem: Any) -> str | None:
    """The folder below which paths of the system are local files, which is empty for all of them; ``None`` if they are not local."""
    kind = type(filesystem)
    if kind.__module__.startswith("pyarrow"):
        if kind.__name__ == "LocalFileSystem":
            return ""
        if kind.__name__ == "SubTreeFileSystem" and _local_root(filesystem.base_fs) == "":
            return str(filesystem.base_path)
    if kind.__module__ == "fsspec.implementations.local" and kind.__name__ == "LocalFileSystem":
        return ""
    return None


def _parquet(folder: str, files: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """The files that :func:`lath.open` reads in a local folder, too."""
    found = []
    for name, size in files:
        below = name[len(folder) :].strip("/").split("/")
        if name.endswith(".parquet") and not any(part.startswith((".", "_")) for part in below):
            found.append((name, size))
    if not found:
        raise NotFoundError(f"{folder}: there are no files *.parquet below this folder of the file system")
    return sorted(found)


def _size(file: Any) -> int:
    size = getattr(file, "size", None)
    if callable(size):
        size = size()
    if isinstance(size, int):
        return size
    place = file.tell()
    end = file.seek(0, io.SEEK_END)
    end = file.tell() if end is None else end
    file.seek(place)
    return int(end)


def _exactly(file: Any, length: int) -> bytes:
    """Reads exactly ``length`` bytes, which raw files may return in parts."""
    parts = []
    while length > 0:
        part = file.read(length)
        if not part:
            raise EOFError(f"the file ended {length} bytes too early")
        parts.append(part)
        length -= len(part)
    whole = parts[0] if len(parts) == 1 else b"".join(parts)
    return whole if isinstance(whole, bytes) else bytes(whole)
