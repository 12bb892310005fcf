//! Encodes hot rows as values of the store, and decodes them.
//!
//! ```text
//! 0        8        12                      n-4     n
//! │ stamp  │ schema │ value columns         │ check │
//! ```
//!
//! The stamp is the version of the table that wrote the row; the schema is the number of the row's schema version; the value
//! columns are in Arrow's row format; the checksum covers all that and the key.

use arrow_array::ArrayRef;
use arrow_row::{RowConverter, Rows};
use arrow_schema::FieldRef;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::key_codec::{decode_rows, sort_fields};
use super::row_format::one_row;
use crate::error::{Error, Result};

const HEAD_LEN: usize = 12;
const CHECKSUM_LEN: usize = 4;

/// A hot row as it is in the store.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HotValue<'a> {
    pub(crate) stamp: u64,
    pub(crate) schema: u32,
    pub(crate) row: &'a [u8],
}

/// Encodes the columns of one schema that are not part of the key.
#[derive(Debug)]
pub(crate) struct ValueCodec {
    /// Places in the table's schema.
    columns: Vec<usize>,
    fields: Vec<FieldRef>,
    /// `None` if all columns are part of the key.
    converter: Option<RowConverter>,
}

impl ValueCodec {
    pub(crate) fn new(columns: Vec<usize>, fields: Vec<FieldRef>) -> Result<Self> {
        let sort_fields = sort_fields(&fields);
        let unsupported = fields
            .iter()
            .zip(&sort_fields)
            .find(|(_, sort)| !RowConverter::supports_fields(std::slice::from_ref(sort)));
        if let Some((field, _)) = unsupported {
            return Err(Error::schema(format!(
                "column {:?} has the type {}, which a table cannot hold",
                field.name(),
                field.data_type()
            )));
        }
        let converter = if fields.is_empty() { None } else { Some(RowConverter::new(sort_fields)?) };
        Ok(Self { columns, fields, converter })
    }

    /// The places of the columns in the table's schema.
    pub(crate) fn columns(&self) -> &[usize] {
        &self.columns
    }

    pub(crate) fn fields(&self) -> &[FieldRef] {
        &self.fields
    }

    /// The encoded rows of a batch with all columns of the table; `None` if there are no value columns.
    pub(crate) fn encode(&self, columns: &[ArrayRef]) -> Result<Option<Rows>> {
        let Some(converter) = &self.converter else { return Ok(None) };
        let arrays: Vec<ArrayRef> = self.columns.iter().map(|&column| ArrayRef::clone(&columns[column])).collect();
        Ok(Some(converter.convert_columns(&arrays)?))
    }

    /// The value columns of rows that were checked by [`parse`].
    pub(crate) fn decode<'r>(&self, rows: impl IntoIterator<Item = &'r [u8]>) -> Result<Vec<ArrayRef>> {
        let Some(converter) = &self.converter else { return Ok(Vec::new()) };
        decode_rows(converter, &self.fields, rows)
    }
}

impl ValueCodec {
    /// [`decode`](Self::decode) of one row.
    pub(crate) fn decode_one(&self, row: &[u8]) -> Result<Vec<ArrayRef>> {
        match one_row::decode(&self.fields, row) {
            Some(columns) => Ok(columns),
            None => self.decode(std::iter::once(row)),
        }
    }
}

/// Replaces `out` by the value of a hot row.
pub(crate) fn write(out: &mut Vec<u8>, key: &[u8], stamp: u64, schema: u32, row: &[u8]) {
    out.clear();
    out.extend_from_slice(&stamp.to_le_bytes());
    out.extend_from_slice(&schema.to_le_bytes());
    out.extend_from_slice(row);
    let check = checksum(key, out);
    out.extend_from_slice(&check.to_le_bytes());
}

/// The parts of the value of a hot row, once its checksum is found right: Arrow may panic at other bytes than it wrote.
pub(crate) fn parse<'a>(key: &[u8], value: &'a [u8]) -> Result<HotValue<'a>> {
    let damaged = || Error::corrupt("the checksum of a hot row is wrong");
    let (body, check) = value.split_last_chunk::<CHECKSUM_LEN>().ok_or_else(damaged)?;
    if body.len() < HEAD_LEN || checksum(key, body) != u32::from_le_bytes(*check) {
        return Err(damaged());
    }
    let (stamp, rest) = body.split_first_chunk::<8>().ok_or_else(damaged)?;
    let (schema, row) = rest.split_first_chunk::<4>().ok_or_else(damaged)?;
    Ok(HotValue { stamp: u64::from_le_bytes(*stamp), schema: u32::from_le_bytes(*schema), row })
}

/// The stamp of a hot row's or tombstone's value, unchecked.
pub(crate) fn read_stamp(value: &[u8]) -> Result<u64> {
    let stamp = value.first_chunk::<8>().ok_or_else(|| Error::corrupt("a hot value is too short"))?;
    Ok(u64::from_le_bytes(*stamp))
}

fn checksum(key: &[u8], body: &[u8]) -> u32 {
    xxh3_64_with_seed(body, xxh3_64(key)) as u32
}
