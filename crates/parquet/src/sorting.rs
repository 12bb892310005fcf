//! Columns by which rows are sorted.

use std::str::FromStr;

use arrow_schema::DataType;

use crate::error::{Error, Result};

/// A column by which the rows of a row group are sorted.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SortingColumn {
    /// Dotted path of the leaf column.
    pub path: String,
    /// Descending order.
    pub descending: bool,
    /// Nulls before values.
    pub nulls_first: bool,
}

impl SortingColumn {
    /// Smallest first, nulls last.
    pub fn ascending(path: impl Into<String>) -> Self {
        Self { path: path.into(), descending: false, nulls_first: false }
    }

    /// Largest first, nulls last.
    pub fn descending(path: impl Into<String>) -> Self {
        Self { descending: true, ..Self::ascending(path) }
    }
}

/// A path, followed by `:desc` and `:nulls-first` where they apply.
impl FromStr for SortingColumn {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut parts = text.split(':');
        let mut key = Self::ascending(parts.next().unwrap_or_default());
        for part in parts {
            match part {
                "asc" => key.descending = false,
                "desc" => key.descending = true,
                "nulls-first" => key.nulls_first = true,
                "nulls-last" => key.nulls_first = false,
                _ => {
                    return Err(Error::invalid(format!(
                        ":{part} is not a sort option; write :asc, :desc, :nulls-first or :nulls-last after a column"
                    )));
                }
            }
        }
        if key.path.is_empty() { Err(Error::invalid("a column is missing")) } else { Ok(key) }
    }
}

/// Whether all writers sort values of a type in the same way: zeros and NaNs of floats have several orders.
pub fn has_one_order(data_type: &DataType) -> bool {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Boolean => true,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => true,
        DataType::Interval(_) => false,
        other => other.is_integer() || other.is_temporal() || other.is_decimal(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sort_keys_have_directions() {
        assert_eq!("a.b".parse().ok(), Some(SortingColumn::ascending("a.b")));
        let key: SortingColumn = "a:desc:nulls-first".parse().unwrap();
        assert!(key.descending && key.nulls_first);
        assert!("a:down".parse::<SortingColumn>().is_err());
        assert!(":desc".parse::<SortingColumn>().is_err());
    }
}
