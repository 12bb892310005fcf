//! What CSV and JSON lines have in common: their types are not written down, but inferred, or given.

use std::fs::File;
use std::io::{BufReader, Cursor, Read};
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_cast::cast;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef, TimeUnit};
use lath_parquet::ParquetFile;

use super::Bytes;
use super::hexadecimal;
use crate::args::TextArgs;
use crate::failure::{Failure, Result};
use crate::output::{UTC, is_uuid};

/// How values of a row are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Columns {
    /// By their places: every row has all columns of the file, and no others.
    Placed,
    /// By their names: any may be missing.
    Named,
}

/// How text is read.
#[derive(Debug)]
pub(crate) struct TextOptions {
    pub(super) infer_rows: Option<usize>,
    pub(super) types: Vec<(String, DataType)>,
    pub(super) like: Option<SchemaRef>,
    pub(super) delimiter: Option<u8>,
    pub(super) header: bool,
}

pub(super) fn options(args: &TextArgs) -> Result<TextOptions> {
    Ok(TextOptions {
        infer_rows: args.infer_rows.0,
        types: args.types.clone(),
        like: args.schema_of.as_deref().map(schema_of).transpose()?,
        delimiter: args.delimiter,
        header: !args.no_header,
    })
}

/// The Arrow schema of a Parquet or Arrow IPC file.
fn schema_of(path: &Path) -> Result<SchemaRef> {
    let name = path.display().to_string();
    let mut magic = [0; 6];
    let mut file = File::open(path).map_err(|error| Failure::reaching(path, &error))?;
    // A shorter file is no file of these formats, which its reader says.
    let _ = file.read(&mut magic);
    let reopened = || File::open(path).map(BufReader::new).map_err(|error| Failure::reaching(path, &error));
    let unreadable = |error: ArrowError| Failure::Corrupt(format!("{name}: {error}"));
    match &magic {
        b"ARROW1" => Ok(FileReader::try_new(reopened()?, None).map_err(unreadable)?.schema()),
        [0xff, 0xff, 0xff, 0xff, ..] => Ok(StreamReader::try_new(reopened()?, None).map_err(unreadable)?.schema()),
        _ => match ParquetFile::open(path) {
            Ok(file) => Ok(Arc::clone(file.schema())),
            Err(error) => Err(Failure::reading(&name, error)),
        },
    }
}

impl TextOptions {
    /// The columns that rows are to have: those of the file before or of the model by name, else the inferred ones, with
    /// the types given one by one in their place.
    pub(super) fn wanted(&self, inferred: &Schema, before: Option<&SchemaRef>, columns: Columns) -> Result<SchemaRef> {
        let mut fields: Vec<FieldRef> = inferred.fields().iter().map(without_null_type).collect();
        if let Some(known) = before.or(self.like.as_ref()) {
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
                let found = fields.iter_mut().any(|field| replace(field, &segments, data_type));
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

    /// Explains errors of the reader of the file called `name`.
    pub(super) fn explainer(&self, name: &str) -> impl Fn(ArrowError) -> Failure + Send + 'static {
        let hint = match self.infer_rows {
            Some(rows) if self.like.is_none() => format!(
                "; types were inferred from the first {rows} rows: give a type with --type COLUMN=TYPE, or look at more rows with \
                 --infer-rows"
            ),
            _ => String::new(),
        };
        let name = name.to_owned();
        move |error| match error {
            ArrowError::IoError(_, source) => Failure::Io(format!("{name}: cannot read: {source}")),
            other => Failure::Corrupt(format!("{name}: {other}{hint}")),
        }
    }
}

/// A column without a single value says nothing of its type; text holds whatever follows.
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
    // A name may have dots of its own.
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

/// The type as which Arrow's readers can read text that is then cast to `field`'s type.
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

fn convert(column: &ArrayRef, field: &Field) -> Result<ArrayRef, ArrowError> {
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

/// Keeps what a first look at `bytes` reads, and gives it back in front of the rest.
pub(super) fn look_ahead<T>(mut bytes: Bytes, look: impl FnOnce(&mut dyn Read) -> T) -> (T, Bytes) {
    let mut seen = Vec::new();
    let result = look(&mut Recorder { reader: &mut bytes, seen: &mut seen });
    (result, Box::new(BufReader::with_capacity(256 << 10, Cursor::new(seen).chain(bytes))))
}

struct Recorder<'a> {
    reader: &'a mut Bytes,
    seen: &'a mut Vec<u8>,
}

impl Read for Recorder<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.seen.extend_from_slice(&buffer[..count]);
        Ok(count)
    }
}

/// The Arrow type that a word stands for: one of Arrow's own names, or a short one.
pub(crate) fn parse_type(text: &str) -> std::result::Result<DataType, String> {
    let short = match text.to_ascii_lowercase().as_str() {
        "bool" | "boolean" => DataType::Boolean,
        "int" | "integer" => DataType::Int32,
        "bigint" | "long" => DataType::Int64,
        "float" => DataType::Float32,
        "double" => DataType::Float64,
        "string" | "text" | "utf8" => DataType::Utf8,
        "binary" | "bytes" => DataType::Binary,
        "date" => DataType::Date32,
        "time" => DataType::Time64(TimeUnit::Microsecond),
        "timestamp" => DataType::Timestamp(TimeUnit::Microsecond, None),
        "timestamptz" => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        other => {
            let digits = other.strip_prefix("decimal(").and_then(|rest| rest.strip_suffix(')'));
            if let Some((precision, scale)) = digits.and_then(|digits| digits.split_once(','))
                && let (Ok(precision), Ok(scale)) = (precision.trim().parse(), scale.trim().parse())
            {
                return Ok(DataType::Decimal128(precision, scale));
            }
            return text.parse().map_err(|_| {
                format!(
                    "{text} is no type; write bool, int, bigint, double, string, binary, date, time, timestamp, timestamptz, \
                     decimal(18, 2), or a type as Arrow writes it, such as 'Timestamp(ns)' or 'List(Int32)'"
                )
            });
        }
    };
    Ok(short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_short_names_and_arrow_names() {
        assert_eq!(parse_type("TEXT"), Ok(DataType::Utf8));
        assert_eq!(parse_type("decimal(18, 2)"), Ok(DataType::Decimal128(18, 2)));
        assert_eq!(parse_type("Timestamp(ns)"), Ok(DataType::Timestamp(TimeUnit::Nanosecond, None)));
        assert_eq!(parse_type("UInt16"), Ok(DataType::UInt16));
        assert!(parse_type("varchar2").is_err());
    }

    #[test]
    fn what_was_looked_at_is_read_again() {
        let bytes: Bytes = Box::new(Cursor::new(b"abcdefgh".to_vec()));
        let (seen, mut rest) = look_ahead(bytes, |reader| {
            let mut three = [0; 3];
            reader.read_exact(&mut three).unwrap();
            three
        });
        let mut all = Vec::new();
        rest.read_to_end(&mut all).unwrap();
        assert_eq!((&seen, all.as_slice()), (b"abc", &b"abcdefgh"[..]));
    }

    #[test]
    fn fields_of_structs_can_be_given_a_type() {
        let inner = vec![Arc::new(Field::new("b", DataType::Null, true))];
        let schema = Schema::new(vec![Field::new("a", DataType::Struct(inner.into()), true)]);
        let types = vec![("a.b".to_owned(), DataType::Date32)];
        let options = TextOptions { infer_rows: Some(1), types, like: None, delimiter: None, header: true };
        let wanted = options.wanted(&schema, None, Columns::Placed).unwrap();
        let DataType::Struct(fields) = wanted.field(0).data_type() else { panic!("{wanted}") };
        assert_eq!(fields[0].data_type(), &DataType::Date32);
        let missing = TextOptions { types: vec![("a.c".to_owned(), DataType::Date32)], ..options };
        assert!(missing.wanted(&schema, None, Columns::Placed).is_err());
    }
}
