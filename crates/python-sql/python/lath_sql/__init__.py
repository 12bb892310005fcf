"""SQL for the package ``lath``, which has it as :func:`lath.sql` and :class:`lath.Session`."""

from lath_sql._lath_sql import Batches, Result, Session, SessionTransaction, __version__

__all__ = ["Batches", "Result", "Session", "SessionTransaction", "__version__"]
