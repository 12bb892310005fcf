use std::fmt;

/// The encoding of values or levels, with its number in the [specification].
///
/// [specification]: https://parquet.apache.org/docs/file-format/data-pages/encodings/
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Encoding {
    /// PLAIN, 0.
    Plain,
    /// PLAIN_DICTIONARY, 2, deprecated: as [`RleDictionary`](Self::RleDictionary).
    PlainDictionary,
    /// RLE, 3.
    Rle,
    /// BIT_PACKED, 4, deprecated.
    BitPacked,
    /// DELTA_BINARY_PACKED, 5.
    DeltaBinaryPacked,
    /// DELTA_LENGTH_BYTE_ARRAY, 6.
    DeltaLengthByteArray,
    /// DELTA_BYTE_ARRAY, 7.
    DeltaByteArray,
    /// RLE_DICTIONARY, 8.
    RleDictionary,
    /// BYTE_STREAM_SPLIT, 9.
    ByteStreamSplit,
    /// ALP, 10.
    Alp,
    /// An unknown number.
    Unknown(i32),
}

impl Encoding {
    /// The number of the encoding.
    pub fn id(self) -> i32 {
        match self {
            Self::Plain => 0,
            Self::PlainDictionary => 2,
            Self::Rle => 3,
            Self::BitPacked => 4,
            Self::DeltaBinaryPacked => 5,
            Self::DeltaLengthByteArray => 6,
            Self::DeltaByteArray => 7,
            Self::RleDictionary => 8,
            Self::ByteStreamSplit => 9,
            Self::Alp => 10,
            Self::Unknown(id) => id,
        }
    }

    /// Whether the values are indices of the chunk's dictionary.
    pub fn is_dictionary(self) -> bool {
        matches!(self, Self::PlainDictionary | Self::RleDictionary)
    }

    /// The encoding with the number `id`.
    pub fn from_id(id: i32) -> Self {
        match id {
            0 => Self::Plain,
            2 => Self::PlainDictionary,
            3 => Self::Rle,
            4 => Self::BitPacked,
            5 => Self::DeltaBinaryPacked,
            6 => Self::DeltaLengthByteArray,
            7 => Self::DeltaByteArray,
            8 => Self::RleDictionary,
            9 => Self::ByteStreamSplit,
            10 => Self::Alp,
            id => Self::Unknown(id),
        }
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => "PLAIN",
            Self::PlainDictionary => "PLAIN_DICTIONARY",
            Self::Rle => "RLE",
            Self::BitPacked => "BIT_PACKED",
            Self::DeltaBinaryPacked => "DELTA_BINARY_PACKED",
            Self::DeltaLengthByteArray => "DELTA_LENGTH_BYTE_ARRAY",
            Self::DeltaByteArray => "DELTA_BYTE_ARRAY",
            Self::RleDictionary => "RLE_DICTIONARY",
            Self::ByteStreamSplit => "BYTE_STREAM_SPLIT",
            Self::Alp => "ALP",
            Self::Unknown(id) => return write!(f, "encoding {id}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Encoding;

    #[test]
    fn names_and_numbers_are_those_of_the_specification() {
        for (id, encoding) in [
            (0, parquet::basic::Encoding::PLAIN),
            (3, parquet::basic::Encoding::RLE),
            (5, parquet::basic::Encoding::DELTA_BINARY_PACKED),
            (6, parquet::basic::Encoding::DELTA_LENGTH_BYTE_ARRAY),
            (7, parquet::basic::Encoding::DELTA_BYTE_ARRAY),
            (8, parquet::basic::Encoding::RLE_DICTIONARY),
            (9, parquet::basic::Encoding::BYTE_STREAM_SPLIT),
        ] {
            assert_eq!(Encoding::from_id(id).to_string(), encoding.to_string());
        }
        assert_eq!(Encoding::from_id(2).to_string(), "PLAIN_DICTIONARY");
        assert_eq!(Encoding::from_id(4).to_string(), "BIT_PACKED");
    }

    #[test]
    fn an_unknown_number_is_kept() {
        assert_eq!(Encoding::from_id(10).to_string(), "ALP");
        assert_eq!(Encoding::from_id(-7), Encoding::Unknown(-7));
        assert_eq!(Encoding::from_id(1).to_string(), "encoding 1");
    }
}
