//! What one thread decodes at a time: some columns of one row group.

use std::ops::Range;

use lath_format::FileMetaData;
use lath_parquet::{Error, ParquetFile, Projection};

use super::bloom::FileBytes;
use super::counted::{self, Counted};
use super::{Finding, Kind};
use crate::failure::{Failure, Result};
use crate::page_index::Described;
use crate::scan::Scan;

/// Short column chunks are read together, as planning a read takes time for each column that the file has. So many bytes are
/// short, together, and so many values of a batch are few.
const SHORT_BYTES: u64 = 256 << 10;
const FEW_VALUES: usize = 1 << 20;

/// Some top-level columns of a row group, one after the other.
pub(super) struct Task<'a> {
    row_group: usize,
    columns: Vec<Column<'a>>,
}

/// A top-level column.
#[derive(Clone)]
struct Column<'a> {
    name: &'a str,
    /// All of its leaves, and which of them to compare.
    leaves: Range<usize>,
    compared: Vec<usize>,
}

/// What is checked, and how it is read.
pub(super) struct Subject<'a> {
    pub(super) file: &'a ParquetFile,
    pub(super) name: &'a str,
    pub(super) metadata: Described<'a>,
    pub(super) bytes: Option<&'a FileBytes>,
    pub(super) scan: &'a Scan,
}

/// All that there is to do, in the order of the file: the leaf columns `chosen`, in batches of so many rows.
pub(super) fn tasks<'a>(metadata: &'a FileMetaData, chosen: &[usize], batch_size: usize) -> Vec<Task<'a>> {
    let columns = columns(metadata, chosen);
    let mut tasks: Vec<Task<'a>> = Vec::new();
    for (row_group, &rows) in metadata.row_counts().iter().enumerate() {
        let rows = usize::try_from(rows).map_or(batch_size, |rows| rows.clamp(1, batch_size));
        let mut room = (0, 0);
        for column in &columns {
            let chunks = column.leaves.clone().map(|leaf| metadata.chunk(row_group, leaf));
            // What cannot be read is read by itself, to be reported.
            let bytes = chunks.map(|chunk| chunk.map_or(u64::MAX, |chunk| chunk.compressed_size()));
            let bytes = bytes.fold(0, u64::saturating_add);
            let values = column.leaves.len().saturating_mul(rows);
            match tasks.last_mut().filter(|task| task.row_group == row_group && bytes <= room.0 && values <= room.1) {
                Some(task) => task.columns.push(column.clone()),
                None => {
                    tasks.push(Task { row_group, columns: vec![column.clone()] });
                    room = (SHORT_BYTES, FEW_VALUES);
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
    /// How many columns.
    pub(super) fn len(&self) -> usize {
        self.columns.len()
    }

    pub(super) fn run(&self, subject: &Subject<'_>) -> Result<Vec<Finding>> {
        let mut findings = Vec::new();
        // Where one of several columns cannot be decoded, each is read by itself.
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

    /// Compares some columns, which are read together. The inner error is one of decoding them.
    fn check(
        &self,
        columns: &[Column<'_>],
        subject: &Subject<'_>,
        findings: &mut Vec<Finding>,
    ) -> Result<Result<(), Error>> {
        let &Subject { file, name, metadata, bytes, scan } = subject;
        let leaves = columns.iter().flat_map(|column| column.leaves.clone());
        let builder = scan.builder(file, None).project(Projection::from_leaves(leaves));
        let batches = match builder.row_groups([self.row_group]).build() {
            Ok(batches) => batches,
            Err(error) => return Ok(Err(error)),
        };
        let fields = batches.schema();
        if fields.fields().len() != columns.len() && columns.len() > 1 {
            // A column without an Arrow type has no array.
            return Ok(Err(Error::Invalid { what: "a column is not read".to_owned() }));
        }
        let mut counted: Vec<Vec<Counted<'_>>> = Vec::with_capacity(columns.len());
        for (column, field) in columns.iter().zip(fields.fields()) {
            let first = column.leaves.start;
            let shape = (field.data_type(), field.is_nullable());
            counted.push(counted::leaves_of(metadata, self.row_group, first, &column.compared, shape));
        }
        for leaf in counted.iter_mut().flatten() {
            findings.extend(leaf.read_filter(metadata, self.row_group, bytes));
        }
        let mut row = 0;
        for batch in batches {
            let batch = match batch {
                Ok(batch) => batch,
                Err(error) => return Ok(Err(error)),
            };
            for (leaves, array) in counted.iter_mut().zip(batch.columns()) {
                for leaf in leaves {
                    leaf.count(array, row).map_err(|error| {
                        Failure::internal(&format!("{name}: {}", leaf.place(self.row_group)), &error.to_string())
                    })?;
                }
            }
            row += batch.num_rows() as i64;
        }
        let expected = metadata.metadata.row_counts()[self.row_group].cast_signed();
        for (column, leaves) in columns.iter().zip(counted) {
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
