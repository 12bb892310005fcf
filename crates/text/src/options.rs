//! Options for reading text, and the types of its columns: inferred, or given.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef};

use crate::date_time_format::DateTimeFormat;
use crate::error::{Error, Result};
use crate::hexadecimal;
use crate::origin::{InferRows, Origin};

/// UTC, as Arrow's parsers know it.
const UTC: &str = "+00:00";

/// The way in which values are assigned to columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Columns {
    /// By position: every row has all columns of the file, and no others.
    Placed,
    /// By name: any column may be missing.
    Named,
}

/// Options for reading text.
#[derive(Debug, Clone)]
pub struct TextOptions {
    /// The rows from which types are inferred. The default is all rows of a file of up to 32 MiB, and the first 20,000 rows of larger files.
    pub infer_rows: Option<InferRows>,
    /// Types of columns, by name or by the path of a field, `a.b`.
    pub types: Vec<(String, DataType)>,
    /// The columns to read, whatever columns the files have. CSV must have them in this order; names in a header may differ in case. JSON
    /// lines may lack fields; additional fields are ignored.
    pub columns: Option<SchemaRef>,
    /// The name of a schema, for messages, and the schema, which has the types of the columns of the same names.
    pub types_of: Option<(String, SchemaRef)>,
    /// The delimiter of CSV; if there is none, it is detected.
    pub delimiter: Option<u8>,
    /// The quote character of CSV, if it has one.
    pub quote: Option<u8>,
    /// The character of CSV that makes a quote after it part of a value, besides the doubled quote.
    pub escape: Option<u8>,
    /// Whether the first record of CSV has the names of the columns; else they are `column_1`, `column_2` and so on.
    pub header: bool,
    /// Texts of CSV that are null, besides the empty field.
    pub nulls: Vec<String>,
    /// Whether the empty field of CSV is null, and not the empty text.
    pub empty_is_null: bool,
    /// Formats of dates and timestamps of CSV, besides ISO 8601.
    pub date_formats: Vec<DateTimeFormat>,
    /// The decimal separator of CSV.
    pub decimal_point: u8,
    /// The number of lines of CSV before the first record.
    pub skip_lines: u64,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self {
            infer_rows: None,
            types: Vec::new(),
            columns: None,
            types_of: None,
            delimiter: None,
            quote: Some(b'"'),
            escape: None,
            header: true,
            nulls: Vec::new(),
            empty_is_null: true,
            date_formats: Vec::new(),
            decimal_point: b'.',
            skip_lines: 0,
        }
    }
}

impl TextOptions {
    /// Takes the types of columns from the schema of `name`, unless another was given for that.
    #[must_use]
    pub fn with_types_from(mut self, name: &str, schema: &SchemaRef) -> Self {
        self.types_of.get_or_insert_with(|| (name.to_owned(), Arc::clone(schema)));
        self
    }
}

impl TextOptions {
    /// The columns of the rows. A column has the type of the same column in the first file or in `types_of`, else the
    /// inferred one; `types` override both.
    pub(crate) fn wanted(&self, inferred: &Schema, before: Option<&SchemaRef>, columns: Columns) -> Result<SchemaRef> {
        let mut fields: Vec<FieldRef> = inferred.fields().iter().map(without_null_type).collect();
        if let Some(known) = before.or(self.types_of.as_ref().map(|(_, schema)| schema)) {
            let optional = |field: &FieldRef| Arc::new(field.as_ref().clone().with_nullable(true));
            match columns {
                Columns::Placed => {
                    // The second column of a name is of the type of the second of that name.
                    let mut seen: HashMap<String, usize> = HashMap::new();
                    for field in &mut fields {
                        let before = seen.entry(field.name().clone()).or_default();
                        let mut namesakes = known.fields().iter().filter(|known| known.name() == field.name());
                        if let Some(known) = namesakes.nth(*before) {
                            *field = optional(known);
                        }
                        *before += 1;
                    }
                }
                Columns::Named => {
                    fields.retain(|field| known.fields().find(field.name()).is_none());
                    fields = known.fields().iter().map(optional).chain(fields).collect();
                }
            }
        }
        if before.is_none() {
            for (path, data_type) in &self.types {
                let segments: Vec<&str> = path.split('.').collect();
                // A column whose name is the whole path comes before fields of structs.
                let found = match fields.iter_mut().find(|field| field.name() == path) {
                    Some(column) => replace(column, &[path], data_type),
                    None => fields.iter_mut().any(|field| replace(field, &segments, data_type)),
                };
                if !found {
                    let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
                    let what = format!(
                        "there is no column {path}, which is to be {data_type}; the columns are {}",
                        names.join(", ")
                    );
                    return Err(Error::Options { what, as_text: None });
                }
            }
        }
        Ok(Arc::new(Schema::new(fields)))
    }

    /// The origin of the type of `field`.
    pub(crate) fn origin(&self, field: &Field, before: Option<&SchemaRef>, sample: InferRows) -> Origin {
        let is_in = |schema: &SchemaRef| schema.fields().find(field.name()).is_some();
        match (before, &self.types_of) {
            (Some(before), _) if is_in(before) => Origin::FirstFile,
            (None, _) if self.types.iter().any(|(path, _)| path == field.name()) => Origin::Given,
            (None, Some((name, schema))) if is_in(schema) => Origin::SchemaOf(name.clone()),
            _ => Origin::Inferred(sample),
        }
    }
}

/// A column without values becomes text, which holds whatever follows.
fn without_null_type(field: &FieldRef) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::Null => DataType::Utf8,
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(without_null_type).collect()),
        DataType::List(element) => DataType::List(without_null_type(element)),
        other => other.clone(),
    };
    Arc::new(Field::new(field.name(), data_type, true))
}

fn replace(field: &mut FieldRef, path: &[&str], data_type: &DataType) -> bool {
    let Some((first, rest)) = path.split_first() else { return false };
    // A name may contain dots.
    if *field.name() == path.join(".") {
        *field = Arc::new(Field::new(field.name(), data_type.clone(), true));
        return true;
    }
    if field.name() != first {
        return false;
    }
    let DataType::Struct(children) = field.data_type() else { return false };
    let mut children = children.to_vec();
    let found = children.iter_mut().any(|child| replace(child, rest, data_type));
    if found {
        *field = Arc::new(Field::new(field.name(), DataType::Struct(children.into()), true));
    }
    found
}

/// The type that Arrow's readers are to return; values are then cast to `field`'s type.
pub(crate) fn readable(field: &FieldRef, nested: fn(&FieldRef) -> FieldRef) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::FixedSizeBinary(16) if field.extension_type_name() == Some("arrow.uuid") => DataType::Utf8,
        DataType::Dictionary(_, value) => {
            return readable(&Arc::new(Field::new(field.name(), value.as_ref().clone(), true)), nested);
        }
        DataType::Timestamp(unit, Some(_)) => DataType::Timestamp(*unit, Some(UTC.into())),
        DataType::Float16 => DataType::Float32,
        data_type if data_type.is_nested() => return nested(field),
        other => other.clone(),
    };
    Arc::new(Field::new(field.name(), data_type, true))
}

/// The batch with the columns of `schema`.
pub(crate) fn converted(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let columns = batch.columns().iter().zip(schema.fields()).map(|(column, field)| convert(column, field));
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
}

/// The column with the type of `field`.
pub(crate) fn convert(column: &ArrayRef, field: &Field) -> Result<ArrayRef, ArrowError> {
    if column.data_type() == field.data_type() {
        return Ok(Arc::clone(column));
    }
    match field.data_type() {
        data_type if column.data_type() == &DataType::Utf8 && data_type.is_binary() => {
            hexadecimal::decode(column, data_type, field.name())
        }
        DataType::FixedSizeBinary(_) if column.data_type() == &DataType::Utf8 => {
            hexadecimal::decode(column, field.data_type(), field.name())
        }
        other => cast(column, other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_structs_can_be_given_a_type() {
        let inner = vec![Arc::new(Field::new("b", DataType::Null, true))];
        let schema = Schema::new(vec![Field::new("a", DataType::Struct(inner.into()), true)]);
        let types = vec![("a.b".to_owned(), DataType::Date32)];
        let options = TextOptions { types, ..TextOptions::default() };
        let wanted = options.wanted(&schema, None, Columns::Placed).unwrap();
        let DataType::Struct(fields) = wanted.field(0).data_type() else { panic!("{wanted}") };
        assert_eq!(fields[0].data_type(), &DataType::Date32);
        let missing = TextOptions { types: vec![("a.c".to_owned(), DataType::Date32)], ..options };
        assert!(missing.wanted(&schema, None, Columns::Placed).is_err());
    }
}
