//! Scans the files of a table, with one scan for each schema in which files were written.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrow_select::filter::filter_record_batch;
use lath_parquet::{
    Dataset, DatasetOptions, DeleteMask, Predicate, Pruning, Scan, ScanBatches, ScanPlan, ScanProgress,
};

use crate::error::{Error, Result};
use crate::file::{ColdColumns, ColdCondition, DataFile, RestOfCondition};
use crate::row::batch;
use crate::view::{Engine, View, dead_rows};

/// Options of a scan of files.
pub(crate) struct ColdOptions<'o> {
    pub(crate) engine: &'o Engine,
    pub(crate) columns: &'o [usize],
    /// The columns as they are given; strings and binary may be dictionaries here.
    pub(crate) output: &'o SchemaRef,
    pub(crate) predicate: Option<&'o Predicate>,
    pub(crate) limit: u64,
    pub(crate) threads: usize,
}

/// A file and its dead rows.
type FileRows = (Arc<DataFile>, Arc<DeleteMask>);

/// A scan of files that were written in the same schema.
pub(crate) struct ColdScan {
    scan: Scan,
    columns: ColdColumns,
    /// The columns that the caller requests, followed by columns that only the rest of the condition needs.
    output: SchemaRef,
    rest: Option<RestOfCondition>,
    /// Whether checksums verify all files, so that statistics and indexes may rule out rows.
    is_verified: bool,
}

/// The batches of a [`ColdScan`].
pub(crate) struct ColdBatches {
    batches: ScanBatches,
    columns: ColdColumns,
    output: SchemaRef,
    rest: Option<RestOfCondition>,
}

/// Scans of all files of the view, without rows that are dead: one for each schema in which files were written, the newest last.
pub(crate) fn scans_of_files(view: &mut dyn View, options: &ColdOptions<'_>) -> Result<Vec<ColdScan>> {
    let manifest = Arc::clone(view.manifest());
    let dead = dead_rows(options.engine, view, manifest.files())?;
    let mut by_schema: BTreeMap<u32, Vec<FileRows>> = BTreeMap::new();
    for (entry, dead) in manifest.files().iter().zip(dead) {
        by_schema.entry(entry.schema).or_default().push((options.engine.cold(view, entry)?, dead));
    }
    by_schema.into_values().map(|files| ColdScan::new(&files, options)).collect()
}

impl ColdScan {
    /// A scan of these files, of which there is at least one.
    fn new(files: &[FileRows], options: &ColdOptions<'_>) -> Result<Self> {
        let ColdOptions { engine, predicate, .. } = options;
        let (first, _) = files.first().ok_or_else(|| Error::internal("a scan has no files"))?;
        let (upgrade, schema) = (first.upgrade(), first.schema());
        let ColdCondition { pushed, rest } = ColdCondition::new(*predicate, upgrade)?;
        let needed = rest.as_ref().map(|rest| &rest.columns[..]).unwrap_or_default();
        let columns = ColdColumns::new(upgrade, &[options.columns, needed].concat()).with_types(options.output);
        // Rows have to be counted even if none of their columns is read.
        let read = if columns.read().is_empty() { &first.stored_schema().key().columns()[..1] } else { columns.read() };
        let dataset = Dataset::from_files(
            files.iter().map(|(file, _)| file.file().clone()),
            DatasetOptions::clone(engine.files.dataset()),
        )?;
        let mut scan = dataset.scan().runtime(&engine.runtime).threads(options.threads).unordered(true);
        scan = scan.strings(schema.strings()).select_columns(read.iter().copied());
        scan = scan.dictionary_columns(columns.dictionaries());
        let dead = files.iter().map(|(_, dead)| dead).enumerate().filter(|(_, dead)| !dead.is_empty());
        scan = scan.deleted(dead.map(|(at, dead)| (at, (**dead).clone())));
        if rest.is_none() {
            scan = scan.limit(options.limit);
        }
        let is_verified = files.iter().all(|(file, _)| file.is_verified());
        if let Some(pushed) = pushed {
            scan = scan.predicate(pushed);
            if !is_verified {
                scan = scan.pruning(Pruning::none());
            }
        }
        Ok(Self { scan, columns, output: Arc::clone(options.output), rest, is_verified })
    }

    /// The plan of the scan with its columns; `None` if rows have to be filtered after they are read, or a file is not verified.
    pub(super) fn plan(self) -> Result<Option<(ScanPlan, ColdColumns)>> {
        let Self { scan, columns, rest, is_verified, .. } = self;
        Ok(if rest.is_none() && is_verified { Some((scan.plan()?, columns)) } else { None })
    }

    pub(crate) fn build(self) -> Result<ColdBatches> {
        let Self { scan, columns, output, rest, .. } = self;
        Ok(ColdBatches { batches: scan.build()?, columns, output, rest })
    }
}

impl ColdBatches {
    /// Progress of reading the files.
    pub(crate) fn progress(&self) -> ScanProgress {
        self.batches.progress()
    }

    /// The next batch, which may have no rows.
    pub(crate) fn next(&mut self) -> Result<Option<RecordBatch>> {
        let Some(scanned) = self.batches.next().transpose()? else { return Ok(None) };
        let mut arrays = self.columns.arrays(&scanned)?;
        let needed = arrays.split_off(self.output.fields().len());
        let found = batch(&self.output, arrays, scanned.num_rows())?;
        Ok(Some(match &self.rest {
            Some(rest) => filter_record_batch(&found, &rest.evaluate(needed, scanned.num_rows())?)?,
            None => found,
        }))
    }
}
