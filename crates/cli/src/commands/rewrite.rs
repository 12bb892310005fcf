//! `rewrite`: Parquet files again, otherwise.

use std::ops::Range;
use std::path::Path;

use arrow_schema::SchemaRef;
use lath_parquet::{ParquetFile, Predicate, SortingColumn, Strings, WriteSummary};

use crate::ahead::Ahead;
use crate::args::{Format, ReportArgs, RewriteArgs, WriteArgs};
use crate::failure::{Failure, Outcome, Result};
use crate::inputs::Inputs;
use crate::output::{Output, ParquetWish, Rows};
use crate::progress::Progress;
use crate::scan::{Alignment, Scan};
use crate::search::Search;
use crate::summary::Summary;
use crate::write::{CopiedFile, are_alike, are_in_file_order};
use crate::{destination, summary};

/// Writes all inputs as one file, or each in its own place.
pub(super) fn run(args: &RewriteArgs) -> Result<Outcome> {
    let mut rewriting = Rewriting {
        inputs: Inputs::find(&args.inputs)?,
        predicate: args.predicate.as_deref().map(Predicate::parse).transpose().map_err(Failure::filtering)?,
        scan: Scan::of(&args.read, Strings::Offsets),
        write: &args.write,
        sort_by: &args.sort.sort_by,
        report: &args.report,
    };
    if args.in_place {
        rewriting.check_in_place()?;
        for index in 0..rewriting.inputs.len() {
            let path = rewriting.inputs.path(index).map(Path::to_owned);
            rewriting.write(index..index + 1, path.as_deref())?;
        }
        return Ok(Outcome::Done);
    }
    rewriting.write_to(args.output.as_deref())
}

/// What is to be written again, and how.
pub(super) struct Rewriting<'a> {
    pub(super) inputs: Inputs,
    pub(super) predicate: Option<Predicate>,
    pub(super) scan: Scan,
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
        self.write(0..self.inputs.len(), path)?;
        Ok(Outcome::Done)
    }

    fn check_in_place(&self) -> Result<()> {
        if (0..self.inputs.len()).any(|index| self.inputs.path(index).is_none()) {
            return Err(Failure::Usage(
                "standard input and URLs have no place to write to; add -o OUT instead of --in-place".to_owned(),
            ));
        }
        if self.inputs.are_decrypted() {
            return Err(Failure::Usage(
                "--in-place would leave the files without encryption; add -o OUT instead if that is meant".to_owned(),
            ));
        }
        Ok(())
    }

    /// Writes some of the inputs to one file.
    fn write(&mut self, indices: Range<usize>, path: Option<&Path>) -> Result<()> {
        let wish = ParquetWish { write: self.write, sorted_by: self.sort_by, threads: self.scan.threads };
        let output = Output::settle(Some(Format::Parquet), path)?.with_parquet(wish)?;
        summary::check(self.report, path)?;
        let mut summary = Summary::new(path);
        let mut progress = Progress::new("rows", 0, false);
        let written = match self.copyable(indices.clone())? {
            Some(files) => Some(self.copy(&files, indices.clone(), &output, &mut progress, &mut summary)?),
            None => {
                let mut sink = None;
                for index in indices.clone() {
                    self.write_file(index, indices.len() > 1, &output, &mut sink, &mut progress, &mut summary)?;
                }
                sink.map(|(sink, _)| sink.finish()).transpose()?.flatten()
            }
        };
        progress.clear();
        summary.bytes_before = indices.map(|index| self.inputs.byte_len(index)).sum();
        if path.is_some() {
            summary.add_output(path, written.as_ref());
            summary.report(self.report)?;
        }
        Ok(())
    }

    /// The inputs, if nothing in their row groups has to change.
    fn copyable(&mut self, indices: Range<usize>) -> Result<Option<Vec<ParquetFile>>> {
        let is_changed = self.predicate.is_some() || !self.sort_by.is_empty() || self.write.is_set();
        if is_changed || self.inputs.are_decrypted() {
            return Ok(None);
        }
        let files = indices.map(|index| self.inputs.open(index)).collect::<Result<Vec<_>>>()?;
        let columns = self.scan.columns.as_deref().unwrap_or_default();
        let is_copyable = are_alike(&files) && files.iter().all(|file| are_in_file_order(columns, file));
        Ok(is_copyable.then_some(files))
    }

    /// Writes the row groups of `files` as they are.
    fn copy(
        &self,
        files: &[ParquetFile],
        indices: Range<usize>,
        output: &Output<'_>,
        progress: &mut Progress,
        summary: &mut Summary,
    ) -> Result<WriteSummary> {
        let Some(first) = files.first() else { return Err(Failure::Usage("there is no input".to_owned())) };
        let mut copied = CopiedFile::like(output.target()?, first, self.scan.columns.as_deref())?;
        for (file, index) in files.iter().zip(indices) {
            let name = self.inputs.name(index);
            summary.add_input(file);
            let all = || (0..file.metadata().num_row_groups()).collect();
            let row_groups = self.scan.row_groups_of(file, &name)?.unwrap_or_else(all);
            let rows = self.scan.row_ranges_of(file, &name)?;
            progress.grow(rows.iter().map(|rows| rows.end - rows.start).sum());
            for (row_group, rows) in row_groups.into_iter().zip(rows) {
                copied.row_group(file, &name, row_group)?;
                summary.rows += rows.end - rows.start;
                progress.advance(rows.end - rows.start);
            }
        }
        copied.finish()
    }

    /// Writes the rows of one input; the first one opens the output.
    fn write_file(
        &mut self,
        index: usize,
        several: bool,
        output: &Output<'_>,
        sink: &mut Option<(Box<dyn Rows>, Alignment)>,
        progress: &mut Progress,
        summary: &mut Summary,
    ) -> Result<()> {
        let (file, name) = (self.inputs.open(index)?, self.inputs.name(index));
        summary.add_input(&file);
        let mut open = |schema: &SchemaRef, columns: Option<&[String]>| match sink.take() {
            Some(opened) => Ok(opened),
            None => {
                let alignment = Alignment::new(schema, columns, &name, several);
                Ok((output.open(alignment.schema())?, alignment))
            }
        };
        let Some(predicate) = &self.predicate else {
            let ranges = self.scan.row_ranges_of(&file, &name)?;
            progress.grow(ranges.iter().map(|range| range.end - range.start).sum());
            let batches = self.scan.read(&file, &name, None)?;
            let (mut rows, alignment) = open(&batches.schema(), self.scan.columns.as_deref())?;
            let sources = alignment.sources(&batches.schema(), &name)?;
            for batch in Ahead::new(batches) {
                let batch = batch.map_err(|error| Failure::reading(&name, error))?;
                rows.write(&alignment.align(&batch, &sources)?)?;
                summary.rows += batch.num_rows() as u64;
                progress.advance(batch.num_rows() as u64);
            }
            *sink = Some((rows, alignment));
            return Ok(());
        };
        let search = Search::new(&file, &name, predicate, &self.scan)?.select(self.scan.columns.as_deref());
        let schema = search.schema()?;
        let (mut rows, alignment) = open(&schema, Some(search.selected()))?;
        let sources = alignment.sources(&schema, &name)?;
        let found = search.run(u64::MAX, progress, |batch| rows.write(&alignment.align(batch, &sources)?))?;
        summary.rows += found;
        *sink = Some((rows, alignment));
        Ok(())
    }
}
