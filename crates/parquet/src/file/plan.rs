//! Plans the bytes to read from a file, before reading any.

use std::ops::Range;

use super::ParquetFile;
use crate::error::{Error, Result};
use crate::schema::{Projection, collect_columns};

/// The byte ranges of some columns of some row groups.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// The column chunks: row groups in the requested order, columns in file order within each.
    pub chunks: Vec<ChunkRange>,
}

/// Location of a column chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkRange {
    /// Index of the row group.
    pub row_group: usize,
    /// Index of the column among the leaves of the Parquet schema.
    pub column: usize,
    /// The chunk's bytes within the file.
    pub range: Range<u64>,
}

impl Plan {
    /// Number of bytes in all chunks.
    pub fn byte_count(&self) -> u64 {
        self.chunks.iter().map(|chunk| chunk.range.end - chunk.range.start).sum()
    }

    /// The ranges in the order of the file; ranges at most `gap` bytes apart are joined, for storage where a request costs as
    /// much as reading `gap` bytes.
    pub fn joined(&self, gap: u64) -> Vec<Range<u64>> {
        let mut ranges: Vec<Range<u64>> = self.chunks.iter().map(|chunk| chunk.range.clone()).collect();
        ranges.sort_by_key(|range| range.start);
        let mut joined: Vec<Range<u64>> = Vec::new();
        for range in ranges {
            match joined.last_mut() {
                Some(last) if range.start <= last.end.saturating_add(gap) => last.end = last.end.max(range.end),
                _ => joined.push(range),
            }
        }
        joined
    }
}

impl ParquetFile {
    /// Lists the bytes of the columns that `projection` selects (all of them, if `None`) in `row_groups` (likewise), without
    /// reading anything.
    ///
    /// ```no_run
    /// # fn main() -> lath_parquet::Result<()> {
    /// use lath_parquet::{ParquetFile, Projection};
    ///
    /// let file = ParquetFile::open("orders.parquet")?;
    /// let plan = file.plan(Some(&Projection::from_paths(["customer.name"])), Some(&[0]))?;
    /// println!("{} bytes in {} requests", plan.byte_count(), plan.joined(64 << 10).len());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] for columns or row groups that the file does not have, [`Error::Corrupt`] for chunks that do not lie
    /// within the file.
    pub fn plan(&self, projection: Option<&Projection>, row_groups: Option<&[usize]>) -> Result<Plan> {
        let (_, nodes) = self.build_schema(&self.schema_options(), projection)?;
        let mut columns = Vec::new();
        for node in &nodes {
            collect_columns(node, &mut columns);
        }
        let count = self.row_group_row_counts().len();
        let all: Vec<usize>;
        let row_groups = match row_groups {
            Some(row_groups) => row_groups,
            None => {
                all = (0..count).collect();
                &all
            }
        };
        let mut plan = Plan { chunks: Vec::with_capacity(columns.len().saturating_mul(row_groups.len())) };
        for &row_group in row_groups {
            if row_group >= count {
                return Err(Error::invalid(format!("no row group {row_group} in a file of {count}")));
            }
            for &column in &columns {
                let spec = self.chunk_spec(row_group, column)?;
                plan.chunks.push(ChunkRange { row_group, column, range: spec.start..spec.start + spec.len });
            }
        }
        Ok(plan)
    }
}
