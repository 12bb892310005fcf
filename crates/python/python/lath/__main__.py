"""``python -m lath`` is the ``lath`` command."""

from __future__ import annotations

import signal
import sys

from lath import _lath, _sql

#: The commands that need SQL.
_OF_SQL = ("sql", "describe")


def main() -> None:
    """Runs the ``lath`` command with the arguments of the process, and ends the process."""
    command = _lath.command
    try:
        command = _sql.module().command
    except ImportError as error:
        if not _lath.HAS_SQL and sys.argv[1:2] and sys.argv[1] in _OF_SQL:
            print(f"error: there is no SQL for `lath {sys.argv[1]}`. {error}", file=sys.stderr)
            sys.exit(2)
    # Python notes a signal and waits for the command to return; the command ends the process. Ignored signals stay ignored.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(command(["lath", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
