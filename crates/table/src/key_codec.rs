//! Keys as bytes that are ordered as the keys are, and back.

use arrow_array::{Array, ArrayRef};
use arrow_cast::cast;
use arrow_cast::display::array_value_to_string;
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::{DataType, FieldRef};

use crate::error::{Error, Result};

/// The maximum length of an encoded key in bytes: the store's, less what is put before keys.
pub(crate) const MAX_KEY_LEN: usize = (32 << 10) - 64;

/// Encodes the key columns of one schema, in the row format of Arrow.
#[derive(Debug)]
pub(crate) struct KeyCodec {
    /// Places in the table's schema.
    columns: Vec<usize>,
    fields: Vec<FieldRef>,
    converter: RowConverter,
}

impl KeyCodec {
    pub(crate) fn new(columns: Vec<usize>, fields: Vec<FieldRef>) -> Result<Self> {
        if fields.is_empty() {
            return Err(Error::schema("a table needs at least one key column"));
        }
        if let Some(field) = fields.iter().find(|field| !is_orderable(field.data_type())) {
            return Err(Error::schema(format!(
                "column {:?} cannot be part of a key or index: there is no order of {}",
                field.name(),
                field.data_type()
            )));
        }
        let converter = RowConverter::new(sort_fields(&fields))?;
        Ok(Self { columns, fields, converter })
    }

    /// The places of the key columns in the table's schema, the most significant first.
    pub(crate) fn columns(&self) -> &[usize] {
        &self.columns
    }

    pub(crate) fn fields(&self) -> &[FieldRef] {
        &self.fields
    }

    /// The key columns of a batch with all columns of the table.
    pub(crate) fn columns_of(&self, columns: &[ArrayRef]) -> Vec<ArrayRef> {
        self.columns.iter().map(|&column| ArrayRef::clone(&columns[column])).collect()
    }

    /// The encoded keys. Arrays have the types of the key columns.
    pub(crate) fn encode(&self, arrays: &[ArrayRef]) -> Result<Rows> {
        Ok(self.converter.convert_columns(arrays)?)
    }

    /// The keys' first columns, which are a prefix of their encoded form.
    pub(crate) fn encode_prefix(&self, arrays: &[ArrayRef]) -> Result<Vec<u8>> {
        let converter = RowConverter::new(sort_fields(&self.fields[..arrays.len()]))?;
        Ok(converter.convert_columns(arrays)?.row(0).data().to_vec())
    }

    /// The key columns of encoded keys. Their bytes were checked by whoever got them from the store.
    pub(crate) fn decode<'k>(&self, keys: impl IntoIterator<Item = &'k [u8]>) -> Result<Vec<ArrayRef>> {
        decode_rows(&self.converter, &self.fields, keys)
    }

    /// The key in `row` of the key columns, for a message.
    pub(crate) fn describe(&self, arrays: &[ArrayRef], row: usize) -> String {
        let part = |(array, field): (&ArrayRef, &FieldRef)| {
            let value = array_value_to_string(array, row).unwrap_or_else(|error| error.to_string());
            format!("{} = {value}", field.name())
        };
        arrays.iter().zip(&self.fields).map(part).collect::<Vec<_>>().join(", ")
    }
}

/// The columns `fields` of rows that the converter has encoded.
pub(crate) fn decode_rows<'r>(
    converter: &RowConverter,
    fields: &[FieldRef],
    rows: impl IntoIterator<Item = &'r [u8]>,
) -> Result<Vec<ArrayRef>> {
    let parser = converter.parser();
    let arrays = converter.convert_rows(rows.into_iter().map(|row| parser.parse(row)))?;
    arrays.into_iter().zip(fields).map(|(array, field)| as_type(array, field.data_type())).collect()
}

/// The array as one of this type, which differs in layout at most.
pub(crate) fn as_type(array: ArrayRef, data_type: &DataType) -> Result<ArrayRef> {
    if array.data_type() == data_type { Ok(array) } else { Ok(cast(&array, data_type)?) }
}

pub(crate) fn sort_fields(fields: &[FieldRef]) -> Vec<SortField> {
    fields.iter().map(|field| SortField::new(field.data_type().clone())).collect()
}

fn is_orderable(data_type: &DataType) -> bool {
    match data_type {
        DataType::Null | DataType::Map(..) | DataType::Union(..) | DataType::RunEndEncoded(..) => false,
        DataType::Dictionary(_, values) => is_orderable(values),
        DataType::Struct(fields) => fields.iter().all(|field| is_orderable(field.data_type())),
        DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) => {
            is_orderable(field.data_type())
        }
        _ => RowConverter::supports_fields(&[SortField::new(data_type.clone())]),
    }
}
