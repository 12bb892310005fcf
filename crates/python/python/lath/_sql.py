"""SQL. It is in the separate package ``lath_sql``, because its engine is several times as large as the rest of Lath."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from lath._errors import UnsupportedError
from lath._lath import Dataset, __version__

if TYPE_CHECKING:
    from types import ModuleType

    from lath_sql import Result
    from lath_sql._lath_sql import Source


def module() -> ModuleType:
    """The compiled part of ``lath_sql``."""
    try:
        from lath_sql import _lath_sql
    except ModuleNotFoundError as error:
        raise ImportError("SQL is a package of its own: pip install lath[sql]") from error
    if _lath_sql.__version__ != __version__:
        raise ImportError(
            f"lath {__version__} and lath-sql {_lath_sql.__version__} do not fit: pip install lath[sql]=={__version__}"
        )
    return _lath_sql


def sql(text: str, /, *, replacement_scans: bool = True, **tables: Source) -> Result:
    """Runs SQL statements. The name of a file, folder, glob or URL in quotes is a table; ``tables`` are other tables, by name.

    Variables of the caller are tables by their names, if they are datasets, scans or tables of Lath, or data frames, tables and readers of
    other libraries, unless ``replacement_scans`` is false. ``tables`` and names of the statement itself, as by WITH, come first.

    The result is computed while it is read. To share tables and settings among statements, use :class:`lath.Session`.

    >>> trips = lath.open("examples/data/trips")
    >>> rows = lath.sql("SELECT count(*) AS trips FROM trips WHERE price > 12 AND rider.plan = 'by minute'", trips=trips)
    >>> rows.to_arrow().to_pylist()
    [{'trips': 780}]
    >>> lath.sql("SELECT max(minutes) FROM trips").fetchone()
    (50,)
    """
    session = module().Session(replacement_scans=replacement_scans)
    for name, source in tables.items():
        session.register(name, source)
    frame = sys._getframe(1) if replacement_scans else None
    result: Result = session._sql_within(text, frame)
    return result


def table_provider(dataset: Dataset, session: object) -> object:
    """A dataset as a table provider for a session of the package ``datafusion``."""
    engine = module()
    major = _datafusion_major()
    if major is not None and major != engine.DATAFUSION_MAJOR:
        own = engine.DATAFUSION_MAJOR
        raise UnsupportedError(
            f"lath-sql {__version__} is built for DataFusion {own}, and this is {major}: pip install "
            f"'datafusion>={own},<{own + 1}', or register lath.arrow_dataset(…) by register_dataset"
        )
    return engine.table_provider(*dataset._opening(), session)


def _datafusion_major() -> int | None:
    """The major version of the package that asks, if it is known."""
    version = getattr(sys.modules.get("datafusion"), "__version__", None)
    return int(version.split(".")[0]) if isinstance(version, str) else None
