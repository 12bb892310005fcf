//! Compares what a file says of its data with its data.

mod bloom;
mod bound;
mod leaf;
mod size;
mod tally;

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use arrow_schema::{ArrowError, Field};
use lath_parquet::{Error, ParquetFile};
use parquet::basic::{BoundaryOrder, ColumnOrder, SortOrder};
use parquet::file::metadata::ParquetMetaData;
use parquet::schema::types::ColumnDescriptor;

use bloom::Probe;
use bound::Bound;
use leaf::{descend, leaf_paths};
use tally::Tally;

pub(crate) use bloom::FileBytes;

use crate::failure::{Failure, Result};
use crate::page_index::{PageEntry, column_index, pages};
use crate::progress::Progress;
use crate::scan::Scan;

/// Something that is wrong with a file.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) kind: Kind,
    place: String,
    what: String,
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Data and metadata disagree.
    Mismatch,
    /// Data cannot be decoded.
    Corrupt,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.place.is_empty() { f.write_str(&self.what) } else { write!(f, "{}: {}", self.place, self.what) }
    }
}

/// Decodes the leaf `columns` of `file`, and returns all that is wrong, in file order. `bytes` are the file's, for its Bloom
/// filters.
pub(crate) fn check(
    file: &ParquetFile,
    name: &str,
    metadata: &ParquetMetaData,
    columns: &[usize],
    bytes: Option<&FileBytes>,
    scan: &Scan,
    progress: &mut Progress,
) -> Result<Vec<Finding>> {
    let mut findings = check_row_counts(metadata);
    let tasks = tasks(file, metadata, columns);
    progress.grow(tasks.len() as u64);
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<Result<Vec<Finding>>>>> = Mutex::new(tasks.iter().map(|_| None).collect());
    let (done, finished) = mpsc::channel();
    let threads = scan.threads;
    // Each worker decodes a column at a time: the parallelism is here, not below.
    let scan = Scan { threads: 1, ..scan.clone() };
    thread::scope(|scope| {
        for _ in 0..threads.min(tasks.len()) {
            let (done, tasks, results, next, scan) = (done.clone(), &tasks, &results, &next, &scan);
            scope.spawn(move || {
                while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = task.run(file, name, metadata, bytes, scan);
                    if let Ok(mut results) = results.lock() {
                        results[task.index] = Some(result);
                    }
                    // Nobody counts any more where the receiver has gone.
                    let _ = done.send(());
                }
            });
        }
        drop(done);
        for () in finished {
            progress.advance(1);
        }
    });
    let results = results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    for result in results.into_iter().flatten() {
        findings.extend(result?);
    }
    Ok(findings)
}

/// One top-level column of one row group.
struct Task<'a> {
    index: usize,
    row_group: usize,
    /// Name of the column.
    root: &'a str,
    /// Position of its first leaf, and which of its leaves to compare.
    first_leaf: usize,
    leaves: Vec<usize>,
}

fn tasks<'a>(file: &'a ParquetFile, metadata: &ParquetMetaData, columns: &[usize]) -> Vec<Task<'a>> {
    let schema = metadata.file_metadata().schema_descr();
    let mut tasks = Vec::new();
    for row_group in 0..metadata.num_row_groups() {
        for (root, field) in file.schema().fields().iter().enumerate() {
            let of_root = (0..schema.num_columns()).filter(|&leaf| schema.get_column_root_idx(leaf) == root);
            let all: Vec<usize> = of_root.collect();
            let leaves: Vec<usize> = all.iter().copied().filter(|leaf| columns.contains(leaf)).collect();
            if let (Some(&first_leaf), false) = (all.first(), leaves.is_empty()) {
                tasks.push(Task { index: tasks.len(), row_group, root: field.name(), first_leaf, leaves });
            }
        }
    }
    tasks
}

/// A leaf whose data is being counted, page by page where the page index says where pages start.
struct Counted<'a> {
    column: usize,
    descriptor: &'a ColumnDescriptor,
    path: Vec<usize>,
    nullable: bool,
    ordered: bool,
    pages: Option<Vec<PageEntry<'a>>>,
    tallies: Vec<Tally>,
    probe: Option<Probe>,
}

impl Task<'_> {
    fn run(
        &self,
        file: &ParquetFile,
        name: &str,
        metadata: &ParquetMetaData,
        bytes: Option<&FileBytes>,
        scan: &Scan,
    ) -> Result<Vec<Finding>> {
        let place = format!("row group {}, column {}", self.row_group, self.root);
        let corrupt = |what: String| Finding { kind: Kind::Corrupt, place: place.clone(), what };
        let builder = scan.builder(file, Some(&[self.root.to_owned()])).row_groups(vec![self.row_group]);
        let batches = match builder.build() {
            Ok(batches) => batches,
            Err(error) => return undecodable(error, name, corrupt),
        };
        let mut counted = match batches.schema().fields().first() {
            Some(field) => self.counted(metadata, field),
            None => Vec::new(),
        };
        let mut findings = Vec::new();
        for leaf in counted.iter_mut().filter(|_| bytes.is_some()) {
            findings.extend(leaf.read_filter(metadata, self.row_group, bytes));
        }
        let mut row = 0;
        for batch in batches {
            let batch = match batch {
                Ok(batch) => batch,
                Err(error) => return undecodable(error, name, corrupt),
            };
            for leaf in &mut counted {
                leaf.count(batch.column(0), row)
                    .map_err(|error| Failure::Corrupt(format!("{name}: {place}: {error}")))?;
            }
            row += batch.num_rows() as i64;
        }
        let expected = metadata.row_group(self.row_group).num_rows();
        if row != expected {
            findings.push(Finding {
                kind: Kind::Mismatch,
                place: place.clone(),
                what: format!("{expected} rows in the metadata, {row} in the data"),
            });
        }
        for leaf in counted {
            if let Err(error) = file.check_offset_index(self.row_group, leaf.column) {
                findings.extend(undecodable(error, name, corrupt)?);
            }
            leaf.compare(metadata, self.row_group, &mut findings);
        }
        Ok(findings)
    }

    fn counted<'m>(&self, metadata: &'m ParquetMetaData, field: &Field) -> Vec<Counted<'m>> {
        let paths = leaf_paths(field.data_type());
        let file = metadata.file_metadata();
        let counted = self.leaves.iter().filter_map(|&column| {
            let pages = pages(metadata, self.row_group, column).filter(|pages| are_in_order(pages));
            let tallies = vec![Tally::default(); pages.as_ref().map_or(1, Vec::len)];
            let order = file.column_order(column);
            Some(Counted {
                column,
                descriptor: file.schema_descr().columns()[column].as_ref(),
                path: paths.get(column - self.first_leaf)?.clone(),
                nullable: field.is_nullable(),
                ordered: matches!(order, ColumnOrder::TYPE_DEFINED_ORDER(SortOrder::SIGNED | SortOrder::UNSIGNED)),
                pages,
                tallies,
                probe: None,
            })
        });
        counted.collect()
    }
}

/// Whether pages start at row 0 and follow each other; otherwise rows cannot be told apart by page.
fn are_in_order(pages: &[PageEntry<'_>]) -> bool {
    pages[0].first_row == 0 && pages.iter().all(|page| page.row_count >= 0)
}

fn undecodable(error: Error, name: &str, corrupt: impl Fn(String) -> Finding) -> Result<Vec<Finding>> {
    match Failure::reading(name, error) {
        Failure::Corrupt(message) => {
            let what = message.strip_prefix(name).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(&message);
            Ok(vec![corrupt(what.to_owned())])
        }
        other => Err(other),
    }
}

impl Counted<'_> {
    /// Reads the Bloom filter, if there is one; what is wrong if that cannot be done.
    fn read_filter(
        &mut self,
        metadata: &ParquetMetaData,
        row_group: usize,
        bytes: Option<&FileBytes>,
    ) -> Option<Finding> {
        match bytes?.filter(metadata.row_group(row_group).column(self.column)) {
            Ok(filter) => {
                self.probe = filter.map(Probe::new);
                None
            }
            Err(error) => Some(Finding {
                kind: Kind::Corrupt,
                place: format!("row group {row_group}, column {}", self.descriptor.path().string()),
                what: format!("the Bloom filter cannot be read: {error}"),
            }),
        }
    }

    /// Counts the rows of `array`, the first of which is `row` of the row group.
    fn count(&mut self, array: &arrow_array::ArrayRef, row: i64) -> Result<(), ArrowError> {
        let Some(pages) = &self.pages else {
            let leaf = descend(array, self.nullable, &self.path)?;
            if let Some(probe) = &mut self.probe {
                probe.look_up(&leaf.values, self.descriptor);
            }
            return self.tallies[0].add(&leaf, self.ordered);
        };
        let end = row + array.len() as i64;
        let first = pages.partition_point(|page| page.first_row + page.row_count <= row);
        for (page, tally) in pages.iter().zip(&mut self.tallies).skip(first) {
            let (from, to) = (page.first_row.max(row), (page.first_row + page.row_count).min(end));
            if from >= end {
                break;
            }
            if from < to {
                let rows = array.slice((from - row) as usize, (to - from) as usize);
                let leaf = descend(&rows, self.nullable, &self.path)?;
                if let Some(probe) = &mut self.probe {
                    probe.look_up(&leaf.values, self.descriptor);
                }
                tally.add(&leaf, self.ordered)?;
            }
        }
        Ok(())
    }

    fn compare(&self, metadata: &ParquetMetaData, row_group: usize, findings: &mut Vec<Finding>) {
        let place = format!("row group {row_group}, column {}", self.descriptor.path().string());
        let mut whole = Tally::default();
        for tally in &self.tallies {
            whole.merge(tally.clone());
        }
        let mut report = |place: &str, what: String| {
            findings.push(Finding { kind: Kind::Mismatch, place: place.to_owned(), what });
        };
        let chunk = metadata.row_group(row_group).column(self.column);
        if u64::try_from(chunk.num_values()) != Ok(whole.entries) {
            report(&place, format!("{} values in the metadata, {} in the data", chunk.num_values(), whole.entries));
        }
        if let Some(statistics) = chunk.statistics() {
            if let Some(nulls) = statistics.null_count_opt().filter(|&nulls| !whole.has_null_count(nulls)) {
                report(&place, format!("{nulls} nulls in the statistics, {} in the data", whole.nulls + whole.missing));
            }
            if !statistics.is_min_max_deprecated() {
                let exact = (statistics.min_is_exact(), statistics.max_is_exact());
                let bounds = (statistics.min_bytes_opt(), statistics.max_bytes_opt());
                self.compare_bounds(&whole, bounds, exact, "statistics", |what| report(&place, what));
            }
        }
        size::compare_chunk(metadata, (row_group, self.column), &whole, |what| report(&place, what));
        if let Some(what) = self.probe.as_ref().and_then(Probe::finding) {
            report(&place, what);
        }
        if chunk.offset_index_offset().is_some() && self.pages.is_none() {
            report(&place, "the offset index is missing, or its pages do not follow each other".to_owned());
        }
        for (index, (page, tally)) in self.pages.iter().flatten().zip(&self.tallies).enumerate() {
            let place = format!("{place}, page {index}");
            size::compare_page(metadata, (row_group, self.column, index), tally, |what| report(&place, what));
            let Some(bounds) = &page.bounds else { continue };
            if bounds.is_null_page != tally.is_all_null() && tally.entries > 0 {
                let words = |all_null: bool| if all_null { "nulls alone" } else { "values" };
                let (said, held) = (words(bounds.is_null_page), words(tally.is_all_null()));
                report(&place, format!("{said} by the column index, {held} in the data"));
            }
            let nulls = bounds.null_count.and_then(|nulls| u64::try_from(nulls).ok());
            if let Some(nulls) = nulls.filter(|&nulls| !tally.has_null_count(nulls)) {
                report(
                    &place,
                    format!("{nulls} nulls in the column index, {} in the data", tally.nulls + tally.missing),
                );
            }
            let bytes = (bounds.min.as_deref(), bounds.max.as_deref());
            self.compare_bounds(tally, bytes, (false, false), "column index", |what| report(&place, what));
        }
        if let Some(what) = self.disorder(metadata, row_group) {
            report(&place, what);
        }
    }

    fn compare_bounds(
        &self,
        tally: &Tally,
        (min, max): (Option<&[u8]>, Option<&[u8]>),
        (min_is_exact, max_is_exact): (bool, bool),
        source: &str,
        mut report: impl FnMut(String),
    ) {
        let Some((least, most)) = tally.range.as_ref().filter(|_| self.ordered) else { return };
        let text = |bound: &Bound| bound.text(self.descriptor);
        if let Some(min) = min.and_then(|bytes| Bound::decode(bytes, self.descriptor))
            && (least.is_less(&min) || (min_is_exact && min.is_less(least)))
        {
            report(format!("minimum {} in the {source}, {} in the data", text(&min), text(least)));
        }
        if let Some(max) = max.and_then(|bytes| Bound::decode(bytes, self.descriptor))
            && (max.is_less(most) || (max_is_exact && most.is_less(&max)))
        {
            report(format!("maximum {} in the {source}, {} in the data", text(&max), text(most)));
        }
    }

    /// What contradicts the order of pages that the column index claims.
    fn disorder(&self, metadata: &ParquetMetaData, row_group: usize) -> Option<String> {
        let order = column_index(metadata, row_group, self.column)?.get_boundary_order()?;
        let (word, wrong): (_, fn(&Bound, &Bound) -> bool) = match order {
            BoundaryOrder::ASCENDING => ("ascending", |first, second| second.is_less(first)),
            BoundaryOrder::DESCENDING => ("descending", |first, second| first.is_less(second)),
            BoundaryOrder::UNORDERED => return None,
        };
        let decode = |bytes: &[u8]| Bound::decode(bytes, self.descriptor);
        let bounds: Vec<(Bound, Bound)> = self
            .pages
            .iter()
            .flatten()
            .filter_map(|page| page.bounds.as_ref().filter(|bounds| !bounds.is_null_page))
            .filter_map(|bounds| Some((decode(bounds.min.as_deref()?)?, decode(bounds.max.as_deref()?)?)))
            .collect();
        let broken = bounds.windows(2).any(|pair| wrong(&pair[0].0, &pair[1].0) || wrong(&pair[0].1, &pair[1].1));
        (broken && self.ordered).then(|| format!("pages are {word} by the column index, but their bounds are not"))
    }
}

fn check_row_counts(metadata: &ParquetMetaData) -> Vec<Finding> {
    let claimed = metadata.file_metadata().num_rows();
    let total: i64 = metadata.row_groups().iter().map(parquet::file::metadata::RowGroupMetaData::num_rows).sum();
    if claimed == total {
        return Vec::new();
    }
    let what = format!("{claimed} rows in the file's metadata, {total} in its row groups together");
    vec![Finding { kind: Kind::Mismatch, place: String::new(), what }]
}
