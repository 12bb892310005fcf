//! `rewrite`: writes Parquet files again with other properties.

use std::path::Path;

use lath_parquet::{FileVersion, ParquetFile, Predicate, SortingColumn, Strings};
use lath_writer::WriteSummary;

use crate::args::{Format, ReportArgs, RewriteArgs, TableArgs, WriteArgs};
use crate::console::progress::Progress;
use crate::console::watch::Watch;
use crate::failure::{Failure, Outcome, Result, scan_failure};
use crate::input::background::BackgroundIterator;
use crate::input::inputs::Inputs;
use crate::input::keyed_input::KeyedInput;
use crate::input::scan::Scan;
use crate::input::table::Table;
use crate::output::Output;
use crate::summary::Summary;
use crate::write::ParquetRequest;
use crate::write::{CopiedFile, are_copyable, are_in_file_order};
use crate::{destination, summary};

/// Writes all inputs to one file, or replaces each.
pub(super) fn run(args: &RewriteArgs) -> Result<Outcome> {
    if let Some(keyed) = KeyedInput::find(&args.inputs.files, &args.inputs.open)? {
        return write_keyed(&keyed, args);
    }
    let inputs = Inputs::find(&args.inputs)?;
    inputs.refuse_lake()?;
    let mut rewriting = Rewriting {
        inputs,
        predicate: args.predicate.as_deref().map(Predicate::parse).transpose().map_err(Failure::filtering)?,
        scan: Scan::of(&args.read, Strings::Offsets),
        table: args.read.table,
        write: &args.write,
        sort_by: &args.sort.sort_by,
        report: &args.report,
    };
    if args.in_place {
        rewriting.check_in_place()?;
        for index in 0..rewriting.inputs.len() {
            let path = rewriting.inputs.written_path(index);
            // An object is read and replaced in one version.
            let version = rewriting.inputs.pin(index)?;
            let table = Table::open_one(&mut rewriting.inputs, index, rewriting.table)?;
            let table = table.with_condition(rewriting.condition())?;
            rewriting.write(&table, rewriting.inputs.byte_len(index), path.as_deref(), version.as_ref())?;
        }
        return Ok(Outcome::Done);
    }
    rewriting.write_to(args.output.as_deref())
}

/// The inputs of a rewrite, and how they are written.
pub(super) struct Rewriting<'a> {
    pub(super) inputs: Inputs,
    pub(super) predicate: Option<Predicate>,
    pub(super) scan: Scan,
    pub(super) table: TableArgs,
    pub(super) write: &'a WriteArgs,
    pub(super) sort_by: &'a [SortingColumn],
    pub(super) report: &'a ReportArgs,
}

impl Rewriting<'_> {
    /// Writes all inputs to one file; `None` and `-` are standard output.
    pub(super) fn write_to(&mut self, output: Option<&Path>) -> Result<Outcome> {
        let path = output.filter(|path| *path != Path::new("-"));
        if let Some(path) = path {
            destination::check(path, self.report.force, Some(&self.inputs))?;
        }
        let table = Table::open(&mut self.inputs, self.table)?.with_condition(self.condition())?;
        let bytes_before = (0..self.inputs.len()).map(|index| self.inputs.byte_len(index)).sum();
        self.write(&table, bytes_before, path, None)?;
        Ok(Outcome::Done)
    }

    fn condition(&self) -> Predicate {
        self.predicate.clone().unwrap_or(Predicate::TRUE)
    }

    fn check_in_place(&self) -> Result<()> {
        if (0..self.inputs.len()).any(|index| self.inputs.written_path(index).is_none()) {
            return Err(Failure::Usage(
                "standard input cannot be replaced; use -o OUT instead of --in-place".to_owned(),
            ));
        }
        if self.inputs.are_decrypted() {
            return Err(Failure::Usage(
                "--in-place would remove the encryption of the files; to write unencrypted files, use -o OUT"
                    .to_owned(),
            ));
        }
        Ok(())
    }

    /// Writes a table to one file.
    fn write(
        &self,
        table: &Table,
        bytes_before: Option<u64>,
        path: Option<&Path>,
        replaced: Option<&FileVersion>,
    ) -> Result<()> {
        let first = if table.len() == 0 { None } else { Some(table.file(0)?) };
        let like = first.as_ref();
        let (write, sorted_by, threads) = (self.write, self.sort_by, self.scan.threads);
        let keeps_rows = self.predicate.is_none() && table.len() == 1 && self.scan.row_groups.is_none();
        let request = ParquetRequest { write, sorted_by, threads, like, keeps_rows };
        let output = Output::settle(Some(Format::Parquet), path)?.with_parquet(request)?.replacing(replaced);
        summary::check(self.report, path)?;
        let mut summary = Summary::new(path);
        let written = match self.copyable(table)? {
            Some(files) => Some(self.copy(table, &files, &output, &mut summary)?),
            None => self.write_rows(table, &output, &mut summary)?,
        };
        summary.bytes_before = bytes_before;
        if path.is_some() {
            summary.add_output(path, written.as_ref());
            summary.report(self.report)?;
        }
        Ok(())
    }

    /// The files of the table, if their row groups can be copied.
    fn copyable(&self, table: &Table) -> Result<Option<Vec<ParquetFile>>> {
        let is_changed = self.predicate.is_some() || !self.sort_by.is_empty() || self.write.is_set();
        let columns = self.scan.columns.as_deref();
        if is_changed || self.inputs.are_decrypted() || table.adds_partitions(columns) {
            return Ok(None);
        }
        let files = table.files()?;
        let columns = columns.unwrap_or_default();
        let is_copyable = are_copyable(&files)? && files.iter().all(|file| are_in_file_order(columns, file));
        Ok(is_copyable.then_some(files))
    }

    /// Copies the row groups of `files`.
    fn copy(
        &self,
        table: &Table,
        files: &[ParquetFile],
        output: &Output<'_>,
        summary: &mut Summary,
    ) -> Result<WriteSummary> {
        let Some(first) = files.first() else { return Err(Failure::Usage("there is no input".to_owned())) };
        summary.add_partitions(table.partitions(), first.schema(), self.scan.columns.as_deref());
        let mut progress = Progress::new("rows", 0, false);
        let keeps_rows = files.len() == 1 && self.scan.row_groups.is_none();
        let mut copied = CopiedFile::like(output.target()?, first, self.scan.columns.as_deref(), keeps_rows)?;
        for (index, file) in files.iter().enumerate() {
            let name = table.name(index);
            summary.add_input(file);
            let all = || (0..file.metadata().row_group_count()).collect();
            let row_groups = self.scan.chosen_row_groups(file, name)?.unwrap_or_else(all);
            let rows = self.scan.chosen_row_ranges(file, name)?;
            progress.grow(rows.iter().map(|rows| rows.end - rows.start).sum());
            for (row_group, rows) in row_groups.into_iter().zip(rows) {
                copied.row_group(file, name, row_group)?;
                summary.rows += rows.end - rows.start;
                progress.advance(rows.end - rows.start);
            }
        }
        progress.clear();
        copied.finish()
    }

    /// Writes the rows of the table.
    fn write_rows(&self, table: &Table, output: &Output<'_>, summary: &mut Summary) -> Result<Option<WriteSummary>> {
        let batches = table.scan(&self.scan)?.build().map_err(scan_failure)?;
        for index in 0..table.len() {
            summary.add_input(&table.file(index)?);
        }
        summary.add_partitions(table.partitions(), &batches.schema(), self.scan.columns.as_deref());
        let mut rows = output.open(&batches.schema())?;
        let watch = Watch::new(batches.progress(), false);
        for batch in BackgroundIterator::new(batches) {
            let batch = batch.map_err(scan_failure)?;
            rows.write(&batch)?;
            summary.rows += batch.num_rows() as u64;
        }
        drop(watch);
        rows.finish()
    }
}

/// Writes the rows of a table with a primary key to one file, in the order of their keys or as they are sorted.
fn write_keyed(keyed: &KeyedInput, args: &RewriteArgs) -> Result<Outcome> {
    if args.in_place {
        let folder = keyed.folder.display();
        return Err(Failure::Usage(format!(
            "{folder} is a table with a primary key, which writes its files itself: lath table compact {folder} does that; \
             -o OUT writes its rows to a file"
        )));
    }
    keyed.refuse("--row-groups", args.read.row_groups.is_some())?;
    let predicate = args.predicate.as_deref().map(Predicate::parse).transpose().map_err(Failure::filtering)?;
    let path = args.output.as_deref().filter(|path| *path != Path::new("-"));
    if let Some(path) = path {
        destination::check(path, args.report.force, None)?;
    }
    summary::check(&args.report, path)?;
    let threads = Scan::of(&args.read, Strings::Offsets).threads;
    let request =
        ParquetRequest { write: &args.write, sorted_by: &args.sort.sort_by, threads, like: None, keeps_rows: false };
    let output = Output::settle(Some(Format::Parquet), path)?.with_parquet(request)?;
    let source = keyed.rows(args.read.columns.as_deref(), predicate)?;
    let mut summary = Summary::new(path);
    let mut rows = output.open(&source.schema)?;
    for batch in BackgroundIterator::new(source.batches) {
        let batch = batch?;
        rows.write(&batch)?;
        summary.rows += batch.num_rows() as u64;
    }
    let written = rows.finish()?;
    if path.is_some() {
        summary.add_output(path, written.as_ref());
        summary.report(&args.report)?;
    }
    Ok(Outcome::Done)
}
