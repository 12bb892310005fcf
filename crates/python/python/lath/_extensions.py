"""Extension types of Arrow, which readers can leave out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lath._errors import InvalidError

if TYPE_CHECKING:
    import pyarrow


def plain_schema(schema: pyarrow.Schema) -> pyarrow.Schema:
    """The schema with the storage types of extension types."""
    import pyarrow as pa

    fields = []
    for field in schema:
        kind = field.type
        if isinstance(kind, pa.BaseExtensionType):
            kind = kind.storage_type
        if _has_extension(kind):
            raise InvalidError(f"arrow_extensions_enabled: column {field.name!r} has an extension type within its type")
        # The metadata of the field has the name of the extension type.
        fields.append(field.with_type(kind).remove_metadata() if kind is not field.type else field)
    return pa.schema(fields, schema.metadata)


def plain_table(table: pyarrow.Table) -> pyarrow.Table:
    """The table with the storage of columns of extension types."""
    import pyarrow as pa

    schema = plain_schema(table.schema)
    columns = [
        pa.chunked_array([chunk.storage for chunk in column.chunks], field.type) if field.type != column.type else column
        for column, field in zip(table.columns, schema)
    ]
    return pa.table(columns, schema=schema) if columns else table


def _has_extension(kind: pyarrow.DataType) -> bool:
    import pyarrow as pa

    if isinstance(kind, pa.BaseExtensionType):
        return True
    if pa.types.is_dictionary(kind):
        return _has_extension(kind.value_type)
    return pa.types.is_nested(kind) and any(_has_extension(kind.field(at).type) for at in range(kind.num_fields))
