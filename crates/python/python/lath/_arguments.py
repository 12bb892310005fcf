"""Arguments that pyarrow has."""

from __future__ import annotations

from lath._errors import InvalidError


def refuse(**honoured: bool) -> None:
    """Raises an error for an argument whose value Lath does not have."""
    for argument, is_honoured in honoured.items():
        if not is_honoured:
            raise InvalidError(f"{argument}: Lath does not have this option, or not this value of it; leave it out")
