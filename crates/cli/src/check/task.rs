//! The unit of parallel work: some columns of one row group.

use std::ops::Range;

use lath_format::FileMetaData;
use lath_parquet::{Error, ParquetFile};

use super::bloom::FilterSource;
use super::leaf_check::{LeafCheck, leaf_checks};
use super::{Finding, Kind};
use crate::failure::{Failure, Result};
use crate::input::scan::Scan;
use crate::metadata::page_index::FileInfo;

/// Small column chunks are read together, because planning a read takes time for each column of the file. These are the maximum
/// bytes of the chunks of a task, and the maximum values of a batch.
const MAX_TASK_BYTES: u64 = 256 << 10;
const MAX_BATCH_VALUES: usize = 1 << 20;

/// Consecutive top-level columns of a row group.
pub(super) struct Task<'a> {
    row_group: usize,
    columns: Vec<Column<'a>>,
}

/// A top-level column.
#[derive(Clone)]
struct Column<'a> {
    name: &'a str,
    /// All of its leaves, and the ones to compare.
    leaves: Range<usize>,
    compared: Vec<usize>,
}

/// The file to check, and how to read it.
pub(super) struct CheckInput<'a> {
    pub(super) file: &'a ParquetFile,
    pub(super) name: &'a str,
    pub(super) metadata: FileInfo<'a>,
    pub(super) bytes: Option<&'a FilterSource>,
    pub(super) scan: &'a Scan,
}

/// The tasks for the leaf columns `chosen`, in file order; batches have `batch_size` rows.
pub(super) fn tasks<'a>(metadata: &'a FileMetaData, chosen: &[usize], batch_size: usize) -> Vec<Task<'a>> {
    let columns = columns(metadata, chosen);
    let mut tasks: Vec<Task<'a>> = Vec::new();
    for (row_group, &rows) in metadata.row_counts().iter().enumerate() {
        let rows = usize::try_from(rows).map_or(batch_size, |rows| rows.clamp(1, batch_size));
        let mut room = (0, 0);
        for column in &columns {
            let chunks = column.leaves.clone().map(|leaf| metadata.chunk(row_group, leaf));
            // A chunk that cannot be read gets a separate task, which reports it.
            let bytes = chunks.map(|chunk| chunk.map_or(u64::MAX, |chunk| chunk.compressed_size()));
            let bytes = bytes.fold(0, u64::saturating_add);
            let values = column.leaves.len().saturating_mul(rows);
            match tasks.last_mut().filter(|task| task.row_group == row_group && bytes <= room.0 && values <= room.1) {
                Some(task) => task.columns.push(column.clone()),
                None => {
                    tasks.push(Task { row_group, columns: vec![column.clone()] });
                    room = (MAX_TASK_BYTES, MAX_BATCH_VALUES);
                }
            }
            room = (room.0.saturating_sub(bytes), room.1.saturating_sub(values));
        }
    }
    tasks
}

/// The top-level columns that have any of the leaves `chosen`.
fn columns<'a>(metadata: &'a FileMetaData, chosen: &[usize]) -> Vec<Column<'a>> {
    let schema = metadata.schema_descr();
    let roots = schema.root_schema().get_fields();
    let mut is_chosen = vec![false; schema.num_columns()];
    chosen.iter().for_each(|&leaf| is_chosen[leaf] = true);
    let mut columns: Vec<Column<'a>> = Vec::new();
    let mut start = 0;
    while start < is_chosen.len() {
        let root = schema.get_column_root_idx(start);
        let end = (start..is_chosen.len()).find(|&leaf| schema.get_column_root_idx(leaf) != root);
        let leaves = start..end.unwrap_or(is_chosen.len());
        start = leaves.end;
        let compared: Vec<usize> = leaves.clone().filter(|&leaf| is_chosen[leaf]).collect();
        if !compared.is_empty() {
            columns.push(Column { name: roots[root].name(), leaves, compared });
        }
    }
    columns
}

impl Task<'_> {
    /// Number of columns.
    pub(super) fn len(&self) -> usize {
        self.columns.len()
    }

    pub(super) fn run(&self, subject: &CheckInput<'_>) -> Result<Vec<Finding>> {
        let mut findings = Vec::new();
        // If one of several columns cannot be decoded, each is read separately.
        if let [_, _, ..] = self.columns.as_slice()
            && self.check(&self.columns, subject, &mut findings)?.is_ok()
        {
            return Ok(findings);
        }
        findings.clear();
        for column in &self.columns {
            let place = format!("row group {}, column {}", self.row_group, column.name);
            if let Err(error) = self.check(std::slice::from_ref(column), subject, &mut findings)? {
                findings.push(undecodable(error, subject.name, &place)?);
            }
        }
        Ok(findings)
    }

    /// Compares columns that are read together. The inner error is one of decoding.
    fn check(
        &self,
        columns: &[Column<'_>],
        subject: &CheckInput<'_>,
        findings: &mut Vec<Finding>,
    ) -> Result<Result<(), Error>> {
        let &CheckInput { file, name, metadata, bytes, scan } = subject;
        let leaves = columns.iter().flat_map(|column| column.leaves.clone());
        let batches = match scan.file_scan(file).select_leaves(leaves).row_groups([self.row_group]).build() {
            Ok(batches) => batches,
            Err(error) => return Ok(Err(error)),
        };
        let fields = batches.schema();
        if fields.fields().len() != columns.len() && columns.len() > 1 {
            // A column without an Arrow type has no array.
            return Ok(Err(Error::Invalid { what: "a column is not read".to_owned() }));
        }
        let mut checks: Vec<Vec<LeafCheck<'_>>> = Vec::with_capacity(columns.len());
        for (column, field) in columns.iter().zip(fields.fields()) {
            let first = column.leaves.start;
            let shape = (field.data_type(), field.is_nullable());
            checks.push(leaf_checks(metadata, self.row_group, first, &column.compared, shape));
        }
        for leaf in checks.iter_mut().flatten() {
            findings.extend(leaf.read_filter(metadata, self.row_group, bytes));
        }
        let mut row = 0;
        for batch in batches {
            let batch = match batch {
                Ok(batch) => batch,
                Err(error) => return Ok(Err(error)),
            };
            for (leaves, array) in checks.iter_mut().zip(batch.columns()) {
                for leaf in leaves {
                    leaf.count(array, row).map_err(|error| {
                        Failure::internal(&format!("{name}: {}", leaf.place(self.row_group)), &error.to_string())
                    })?;
                }
            }
            row += batch.num_rows() as i64;
        }
        let expected = metadata.metadata.row_counts()[self.row_group].cast_signed();
        for (column, leaves) in columns.iter().zip(checks) {
            let place = format!("row group {}, column {}", self.row_group, column.name);
            if row != expected {
                let what = format!("{expected} rows in the metadata, {row} in the data");
                findings.push(Finding { kind: Kind::Mismatch, place: place.clone(), what });
            }
            for leaf in leaves {
                if let Err(error) = file.check_offset_index(self.row_group, leaf.column) {
                    findings.push(undecodable(error, name, &place)?);
                }
                leaf.compare(metadata, self.row_group, findings);
            }
        }
        Ok(Ok(()))
    }
}

fn undecodable(error: Error, name: &str, place: &str) -> Result<Finding> {
    let (kind, message) = match Failure::reading(name, error) {
        Failure::Encrypted(message) => (Kind::Encrypted, message),
        Failure::Corrupt(message) => (Kind::Corrupt, message),
        Failure::Internal(message) => (Kind::Internal, message),
        other => return Err(other),
    };
    let what = message.strip_prefix(name).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(&message);
    Ok(Finding { kind, place: place.to_owned(), what: what.to_owned() })
}
