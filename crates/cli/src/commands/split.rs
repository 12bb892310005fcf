//! `split`: writes a table to several Parquet files.

use std::path::{Path, PathBuf};

use arrow_schema::SchemaRef;
use lath_parquet::{ParquetFile, RowSelection, Strings};
use lath_writer::WriteSummary;

use crate::args::{Format, SplitArgs};
use crate::console::progress::Progress;
use crate::failure::{Failure, Outcome, Result, scan_failure};
use crate::input::background::BackgroundIterator;
use crate::input::inputs::Inputs;
use crate::input::scan::Scan;
use crate::input::table::Table;
use crate::output::Output;
use crate::split_plan::{Part, Size, plan_split};
use crate::summary::Summary;
use crate::target::{OutputFiles, Target};
use crate::write::ParquetRequest;
use crate::write::{CopiedFile, are_copyable};
use crate::{destination, summary};

/// Writes the inputs' rows to numbered files.
pub(super) fn run(args: &SplitArgs) -> Result<Outcome> {
    let mut inputs = Inputs::find(&args.inputs)?;
    inputs.refuse_lake()?;
    let size = match (args.rows, args.row_groups, args.bytes) {
        (Some(rows), _, _) => Size::Rows(rows as u64),
        (_, Some(row_groups), _) => Size::RowGroups(row_groups),
        (_, _, Some(bytes)) => Size::Bytes(bytes as u64),
        _ => return Err(Failure::Usage("add --rows, --row-groups or --bytes".to_owned())),
    };
    let table = Table::open(&mut inputs, args.table)?;
    let files = table.files()?;
    let parts = plan_split(&files, size);
    let names = Names::new(&args.output, inputs.path(0))?;
    let paths: Vec<PathBuf> = (0..parts.len()).map(|number| names.path(number)).collect();
    for path in &paths {
        destination::check(path, args.report.force, Some(&inputs))?;
    }
    let splitting = Splitting {
        args,
        scan: Scan::new(&args.decode, Strings::Offsets),
        may_copy: !args.write.is_set()
            && !inputs.are_decrypted()
            && !table.adds_partitions(None)
            && are_copyable(&files)?,
        table,
        files,
    };
    summary::check(&args.report, Some(&args.output))?;
    let mut summary = Summary::new(Some(&names.path(0)));
    summary.bytes_before = (0..inputs.len()).map(|index| inputs.byte_len(index)).sum();
    splitting.files.iter().for_each(|file| summary.add_input(file));
    let schema = splitting.schema()?;
    summary.add_partitions(splitting.table.partitions(), &schema, None);
    let mut progress = Progress::new("rows", splitting.files.iter().map(ParquetFile::row_count).sum(), false);
    // All files appear together, or none.
    let mut files = OutputFiles::create(&names.folder, &names.stem)?;
    if !args.report.force {
        files = files.new_names();
    }
    for (number, part) in parts.iter().enumerate() {
        let name = names.name(number);
        let written = splitting.write(part, &names.path(number), files.target(&name)?, &mut progress)?;
        summary.rows += written.rows;
        summary.add_output(None, Some(&written));
    }
    files.finish()?;
    progress.clear();
    summary.set_outputs(&paths);
    summary.report(&args.report)?;
    Ok(Outcome::Done)
}

/// The inputs of a split, and how parts are written.
struct Splitting<'a> {
    args: &'a SplitArgs,
    scan: Scan,
    table: Table,
    files: Vec<ParquetFile>,
    /// Whether row groups can be copied.
    may_copy: bool,
}

impl Splitting<'_> {
    /// The columns of every part.
    fn schema(&self) -> Result<SchemaRef> {
        Ok(self.table.scan(&self.scan)?.build().map_err(scan_failure)?.schema())
    }

    fn write(&self, part: &Part, path: &Path, target: Target, progress: &mut Progress) -> Result<WriteSummary> {
        if self.may_copy && part.has_whole_row_groups() {
            return self.copy(part, target, progress);
        }
        let (write, threads, like) = (&self.args.write, self.scan.threads, self.files.first());
        let request = ParquetRequest { write, sorted_by: &[], threads, like, keeps_rows: false };
        let output = Output::settle(Some(Format::Parquet), Some(path))?.with_parquet(request)?;
        let scan = self.table.scan(&self.scan)?.rows(RowSelection::in_files(part.row_ranges()));
        let batches = scan.build().map_err(scan_failure)?;
        let mut rows = output.open_on(target, &batches.schema())?;
        for batch in BackgroundIterator::new(batches) {
            let batch = batch.map_err(scan_failure)?;
            rows.write(&batch)?;
            progress.advance(batch.num_rows() as u64);
        }
        let written = rows.finish()?;
        written.ok_or_else(|| Failure::Io(format!("{}: was not written as Parquet", path.display())))
    }

    fn copy(&self, part: &Part, target: Target, progress: &mut Progress) -> Result<WriteSummary> {
        let mut copied = CopiedFile::like(target, &self.files[0], None, false)?;
        for piece in &part.0 {
            copied.row_group(&self.files[piece.file], self.table.name(piece.file), piece.row_group)?;
            progress.advance(piece.rows.end - piece.rows.start);
        }
        copied.finish()
    }
}

/// The names of the files.
struct Names {
    folder: PathBuf,
    stem: String,
    extension: String,
}

impl Names {
    /// `output` with a number, or the name of the first input with a number in the directory `output`.
    fn new(output: &Path, input: Option<&Path>) -> Result<Self> {
        let ends_as_directory = output.as_os_str().as_encoded_bytes().last() == Some(&b'/');
        let (folder, named) = if output.is_dir() || ends_as_directory {
            (output, input.unwrap_or(Path::new("part.parquet")))
        } else {
            (output.parent().unwrap_or(Path::new("")), output)
        };
        let text = |part: Option<&std::ffi::OsStr>| part.map(|part| part.to_string_lossy().into_owned());
        let stem = text(named.file_stem()).ok_or_else(|| {
            Failure::Usage(format!("{}: give -o a name such as part.parquet, or a directory", output.display()))
        })?;
        let extension = text(named.extension()).unwrap_or_else(|| "parquet".to_owned());
        Ok(Self { folder: folder.to_owned(), stem, extension })
    }

    fn path(&self, number: usize) -> PathBuf {
        self.folder.join(self.name(number))
    }

    fn name(&self, number: usize) -> String {
        format!("{}-{number:05}.{}", self.stem, self.extension)
    }
}
