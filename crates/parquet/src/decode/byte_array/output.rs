//! Arrow types of BYTE_ARRAY values.

use arrow_schema::DataType;
use lath_predicate::ExactType;

/// Form of the values in Arrow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ByteArrayOutput {
    Views,
    Offsets32,
    Offsets64,
    /// Big-endian two's complement, to a decimal of this many bytes.
    Decimal {
        width: usize,
    },
}

impl ByteArrayOutput {
    /// The form for `data_type`; `None` for a type that BYTE_ARRAY values cannot have.
    pub(crate) fn new(data_type: &DataType) -> Option<Self> {
        match data_type {
            DataType::Utf8View | DataType::BinaryView => Some(Self::Views),
            DataType::Utf8 | DataType::Binary => Some(Self::Offsets32),
            DataType::LargeUtf8 | DataType::LargeBinary => Some(Self::Offsets64),
            _ => ExactType::decimal(data_type).map(|decimal| Self::Decimal { width: decimal.width }),
        }
    }
}
