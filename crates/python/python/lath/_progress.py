"""Progress of long operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lath._errors import InvalidError

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

#: A function of the number of rows done and the number of all rows, which is ``None`` if unknown; ``True`` shows a tqdm bar.
Progress: TypeAlias = "Callable[[int, int | None], object] | bool"


class _Bar:
    """A bar of tqdm, from the first call on."""

    def __init__(self, tqdm: Any) -> None:
        self._tqdm = tqdm
        self._bar: Any = None

    def __call__(self, done: int, total: int | None) -> None:
        if self._bar is None:
            self._bar = self._tqdm(unit=" rows", unit_scale=True)
        self._bar.total = total
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def watcher(progress: Progress | None) -> Callable[[int, int | None], object] | None:
    """What is called during work: a function, a bar for ``True``, and nothing for ``False`` and ``None``."""
    if progress is None or progress is False:
        return None
    if progress is True:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            raise InvalidError(
                "progress=True shows a bar of tqdm, which is not installed: pip install tqdm, or give a function"
            ) from None
        return _Bar(tqdm)
    if not callable(progress):
        raise TypeError(f"progress: give True, or a function of rows done and rows in all, not {progress!r}")
    return progress


def close(watcher: Callable[[int, int | None], object]) -> None:
    """Ends a bar."""
    if isinstance(watcher, _Bar):
        watcher.close()


def row_count(rows: Any) -> int | None:
    """The number of rows of a table or data frame; ``None`` for rows that are still to come."""
    count = getattr(rows, "num_rows", None)
    if isinstance(count, int):
        return count
    # Data frames.
    shape = getattr(rows, "shape", None)
    return shape[0] if isinstance(shape, tuple) and shape and isinstance(shape[0], int) else None
