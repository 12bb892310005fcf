"""Tables that statements find by the name of a variable of their caller."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any

from lath._lath import Dataset, Scan, Table


def caller() -> FrameType:
    """The frame of the code that has called into the compiled module."""
    return sys._getframe(1)


def find(frame: FrameType, names: Sequence[str]) -> list[tuple[str, Any]]:
    """The tables among the variables with these names. A local variable of the function precedes a global one."""
    found = []
    for name in names:
        for scope in (frame.f_locals, frame.f_globals):
            value = _variable(scope, name)
            if value is not None and _is_table(value):
                found.append((name, _collected(value)))
                break
    return found


def _variable(scope: Mapping[str, Any], name: str) -> Any:
    if name in scope:
        return scope[name]
    # Names without quotes are in lower case.
    return next((scope[other] for other in list(scope) if other.lower() == name), None)


def _is_table(value: Any) -> bool:
    if isinstance(value, type):
        return False
    return isinstance(value, (Dataset, Scan, Table)) or hasattr(value, "__arrow_c_stream__") or _is_lazy(value)


def _is_lazy(value: Any) -> bool:
    kind = type(value)
    return kind.__module__.startswith("polars") and kind.__name__ == "LazyFrame"


def _collected(value: Any) -> Any:
    return value.collect() if _is_lazy(value) else value
