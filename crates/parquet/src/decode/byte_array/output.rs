//! What BYTE_ARRAY values become in Arrow.

use arrow_schema::DataType;

/// What the views become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ByteArrayOutput {
    Views,
    Offsets32,
    Offsets64,
    /// Big-endian two's complement to a decimal of so many bytes.
    Decimal {
        width: usize,
    },
}

impl ByteArrayOutput {
    /// How BYTE_ARRAY values become `data_type`; `None` for a type that they cannot become.
    pub(crate) fn new(data_type: &DataType) -> Option<Self> {
        match data_type {
            DataType::Utf8View | DataType::BinaryView => Some(Self::Views),
            DataType::Utf8 | DataType::Binary => Some(Self::Offsets32),
            DataType::LargeUtf8 | DataType::LargeBinary => Some(Self::Offsets64),
            DataType::Decimal32(..) => Some(Self::Decimal { width: 4 }),
            DataType::Decimal64(..) => Some(Self::Decimal { width: 8 }),
            DataType::Decimal128(..) => Some(Self::Decimal { width: 16 }),
            DataType::Decimal256(..) => Some(Self::Decimal { width: 32 }),
            _ => None,
        }
    }
}
