//! Types of columns in CSV and JSON lines: inferred, or given by options.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef};

use super::hexadecimal;
use super::schema_of::schema_of;
use crate::args::{InferRows, TextArgs};
use crate::date_time_format::DateTimeFormat;
use crate::failure::{Failure, Result};
use crate::output::{UTC, is_uuid};
use crate::quantity::plural;

/// The assignment of values to columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Columns {
    /// By position: every row has all columns of the file, and no others.
    Placed,
    /// By name: any column may be missing.
    Named,
}

/// Options for reading text.
#[derive(Debug)]
pub(crate) struct TextOptions {
    pub(super) sample: Option<InferRows>,
    pub(super) types: Vec<(String, DataType)>,
    /// Name and schema of the file given by `--schema-of`.
    pub(super) like: Option<(String, SchemaRef)>,
    pub(super) delimiter: Option<u8>,
    pub(super) quote: Option<u8>,
    pub(super) header: bool,
    /// Texts for null, besides the empty field.
    pub(super) nulls: Vec<String>,
    pub(super) formats: Vec<DateTimeFormat>,
    /// The decimal separator.
    pub(super) point: u8,
}

impl Default for TextOptions {
    /// The options that no argument gives.
    fn default() -> Self {
        Self {
            sample: None,
            types: Vec::new(),
            like: None,
            delimiter: None,
            quote: Some(b'"'),
            header: true,
            nulls: Vec::new(),
            formats: Vec::new(),
            point: b'.',
        }
    }
}

impl TextOptions {
    /// Takes the types of columns from the schema of `name`, unless a file was given for that.
    pub(crate) fn with_types_of(mut self, name: &str, schema: &SchemaRef) -> Self {
        self.like.get_or_insert_with(|| (name.to_owned(), Arc::clone(schema)));
        self
    }
}

pub(super) fn options(args: &TextArgs) -> Result<TextOptions> {
    if args.delimiter.is_some() && args.delimiter == args.quote.0 {
        return Err(Failure::Usage("--delimiter and --quote have to differ".to_owned()));
    }
    let like = args.schema_of.as_deref().map(|path| Ok((path.display().to_string(), schema_of(path)?)));
    Ok(TextOptions {
        sample: args.infer_rows,
        types: args.types.clone(),
        like: like.transpose()?,
        delimiter: args.delimiter,
        quote: args.quote.0,
        header: !args.no_header,
        nulls: args.nulls.clone(),
        formats: args.date_format.clone(),
        point: args.decimal,
    })
}

/// The rows from which types are inferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sample {
    All,
    First(usize),
}

impl Sample {
    pub(super) fn max_rows(self) -> usize {
        match self {
            Self::All => usize::MAX,
            Self::First(rows) => rows,
        }
    }
}

/// The origin of a column's type.
#[derive(Debug)]
pub(super) enum Origin {
    Inferred(Sample),
    /// `--type`.
    Given,
    /// The file of this name, by `--schema-of`.
    SchemaOf(String),
    /// The first input.
    FirstInput,
}

impl Origin {
    /// Advice for a value that does not fit; `as_text` is the option that makes the column text.
    pub(super) fn advice(&self, as_text: &str) -> String {
        match self {
            Self::Inferred(Sample::First(rows)) => format!(
                "types were inferred from the first {}: read the column as text with {as_text}, or infer from all rows with \
                 --infer-rows all",
                plural(*rows as u64, "row")
            ),
            Self::Inferred(Sample::All) => format!("read the column as text with {as_text}"),
            Self::Given => format!("--type requires it; {as_text} reads it as text"),
            Self::SchemaOf(name) => format!("the column has that type in {name}; {as_text} reads it as text"),
            Self::FirstInput => format!("the column has that type in the first input; {as_text} reads it as text"),
        }
    }
}

/// A value in a message.
pub(super) fn quoted(value: &str) -> String {
    const MAX_CHARS: usize = 60;
    match value.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{:?}…", &value[..end]),
        None => format!("{value:?}"),
    }
}

impl TextOptions {
    /// The columns of the rows. Types are taken from the same column in the previous input or in the file of `--schema-of`, or else
    /// inferred; `--type` overrides them.
    pub(super) fn wanted(&self, inferred: &Schema, before: Option<&SchemaRef>, columns: Columns) -> Result<SchemaRef> {
        let mut fields: Vec<FieldRef> = inferred.fields().iter().map(without_null_type).collect();
        if let Some(known) = before.or(self.like.as_ref().map(|(_, schema)| schema)) {
            let optional = |field: &FieldRef| Arc::new(field.as_ref().clone().with_nullable(true));
            match columns {
                Columns::Placed => {
                    for field in &mut fields {
                        if let Some((_, known)) = known.fields().find(field.name()) {
                            *field = optional(known);
                        }
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
                    return Err(Failure::Usage(format!(
                        "--type {path}: there is no such column; the columns are {}",
                        names.join(", ")
                    )));
                }
            }
        }
        Ok(Arc::new(Schema::new(fields)))
    }

    /// The origin of the type of `field`.
    pub(super) fn origin(&self, field: &Field, before: Option<&SchemaRef>, sample: Sample) -> Origin {
        let is_in = |schema: &SchemaRef| schema.fields().find(field.name()).is_some();
        match (before, &self.like) {
            (Some(before), _) if is_in(before) => Origin::FirstInput,
            (None, _) if self.types.iter().any(|(path, _)| path == field.name()) => Origin::Given,
            (None, Some((name, like))) if is_in(like) => Origin::SchemaOf(name.clone()),
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

/// The type requested from Arrow's readers; values are then cast to `field`'s type.
pub(super) fn readable(field: &FieldRef, nested: fn(&FieldRef) -> FieldRef) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::FixedSizeBinary(16) if is_uuid(field) => DataType::Utf8,
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
pub(super) fn converted(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let columns = batch.columns().iter().zip(schema.fields()).map(|(column, field)| convert(column, field));
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
}

/// The column with the type of `field`.
pub(super) fn convert(column: &ArrayRef, field: &Field) -> Result<ArrayRef, ArrowError> {
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
        let options = TextOptions {
            sample: None,
            types,
            like: None,
            delimiter: None,
            quote: None,
            header: true,
            nulls: Vec::new(),
            formats: Vec::new(),
            point: b'.',
        };
        let wanted = options.wanted(&schema, None, Columns::Placed).unwrap();
        let DataType::Struct(fields) = wanted.field(0).data_type() else { panic!("{wanted}") };
        assert_eq!(fields[0].data_type(), &DataType::Date32);
        let missing = TextOptions { types: vec![("a.c".to_owned(), DataType::Date32)], ..options };
        assert!(missing.wanted(&schema, None, Columns::Placed).is_err());
    }
}
