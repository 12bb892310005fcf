"""Expressions of pyarrow and polars as conditions of Lath.

Neither library shows the structure of an expression, but both write it down: pyarrow in the form that pickles have, polars as JSON.
"""

from __future__ import annotations

import functools
import json
import math
import operator
import re
import struct
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from lath._errors import InvalidError, LimitError
from lath._lath import Column, Predicate, col, schema_metadata


class Untranslatable(Exception):
    """A part of an expression that Lath cannot test."""


#: Raised for values that Lath does not take as literals, and for expressions that nest too deeply.
_NOT_TAKEN = (TypeError, ValueError, OverflowError, RecursionError, LimitError)


#: For columns, names of what makes these libraries compare values of their types other than exactly.
Kinds = Mapping[str, Collection[str]]


def predicate(expression: Any) -> Predicate | None:
    """The expression as a condition, or ``None`` for what is no expression.

    Raises ``InvalidError`` where a part of it cannot be translated.
    """
    try:
        if _is_of("pyarrow.compute", "Expression", expression):
            return _arrow_condition(_Arrow(expression).tree)
        if _is_of("polars", "Expr", expression):
            return _polars_condition(polars_tree(expression))
    except (Untranslatable, *_NOT_TAKEN) as reason:
        raise InvalidError(
            f"where: Lath cannot test {reason}: say it in SQL or with lath.col, or filter what is read"
        ) from None
    return None


def arrow_parts(expression: Any, kinds: Kinds = {}) -> tuple[Predicate | None, bool] | None:
    """A condition that holds for all rows for which an expression of pyarrow is true, if there is one, and whether it does for no
    others; ``None`` for what is no such expression. ``kinds`` says of columns what makes these libraries compare other than exactly."""
    if not _is_of("pyarrow.compute", "Expression", expression):
        return None
    try:
        tree = _Arrow(expression).tree
    except Untranslatable:
        return None, False
    return _parts(_arrow_conjuncts(tree), _arrow_condition, lambda node: _arrow_widens(node, kinds))


def polars_parts(expression: Any, kinds: Kinds = {}) -> tuple[Predicate | None, bool] | None:
    """As :func:`arrow_parts`, of an expression of polars."""
    if not _is_of("polars", "Expr", expression):
        return None
    try:
        tree = polars_tree(expression)
    except Untranslatable:
        return None, False
    return _parts(_polars_conjuncts(tree), _polars_condition, lambda node: _polars_widens(node, kinds))


def _parts(
    conjuncts: list[Any], condition_of: Callable[[Any], Predicate], widens: Callable[[Any], bool]
) -> tuple[Predicate | None, bool]:
    """What the conjuncts say that can be translated, and whether that is all of them."""
    known = []
    for node in conjuncts:
        try:
            if not widens(node):
                known.append(condition_of(node))
        except (Untranslatable, *_NOT_TAKEN):
            pass
    return (functools.reduce(operator.and_, known) if known else None), len(known) == len(conjuncts)


def _is_wide(value: Any) -> bool:
    """Whether a float is no float of 32 bits. Lath compares those with the nearest one; these libraries make 64 bits of the column."""
    return isinstance(value, float) and math.isfinite(value) and _narrowed(value) != value


def _is_beyond_narrow(value: Any) -> bool:
    """Whether the nearest float of 32 bits is infinite, where these libraries find infinities, and Lath nothing."""
    return _is_wide(value) and math.isinf(_narrowed(value))


def _narrowed(value: float) -> float:
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def arrow_columns(expression: Any) -> list[str] | None:
    """The columns that an expression of pyarrow has; ``None`` if that cannot be known."""
    try:
        return _arrow_columns_of(_Arrow(expression).tree)
    except Untranslatable:
        return None


def _is_of(module: str, name: str, value: Any) -> bool:
    # A class that was not imported has no values.
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(value, getattr(loaded, name))


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}
_MIRRORED = {
    "less": "greater",
    "less_equal": "greater_equal",
    "greater": "less",
    "greater_equal": "less_equal",
    "equal": "equal",
    "not_equal": "not_equal",
}


def _compare(name: str, column: Column, value: Any, is_number: bool, nan_is_largest: bool) -> Predicate:
    """A comparison with a value. Lath's NaN is above all numbers and equal to itself, as polars's is, and pyarrow's is not."""
    if value is None:
        # Null for all rows.
        return column.isin([None])
    is_nan = isinstance(value, float) and value != value
    if not nan_is_largest and is_nan:
        return ~(column < column) if name == "not_equal" else column < column
    compared: Predicate = _COMPARISONS[name](column, value)
    if not nan_is_largest and is_number and name in ("greater", "greater_equal"):
        return compared & (column < float("nan"))
    return compared


class _Arrow:
    """An expression of pyarrow: a list of steps, literals, and the options of calls."""

    def __init__(self, expression: Any) -> None:
        import pyarrow as pa

        try:
            written = expression.__reduce__()[1][0]
        except pa.ArrowException as reason:
            raise Untranslatable(f"{expression} ({reason})") from None
        batch = pa.ipc.open_file(written).get_batch(0)
        self._values = batch.columns
        self._steps = [(key.decode(), value.decode()) for key, value in schema_metadata(batch.schema)]
        self._at = 0
        self.tree = self._parse()

    def _parse(self) -> Any:
        """A tree of tuples: ("column", names), ("literal", scalar) or ("call", name, arguments, options). Hundreds of conditions may be
        joined, so that calls nest deeper than those of Python may."""
        whole: list[Any] = []
        # The calls that are open, the innermost last: name, arguments and options.
        calls: list[tuple[str, list[Any], list[Any]]] = []
        while not whole:
            kind, value = self._next()
            if kind == "call":
                calls.append((value, [], []))
                continue
            if kind == "options" and calls:
                calls[-1][2].append(self._values[int(value)][0])
                continue
            if kind == "literal":
                node: Any = ("literal", self._values[int(value)][0])
            elif kind == "field_ref":
                node = ("column", [value])
            elif kind == "nested_field_ref":
                node = ("column", [self._next()[1] for _ in range(int(value))])
            elif kind == "end" and calls:
                name, arguments, options = calls.pop()
                node = ("call", name, arguments, options[0] if options else None)
            else:
                raise Untranslatable(f"the step {kind}")
            (calls[-1][1] if calls else whole).append(node)
        return whole[0]

    def _next(self) -> tuple[str, str]:
        if self._at >= len(self._steps):
            raise Untranslatable("an expression that ends early")
        self._at += 1
        return self._steps[self._at - 1]


def _arrow_leaves(node: Any) -> Iterator[Any]:
    """The columns, literals and lists of a tree."""
    nodes = [node]
    while nodes:
        node = nodes.pop()
        if node[0] == "call":
            nodes.extend(reversed(node[2]))
            if node[1] == "is_in" and node[3] is not None:
                yield ("list", _arrow_list(node[3]))
        else:
            yield node


def _arrow_columns_of(node: Any) -> list[str]:
    return list(dict.fromkeys(names[0] for kind, names in _arrow_leaves(node) if kind == "column"))


#: Floats have all integers up to this.
_MOST_EXACT = 2**53


def _is_blurred(value: Any, kinds: Collection[str]) -> bool:
    """Whether these libraries compare an integer with a float that may be the nearest one alone."""
    if isinstance(value, float):
        return "long" in kinds and math.isfinite(value) and abs(value) >= _MOST_EXACT
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    return is_integer and abs(value) > _MOST_EXACT and ("float" in kinds or "narrow float" in kinds)


def _all_kinds(names: Iterable[str], kinds: Kinds) -> frozenset[str]:
    return frozenset(kind for name in names for kind in kinds.get(name, ()))


def _arrow_widens(node: Any, kinds: Kinds) -> bool:
    """Whether pyarrow may compare other than exactly: narrow floats with a wide one, and integers with floats. It makes values in lists the
    type of the column: narrow floats, to infinity if need be, and whole days."""
    import pyarrow as pa

    own = _all_kinds(_arrow_columns_of(node), kinds)
    if not own:
        return False
    for kind, content in _arrow_leaves(node):
        if kind == "literal" and pa.types.is_decimal(content.type) and own & {"float", "narrow float"}:
            return True
        if kind == "literal" and (pa.types.is_floating(content.type) or pa.types.is_integer(content.type)):
            value = content.as_py()
            if ("narrow float" in own and _is_wide(value)) or _is_blurred(value, own):
                return True
        elif kind == "list":
            if "narrow float" in own and any(map(_is_beyond_narrow, content)):
                return True
            if any(_is_blurred(value, own) or _is_cast_in_list(value, own) for value in content):
                return True
    return False


def _is_cast_in_list(value: Any, kinds: frozenset[str]) -> bool:
    """Whether pyarrow may make another value of one in a list, which it casts to the type of the column: zeros of floats have signs there."""
    if isinstance(value, float) and "decimal" in kinds:
        return True
    is_zero = not isinstance(value, (bool, str, bytes)) and value == 0
    return (is_zero and not kinds.isdisjoint(("float", "narrow float"))) or ("coarse time" in kinds and _is_moment(value))


def _is_moment(value: Any) -> bool:
    import datetime as dt

    return isinstance(value, dt.datetime)


def _arrow_conjuncts(node: Any) -> list[Any]:
    return _flat(node, lambda part: part[2] if part[0] == "call" and part[1] in ("and_kleene", "and") else None)


def _flat(node: Any, split: Callable[[Any], list[Any] | None]) -> list[Any]:
    """The parts of what is joined by one operator, in order, however deeply it nests."""
    found, nodes = [], [node]
    while nodes:
        node = nodes.pop()
        parts = split(node)
        if parts is None:
            found.append(node)
        else:
            nodes.extend(reversed(parts))
    return found


def _arrow_condition(node: Any) -> Predicate:
    if node[0] == "column":
        return _arrow_column(node) == True  # noqa: E712
    if node[0] != "call":
        raise Untranslatable(f"the value {node[1]} alone")
    _, name, arguments, options = node
    if name in ("and_kleene", "or_kleene"):
        parts = _flat(node, lambda part: part[2] if part[0] == "call" and part[1] == name else None)
        return functools.reduce(operator.and_ if name == "and_kleene" else operator.or_, map(_arrow_condition, parts))
    if name == "invert":
        return ~_arrow_condition(arguments[0])
    if name in _COMPARISONS:
        return _arrow_comparison(name, *arguments)
    if name == "is_valid":
        return _arrow_column(arguments[0]).is_not_null()
    if name == "is_in":
        return _arrow_is_in(arguments[0], options)
    if name == "if_else":
        return _arrow_if_valid(*arguments)
    chosen = {} if options is None else options.as_py()
    if name == "is_null" and not chosen.get("nan_is_null"):
        return _arrow_column(arguments[0]).is_null()
    if name in ("starts_with", "ends_with", "match_substring", "match_like") and not chosen.get("ignore_case"):
        column, pattern = _arrow_column(arguments[0]), chosen["pattern"]
        if name == "starts_with":
            return column.starts_with(pattern)
        if name != "match_like":
            return _like(column, pattern, name == "match_substring")
        if "\\" not in pattern:
            return column.like(pattern)
    raise Untranslatable(f"pyarrow's {name}")


def _like(column: Column, text: str, goes_on: bool) -> Predicate:
    """Whether a string has ``text`` at its end, or if it ``goes_on`` anywhere."""
    if any(character in text for character in "%_\\"):
        raise Untranslatable("a string with %, _ or \\ within others")
    return column.like(f"%{text}%" if goes_on else f"%{text}")


def _arrow_comparison(name: str, left: Any, right: Any) -> Predicate:
    import pyarrow as pa

    if left[0] == "literal":
        left, right, name = right, left, _MIRRORED[name]
    if right[0] != "literal":
        raise Untranslatable("a comparison of what are not a column and a value")
    value = right[1]
    is_number = pa.types.is_integer(value.type) or pa.types.is_floating(value.type) or pa.types.is_decimal(value.type)
    return _compare(name, _arrow_column(left), _arrow_value(value), is_number, nan_is_largest=False)


def _arrow_list(options: Any) -> list[Any]:
    """The values of a list, null among them."""
    import pyarrow as pa

    values = options["value_set"].values
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    is_temporal = pa.types.is_temporal(values.type)
    if is_temporal or pa.types.is_nested(values.type):
        return [_arrow_value(value) for value in values]
    listed: list[Any] = values.to_pylist()
    if any(isinstance(value, float) and value == 0 for value in listed):
        # To pyarrow, zeros of different signs are different values of a list.
        raise Untranslatable("is_in with a zero")
    return listed


def _arrow_is_in(argument: Any, options: Any, nulls_stay: bool = False) -> Predicate:
    column = _arrow_column(argument)
    values = _arrow_list(options)
    some = [value for value in values if value is not None]
    has_null = len(some) < len(values)
    matching = options["null_matching_behavior"].as_py()
    # MATCH finds null where it is in the list, SKIP does not; the others are not what filters have.
    if matching not in (0, 1):
        raise Untranslatable("is_in with this way of matching null")
    found = column.isin(some)
    if nulls_stay:
        return found
    if has_null and matching == 0:
        return found | column.is_null()
    return found & column.is_not_null()


def _arrow_if_valid(condition: Any, then: Any, otherwise: Any) -> Predicate:
    """``x IN (…)`` as DuckDB says it: null where ``x`` is null."""
    is_known = condition[0] == "call" and condition[1] == "is_valid" and otherwise[0] == "literal"
    is_list = then[0] == "call" and then[1] == "is_in" and then[2][0] == condition[2][0]
    if not (is_known and is_list and otherwise[1].as_py() is None):
        raise Untranslatable("pyarrow's if_else")
    return _arrow_is_in(then[2][0], then[3], nulls_stay=True)


def _arrow_column(node: Any) -> Column:
    if node[0] != "column":
        raise Untranslatable("a call or a value in place of a column")
    first, *rest = node[1]
    column = col(first, exact=True)
    for name in rest:
        column = column.field(name)
    return column


def _arrow_value(scalar: Any) -> Any:
    import pyarrow as pa

    if not scalar.is_valid:
        return None
    is_timestamp = pa.types.is_timestamp(scalar.type)
    if is_timestamp or pa.types.is_time(scalar.type):
        # Beyond what datetime has.
        if scalar.type.unit == "ns" and scalar.value % 1000:
            raise Untranslatable(f"a value of the type {scalar.type}")
        if scalar.type.unit == "ns":
            scalar = scalar.cast(pa.timestamp("us", scalar.type.tz) if is_timestamp else pa.time64("us"))
    if pa.types.is_duration(scalar.type) or pa.types.is_nested(scalar.type):
        raise Untranslatable(f"a value of the type {scalar.type}")
    return scalar.as_py()


def polars_tree(expression: Any) -> Any:
    import warnings

    import polars as pl

    # Another process does not read it, for which alone the format is not fixed.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            written = expression.meta.serialize(format="json")
            try:
                return json.loads(written)
            except RecursionError:
                return _loads(written)
        except (pl.exceptions.PolarsError, ValueError) as reason:
            raise Untranslatable(f"this expression ({reason})") from None


_TOKEN = re.compile(r'\s*(?:([{}\[\],:])|("(?:[^"\\]|\\.)*")|([^\s{}\[\],:"]+))')


def _loads(text: str) -> Any:
    """As ``json.loads``, however deeply the text nests."""
    whole: list[Any] = []
    # The lists and objects that are open, the innermost last, and the keys of these objects.
    opened: list[Any] = [whole]
    keys: list[str] = []
    is_key = False
    for token in _TOKEN.finditer(text):
        mark, string, other = token.groups()
        if mark in ("}", "]"):
            opened.pop()
            is_key = False
            continue
        if mark in (",", ":"):
            is_key = mark == "," and isinstance(opened[-1], dict)
            continue
        if is_key:
            keys.append(json.loads(string))
            continue
        value: Any = {} if mark == "{" else [] if mark == "[" else json.loads(string or other)
        if isinstance(opened[-1], dict):
            opened[-1][keys.pop()] = value
        else:
            opened[-1].append(value)
        if mark:
            opened.append(value)
            is_key = mark == "{"
    return whole[0]


def _polars_operands(node: Any, names: Collection[str]) -> list[Any] | None:
    content = node.get("BinaryExpr") if isinstance(node, dict) else None
    return [content["left"], content["right"]] if content is not None and content["op"] in names else None


def _polars_conjuncts(node: Any) -> list[Any]:
    return _flat(node, lambda part: _polars_operands(part, ("And", "LogicalAnd")))


def _polars_widens(node: Any, kinds: Kinds) -> bool:
    """As :func:`_arrow_widens`. polars makes literals narrow that have no type of their own, to infinity if need be, but no values in lists; and
    points in time as coarse as the column."""
    values: list[Any] = []
    all_values: list[Any] = []
    columns: list[str] = []

    parts = [node]
    while parts:
        part = parts.pop()
        if isinstance(part, list):
            parts.extend(part)
        elif isinstance(part, dict):
            for kind, content in part.items():
                if kind == "Column":
                    columns.append(content)
                elif kind == "Literal":
                    family, scalar = polars_kind(content)
                    if isinstance(scalar, dict):
                        some = _polars_list(part) if "List" in scalar else [_polars_value(part)]
                        all_values.extend(some)
                        values.extend(value for value in some if family != "Dyn" or _is_beyond_narrow(value))
                else:
                    parts.append(content)
    own = _all_kinds(columns, kinds)
    if "narrow float" in own and any(map(_is_wide, values)):
        return True
    if "nanoseconds" in own and any(map(_is_moment, all_values)) and not _is_same_in_micros(node):
        return True
    return any(_is_blurred(value, own) or ("coarse time" in own and _is_moment(value)) for value in all_values)


def _is_same_in_micros(node: Any) -> bool:
    """Whether a comparison of nanoseconds is the same for whole microseconds, which polars makes of them."""
    kind, content = polars_kind(node)
    return kind == "BinaryExpr" and content["op"] in ("GtEq", "Lt") and polars_kind(content["left"])[0] == "Column"


def polars_kind(node: Any) -> tuple[str, Any]:
    if isinstance(node, dict) and len(node) == 1:
        return next(iter(node.items()))
    raise Untranslatable(f"polars's {str(node)[:50]}")


_POLARS_COMPARISONS = {
    "Eq": "equal",
    "NotEq": "not_equal",
    "Lt": "less",
    "LtEq": "less_equal",
    "Gt": "greater",
    "GtEq": "greater_equal",
}


def _polars_condition(node: Any) -> Predicate:
    kind, content = polars_kind(node)
    if kind == "Column":
        return _polars_column(node) == True  # noqa: E712
    if kind == "BinaryExpr":
        name, left, right = content["op"], content["left"], content["right"]
        for names, join in ((("And", "LogicalAnd"), operator.and_), (("Or", "LogicalOr"), operator.or_)):
            if name in names:
                parts = _flat(node, lambda part, names=names: _polars_operands(part, names))  # type: ignore[misc]
                return functools.reduce(join, map(_polars_condition, parts))
        if name in _POLARS_COMPARISONS:
            return _polars_comparison(_POLARS_COMPARISONS[name], left, right)
        raise Untranslatable(f"polars's {name}")
    if kind == "Function":
        return _polars_function(content["function"], content["input"])
    raise Untranslatable(f"polars's {kind}")


def _polars_comparison(name: str, left: Any, right: Any) -> Predicate:
    if polars_kind(left)[0] in ("Literal", "Alias"):
        left, right, name = right, left, _MIRRORED[name]
    return _compare(name, _polars_column(left), _polars_value(right), False, nan_is_largest=True)


def _polars_function(function: Any, arguments: list[Any]) -> Predicate:
    family, name = polars_kind(function)
    options: Any = None
    if isinstance(name, dict):
        name, options = polars_kind(name)
    if family == "StringExpr" and name == "StartsWith":
        return _polars_column(arguments[0]).starts_with(_polars_text(arguments[1]))
    if family == "StringExpr" and name == "EndsWith":
        return _like(_polars_column(arguments[0]), _polars_text(arguments[1]), False)
    if family == "StringExpr" and name == "Contains":
        text = _polars_text(arguments[1])
        if not options.get("literal") and any(character in text for character in "\\.+*?()|[]{}^$"):
            raise Untranslatable("a regular expression")
        return _like(_polars_column(arguments[0]), text, True)
    if family != "Boolean":
        raise Untranslatable(f"polars's {family}.{name}")
    if name == "Not":
        return ~_polars_condition(arguments[0])
    column = _polars_column(arguments[0])
    if name == "IsNull":
        return column.is_null()
    if name == "IsNotNull":
        return column.is_not_null()
    if name == "IsBetween":
        closed = options["closed"]
        low, high = _polars_value(arguments[1]), _polars_value(arguments[2])
        lower = "greater_equal" if closed in ("Both", "Left") else "greater"
        upper = "less_equal" if closed in ("Both", "Right") else "less"
        return _compare(lower, column, low, False, True) & _compare(upper, column, high, False, True)
    if name == "IsIn" and not options.get("nulls_equal"):
        values = [value for value in _polars_list(arguments[1]) if value is not None]
        return column.isin(values)
    raise Untranslatable(f"polars's {name}")


def _polars_column(node: Any) -> Column:
    kind, content = polars_kind(node)
    if kind == "Column":
        return col(content, exact=True)
    if kind == "Function":
        family, name = polars_kind(content["function"])
        if family == "StructExpr" and isinstance(name, dict) and "FieldByName" in name:
            return _polars_column(content["input"][0]).field(name["FieldByName"])
    raise Untranslatable(f"polars's {kind} in place of a column")


def _polars_value(node: Any) -> Any:
    """The value of a literal. Polars gives values as they are stored, which only it can turn into values of Python."""
    import datetime as dt

    kind, content = polars_kind(node)
    # Of `pl.date` and `pl.datetime`.
    if kind == "Alias":
        return _polars_value(content[0])
    if kind == "Cast" and content["dtype"] == {"Literal": "Date"}:
        moment = _polars_value(content["expr"])
        if isinstance(moment, dt.datetime):
            return moment.date()
    if kind != "Literal":
        raise Untranslatable("a comparison of what are not a column and a value")
    family, scalar = polars_kind(content)
    if family not in ("Dyn", "Scalar"):
        raise Untranslatable(f"polars's literal {family}")
    if scalar == "Null":
        return None
    type_name, value = polars_kind(scalar)
    if type_name in ("Boolean", "String") or type_name.startswith(("Int", "UInt")):
        return value
    # JSON has no NaN and no infinities, and the bits of floats of 16.
    if type_name in ("Float", "Float32", "Float64") and isinstance(value, (int, float)):
        # The text of a float of 32 bits is the shortest that reads back as it.
        return _narrowed(float(value)) if type_name == "Float32" else float(value)
    if type_name in ("Binary", "BinaryOwned"):
        return bytes(value)
    if type_name == "Date":
        return dt.date(1970, 1, 1) + dt.timedelta(days=value)
    if type_name in ("Datetime", "DatetimeOwned"):
        count, unit, _zone = value
        per_micro = {"Nanoseconds": (1, 1000), "Microseconds": (1, 1), "Milliseconds": (1000, 1)}[unit]
        micros, rest = divmod(count * per_micro[0], per_micro[1])
        if rest:
            raise Untranslatable("a timestamp in nanoseconds")
        return dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=micros)
    raise Untranslatable(f"a value of polars's type {type_name}")


def _polars_text(node: Any) -> str:
    text = _polars_value(node)
    if not isinstance(text, str):
        raise Untranslatable("what is not one string in place of a pattern")
    return text


def _polars_list(node: Any) -> list[Any]:
    import io

    import polars as pl

    kind, content = polars_kind(node)
    if kind == "Literal":
        family, scalar = polars_kind(content)
        written = scalar.get("List") if family == "Scalar" and isinstance(scalar, dict) else None
        if isinstance(written, list):
            try:
                listed = pl.read_ipc_stream(io.BytesIO(bytes(written))).to_series()
            except (pl.exceptions.PolarsError, ValueError) as reason:
                raise Untranslatable(f"a list of polars ({reason})") from None
            is_fine = listed.dtype == pl.Time or listed.dtype == pl.Datetime("ns") or listed.dtype == pl.Duration
            if listed.dtype.is_nested() or is_fine:
                raise Untranslatable(f"a list of the type {listed.dtype}")
            values: list[Any] = listed.to_list()
            return values
    raise Untranslatable("is_in with what is not a list of values")
