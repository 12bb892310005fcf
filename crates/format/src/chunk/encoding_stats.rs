use crate::encoding::Encoding;
use crate::page_type::PageType;
use crate::thrift::{ThriftError, ThriftReader, WireType};

/// The number of pages of a chunk by type and encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageEncodingStats {
    /// The type of the pages.
    pub page_type: PageType,
    /// Their encoding.
    pub encoding: Encoding,
    /// Number of pages.
    pub count: i32,
}

impl PageEncodingStats {
    pub(super) fn read(reader: &mut ThriftReader<'_>) -> Result<Self, ThriftError> {
        let mut stats = Self { page_type: PageType::Unknown(-1), encoding: Encoding::Unknown(-1), count: 0 };
        reader.each_field(|reader, field| {
            match (field.id, field.wire_type) {
                (1, WireType::I32) => stats.page_type = PageType::from_id(reader.i32()?),
                (2, WireType::I32) => stats.encoding = Encoding::from_id(reader.i32()?),
                (3, WireType::I32) => stats.count = reader.i32()?,
                _ => reader.skip(field)?,
            }
            Ok(())
        })?;
        Ok(stats)
    }
}
