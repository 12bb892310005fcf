//! Types that Iceberg lacks, and the wider ones that have all of their values.
//!
//! The data files are the table's own, so a type is here only if readers of files with the narrower type return all values in the wider one, and
//! find them by conditions. Unsigned integers of 8 and 16 bits and half floats are read so by pyiceberg 0.12, polars 2.1 and DuckDB 1.5; Spark 4.1
//! refuses them. Not here, since a reader fails or returns other values:
//!
//! | type | read as | by |
//! | --- | --- | --- |
//! | unsigned integers of 32 bits | `long` | pyiceberg finds no rows for conditions on values from 2³¹ on |
//! | unsigned integers of 64 bits | `decimal(20, 0)` | pyiceberg and polars fail |
//! | timestamps in milliseconds | `timestamp` | Spark returns other times |
//! | times in milliseconds or nanoseconds | `time` | pyiceberg fails, and polars and DuckDB cut nanoseconds off |
//! | dates in milliseconds | `date` | polars fails |
//! | decimals of more than 38 digits | `decimal(38, s)` | pyiceberg, polars and DuckDB fail |

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Schema};

/// A column that is published in a wider type than the table has.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MappedColumn {
    /// Its name; for a field within a column, the names of all fields that lead to it, with dots between them.
    pub column: String,
    /// Its type in the table.
    pub from: DataType,
    /// The type in which other programs read it.
    pub to: DataType,
}

/// The wider type of one that Iceberg lacks.
fn wider(data_type: &DataType) -> Option<DataType> {
    match data_type {
        DataType::UInt8 | DataType::UInt16 => Some(DataType::Int32),
        DataType::Float16 => Some(DataType::Float32),
        _ => None,
    }
}

/// The schema with wider types, and the columns that have them.
pub(super) fn widened(schema: &Schema) -> (Schema, Vec<MappedColumn>) {
    let mut mapped = Vec::new();
    let fields: Vec<FieldRef> =
        schema.fields().iter().map(|field| Arc::new(widen(field, field.name(), &mut mapped))).collect();
    (Schema::new_with_metadata(fields, schema.metadata().clone()), mapped)
}

fn widen(field: &Field, path: &str, mapped: &mut Vec<MappedColumn>) -> Field {
    field.clone().with_data_type(widen_type(field.data_type(), path, mapped))
}

fn widen_type(data_type: &DataType, path: &str, mapped: &mut Vec<MappedColumn>) -> DataType {
    let mut child = |field: &FieldRef| {
        let path = format!("{path}.{}", field.name());
        Arc::new(widen(field, &path, mapped))
    };
    match data_type {
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(child).collect()),
        DataType::List(element) => DataType::List(child(element)),
        DataType::LargeList(element) => DataType::LargeList(child(element)),
        DataType::FixedSizeList(element, length) => DataType::FixedSizeList(child(element), *length),
        DataType::Map(entries, is_sorted) => DataType::Map(child(entries), *is_sorted),
        // Files have the values.
        DataType::Dictionary(_, values) => widen_type(values, path, mapped),
        other => match wider(other) {
            Some(to) => {
                mapped.push(MappedColumn { column: path.to_owned(), from: other.clone(), to: to.clone() });
                to
            }
            None => other.clone(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_at_any_depth_are_widened() {
        let field = |name: &str, data_type| Field::new(name, data_type, true);
        let inner = DataType::Struct(vec![field("n", DataType::UInt16), field("t", DataType::Utf8)].into());
        let keyed = |values| DataType::Dictionary(Box::new(DataType::UInt8), Box::new(values));
        let schema = Schema::new(vec![
            field("a", DataType::List(Arc::new(field("item", inner)))),
            field("b", keyed(DataType::UInt8)),
            field("c", keyed(DataType::Utf8)),
            field("d", DataType::Float16),
            field("e", DataType::UInt64),
            field("f", DataType::UInt32),
        ]);
        let (widened, mapped) = widened(&schema);
        let mapped: Vec<_> = mapped.iter().map(|mapped| (mapped.column.as_str(), &mapped.to)).collect();
        assert_eq!(mapped, [("a.item.n", &DataType::Int32), ("b", &DataType::Int32), ("d", &DataType::Float32)]);
        assert_eq!(widened.field(2).data_type(), &DataType::Utf8);
        assert_eq!(widened.field(4).data_type(), &DataType::UInt64);
        assert_eq!(widened.field(5).data_type(), &DataType::UInt32);
    }
}
