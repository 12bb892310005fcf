use std::fmt;

/// An encoding as a page header names it, known or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Plain,
    PlainDictionary,
    Rle,
    BitPacked,
    DeltaBinaryPacked,
    DeltaLengthByteArray,
    DeltaByteArray,
    RleDictionary,
    ByteStreamSplit,
    /// A number that this version does not know.
    Unknown(i32),
}

impl Encoding {
    /// Whether the values are indices of the chunk's dictionary.
    pub(crate) fn is_dictionary(self) -> bool {
        matches!(self, Self::PlainDictionary | Self::RleDictionary)
    }

    /// The encoding that `id` stands for in the Thrift definition.
    pub(crate) fn from_id(id: i32) -> Self {
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
            // Announced in the specification, and so worth a name in the message that refuses it.
            Self::Unknown(10) => "ALP",
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
