//! Walks over one chunk and classifies each of its bytes.

use super::place::{Fields, Place, REQUIRED, field, flag};

/// The maximum nesting of a layout; `ThriftReader` skips deeper structures.
const MAX_DEPTH: usize = 8;

/// Types of values, as the lower half of a field's header.
mod wire {
    pub(super) const TRUE: u8 = 1;
    pub(super) const FALSE: u8 = 2;
    pub(super) const I8: u8 = 3;
    pub(super) const I16: u8 = 4;
    pub(super) const I32: u8 = 5;
    pub(super) const I64: u8 = 6;
    pub(super) const DOUBLE: u8 = 7;
    pub(super) const BINARY: u8 = 8;
    pub(super) const LIST: u8 = 9;
    pub(super) const SET: u8 = 10;
    pub(super) const STRUCT: u8 = 12;
    pub(super) const UUID: u8 = 13;
}

/// The kinds of structures in a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Structure {
    ColumnChunk,
    ColumnMetaData,
    Statistics,
    PageEncodingStats,
    Other,
}

/// The mask of `chunk`'s bytes, and the places of its fields.
///
/// `None` for chunks that reading by places could misread: with encrypted parts, repeated fields, integers longer than eight bytes (or four, for
/// 32-bit fields), or without required fields. Such chunks are read field by field.
pub(super) fn trace(chunk: &[u8]) -> Option<(Vec<u8>, Fields)> {
    let mut tracer = Tracer {
        bytes: chunk,
        mask: vec![0; chunk.len()],
        position: 0,
        fields: Fields::default(),
        deprecated: [None; 2],
        bounds: [None; 2],
        has_metadata: false,
    };
    tracer.structure(Structure::ColumnChunk, MAX_DEPTH)?;
    tracer.finish()
}

struct Tracer<'a> {
    bytes: &'a [u8],
    /// 0xff for structure, 0x80 for integers, 0 for content.
    mask: Vec<u8>,
    position: usize,
    fields: Fields,
    /// Minimum and maximum in the deprecated fields, and in their replacements.
    deprecated: [Option<Place>; 2],
    bounds: [Option<Place>; 2],
    has_metadata: bool,
}

impl Tracer<'_> {
    fn finish(mut self) -> Option<(Vec<u8>, Fields)> {
        let is_complete = self.has_metadata && REQUIRED.iter().all(|&field| self.fields.places[field].len() > 0);
        if self.position != self.bytes.len() || !is_complete {
            return None;
        }
        if self.fields.flags & flag::HAS_STATISTICS != 0 {
            if self.bounds == [None; 2] {
                self.bounds = self.deprecated;
                self.fields.flags |= flag::DEPRECATED;
            }
            let bounds = [(field::MIN, flag::HAS_MIN), (field::MAX, flag::HAS_MAX)];
            for ((field, flag), place) in bounds.into_iter().zip(self.bounds) {
                if let Some(place) = place {
                    self.fields.places[field] = place;
                    self.fields.flags |= flag;
                }
            }
        }
        Some((self.mask, self.fields))
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.position)?;
        self.mask[self.position] = 0xff;
        self.position += 1;
        Some(byte)
    }

    fn content(&mut self, len: usize) -> Option<Place> {
        let place = Place::new(self.position, len)?;
        let end = self.position + len;
        if end > self.bytes.len() {
            return None;
        }
        self.position = end;
        Some(place)
    }

    /// An integer that can differ in other chunks, but with the same number of bytes.
    fn integer(&mut self, longest: usize) -> Option<Place> {
        let start = self.position;
        while self.bytes.get(self.position)? & 0x80 != 0 {
            self.mask[self.position] = 0x80;
            self.position += 1;
        }
        self.mask[self.position] = 0x80;
        self.position += 1;
        let len = self.position - start;
        if len <= longest { Place::new(start, len) } else { None }
    }

    /// A length, or a field's number: part of the structure.
    fn length(&mut self) -> Option<usize> {
        let mut len = 0;
        for shift in [0, 7, 14, 21] {
            let byte = self.byte()?;
            len |= usize::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(len);
            }
        }
        None
    }

    fn structure(&mut self, structure: Structure, depth: usize) -> Option<()> {
        let mut id = 0i16;
        loop {
            let header = self.byte()?;
            let wire_type = header & 0x0f;
            if wire_type == 0 {
                return Some(());
            }
            id = match header >> 4 {
                0 => {
                    let zigzag = self.length()?;
                    i16::try_from((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64)).ok()?
                }
                delta => id.checked_add(delta.into())?,
            };
            self.field(structure, id, wire_type, depth)?;
        }
    }

    fn field(&mut self, structure: Structure, id: i16, wire_type: u8, depth: usize) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match (structure, id, wire_type) {
            (Structure::ColumnChunk, 1, wire::BINARY) => {
                self.flag_once(flag::HAS_FILE_PATH)?;
                self.value(wire_type, depth)
            }
            (Structure::ColumnChunk, 3, wire::STRUCT) => {
                if std::mem::replace(&mut self.has_metadata, true) {
                    return None;
                }
                self.structure(Structure::ColumnMetaData, depth)
            }
            (Structure::ColumnChunk, 4, wire::I64) => self.number(field::OFFSET_INDEX_OFFSET, 8),
            (Structure::ColumnChunk, 5, wire::I32) => self.number(field::OFFSET_INDEX_BYTES, 4),
            (Structure::ColumnChunk, 6, wire::I64) => self.number(field::COLUMN_INDEX_OFFSET, 8),
            (Structure::ColumnChunk, 7, wire::I32) => self.number(field::COLUMN_INDEX_BYTES, 4),
            (Structure::ColumnChunk, 8 | 9, _) => None,
            (Structure::ColumnMetaData, 4, wire::I32) => self.number(field::CODEC, 4),
            (Structure::ColumnMetaData, 5, wire::I64) => self.number(field::VALUE_COUNT, 8),
            (Structure::ColumnMetaData, 6, wire::I64) => self.number(field::UNCOMPRESSED_BYTES, 8),
            (Structure::ColumnMetaData, 7, wire::I64) => self.number(field::COMPRESSED_BYTES, 8),
            (Structure::ColumnMetaData, 9, wire::I64) => self.number(field::DATA_PAGE_OFFSET, 8),
            (Structure::ColumnMetaData, 11, wire::I64) => self.number(field::DICTIONARY_PAGE_OFFSET, 8),
            (Structure::ColumnMetaData, 12, wire::STRUCT) => {
                self.flag_once(flag::HAS_STATISTICS)?;
                self.structure(Structure::Statistics, depth)
            }
            (Structure::ColumnMetaData, 13, wire::LIST) => {
                self.flag_once(flag::HAS_ENCODING_STATISTICS)?;
                let start = self.position;
                self.list(Structure::PageEncodingStats, depth)?;
                self.fields.places[field::ENCODING_STATS] = Place::new(start, self.position - start)?;
                Some(())
            }
            (Structure::ColumnMetaData, 14, wire::I64) => self.number(field::BLOOM_FILTER_OFFSET, 8),
            (Structure::ColumnMetaData, 15, wire::I32) => self.number(field::BLOOM_FILTER_BYTES, 4),
            (Structure::Statistics, 1 | 2 | 5 | 6, wire::BINARY) => self.bound(id),
            (Structure::Statistics, 3, wire::I64) => self.number(field::NULL_COUNT, 8),
            (Structure::Statistics, 7, wire::TRUE | wire::FALSE) => {
                self.either_flag(wire_type == wire::TRUE, flag::MAX_IS_EXACT, flag::MAX_IS_INEXACT)
            }
            (Structure::Statistics, 8, wire::TRUE | wire::FALSE) => {
                self.either_flag(wire_type == wire::TRUE, flag::MIN_IS_EXACT, flag::MIN_IS_INEXACT)
            }
            (Structure::PageEncodingStats, 1..=3, wire::I32) => self.integer(4).map(|_| ()),
            (_, _, wire::TRUE | wire::FALSE) => Some(()),
            _ => self.value(wire_type, depth),
        }
    }

    fn number(&mut self, field: usize, longest: usize) -> Option<()> {
        let place = self.integer(longest)?;
        let noted = &mut self.fields.places[field];
        if *noted != Place::default() {
            return None;
        }
        *noted = place;
        Some(())
    }

    fn bound(&mut self, id: i16) -> Option<()> {
        let len = self.length()?;
        let place = self.content(len)?;
        let noted = match id {
            1 => &mut self.deprecated[1],
            2 => &mut self.deprecated[0],
            5 => &mut self.bounds[1],
            _ => &mut self.bounds[0],
        };
        noted.replace(place).is_none().then_some(())
    }

    fn flag_once(&mut self, flag: u16) -> Option<()> {
        let is_new = self.fields.flags & flag == 0;
        self.fields.flags |= flag;
        is_new.then_some(())
    }

    /// Records a boolean whose two values have flags; `None` if one is recorded already.
    fn either_flag(&mut self, is_true: bool, yes: u16, no: u16) -> Option<()> {
        let is_new = self.fields.flags & (yes | no) == 0;
        self.fields.flags |= if is_true { yes } else { no };
        is_new.then_some(())
    }

    fn list(&mut self, elements: Structure, depth: usize) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        let header = self.byte()?;
        let len = match header >> 4 {
            15 => self.length()?,
            len => len.into(),
        };
        if elements != Structure::Other && header & 0x0f != wire::STRUCT && len > 0 {
            return None;
        }
        for _ in 0..len {
            match header & 0x0f {
                wire::STRUCT => self.structure(elements, depth)?,
                wire_type => self.value(wire_type, depth)?,
            }
        }
        Some(())
    }

    /// A value that is not recorded. As an element of a list, a boolean takes a byte.
    fn value(&mut self, wire_type: u8, depth: usize) -> Option<()> {
        match wire_type {
            wire::TRUE | wire::FALSE | wire::I8 => self.content(1).map(|_| ()),
            wire::I16 | wire::I32 | wire::I64 => self.integer(10).map(|_| ()),
            wire::DOUBLE => self.content(8).map(|_| ()),
            wire::UUID => self.content(16).map(|_| ()),
            wire::BINARY => {
                let len = self.length()?;
                self.content(len).map(|_| ())
            }
            wire::LIST | wire::SET => self.list(Structure::Other, depth),
            wire::STRUCT => self.structure(Structure::Other, depth.checked_sub(1)?),
            _ => None,
        }
    }
}
