//! Reads structures field by field; the caller skips unknown fields.
//!
//! The reader allocates nothing and trusts no input: every element takes at least a byte of input, so work is bounded by the input's length, and
//! nesting by [`MAX_DEPTH`].

use super::skip::{end_of_value, integers_1_and_5};

/// The maximum nesting. A footer nests seven levels deep.
const MAX_DEPTH: usize = 16;

/// The error of reading a structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThriftError {
    /// The input ends within the structure, which has at least this many bytes.
    Incomplete(usize),
    /// The input violates the protocol.
    Malformed(&'static str),
}

/// The wire type of a field or element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WireType {
    /// The value `true` of a field; as the type of elements, a boolean.
    True,
    /// The value `false` of a field; as the type of elements, a boolean.
    False,
    /// A byte.
    I8,
    /// A 16-bit integer.
    I16,
    /// A 32-bit integer.
    I32,
    /// A 64-bit integer.
    I64,
    /// A 64-bit float.
    Double,
    /// A byte string, or text in UTF-8.
    Binary,
    /// A list.
    List,
    /// A set, encoded as a list.
    Set,
    /// A map.
    Map,
    /// A structure, or a union.
    Struct,
    /// A UUID.
    Uuid,
}

impl WireType {
    fn from_nibble(nibble: u8) -> Result<Self, ThriftError> {
        Ok(match nibble {
            1 => Self::True,
            2 => Self::False,
            3 => Self::I8,
            4 => Self::I16,
            5 => Self::I32,
            6 => Self::I64,
            7 => Self::Double,
            8 => Self::Binary,
            9 => Self::List,
            10 => Self::Set,
            11 => Self::Map,
            12 => Self::Struct,
            13 => Self::Uuid,
            _ => return Err(ThriftError::Malformed("unknown Thrift type")),
        })
    }

    /// The type's number in a field's header.
    pub fn nibble(self) -> u8 {
        self as u8 + 1
    }
}

/// A field's number and type, which precede the value (a boolean's value is its type).
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Its number in the structure.
    pub id: i16,
    /// The type of its value.
    pub wire_type: WireType,
}

/// Reads one structure after another from a slice.
#[derive(Debug)]
pub struct ThriftReader<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> ThriftReader<'a> {
    /// Starts at the beginning of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    /// Starts at `position` of `bytes`, which may be past the end.
    pub fn at(bytes: &'a [u8], position: usize) -> Self {
        Self { bytes, position: position.min(bytes.len()) }
    }

    /// All bytes, including the ones read so far.
    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Bytes read so far.
    pub fn position(&self) -> usize {
        self.position
    }

    /// The next field of a structure whose last field had the number `previous`; `None` at its end.
    fn field(&mut self, previous: i16) -> Result<Option<Field>, ThriftError> {
        let byte = self.byte()?;
        if byte & 0x0f == 0 {
            return Ok(None);
        }
        let wire_type = WireType::from_nibble(byte & 0x0f)?;
        let id = match byte >> 4 {
            0 => i16::try_from(self.integer()?).map_err(|_| ThriftError::Malformed("Thrift field number"))?,
            delta => previous.checked_add(delta.into()).ok_or(ThriftError::Malformed("Thrift field number"))?,
        };
        Ok(Some(Field { id, wire_type }))
    }

    /// Calls `read` for every structure of a list, with its index.
    ///
    /// # Errors
    /// Errors of `read`; if the list is truncated, or has elements of another type.
    pub fn each_structure(
        &mut self,
        mut read: impl FnMut(&mut Self, usize) -> Result<(), ThriftError>,
    ) -> Result<(), ThriftError> {
        let (element, len) = self.list()?;
        if element != WireType::Struct && len > 0 {
            return Err(ThriftError::Malformed("list of structures"));
        }
        (0..len).try_for_each(|index| read(self, index))
    }

    /// Calls `read` for every field of a structure; it has to read or skip the value.
    ///
    /// # Errors
    /// Errors of `read`; if the structure is truncated or malformed.
    pub fn each_field(
        &mut self,
        read: impl FnMut(&mut Self, Field) -> Result<(), ThriftError>,
    ) -> Result<(), ThriftError> {
        self.each_field_after(0, read)
    }

    /// As [`each_field`](Self::each_field), from within a structure whose last field had the number `previous`.
    ///
    /// # Errors
    /// As [`each_field`](Self::each_field).
    #[inline]
    pub fn each_field_after(
        &mut self,
        mut previous: i16,
        mut read: impl FnMut(&mut Self, Field) -> Result<(), ThriftError>,
    ) -> Result<(), ThriftError> {
        while let Some(field) = self.field(previous)? {
            previous = field.id;
            read(self, field)?;
        }
        Ok(())
    }

    /// A 32-bit integer.
    ///
    /// # Errors
    /// If it is truncated, or too large.
    pub fn i32(&mut self) -> Result<i32, ThriftError> {
        i32::try_from(self.integer()?).map_err(|_| ThriftError::Malformed("32-bit integer"))
    }

    /// An 8-bit integer.
    ///
    /// # Errors
    /// If the input ends here.
    pub fn i8(&mut self) -> Result<i8, ThriftError> {
        self.byte().map(u8::cast_signed)
    }

    /// A 16-bit integer.
    ///
    /// # Errors
    /// If it is truncated, or too large.
    pub fn i16(&mut self) -> Result<i16, ThriftError> {
        i16::try_from(self.integer()?).map_err(|_| ThriftError::Malformed("16-bit integer"))
    }

    /// A double.
    ///
    /// # Errors
    /// If it is truncated.
    pub fn double(&mut self) -> Result<f64, ThriftError> {
        let start = self.position;
        self.advance(8)?;
        let bytes = self.bytes.get(start..).and_then(<[u8]>::first_chunk).copied().unwrap_or_default();
        Ok(f64::from_le_bytes(bytes))
    }

    /// A 64-bit integer.
    ///
    /// # Errors
    /// If it is truncated, or longer than ten bytes.
    pub fn i64(&mut self) -> Result<i64, ThriftError> {
        self.integer()
    }

    /// A boolean in a list, which takes a byte: 1 is true, 2 is false, and some writers use 0 for false.
    ///
    /// # Errors
    /// If the input ends here.
    pub fn bool_element(&mut self) -> Result<bool, ThriftError> {
        self.byte().map(|byte| byte == 1)
    }

    /// A byte string.
    ///
    /// # Errors
    /// If it is truncated.
    pub fn binary(&mut self) -> Result<&'a [u8], ThriftError> {
        let len = self.len()?;
        let start = self.position;
        self.advance(len)?;
        Ok(&self.bytes[start..self.position])
    }

    /// The start of a list: the type of its elements, which come next, and their number.
    ///
    /// # Errors
    /// If it is truncated, or has an unknown type.
    pub fn list(&mut self) -> Result<(WireType, usize), ThriftError> {
        let header = self.byte()?;
        if header == 0 {
            // Some writers write this for an empty list.
            return Ok((WireType::I8, 0));
        }
        let element = WireType::from_nibble(header & 0x0f)?;
        let len = match header >> 4 {
            15 => self.len()?,
            len => len.into(),
        };
        Ok((element, len))
    }

    /// Skips an element of a list.
    ///
    /// # Errors
    /// If it is truncated or malformed.
    pub fn skip_element(&mut self, element: WireType) -> Result<(), ThriftError> {
        // Elements of a footer can have megabytes. A walk that fits into registers takes a third of the time of one that explains errors, so the
        // latter runs only after the former has failed.
        match end_of_value(self.bytes, self.position, element.nibble(), MAX_DEPTH) {
            Some(end) => {
                self.position = end;
                Ok(())
            }
            None => self.skip_value(element, MAX_DEPTH),
        }
    }

    /// Skips a structure; returns the 32-bit integers in its fields 1 and 5.
    pub(crate) fn skip_to_integers_1_and_5(&mut self) -> Result<[Option<i32>; 2], ThriftError> {
        if let Some((end, integers)) = integers_1_and_5(self.bytes, self.position, MAX_DEPTH) {
            self.position = end;
            return Ok(integers);
        }
        let mut integers = [None; 2];
        self.each_field(|reader, field| {
            match (field.id, field.wire_type) {
                (1, WireType::I32) => integers[0] = Some(reader.i32()?),
                (5, WireType::I32) => integers[1] = Some(reader.i32()?),
                _ => reader.skip(field)?,
            }
            Ok(())
        })?;
        Ok(integers)
    }

    /// Skips the value of `field`.
    ///
    /// # Errors
    /// If it is truncated or malformed.
    pub fn skip(&mut self, field: Field) -> Result<(), ThriftError> {
        match field.wire_type {
            WireType::True | WireType::False => Ok(()),
            wire_type => self.skip_element(wire_type),
        }
    }

    fn skip_value(&mut self, wire_type: WireType, depth: usize) -> Result<(), ThriftError> {
        if depth == 0 {
            return Err(ThriftError::Malformed("Thrift structure: nested too deep"));
        }
        match wire_type {
            WireType::True | WireType::False | WireType::I8 => self.advance(1),
            WireType::I16 | WireType::I32 | WireType::I64 => self.varint().map(|_| ()),
            WireType::Double => self.advance(8),
            WireType::Uuid => self.advance(16),
            WireType::Binary => {
                let len = self.len()?;
                self.advance(len)
            }
            WireType::List | WireType::Set => {
                let (element, len) = self.list()?;
                (0..len).try_for_each(|_| self.skip_value(element, depth - 1))
            }
            WireType::Map => {
                let len = self.len()?;
                if len == 0 {
                    return Ok(());
                }
                let types = self.byte()?;
                let key = WireType::from_nibble(types >> 4)?;
                let value = WireType::from_nibble(types & 0x0f)?;
                (0..len).try_for_each(|_| {
                    self.skip_value(key, depth - 1)?;
                    self.skip_value(value, depth - 1)
                })
            }
            WireType::Struct => {
                let mut previous = 0;
                while let Some(field) = self.field(previous)? {
                    previous = field.id;
                    if !matches!(field.wire_type, WireType::True | WireType::False) {
                        self.skip_value(field.wire_type, depth - 1)?;
                    }
                }
                Ok(())
            }
        }
    }

    fn byte(&mut self) -> Result<u8, ThriftError> {
        let byte = *self.bytes.get(self.position).ok_or(ThriftError::Incomplete(self.position + 1))?;
        self.position += 1;
        Ok(byte)
    }

    fn advance(&mut self, len: usize) -> Result<(), ThriftError> {
        let end = self.position.checked_add(len).ok_or(ThriftError::Malformed("Thrift length"))?;
        if end > self.bytes.len() {
            return Err(ThriftError::Incomplete(end));
        }
        self.position = end;
        Ok(())
    }

    fn len(&mut self) -> Result<usize, ThriftError> {
        match i32::try_from(self.varint()?) {
            Ok(len) => usize::try_from(len).map_err(|_| ThriftError::Malformed("Thrift length")),
            Err(_) => Err(ThriftError::Malformed("Thrift length")),
        }
    }

    /// A zigzag integer.
    fn integer(&mut self) -> Result<i64, ThriftError> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    fn varint(&mut self) -> Result<u64, ThriftError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(ThriftError::Malformed("Thrift integer: too long"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A field of every wire type, written by hand from the protocol's description.
    const EVERYTHING: &[u8] = &[
        0x11, // 1: true
        0x12, // 2: false
        0x13, 0x7f, // 3: i8
        0x14, 0x01, // 4: i16 -1
        0x15, 0x80, 0x01, // 5: i32 64
        0x16, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, // 6: i64 minimum
        0x17, 0, 0, 0, 0, 0, 0, 0, 0, // 7: double
        0x18, 0x03, b'a', b'b', b'c', // 8: binary
        0x19, 0x25, 0x02, 0x04, // 9: list<i32> of 2
        0x1a, 0xf1, 0x10, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, // 10: set<bool> of 16, long form
        0x1b, 0x01, 0x58, 0x02, 0x01, b'x', // 11: map<i32, binary> of 1
        0x1b, 0x00, // 12: empty map
        0x1c, 0x11, 0x1c, 0x00, 0x00, // 13: struct { 1: true, 2: struct {} }
        0x0c, 0x28, 0x00, // 20 in the long form: struct {}
        0x1d, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, // 21: uuid
        0x00,
    ];

    fn skip_all(bytes: &[u8]) -> Result<Vec<i16>, ThriftError> {
        let mut reader = ThriftReader::new(bytes);
        let mut ids = Vec::new();
        while let Some(field) = reader.field(ids.last().copied().unwrap_or(0))? {
            ids.push(field.id);
            reader.skip(field)?;
        }
        assert_eq!(reader.position(), bytes.len());
        Ok(ids)
    }

    #[test]
    fn every_type_is_skipped_to_its_end() {
        assert_eq!(skip_all(EVERYTHING), Ok((1..=13).chain([20, 21]).collect()));
    }

    #[test]
    fn every_truncation_asks_for_more_and_never_for_less_than_there_is() {
        for len in 0..EVERYTHING.len() {
            match skip_all(&EVERYTHING[..len]) {
                Err(ThriftError::Incomplete(needed)) => assert!(needed > len && needed <= EVERYTHING.len()),
                other => unreachable!("{len} bytes gave {other:?}"),
            }
        }
    }

    #[test]
    fn elements_are_passed_over_to_the_end_that_fields_are() {
        let elements = [
            (WireType::Struct, EVERYTHING.to_vec()),
            // Without maps: { 1: list of 2 structs { 1: i32 }, 20: set of 1 double, 21: uuid, 22: "abc", 23: true, 24: i8 }
            (
                WireType::Struct,
                [
                    &[0x19, 0x2c, 0x15, 0x80, 0x01, 0x00, 0x15, 0x02, 0x00, 0x0a, 0x28, 0x17][..],
                    &[0; 8],
                    &[0x1d],
                    &[1; 16],
                    &[0x18, 0x03, b'a', b'b', b'c', 0x11, 0x13, 0x7f, 0x00],
                ]
                .concat(),
            ),
            (WireType::List, [vec![0xf8, 0x80, 0x01], vec![0; 128]].concat()),
            (WireType::True, vec![1]),
        ];
        for (wire_type, bytes) in elements {
            let mut reader = ThriftReader::new(&bytes);
            assert_eq!(reader.skip_element(wire_type), Ok(()));
            assert_eq!(reader.position(), bytes.len());
            for len in 0..bytes.len() {
                let (mut fast, mut told) = (ThriftReader::new(&bytes[..len]), ThriftReader::new(&bytes[..len]));
                assert_eq!(fast.skip_element(wire_type), told.skip_value(wire_type, MAX_DEPTH));
                assert!(end_of_value(&bytes[..len], 0, wire_type.nibble(), MAX_DEPTH).is_none());
            }
        }
        // Two billion elements that need no byte each would take seconds.
        let endless = [0xf7, 0xff, 0xff, 0xff, 0x07];
        assert!(matches!(ThriftReader::new(&endless).skip_element(WireType::List), Err(ThriftError::Incomplete(_))));
    }

    #[test]
    fn integers_are_zigzag() {
        let read = |bytes: &[u8]| ThriftReader::new(bytes).i32();
        assert_eq!(read(&[0x00]), Ok(0));
        assert_eq!(read(&[0x01]), Ok(-1));
        assert_eq!(read(&[0xfe, 0xff, 0xff, 0xff, 0x0f]), Ok(i32::MAX));
        assert_eq!(read(&[0xff, 0xff, 0xff, 0xff, 0x0f]), Ok(i32::MIN));
        assert_eq!(read(&[0x80, 0x80, 0x80, 0x80, 0x10]), Err(ThriftError::Malformed("32-bit integer")));
        assert_eq!(read(&[0xff; 11]), Err(ThriftError::Malformed("Thrift integer: too long")));
    }

    #[test]
    fn nesting_without_end_is_refused() {
        assert!(matches!(skip_all(&[0x1c; 1000]), Err(ThriftError::Malformed(_))));
        assert!(matches!(skip_all(&[0x19; 1000]), Err(ThriftError::Malformed(_))));
    }

    #[test]
    fn a_length_that_the_input_does_not_have_costs_nothing() {
        // A list of two billion structures, a string of two gigabytes, and negative lengths of both.
        assert!(matches!(skip_all(&[0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07]), Err(ThriftError::Incomplete(8))));
        assert_eq!(skip_all(&[0x18, 0xff, 0xff, 0xff, 0xff, 0x07]), Err(ThriftError::Incomplete(6 + 0x7fff_ffff)));
        assert_eq!(skip_all(&[0x18, 0xff, 0xff, 0xff, 0xff, 0x0f]), Err(ThriftError::Malformed("Thrift length")));
        assert_eq!(skip_all(&[0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x0f]), Err(ThriftError::Malformed("Thrift length")));
    }

    #[test]
    fn unknown_types_and_field_numbers_out_of_range_are_refused() {
        assert_eq!(skip_all(&[0x1e]), Err(ThriftError::Malformed("unknown Thrift type")));
        assert_eq!(skip_all(&[0x05, 0xff, 0xff, 0x07]), Err(ThriftError::Malformed("Thrift field number")));
        let highest = [0x02, 0xfe, 0xff, 0x03, 0x12];
        assert_eq!(skip_all(&highest), Err(ThriftError::Malformed("Thrift field number")));
    }
}
