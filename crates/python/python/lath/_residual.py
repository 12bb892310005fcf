"""What Lath cannot test of an expression of pyarrow or polars: the library tests the rows that Lath has found by the other parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from lath._errors import InvalidError
from lath._lath import Batch, Predicate
from lath._translate import Untranslatable, arrow_columns, arrow_parts, polars_kind, polars_parts, polars_tree

if TYPE_CHECKING:
    import polars
    import pyarrow as pa
    import pyarrow.compute as pc

#: The columns that are needed, all if ``None``; and what makes a table of one column of booleans of a batch of them.
Residual = tuple[list[str] | None, Callable[[Batch], object]]


def split(expression: Any, kinds: Mapping[str, list[str]]) -> tuple[Predicate | None, bool, Callable[[], Residual]] | None:
    """A condition of Lath that holds for all rows for which the expression is true, if there is one; whether it does for no others; and what
    gives the test by the library. ``None`` for what is no expression. ``kinds`` says of columns what makes these libraries compare other than exactly."""
    arrow = arrow_parts(expression, kinds)
    if arrow is not None:
        return *arrow, lambda: _of_arrow(expression)
    of_polars = polars_parts(expression, kinds)
    if of_polars is not None:
        return *of_polars, lambda: _of_polars(expression)
    return None


def _of_arrow(expression: pc.Expression) -> Residual:
    import pyarrow as pa
    import pyarrow.acero as acero

    columns = arrow_columns(expression)
    if columns == []:
        raise InvalidError(f"where: {expression} names no column")
    project = acero.Declaration("project", acero.ProjectNodeOptions([expression], ["found"]))

    def test(batch: Batch) -> pa.Table:
        rows = pa.table(batch)
        # Most functions of pyarrow know no views.
        rows = rows.cast(pa.schema([field.with_type(_with_offsets(field.type)) for field in rows.schema]))
        source = acero.Declaration("table_source", acero.TableSourceNodeOptions(rows))
        return acero.Declaration.from_sequence([source, project]).to_table(use_threads=False)

    return columns, test


def _with_offsets(data_type: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    if pa.types.is_string_view(data_type):
        return pa.string()
    if pa.types.is_binary_view(data_type):
        return pa.binary()
    if pa.types.is_struct(data_type):
        return pa.struct([field.with_type(_with_offsets(field.type)) for field in data_type])
    if pa.types.is_list(data_type):
        item = data_type.value_field
        return pa.list_(item.with_type(_with_offsets(item.type)))
    if pa.types.is_fixed_size_list(data_type):
        item = data_type.value_field
        return pa.list_(item.with_type(_with_offsets(item.type)), data_type.list_size)
    if pa.types.is_map(data_type):
        return pa.map_(_with_offsets(data_type.key_type), _with_offsets(data_type.item_type))
    return data_type


def _of_polars(expression: polars.Expr) -> Residual:
    columns: dict[str, None] = {}
    try:
        _check_rows_alone(polars_tree(expression), columns)
    except Untranslatable as reason:
        raise InvalidError(
            f"where: neither Lath nor polars can test batches of rows by {reason}: filter lath.scan_polars(…) or what is read"
        ) from None
    if not columns:
        raise InvalidError(f"where: {expression} names no column")

    def test(batch: Batch) -> polars.DataFrame:
        return batch.to_polars().select(expression.alias("found"))

    return list(columns), test


#: Functions of polars whose result for a row depends on that row alone, as far as arguments are literals where a list would be.
_BY_ROW = frozenset(
    """
    Abs Negate FillNull Coalesce Floor Ceil Round RoundSF Truncate Sign Clip Pow Exp Log Log1p Trigonometry Atan2 Hash
    MaxHorizontal MinHorizontal SumHorizontal MeanHorizontal AsStruct
    Boolean.Not Boolean.IsNull Boolean.IsNotNull Boolean.IsNan Boolean.IsNotNan Boolean.IsFinite Boolean.IsInfinite
    Boolean.IsBetween Boolean.IsIn Boolean.IsClose Boolean.AnyHorizontal Boolean.AllHorizontal
    """.split()
)
_FAMILIES_BY_ROW = frozenset(["StringExpr", "BinaryExpr", "TemporalExpr", "ListExpr", "ArrayExpr", "StructExpr"])
#: Except for these: the first makes one string of a column, the others may look at other rows to know what is in them.
_NOT_BY_ROW = frozenset(["StringExpr.ConcatVertical", "StringExpr.Strptime", "StringExpr.JsonDecode", "StringExpr.ToDecimal"])


def _check_rows_alone(node: Any, columns: dict[str, None]) -> None:
    """Collects the columns, and raises where a row is not tested by itself: sums, windows, sorting and so on would be those of a batch."""
    nodes = [node]
    while nodes:
        kind, content = polars_kind(nodes.pop())
        parts: list[Any] = []
        if kind == "Column":
            columns[content] = None
        elif kind == "BinaryExpr":
            parts = [content["left"], content["right"]]
        elif kind == "Ternary":
            parts = [content[part] for part in ("predicate", "truthy", "falsy")]
        elif kind == "Cast":
            parts = [content["expr"]]
        elif kind == "Alias":
            parts = [content[0]]
        elif kind == "Function":
            name = _function_name(content["function"])
            family = name.partition(".")[0]
            if name not in _BY_ROW and (family not in _FAMILIES_BY_ROW or name in _NOT_BY_ROW):
                raise Untranslatable(f"polars's {name}")
            if name == "Boolean.IsIn" and polars_kind(content["input"][1])[0] != "Literal":
                raise Untranslatable("is_in with what is not a list of values")
            parts = content["input"]
        elif kind != "Literal" or polars_kind(content)[0] not in ("Dyn", "Scalar"):
            raise Untranslatable(f"polars's {kind}")
        nodes.extend(reversed(parts))


def _function_name(function: Any) -> str:
    """``"Abs"``, ``"Round"`` or ``"StringExpr.Contains"``, without what the function was called with."""
    if isinstance(function, str):
        return function
    family, name = polars_kind(function)
    if family != "Boolean" and family not in _FAMILIES_BY_ROW:
        return family
    return f"{family}.{name if isinstance(name, str) else next(iter(name), '')}"
