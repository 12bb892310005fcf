use std::fmt;

/// The type of a page, with its number in the specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PageType {
    /// DATA_PAGE, 0.
    DataPage,
    /// INDEX_PAGE, 1, which no known writer uses.
    IndexPage,
    /// DICTIONARY_PAGE, 2.
    DictionaryPage,
    /// DATA_PAGE_V2, 3.
    DataPageV2,
    /// An unknown number.
    Unknown(i32),
}

impl PageType {
    /// The page type with the number `id`.
    pub fn from_id(id: i32) -> Self {
        match id {
            0 => Self::DataPage,
            1 => Self::IndexPage,
            2 => Self::DictionaryPage,
            3 => Self::DataPageV2,
            id => Self::Unknown(id),
        }
    }

    /// The number of the page type.
    pub fn id(self) -> i32 {
        match self {
            Self::DataPage => 0,
            Self::IndexPage => 1,
            Self::DictionaryPage => 2,
            Self::DataPageV2 => 3,
            Self::Unknown(id) => id,
        }
    }
}

/// The name in the specification.
impl fmt::Display for PageType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::DataPage => "DATA_PAGE",
            Self::IndexPage => "INDEX_PAGE",
            Self::DictionaryPage => "DICTIONARY_PAGE",
            Self::DataPageV2 => "DATA_PAGE_V2",
            Self::Unknown(id) => return write!(f, "page type {id}"),
        })
    }
}
