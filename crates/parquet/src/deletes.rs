//! Deleted rows of a file.

use std::fmt;
use std::ops::{BitOrAssign, Range, SubAssign};
use std::sync::{Arc, OnceLock};

use roaring::RoaringTreemap;

use crate::error::{Error, Result};

/// Rows of one file that a scan skips, by their numbers within the file, counted from 0.
///
/// Takes from one bit to two bytes a row, as a compressed bitmap: [`DeleteMask::to_bytes`] returns the portable format of 64-bit
/// Roaring bitmaps, which deletion vectors of Iceberg contain.
///
/// ```
/// use lath_parquet::DeleteMask;
///
/// let mut deleted = DeleteMask::from_iter([3, 4711]);
/// deleted.insert_range(100..200);
/// assert!(deleted.contains(150) && deleted.len() == 102);
/// assert_eq!(DeleteMask::from_bytes(&deleted.to_bytes())?, deleted);
/// # Ok::<(), lath_parquet::Error>(())
/// ```
#[derive(Clone, Default, PartialEq)]
pub struct DeleteMask {
    rows: RoaringTreemap,
}

impl DeleteMask {
    /// A mask without deleted rows.
    pub fn new() -> Self {
        Self::default()
    }

    /// Deletes a row.
    pub fn insert(&mut self, row: u64) {
        self.rows.insert(row);
    }

    /// Deletes rows.
    pub fn insert_range(&mut self, rows: Range<u64>) {
        self.rows.insert_range(rows);
    }

    /// Whether a row is deleted.
    pub fn contains(&self, row: u64) -> bool {
        self.rows.contains(row)
    }

    /// Number of deleted rows.
    pub fn len(&self) -> u64 {
        self.rows.len()
    }

    /// Whether no row is deleted.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The deleted rows, in order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.rows.iter()
    }

    /// The mask in the portable format of 64-bit Roaring bitmaps.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.rows.serialized_size());
        // Writing to memory does not fail.
        let _ = self.rows.serialize_into(&mut bytes);
        bytes
    }

    /// Reads the bytes of [`DeleteMask::to_bytes`].
    ///
    /// # Errors
    /// [`Error::Invalid`] for malformed bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let rows = RoaringTreemap::deserialize_from(bytes);
        rows.map(|rows| Self { rows }).map_err(|error| Error::invalid(format!("a mask of deleted rows: {error}")))
    }

    /// Number of deleted rows within `rows`.
    pub fn count_within(&self, rows: &Range<u64>) -> u64 {
        let below = |row: u64| row.checked_sub(1).map_or(0, |last| self.rows.rank(last));
        if rows.is_empty() { 0 } else { below(rows.end) - below(rows.start) }
    }

    /// Calls `each` with the deleted rows of a range, in order.
    pub(crate) fn for_each_within(&self, rows: Range<u64>, mut each: impl FnMut(u64)) {
        // Reads many at once: iterating one by one takes longer than selecting the other rows of a column.
        let mut many = [0; 256];
        for (high, bitmap) in self.rows.bitmaps() {
            let base = u64::from(high) << 32;
            let (first, end) = (rows.start.max(base), rows.end.min(base.saturating_add(1 << 32)));
            if first >= end {
                continue;
            }
            // Both are less than 2^32 from `base`.
            let mut deleted = bitmap.range((first - base) as u32..=(end - 1 - base) as u32);
            loop {
                let some = deleted.next_many(&mut many);
                if some.is_empty() {
                    break;
                }
                some.iter().for_each(|&row| each(base + u64::from(row)));
            }
        }
    }
}

impl FromIterator<u64> for DeleteMask {
    fn from_iter<I: IntoIterator<Item = u64>>(rows: I) -> Self {
        Self { rows: rows.into_iter().collect() }
    }
}

/// Deletes the rows that either mask deletes.
impl BitOrAssign<&Self> for DeleteMask {
    fn bitor_assign(&mut self, other: &Self) {
        self.rows |= &other.rows;
    }
}

/// Restores the rows that the other mask deletes.
impl SubAssign<&Self> for DeleteMask {
    fn sub_assign(&mut self, other: &Self) {
        self.rows -= &other.rows;
    }
}

impl fmt::Debug for DeleteMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeleteMask").field("rows", &self.len()).finish()
    }
}

/// The deleted rows of a file of a dataset, which may be read on first use. Clones share them.
///
/// ```
/// use lath_parquet::{DeleteMask, DeletedRows};
///
/// let known = DeletedRows::from(DeleteMask::from_iter([3, 4711]));
/// assert_eq!(known.count()?, 2);
/// // A table's log has the number, and the rows are in another file.
/// let unread = DeletedRows::new(Some(2), || Ok(DeleteMask::from_iter([3, 4711])));
/// assert_eq!(unread.count()?, 2);
/// assert!(unread.mask()?.contains(3));
/// # Ok::<(), lath_parquet::Error>(())
/// ```
#[derive(Clone)]
pub struct DeletedRows {
    shared: Arc<DeletedRowsParts>,
}

struct DeletedRowsParts {
    count: Option<u64>,
    mask: OnceLock<Arc<DeleteMask>>,
    read: Box<dyn Fn() -> Result<DeleteMask> + Send + Sync>,
}

impl DeletedRows {
    /// Rows that `read` returns, and their number if it is known without reading. Threads that need the rows at the same time may
    /// read them more than once.
    pub fn new(count: Option<u64>, read: impl Fn() -> Result<DeleteMask> + Send + Sync + 'static) -> Self {
        Self { shared: Arc::new(DeletedRowsParts { count, mask: OnceLock::new(), read: Box::new(read) }) }
    }

    /// Number of deleted rows.
    ///
    /// # Errors
    /// The error of reading the rows, unless their number is known.
    pub fn count(&self) -> Result<u64> {
        match self.shared.count {
            Some(count) => Ok(count),
            None => Ok(self.mask()?.len()),
        }
    }

    /// The rows.
    ///
    /// # Errors
    /// The error of reading them.
    pub fn mask(&self) -> Result<&Arc<DeleteMask>> {
        if let Some(mask) = self.shared.mask.get() {
            return Ok(mask);
        }
        let mask = Arc::new((self.shared.read)()?);
        Ok(self.shared.mask.get_or_init(|| mask))
    }
}

impl From<DeleteMask> for DeletedRows {
    fn from(mask: DeleteMask) -> Self {
        let count = Some(mask.len());
        let mask = OnceLock::from(Arc::new(mask));
        let read = || Err(Error::internal("deleted rows are read although they are known"));
        Self { shared: Arc::new(DeletedRowsParts { count, mask, read: Box::new(read) }) }
    }
}

impl fmt::Debug for DeletedRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeletedRows").field("count", &self.shared.count).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use lath_testkit::Seeded;

    use super::*;

    #[test]
    fn rows_of_a_range_are_those_of_the_mask_in_it() {
        let mut random = Seeded::new("rows of a range are those of the mask in it");
        for base in [0, (1 << 32) - 100_000, (5 << 32) + 17] {
            let mut mask: DeleteMask = (0..5000).map(|_| base + random.u64(..200_000)).collect();
            mask.insert_range(base + 50_000..base + 61_000);
            for _ in 0..200 {
                let ends = [base + random.u64(..210_000), base + random.u64(..210_000)];
                let range = ends[0].min(ends[1])..ends[0].max(ends[1]);
                let mut found = Vec::new();
                mask.for_each_within(range.clone(), |row| found.push(row));
                let expected: Vec<u64> = mask.iter().filter(|row| range.contains(row)).collect();
                assert_eq!(found, expected, "{range:?}");
                assert_eq!(found.len() as u64, mask.count_within(&range));
            }
        }
        DeleteMask::from_iter([u64::MAX]).for_each_within(u64::MAX - 1..u64::MAX, |row| panic!("{row}"));
    }
}
