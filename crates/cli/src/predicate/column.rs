//! Which column of a file a name means, and its values in a batch.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, make_array};
use arrow_buffer::NullBuffer;
use arrow_schema::{ArrowError, DataType, FieldRef, Fields, IntervalUnit, Schema, TimeUnit};

use super::syntax::{ColumnName, Name};

/// A column, or a field within nested structs.
#[derive(Debug, Clone)]
pub(super) struct Column {
    /// Positions from the top-level column down.
    indices: Vec<usize>,
    /// The names on the way, with dots between.
    pub(super) path: String,
    pub(super) field: FieldRef,
}

impl Column {
    /// Looks `name` up in `schema`.
    pub(super) fn resolve(name: &ColumnName, schema: &Schema) -> Result<Self, String> {
        let mut fields = schema.fields();
        let mut indices = Vec::new();
        let mut path = String::new();
        let mut found: Option<&FieldRef> = None;
        for part in &name.parts {
            if let Some(parent) = found {
                let DataType::Struct(children) = parent.data_type() else {
                    return Err(format!(
                        "column {path:?} is {}; only structs have fields that can be named with a dot",
                        type_name(parent)
                    ));
                };
                fields = children;
            }
            let index = position(part, fields)?.ok_or_else(|| missing(part, &path, fields))?;
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(fields[index].name());
            indices.push(index);
            found = Some(&fields[index]);
        }
        let field = found.ok_or("a column needs a name")?.clone();
        Ok(Self { indices, path, field })
    }

    /// The column's values; those within a null struct are null.
    pub(super) fn values(&self, batch: &RecordBatch) -> Result<ArrayRef, ArrowError> {
        let mut array = batch.column(self.indices[0]).clone();
        for &index in &self.indices[1..] {
            let parent = array.as_struct();
            let child = parent.column(index);
            array = match parent.nulls().filter(|nulls| nulls.null_count() > 0) {
                None => child.clone(),
                Some(_) if child.data_type() == &DataType::Null => child.clone(),
                Some(nulls) => {
                    let nulls = NullBuffer::union(Some(nulls), child.nulls());
                    make_array(child.to_data().into_builder().nulls(nulls).build()?)
                }
            };
        }
        Ok(array)
    }
}

fn position(name: &Name, fields: &Fields) -> Result<Option<usize>, String> {
    if let Some(index) = fields.iter().position(|field| *field.name() == name.text) {
        return Ok(Some(index));
    }
    if name.quoted {
        return Ok(None);
    }
    let lower = name.text.to_lowercase();
    let mut alike = fields.iter().enumerate().filter(|(_, field)| field.name().to_lowercase() == lower);
    match (alike.next(), alike.next()) {
        (Some((index, _)), None) => Ok(Some(index)),
        (Some((_, first)), Some((_, second))) => Err(format!(
            "column {:?} may mean {:?} or {:?}; write it as it is spelled, in double quotes",
            name.text,
            first.name(),
            second.name()
        )),
        (None, _) => Ok(None),
    }
}

fn missing(name: &Name, parent: &str, fields: &Fields) -> String {
    let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).take(20).collect();
    let more = if fields.len() > names.len() { ", …" } else { "" };
    let place = if parent.is_empty() { String::new() } else { format!(" in {parent:?}") };
    format!("there is no column {:?}{place}; there are {}{more}", name.text, names.join(", "))
}

/// The type of `field` in words, with its article.
pub(super) fn type_name(field: &FieldRef) -> String {
    if crate::output::is_uuid(field) {
        return "a UUID".to_owned();
    }
    data_type_name(field.data_type())
}

fn data_type_name(data_type: &DataType) -> String {
    let unit_name = |unit: &TimeUnit| match unit {
        TimeUnit::Second => "seconds",
        TimeUnit::Millisecond => "milliseconds",
        TimeUnit::Microsecond => "microseconds",
        TimeUnit::Nanosecond => "nanoseconds",
    };
    match data_type {
        DataType::Null => "a column of nulls".to_owned(),
        DataType::Boolean => "a boolean".to_owned(),
        DataType::Int8 => "an 8-bit integer".to_owned(),
        DataType::Int16 => "a 16-bit integer".to_owned(),
        DataType::Int32 => "a 32-bit integer".to_owned(),
        DataType::Int64 => "a 64-bit integer".to_owned(),
        DataType::UInt8 => "an unsigned 8-bit integer".to_owned(),
        DataType::UInt16 => "an unsigned 16-bit integer".to_owned(),
        DataType::UInt32 => "an unsigned 32-bit integer".to_owned(),
        DataType::UInt64 => "an unsigned 64-bit integer".to_owned(),
        DataType::Float16 => "a 16-bit float".to_owned(),
        DataType::Float32 => "a 32-bit float".to_owned(),
        DataType::Float64 => "a 64-bit float".to_owned(),
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => format!("a decimal({precision}, {scale})"),
        DataType::Date32 | DataType::Date64 => "a date".to_owned(),
        DataType::Time32(unit) | DataType::Time64(unit) => format!("a time in {}", unit_name(unit)),
        DataType::Timestamp(unit, None) => format!("a timestamp in {} without time zone", unit_name(unit)),
        DataType::Timestamp(unit, Some(zone)) => format!("a timestamp in {}, time zone {zone}", unit_name(unit)),
        DataType::Duration(unit) => format!("a duration in {}", unit_name(unit)),
        DataType::Interval(IntervalUnit::YearMonth | IntervalUnit::DayTime | IntervalUnit::MonthDayNano) => {
            "an interval".to_owned()
        }
        DataType::Dictionary(_, value) => data_type_name(value),
        DataType::FixedSizeBinary(length) => format!("a byte string of {length} bytes"),
        DataType::Struct(_) => "a struct".to_owned(),
        DataType::Map(..) => "a map".to_owned(),
        other if other.is_string() => "a string".to_owned(),
        other if other.is_binary() => "a byte string".to_owned(),
        other if other.is_list() => "a list".to_owned(),
        other => format!("of type {other}"),
    }
}

/// What to write for a value of this type.
pub(super) fn example_of(field: &FieldRef) -> &'static str {
    if crate::output::is_uuid(field) {
        return "'00000000-0000-0000-0000-000000000000'";
    }
    let data_type = match field.data_type() {
        DataType::Dictionary(_, value) => value,
        other => other,
    };
    match data_type {
        DataType::Boolean => "TRUE or FALSE",
        DataType::Date32 | DataType::Date64 => "DATE '2025-01-31'",
        DataType::Time32(_) | DataType::Time64(_) => "TIME '08:30:00'",
        DataType::Timestamp(..) => "TIMESTAMP '2025-01-31 08:30:00'",
        other if other.is_string() => "'text'",
        other if other.is_binary() => "X'00FF'",
        DataType::FixedSizeBinary(_) => "X'00FF'",
        other if other.is_floating() => "0.5",
        other if other.is_numeric() => "12",
        _ => "IS NULL or IS NOT NULL after it",
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Int32Array, StructArray};
    use arrow_schema::Field;

    use super::*;

    fn name(parts: &[&str], quoted: bool) -> ColumnName {
        ColumnName { parts: parts.iter().map(|&text| Name { text: text.to_owned(), quoted }).collect() }
    }

    #[test]
    fn letters_may_differ_in_case_unless_that_is_ambiguous_or_quoted() {
        let field = |name: &str| Field::new(name, DataType::Int32, true);
        let schema = Schema::new(vec![field("Price"), field("a"), field("A"), field("ab"), field("AB")]);
        assert_eq!(Column::resolve(&name(&["price"], false), &schema).unwrap().path, "Price");
        assert_eq!(Column::resolve(&name(&["A"], false), &schema).unwrap().indices, [2]);
        assert!(Column::resolve(&name(&["Ab"], false), &schema).unwrap_err().contains("may mean"));
        assert!(Column::resolve(&name(&["price"], true), &schema).unwrap_err().contains("there is no column"));
    }

    #[test]
    fn fields_of_null_structs_are_null() {
        let child = Field::new("x", DataType::Int32, true);
        let values: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), Some(2), None]));
        let nulls = NullBuffer::from(vec![true, false, true]);
        let array = StructArray::new(vec![child.clone()].into(), vec![values], Some(nulls));
        let schema = Arc::new(Schema::new(vec![Field::new("s", DataType::Struct(vec![child].into()), true)]));
        let batch = RecordBatch::try_new(schema.clone(), vec![Arc::new(array)]).unwrap();
        let column = Column::resolve(&name(&["s", "x"], false), &schema).unwrap();
        assert_eq!(column.path, "s.x");
        let values = column.values(&batch).unwrap();
        assert_eq!(
            values.as_primitive::<arrow_array::types::Int32Type>(),
            &Int32Array::from(vec![Some(1), None, None])
        );
    }
}
