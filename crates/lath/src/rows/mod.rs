//! Rows as values of Rust types.

mod write;

use std::error::Error;
use std::fmt;
use std::vec;

use arrow_array::RecordBatch;
use serde::de::DeserializeOwned;

pub use write::{RowWriter, WriteRowError};

/// Converts record batches to values of `T`, one for each row.
///
/// A field of `T` takes the column of its name; a nested struct takes a struct column, `Vec` a list, `Option` a
/// nullable column. Columns without a field are ignored, so read only the columns of `T`.
///
/// A batch is converted as a whole when its first row is requested. The iterator ends after its first error.
///
/// ```
/// use serde::Deserialize;
///
/// #[derive(Deserialize)]
/// struct Trip {
///     from: String,
///     to: Option<String>,
///     minutes: u16,
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/data/trips/2025-01.parquet");
/// let file = lath::ParquetFile::open(path)?;
/// let batches = file.scan().select(["from", "to", "minutes"]).build()?;
/// let mut longest = 0;
/// for trip in lath::rows::<Trip>(batches) {
///     let trip = trip?;
///     if trip.to.as_ref() == Some(&trip.from) {
///         longest = longest.max(trip.minutes);
///     }
/// }
/// assert_eq!(longest, 50);
/// # Ok(())
/// # }
/// ```
pub fn rows<T>(
    batches: impl IntoIterator<Item = lath_parquet::Result<RecordBatch>>,
) -> Rows<T, impl Iterator<Item = lath_parquet::Result<RecordBatch>>>
where
    T: DeserializeOwned,
{
    Rows { batches: Some(batches.into_iter()), batch: Vec::new().into_iter() }
}

/// An iterator over rows; see [`rows`].
#[derive(Debug)]
pub struct Rows<T, I> {
    /// `None` after an error.
    batches: Option<I>,
    batch: vec::IntoIter<T>,
}

impl<T, I> Iterator for Rows<T, I>
where
    T: DeserializeOwned,
    I: Iterator<Item = lath_parquet::Result<RecordBatch>>,
{
    type Item = Result<T, RowError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(row) = self.batch.next() {
                return Some(Ok(row));
            }
            let converted = match self.batches.as_mut()?.next()? {
                Ok(batch) => serde_arrow::from_record_batch::<Vec<T>>(&batch).map_err(RowError::Type),
                Err(error) => Err(RowError::Read(error)),
            };
            match converted {
                Ok(rows) => self.batch = rows.into_iter(),
                Err(error) => {
                    self.batches = None;
                    return Some(Err(error));
                }
            }
        }
    }
}

/// The error of reading a row.
#[non_exhaustive]
#[derive(Debug)]
pub enum RowError {
    /// The file could not be read.
    Read(lath_parquet::Error),
    /// The columns do not fit the Rust type.
    Type(serde_arrow::Error),
}

impl fmt::Display for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => error.fmt(f),
            Self::Type(error) => write!(f, "rows do not fit their Rust type: {}", error.message()),
        }
    }
}

impl Error for RowError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Read(error) => error.source(),
            Self::Type(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, StringViewArray};
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Row {
        id: i64,
        name: Option<String>,
    }

    fn batch(ids: &[i64], names: &[Option<&str>]) -> RecordBatch {
        let ids: ArrayRef = Arc::new(Int64Array::from(ids.to_vec()));
        let names: ArrayRef = Arc::new(StringViewArray::from(names.to_vec()));
        RecordBatch::try_from_iter_with_nullable([("id", ids, false), ("name", names, true)]).unwrap()
    }

    #[test]
    fn rows_of_all_batches_follow_each_other() {
        let batches = [
            batch(&[1, 2], &[Some("a name longer than twelve bytes"), None]),
            batch(&[], &[]),
            batch(&[3], &[Some("c")]),
        ];
        let rows: Vec<Row> = rows(batches.map(Ok)).collect::<Result<_, _>>().unwrap();
        let row = |id, name: Option<&str>| Row { id, name: name.map(str::to_owned) };
        assert_eq!(rows, [row(1, Some("a name longer than twelve bytes")), row(2, None), row(3, Some("c"))]);
    }

    #[test]
    fn the_first_error_ends_the_rows() {
        #[derive(Debug, Deserialize)]
        struct Other {
            #[expect(dead_code, reason = "only the conversion matters")]
            missing: i64,
        }
        let mut rows = rows::<Other>([Ok(batch(&[1], &[None])), Ok(batch(&[2], &[None]))]);
        let error = rows.next().unwrap().unwrap_err();
        assert!(matches!(error, RowError::Type(_)), "{error}");
        assert!(error.to_string().contains("missing"), "{error}");
        assert!(rows.next().is_none());
    }

    #[test]
    fn an_error_of_the_reader_is_passed_on() {
        let error = lath_parquet::Error::Invalid { what: "nothing there".to_owned() };
        let mut rows = rows::<Row>([Err(error)]);
        assert_eq!(rows.next().unwrap().unwrap_err().to_string(), "nothing there");
    }
}
