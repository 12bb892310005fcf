use std::ops::Range;
use std::sync::{Arc, Mutex};

use super::batches::Batches;
use super::plan::ReadPlan;
use super::planned_leaf::PlannedLeaf;
use super::selection::{self, RowGroupRows};
use crate::error::{Error, Result};
use crate::file::ParquetFile;
use crate::options::Strings;
use crate::schema::{Projection, SchemaOptions};
use lath_source::ReadAhead;

/// Says what to read of a file: columns, rows, and the form they come in.
///
/// ```no_run
/// # fn main() -> lath_parquet::Result<()> {
/// let file = lath_parquet::ParquetFile::open("orders.parquet")?;
/// for batch in file.read().columns(["id", "customer.name"]).rows(0..1000).build()? {
///     println!("{} rows", batch?.num_rows());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[must_use = "nothing is read before `build`"]
pub struct ReadBuilder {
    file: ParquetFile,
    projection: Option<Projection>,
    row_groups: Option<Vec<usize>>,
    row_ranges: Option<Vec<Range<u64>>>,
    /// In place of the two before, where that is settled already.
    row_group_rows: Option<Vec<RowGroupRows>>,
    batch_size: usize,
    strings: Strings,
    dictionary_columns: Vec<String>,
    threads: usize,
    verify_crc: bool,
}

impl ReadBuilder {
    /// Default for [`ReadBuilder::batch_size`], in rows.
    pub const DEFAULT_BATCH_SIZE: usize = 8192;

    pub(crate) fn new(file: ParquetFile) -> Self {
        Self {
            file,
            projection: None,
            row_groups: None,
            row_ranges: None,
            row_group_rows: None,
            batch_size: Self::DEFAULT_BATCH_SIZE,
            strings: Strings::default(),
            dictionary_columns: Vec::new(),
            threads: 1,
            verify_crc: true,
        }
    }

    /// Reads only these columns or nested fields, named by dotted path; a path stands for everything below it. They come
    /// in file order, whatever the order of the paths. No path at all gives batches without columns.
    pub fn columns<S: Into<String>>(mut self, paths: impl IntoIterator<Item = S>) -> Self {
        self.projection = Some(Projection::from_paths(paths));
        self
    }

    /// Reads only what `projection` chooses, in place of [`columns`](Self::columns).
    pub fn project(mut self, projection: Projection) -> Self {
        self.projection = Some(projection);
        self
    }

    /// Reads only these row groups, counted from 0, in the order given.
    pub fn row_groups(mut self, row_groups: impl IntoIterator<Item = usize>) -> Self {
        self.row_groups = Some(row_groups.into_iter().collect());
        self
    }

    /// Reads only these rows, numbered from 0 over the whole file; what lies past the end is left out.
    pub fn rows(self, rows: Range<u64>) -> Self {
        self.row_ranges([rows])
    }

    /// Reads only the rows in these ranges, which have to be sorted and must not overlap.
    pub fn row_ranges(mut self, ranges: impl IntoIterator<Item = Range<u64>>) -> Self {
        self.row_ranges = Some(ranges.into_iter().collect());
        self
    }

    /// Reads these rows, which are of the file, whatever was said before.
    pub(crate) fn row_group_rows(mut self, rows: Vec<RowGroupRows>) -> Self {
        self.row_group_rows = Some(rows);
        self
    }

    /// Most rows of a batch. Batches also end where row groups end.
    pub fn batch_size(mut self, rows: usize) -> Self {
        self.batch_size = rows;
        self
    }

    /// The form of string and binary columns.
    pub fn strings(mut self, strings: Strings) -> Self {
        self.strings = strings;
        self
    }

    /// Columns to come out as Arrow dictionaries, named as in [`ReadBuilder::columns`].
    pub fn dictionary_columns<S: Into<String>>(mut self, paths: impl IntoIterator<Item = S>) -> Self {
        self.dictionary_columns = paths.into_iter().map(Into::into).collect();
        self
    }

    /// Threads that decode, the caller's included. Batches come in the same order whatever their number.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Whether pages that carry a CRC are checked against it (on by default).
    pub fn verify_crc(mut self, verify: bool) -> Self {
        self.verify_crc = verify;
        self
    }

    /// Plans the read. No page is read before the first batch is asked for.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for columns, row groups or ranges that the file does not have, and for a batch size or number
    /// of threads of 0; [`Error::Unsupported`] for a schema that cannot be read.
    pub fn build(self) -> Result<Batches> {
        if self.batch_size == 0 {
            return Err(Error::invalid("the batch size must be at least 1 row"));
        }
        if self.threads == 0 {
            return Err(Error::invalid("the number of threads must be at least 1"));
        }
        let options = SchemaOptions {
            strings: self.strings,
            dictionary_columns: self.dictionary_columns,
            ..self.file.schema_options()
        };
        let (schema, nodes) = self.file.build_schema(&options, self.projection.as_ref())?;
        let mut leaves = Vec::new();
        for node in &nodes {
            PlannedLeaf::collect(node, false, &mut leaves);
        }
        let row_counts = self.file.row_group_row_counts();
        let rows = match self.row_group_rows {
            Some(rows) => rows,
            None => selection::split(row_counts, self.row_groups.as_deref(), self.row_ranges.as_deref())?,
        };
        let extents = || {
            let columns = || leaves.iter().map(|leaf| (leaf.leaf.column, false));
            rows.iter().flat_map(|rows| self.file.extents(rows.row_group, columns())).collect()
        };
        let plan = ReadPlan {
            file: self.file.over(ReadAhead::within(Arc::clone(self.file.source()), extents)),
            places: rows.iter().map(|_| Mutex::default()).collect(),
            schema,
            nodes,
            leaves,
            rows,
            batch_size: self.batch_size,
            verify_crc: self.verify_crc,
        };
        Ok(Batches::new(Arc::new(plan), self.threads))
    }
}

impl ParquetFile {
    /// Starts to say what to read.
    pub fn read(&self) -> ReadBuilder {
        ReadBuilder::new(self.clone())
    }
}
