//! Scans of files: columns, row groups and decoding.

use std::ops::Range;
use std::thread;

use lath_parquet::{ParquetFile, Strings};

use crate::args::{DecodeArgs, ReadArgs, RowGroupList};
use crate::failure::{Failure, Result};

/// The columns and row groups to read from each file, and options of decoding.
#[derive(Debug, Clone)]
pub(crate) struct Scan {
    pub(crate) columns: Option<Vec<String>>,
    pub(crate) row_groups: Option<RowGroupList>,
    pub(crate) threads: usize,
    pub(crate) batch_size: usize,
    pub(crate) verify_crc: bool,
    pub(crate) strings: Strings,
}

impl Scan {
    /// All of the columns and rows, decoded as `args` say.
    pub(crate) fn new(args: &DecodeArgs, strings: Strings) -> Self {
        Self {
            columns: None,
            row_groups: None,
            threads: threads(args),
            batch_size: args.batch_size as usize,
            verify_crc: !args.no_crc,
            strings,
        }
    }

    /// The columns and row groups of `args`.
    pub(crate) fn of(args: &ReadArgs, strings: Strings) -> Self {
        Self { columns: args.columns.clone(), row_groups: args.row_groups.clone(), ..Self::new(&args.decode, strings) }
    }

    /// The row groups of `file` to read; `None` for all.
    pub(crate) fn chosen_row_groups(&self, file: &ParquetFile, name: &str) -> Result<Option<Vec<usize>>> {
        let Some(list) = &self.row_groups else { return Ok(None) };
        let count = file.metadata().row_group_count();
        match list.resolve(count) {
            Ok(row_groups) => Ok(Some(row_groups)),
            Err(index) => Err(Failure::Usage(format!(
                "{name}: there is no row group {index}; the file has {count}, counted from 0"
            ))),
        }
    }

    /// Row numbers of the chosen row groups of `file`, ascending.
    pub(crate) fn chosen_row_ranges(&self, file: &ParquetFile, name: &str) -> Result<Vec<Range<u64>>> {
        let mut end = 0;
        let groups = file.metadata().row_counts().iter().map(|rows| {
            let start = end;
            end += rows;
            start..end
        });
        let groups: Vec<_> = groups.collect();
        Ok(match self.chosen_row_groups(file, name)? {
            Some(chosen) => chosen.into_iter().map(|index| groups[index].clone()).collect(),
            None => groups,
        })
    }

    /// A scan of one file with all options but the columns and row groups set.
    pub(crate) fn file_scan(&self, file: &ParquetFile) -> lath_parquet::Scan {
        file.scan()
            .batch_size(self.batch_size)
            .threads(self.threads)
            .by_column(true)
            .verify_crc(self.verify_crc)
            .strings(self.strings)
    }
}

/// The number of threads that can run at the same time.
pub(crate) fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// The number of threads to use.
pub(crate) fn threads(args: &DecodeArgs) -> usize {
    args.threads.map_or_else(cores, usize::from)
}
