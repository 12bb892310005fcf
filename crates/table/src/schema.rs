//! What the columns of a table are.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use lath_parquet::{Strings, parquet_schema};

use crate::error::{Error, Result};
use crate::key_codec::KeyCodec;
use crate::record::{RecordReader, RecordWriter};
use crate::value_codec::ValueCodec;

/// The key of a field's metadata that has its number, as in Parquet files.
const FIELD_ID: &str = "PARQUET:field_id";

/// The name of the column with row numbers in scans of files. No column of a table is called so.
pub(crate) const ROW_NUMBER: &str = "__lath_row_number";

/// Maximum number of rows of a batch.
pub(crate) const BATCH_ROWS: usize = 8192;

/// One version of a table's schema.
#[derive(Debug)]
pub(crate) struct TableSchema {
    /// Counted from 1.
    version: u32,
    arrow: SchemaRef,
    key: KeyCodec,
    values: ValueCodec,
}

impl TableSchema {
    /// The first version of the schema of a new table. Key columns become NOT NULL, and columns get numbers.
    pub(crate) fn create<S: AsRef<str>>(schema: &Schema, key_columns: &[S]) -> Result<Self> {
        let mut names = BTreeSet::new();
        for field in schema.fields() {
            if !names.insert(field.name().as_str()) || field.name() == ROW_NUMBER {
                return Err(Error::schema(format!("two columns cannot be called {:?}: rename one", field.name())));
            }
        }
        let mut columns = Vec::new();
        for name in key_columns {
            let name = name.as_ref();
            let (column, _) = schema.column_with_name(name).ok_or_else(|| {
                Error::schema(format!("there is no column {name:?} to be the key: name columns of the schema"))
            })?;
            if columns.contains(&column) {
                return Err(Error::schema(format!("column {name:?} is twice in the key: name it once")));
            }
            columns.push(column);
        }
        let fields = schema.fields().iter().enumerate().map(|(column, field)| {
            let is_nullable = field.is_nullable() && !columns.contains(&column);
            let mut metadata = field.metadata().clone();
            metadata.insert(FIELD_ID.to_owned(), (column + 1).to_string());
            Field::clone(field).with_nullable(is_nullable).with_metadata(metadata)
        });
        let arrow = Schema::new_with_metadata(fields.collect::<Fields>(), schema.metadata().clone());
        // Refuses what Parquet has no place for.
        parquet_schema(&arrow)?;
        Self::new(1, Arc::new(arrow), columns)
    }

    fn new(version: u32, arrow: SchemaRef, key_columns: Vec<usize>) -> Result<Self> {
        let field = |&column: &usize| FieldRef::clone(&arrow.fields()[column]);
        let key_fields: Vec<FieldRef> = key_columns.iter().map(field).collect();
        let value_columns: Vec<usize> = (0..arrow.fields().len()).filter(|at| !key_columns.contains(at)).collect();
        let value_fields: Vec<FieldRef> = value_columns.iter().map(field).collect();
        let key = KeyCodec::new(key_columns, key_fields)?;
        let values = ValueCodec::new(value_columns, value_fields)?;
        Ok(Self { version, arrow, key, values })
    }

    /// As a record of the store.
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut ipc = Vec::new();
        StreamWriter::try_new(&mut ipc, &self.arrow)?.finish()?;
        let mut record = RecordWriter::default();
        record.u32(self.version).u32(self.key.columns().len() as u32);
        for &column in self.key.columns() {
            record.u32(column as u32);
        }
        Ok(record.bytes(&ipc).finish())
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut record = RecordReader::new("a schema", bytes)?;
        let version = record.u32()?;
        let key_columns = (0..record.u32()?).map(|_| Ok(record.u32()? as usize)).collect::<Result<Vec<_>>>()?;
        let arrow = StreamReader::try_new(record.bytes()?, None)?.schema();
        if key_columns.iter().any(|&column| column >= arrow.fields().len()) {
            return Err(Error::corrupt("the key has a column that the schema lacks"));
        }
        Self::new(version, arrow, key_columns)
    }

    pub(crate) fn version(&self) -> u32 {
        self.version
    }

    pub(crate) fn arrow(&self) -> &SchemaRef {
        &self.arrow
    }

    pub(crate) fn key(&self) -> &KeyCodec {
        &self.key
    }

    pub(crate) fn values(&self) -> &ValueCodec {
        &self.values
    }

    /// The form of strings in which files are read: the one that most likely needs no conversion.
    pub(crate) fn strings(&self) -> Strings {
        if self.arrow.fields().iter().any(|field| has_offsets(field.data_type())) {
            Strings::Offsets
        } else {
            Strings::Views
        }
    }

    /// The place of a column.
    pub(crate) fn column(&self, name: &str) -> Result<usize> {
        let found = self.arrow.column_with_name(name);
        found.map(|(column, _)| column).ok_or_else(|| Error::batch(format!("the table has no column {name:?}")))
    }

    /// The columns of a batch as the table has them: in its order and with its types. A batch with other columns, or with a null where
    /// there may be none, is an error.
    pub(crate) fn conform(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        if let Some(unknown) = batch.schema().fields().iter().find(|field| self.column(field.name()).is_err()) {
            return Err(Error::batch(format!("the batch has a column {:?}, and the table has not", unknown.name())));
        }
        let mut columns = Vec::with_capacity(self.arrow.fields().len());
        for (column, field) in self.arrow.fields().iter().enumerate() {
            columns.push(conform_column(self.array_of(batch, column)?, field)?);
        }
        Ok(columns)
    }

    /// The array that a batch has for the column at this place.
    pub(crate) fn array_of<'b>(&self, batch: &'b RecordBatch, column: usize) -> Result<&'b ArrayRef> {
        let name = self.arrow.field(column).name();
        unique_column(batch, name)?.ok_or_else(|| Error::batch(format!("the batch lacks the column {name:?}")))
    }

    /// The key columns of a batch, as the table has them.
    pub(crate) fn conform_key(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let column = |field: &FieldRef| {
            let array = unique_column(batch, field.name())?;
            let array =
                array.ok_or_else(|| Error::batch(format!("the batch lacks the key column {:?}", field.name())))?;
            conform_column(array, field)
        };
        self.key.fields().iter().map(column).collect()
    }

    /// The batch of all columns of the table in the rows with these keys and value columns.
    pub(crate) fn batch_of(&self, keys: Vec<ArrayRef>, values: Vec<ArrayRef>, row_count: usize) -> Result<RecordBatch> {
        let places = self.key.columns().iter().chain(self.values.columns());
        let by_place: HashMap<usize, ArrayRef> = places.copied().zip(keys.into_iter().chain(values)).collect();
        let columns = (0..self.arrow.fields().len()).map(|column| by_place.get(&column).cloned());
        let columns = columns.collect::<Option<Vec<_>>>();
        let columns = columns.ok_or_else(|| Error::internal("a hot row lacks a column"))?;
        batch(&self.arrow, columns, row_count)
    }
}

/// A batch, also of no columns.
pub(crate) fn batch(schema: &SchemaRef, columns: Vec<ArrayRef>, row_count: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(row_count));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}

fn unique_column<'b>(batch: &'b RecordBatch, name: &str) -> Result<Option<&'b ArrayRef>> {
    let schema = batch.schema_ref();
    let mut found = (0..schema.fields().len()).filter(|&at| schema.field(at).name() == name);
    match (found.next(), found.next()) {
        (Some(_), Some(_)) => Err(Error::batch(format!("the batch has two columns {name:?}"))),
        (first, _) => Ok(first.map(|at| batch.column(at))),
    }
}

/// The array as a column that `field` describes.
pub(crate) fn conform_column(array: &ArrayRef, field: &Field) -> Result<ArrayRef> {
    if !field.is_nullable()
        && let Some(nulls) = array.logical_nulls()
        && let Some(row) = (0..array.len()).find(|&row| nulls.is_null(row))
    {
        return Err(Error::Null { column: field.name().clone(), row });
    }
    if array.data_type() == field.data_type() {
        return Ok(ArrayRef::clone(array));
    }
    if !has_same_values(array.data_type(), field.data_type()) {
        return Err(Error::batch(format!(
            "column {:?} is {}, and in the table it is {}: cast it",
            field.name(),
            array.data_type(),
            field.data_type()
        )));
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    Ok(cast_with_options(array, field.data_type(), &options)?)
}

/// Whether types differ in the layout of their arrays and the names of nested fields only.
fn has_same_values(given: &DataType, wanted: &DataType) -> bool {
    use DataType::{
        Binary, BinaryView, Dictionary, FixedSizeList, LargeBinary, LargeList, LargeUtf8, List, Map, Struct, Utf8,
        Utf8View,
    };
    match (given, wanted) {
        (Utf8 | LargeUtf8 | Utf8View, Utf8 | LargeUtf8 | Utf8View)
        | (Binary | LargeBinary | BinaryView, Binary | LargeBinary | BinaryView) => true,
        (Dictionary(_, given), wanted) => has_same_values(given, wanted),
        (given, Dictionary(_, wanted)) => has_same_values(given, wanted),
        (List(given) | LargeList(given), List(wanted) | LargeList(wanted)) | (Map(given, _), Map(wanted, _)) => {
            has_same_values(given.data_type(), wanted.data_type())
        }
        (FixedSizeList(given, len), FixedSizeList(wanted, wanted_len)) => {
            len == wanted_len && has_same_values(given.data_type(), wanted.data_type())
        }
        (Struct(given), Struct(wanted)) => {
            let is_same = |(given, wanted): (&FieldRef, &FieldRef)| {
                given.name() == wanted.name() && has_same_values(given.data_type(), wanted.data_type())
            };
            given.len() == wanted.len() && given.iter().zip(wanted).all(is_same)
        }
        _ => given == wanted,
    }
}

fn has_offsets(data_type: &DataType) -> bool {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary => true,
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => has_offsets(field.data_type()),
        DataType::Struct(fields) => fields.iter().any(|field| has_offsets(field.data_type())),
        DataType::Dictionary(_, values) => has_offsets(values),
        _ => false,
    }
}
