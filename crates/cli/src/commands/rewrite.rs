//! `rewrite`: Parquet files again, otherwise.

use std::path::Path;

use lath_parquet::{Strings, WriteSummary};

use crate::ahead::Ahead;
use crate::args::{Format, RewriteArgs};
use crate::failure::{Failure, Outcome, Result};
use crate::inputs::Inputs;
use crate::output::{Output, ParquetWish, Rows};
use crate::predicate::Predicate;
use crate::progress::Progress;
use crate::scan::{Alignment, Scan};
use crate::search::Search;
use crate::summary::Summary;
use crate::{destination, summary};

/// Writes all inputs as one file, or each in its own place.
pub(super) fn run(args: &RewriteArgs) -> Result<Outcome> {
    let mut rewriting = Rewriting {
        args,
        inputs: Inputs::find(&args.inputs)?,
        predicate: args.predicate.as_deref().map(Predicate::parse).transpose()?,
        scan: Scan::of(&args.read, Strings::Offsets),
    };
    if args.in_place {
        rewriting.check_in_place()?;
        for index in 0..rewriting.inputs.len() {
            let path = rewriting.inputs.path(index).map(Path::to_owned);
            rewriting.write(index..index + 1, path.as_deref())?;
        }
    } else {
        let path = args.output.as_deref().filter(|path| *path != Path::new("-"));
        if let Some(path) = path {
            destination::check(path, args.report.force, Some(&rewriting.inputs))?;
        }
        rewriting.write(0..rewriting.inputs.len(), path)?;
    }
    Ok(Outcome::Done)
}

struct Rewriting<'a> {
    args: &'a RewriteArgs,
    inputs: Inputs,
    predicate: Option<Predicate>,
    scan: Scan,
}

impl Rewriting<'_> {
    fn check_in_place(&self) -> Result<()> {
        if (0..self.inputs.len()).any(|index| self.inputs.path(index).is_none()) {
            return Err(Failure::Usage("standard input has no place; add -o OUT instead of --in-place".to_owned()));
        }
        if self.inputs.are_decrypted() {
            return Err(Failure::Usage(
                "--in-place would leave the files without encryption; add -o OUT instead if that is meant".to_owned(),
            ));
        }
        Ok(())
    }

    /// Writes some of the inputs to one file.
    fn write(&mut self, indices: std::ops::Range<usize>, path: Option<&Path>) -> Result<()> {
        let (args, threads) = (self.args, self.scan.threads);
        let wish = ParquetWish { write: &args.write, sorted_by: &args.sort.sort_by, threads };
        let output = Output::settle(Some(Format::Parquet), path)?.with_parquet(wish)?;
        summary::check(&args.report, path)?;
        let mut summary = Summary::new(path);
        summary.bytes_before = indices.clone().map(|index| self.inputs.byte_len(index)).sum();
        let written = self.write_rows(indices, &output, &mut summary)?;
        if path.is_some() {
            summary.add_output(path, written.as_ref());
            summary.report(&args.report)?;
        }
        Ok(())
    }

    fn write_rows(
        &mut self,
        indices: std::ops::Range<usize>,
        output: &Output<'_>,
        summary: &mut Summary,
    ) -> Result<Option<WriteSummary>> {
        let mut progress = Progress::new("rows", 0, false);
        let mut sink: Option<(Box<dyn Rows>, Alignment)> = None;
        let several = indices.len() > 1;
        for index in indices {
            let (file, name) = (self.inputs.open(index)?, self.inputs.name(index));
            summary.add_input(&file);
            if let Some(predicate) = &self.predicate {
                let search = Search::new(&file, &name, predicate, &self.scan)?.select(self.scan.columns.as_deref());
                let schema = search.schema()?;
                let (sink, alignment) = match &mut sink {
                    Some(sink) => sink,
                    None => {
                        let alignment = Alignment::new(&schema, Some(search.selected()), &name, several);
                        sink.insert((output.open(alignment.schema())?, alignment))
                    }
                };
                let sources = alignment.sources(&schema, &name)?;
                let rows =
                    search.run(u64::MAX, &mut progress, |batch| sink.write(&alignment.align(batch, &sources)?))?;
                summary.rows += rows;
                continue;
            }
            let ranges = self.scan.row_ranges_of(&file, &name)?;
            progress.grow(ranges.iter().map(|range| range.end - range.start).sum());
            let batches = self.scan.read(&file, &name, None)?;
            let schema = batches.schema();
            let (sink, alignment) = match &mut sink {
                Some(sink) => sink,
                None => {
                    let alignment = Alignment::new(&schema, self.scan.columns.as_deref(), &name, several);
                    sink.insert((output.open(alignment.schema())?, alignment))
                }
            };
            let sources = alignment.sources(&schema, &name)?;
            for batch in Ahead::new(batches) {
                let batch = batch.map_err(|error| Failure::reading(&name, error))?;
                sink.write(&alignment.align(&batch, &sources)?)?;
                summary.rows += batch.num_rows() as u64;
                progress.advance(batch.num_rows() as u64);
            }
        }
        progress.clear();
        match sink {
            Some((sink, _)) => sink.finish(),
            None => Ok(None),
        }
    }
}
