//! Rows of a file that are not there any more.

use std::fmt;
use std::ops::{BitOrAssign, Range, SubAssign};

use roaring::RoaringTreemap;

use super::mask::Mask;
use super::window::Window;
use crate::error::{Error, Result};

/// Rows of one file that a scan skips, by their numbers within the file, counted from 0.
///
/// It takes a bit to two bytes a row, as a compressed bitmap: [`DeleteMask::to_bytes`] is the portable form of 64-bit Roaring
/// bitmaps, which is what deletion vectors of Iceberg have inside.
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
    /// Nothing is deleted.
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

    /// Whether nothing is deleted.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows that are deleted, in order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.rows.iter()
    }

    /// The mask in the portable form of 64-bit Roaring bitmaps.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.rows.serialized_size());
        // Memory takes whatever is written.
        let _ = self.rows.serialize_into(&mut bytes);
        bytes
    }

    /// The mask that [`DeleteMask::to_bytes`] gave these bytes for.
    ///
    /// # Errors
    /// [`Error::Invalid`] if they are something else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let rows = RoaringTreemap::deserialize_from(bytes);
        rows.map(|rows| Self { rows }).map_err(|error| Error::invalid(format!("a mask of deleted rows: {error}")))
    }

    /// How many of `rows` are deleted.
    pub fn count_within(&self, rows: &Range<u64>) -> u64 {
        let below = |row: u64| row.checked_sub(1).map_or(0, |last| self.rows.rank(last));
        if rows.is_empty() { 0 } else { below(rows.end) - below(rows.start) }
    }

    /// The rows of a window that are not deleted, in a row group whose first row is `first_row`.
    pub(super) fn kept(&self, window: &Window, first_row: u64) -> Result<Mask> {
        let mut words = vec![u64::MAX; window.len().div_ceil(64)];
        let mut start = 0;
        for range in window.ranges() {
            let (from, to) = (first_row + range.start, first_row + range.end);
            let mut deleted = self.rows.iter();
            deleted.advance_to(from);
            for row in deleted.take_while(|row| *row < to) {
                // Within the window, which is in memory.
                let at = start + (row - from) as usize;
                words[at / 64] &= !(1 << (at % 64));
            }
            start += (to - from) as usize;
        }
        Ok(Mask::of_words(words, window.len()))
    }
}

impl FromIterator<u64> for DeleteMask {
    fn from_iter<I: IntoIterator<Item = u64>>(rows: I) -> Self {
        Self { rows: rows.into_iter().collect() }
    }
}

/// Deletes what either deletes.
impl BitOrAssign<&Self> for DeleteMask {
    fn bitor_assign(&mut self, other: &Self) {
        self.rows |= &other.rows;
    }
}

/// Takes back what the other deletes.
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
