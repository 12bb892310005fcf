//! Values of Avro's binary encoding.

use super::schema::{AvroType, Record};
use crate::error::{Error, Result};
use crate::schema::{Literal, decimal_from_bytes};

/// A place in encoded values.
#[derive(Debug)]
pub(crate) struct Cursor<'b> {
    rest: &'b [u8],
    /// The kind of file, for errors.
    what: &'static str,
}

impl<'b> Cursor<'b> {
    pub(crate) fn new(bytes: &'b [u8], what: &'static str) -> Self {
        Self { rest: bytes, what }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    pub(super) fn rest(&self) -> &'b [u8] {
        self.rest
    }

    pub(crate) fn error(&self, what: impl Into<String>) -> Error {
        Error::corrupt(self.what, what)
    }

    pub(super) fn take(&mut self, length: usize) -> Result<&'b [u8]> {
        let Some((taken, rest)) = self.rest.split_at_checked(length) else {
            return Err(self.error(format!("expected {length} bytes, found {}", self.rest.len())));
        };
        self.rest = rest;
        Ok(taken)
    }

    /// An integer of a variable number of bytes, in zigzag form.
    pub(super) fn varint(&mut self) -> Result<i64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed());
            }
        }
        Err(self.error("an integer has more than ten bytes"))
    }

    /// A length that the remaining bytes can have.
    pub(super) fn length(&mut self) -> Result<usize> {
        let length = self.varint()?;
        usize::try_from(length).map_err(|_| self.error(format!("{length} is not a length")))
    }

    pub(super) fn block_bytes(&mut self) -> Result<&'b [u8]> {
        let length = self.length()?;
        self.take(length)
    }

    /// The type of a value that is not null; `None` if it is null.
    fn branch<'t>(&mut self, avro: &'t AvroType) -> Result<Option<&'t AvroType>> {
        match avro {
            AvroType::Null => Ok(None),
            AvroType::Union(branches) => {
                let at = self.length()?;
                let branch = branches.get(at).ok_or_else(|| self.error(format!("a union has no type {at}")))?;
                // Unions in unions are not allowed.
                Ok(Some(branch).filter(|branch| **branch != AvroType::Null))
            }
            _ => Ok(Some(avro)),
        }
    }

    fn unexpected(&self, expected: &str, avro: &AvroType) -> Error {
        self.error(format!("expected {expected}, found {}", avro.name()))
    }

    fn required<T>(&self, value: Option<T>) -> Result<T> {
        value.ok_or_else(|| self.error("a required value is null"))
    }

    pub(crate) fn long_if_any(&mut self, avro: &AvroType) -> Result<Option<i64>> {
        match self.branch(avro)? {
            None => Ok(None),
            Some(AvroType::Int | AvroType::Long) => self.varint().map(Some),
            Some(other) => Err(self.unexpected("a number", other)),
        }
    }

    pub(crate) fn long(&mut self, avro: &AvroType) -> Result<i64> {
        let value = self.long_if_any(avro)?;
        self.required(value)
    }

    pub(crate) fn int_if_any(&mut self, avro: &AvroType) -> Result<Option<i32>> {
        let value = self.long_if_any(avro)?;
        let narrow =
            |value: i64| i32::try_from(value).map_err(|_| self.error(format!("{value} has more than 32 bits")));
        value.map(narrow).transpose()
    }

    pub(crate) fn int(&mut self, avro: &AvroType) -> Result<i32> {
        let value = self.int_if_any(avro)?;
        self.required(value)
    }

    /// A number that is not negative.
    pub(crate) fn count(&mut self, avro: &AvroType) -> Result<u64> {
        let value = self.long(avro)?;
        u64::try_from(value).map_err(|_| self.error(format!("{value} is not a count")))
    }

    pub(crate) fn boolean_if_any(&mut self, avro: &AvroType) -> Result<Option<bool>> {
        match self.branch(avro)? {
            None => Ok(None),
            Some(AvroType::Boolean) => Ok(Some(self.take(1)?[0] != 0)),
            Some(other) => Err(self.unexpected("a boolean", other)),
        }
    }

    pub(crate) fn bytes_if_any(&mut self, avro: &AvroType) -> Result<Option<&'b [u8]>> {
        match self.branch(avro)? {
            None => Ok(None),
            Some(AvroType::Bytes | AvroType::String | AvroType::Decimal) => self.block_bytes().map(Some),
            Some(AvroType::Fixed { length, .. }) => self.take(*length).map(Some),
            Some(other) => Err(self.unexpected("bytes", other)),
        }
    }

    pub(crate) fn text_if_any(&mut self, avro: &AvroType) -> Result<Option<String>> {
        let Some(bytes) = self.bytes_if_any(avro)? else { return Ok(None) };
        let text = std::str::from_utf8(bytes).map_err(|_| self.error("text is not UTF-8"))?;
        Ok(Some(text.to_owned()))
    }

    pub(crate) fn text(&mut self, avro: &AvroType) -> Result<String> {
        let value = self.text_if_any(avro)?;
        self.required(value)
    }

    /// The record that a value is; `None` if it is null.
    pub(crate) fn record_if_any<'t>(&mut self, avro: &'t AvroType) -> Result<Option<&'t Record>> {
        match self.branch(avro)? {
            None => Ok(None),
            Some(AvroType::Record(record)) => Ok(Some(record)),
            Some(other) => Err(self.unexpected("a record", other)),
        }
    }

    /// Calls `read` for each item of an array, which is empty if it is null.
    pub(crate) fn items(
        &mut self,
        avro: &AvroType,
        mut read: impl FnMut(&mut Self, &AvroType) -> Result<()>,
    ) -> Result<()> {
        match self.branch(avro)? {
            None => Ok(()),
            Some(AvroType::Array(item)) => self.blocks(|cursor| read(cursor, item)),
            Some(other) => Err(self.unexpected("an array", other)),
        }
    }

    /// Calls `read` for each item of an array or a map.
    pub(super) fn blocks(&mut self, mut read: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        loop {
            let mut count = self.varint()?;
            if count == 0 {
                return Ok(());
            }
            if count < 0 {
                // The length of the block in bytes, by which it could be skipped.
                self.varint()?;
                count = count.checked_neg().ok_or_else(|| self.error("a block has too many items"))?;
            }
            // An item has at least one byte: the schema says so.
            if usize::try_from(count).map_or(true, |count| count > self.rest.len()) {
                return Err(self.error(format!("a block has {count} items in {} bytes", self.rest.len())));
            }
            for _ in 0..count {
                read(self)?;
            }
        }
    }

    /// A single value, without its type: the value of a partition.
    pub(crate) fn literal_if_any(&mut self, avro: &AvroType) -> Result<Option<Literal>> {
        let Some(branch) = self.branch(avro)? else { return Ok(None) };
        let literal = match branch {
            AvroType::Boolean => Literal::Boolean(self.take(1)?[0] != 0),
            AvroType::Int => Literal::Int(self.int(branch)?),
            AvroType::Long => Literal::Long(self.varint()?),
            AvroType::Float => Literal::Float(f32::from_bits(u32::from_le_bytes(self.array()?))),
            AvroType::Double => Literal::Double(f64::from_bits(u64::from_le_bytes(self.array()?))),
            AvroType::String => Literal::String(self.text(branch)?),
            AvroType::Bytes => Literal::Binary(self.block_bytes()?.to_vec()),
            AvroType::Decimal => self.block_bytes().and_then(|bytes| self.decimal(bytes))?,
            AvroType::Fixed { length, is_decimal: true, .. } => {
                self.take(*length).and_then(|bytes| self.decimal(bytes))?
            }
            AvroType::Fixed { is_uuid: true, .. } => Literal::Uuid(self.array()?),
            AvroType::Fixed { length, .. } => Literal::Fixed(self.take(*length)?.to_vec()),
            other => return Err(self.unexpected("a single value", other)),
        };
        Ok(Some(literal))
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let bytes = self.take(N)?;
        bytes.try_into().map_err(|_| self.error("a value is too short"))
    }

    fn decimal(&self, bytes: &[u8]) -> Result<Literal> {
        decimal_from_bytes(bytes).map(Literal::Decimal).ok_or_else(|| self.error("a decimal has more than 38 digits"))
    }

    /// Skips a value.
    pub(crate) fn skip(&mut self, avro: &AvroType) -> Result<()> {
        let Some(branch) = self.branch(avro)? else { return Ok(()) };
        match branch {
            AvroType::Null | AvroType::Union(_) => {}
            AvroType::Boolean => drop(self.take(1)?),
            AvroType::Int | AvroType::Long | AvroType::Enum => drop(self.varint()?),
            AvroType::Float => drop(self.take(4)?),
            AvroType::Double => drop(self.take(8)?),
            AvroType::Bytes | AvroType::String | AvroType::Decimal => drop(self.block_bytes()?),
            AvroType::Fixed { length, .. } => drop(self.take(*length)?),
            AvroType::Array(item) => self.blocks(|cursor| cursor.skip(item))?,
            AvroType::Map(value) => self.blocks(|cursor| {
                cursor.block_bytes()?;
                cursor.skip(value)
            })?,
            AvroType::Record(record) => {
                for field in &record.fields {
                    self.skip(&field.avro)?;
                }
            }
        }
        Ok(())
    }
}
