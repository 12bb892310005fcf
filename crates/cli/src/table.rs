//! The files of the command line as one table to find rows in.

use std::fs::File;
use std::path::Path;

use arrow_schema::Schema;
use lath_parquet::{Dataset, DatasetOptions, Error, OpenOptions, Predicate, Scan};

use crate::args::{InputArgs, PruningArgs, RowGroupList, SchemaChoice};
use crate::failure::{Failure, Result};
use crate::inputs::{Inputs, decryption, explain_open};
use crate::interrupt;
use crate::scan::Scan as Options;

/// Files that are searched together.
pub(crate) struct Table {
    dataset: Dataset,
}

impl Table {
    /// Finds the files that `args` name.
    pub(crate) fn open(args: &InputArgs, schema: SchemaChoice) -> Result<Self> {
        let dataset = if args.files.iter().any(|name| name == Path::new("-")) {
            let mut inputs = Inputs::find(args)?;
            let files = (0..inputs.len()).map(|index| inputs.open(index)).collect::<Result<Vec<_>>>()?;
            Dataset::of(files)
        } else {
            let mut open = OpenOptions::new();
            if let Some(keys) = decryption(args)? {
                open = open.decryption(keys);
            }
            let options = DatasetOptions::new().open_options(open).union_schemas(schema == SchemaChoice::Union);
            Dataset::open(&args.files, options)
        };
        Ok(Self { dataset: dataset.map_err(explain)? })
    }

    /// Starts to find rows for which `predicate` is true.
    pub(crate) fn scan(&self, predicate: &Predicate, options: &Options, pruning: &PruningArgs) -> Result<Scan> {
        check(predicate, self.dataset.schema())?;
        // Threads wait for stores; there may be more of them than cores.
        let threads = options.threads.max(self.dataset.concurrency());
        let mut scan = self
            .dataset
            .scan()
            .predicate(predicate.clone())
            .pruning(pruning.pruning())
            .threads(threads)
            .batch_size(options.batch_size)
            .verify_crc(options.verify_crc)
            .strings(options.strings)
            .cancel(&interrupt::cancel());
        if let Some(list) = &options.row_groups {
            scan = scan.row_groups(self.row_groups(list)?);
        }
        Ok(scan)
    }

    /// The row groups that are chosen of every file.
    fn row_groups(&self, list: &RowGroupList) -> Result<Vec<usize>> {
        let Some(first) = self.dataset.files().first() else { return Ok(Vec::new()) };
        let count = first.open().map_err(explain)?.metadata().num_row_groups();
        list.resolve(count).map_err(|index| {
            let name = first.location();
            Failure::Usage(format!("{name}: there is no row group {index}; the file has {count}, counted from 0"))
        })
    }
}

/// A mistake in an expression is reported as such, and before anything else.
pub(crate) fn check(predicate: &Predicate, schema: &Schema) -> Result<()> {
    predicate.filter(schema).map(|_| ()).map_err(Failure::filtering)
}

/// A failure of the library, which knows the file.
pub(crate) fn explain(error: Error) -> Failure {
    let Some(name) = error.location().and_then(|at| at.file.clone()) else {
        return match error {
            Error::Invalid { what } => Failure::Usage(what),
            other => Failure::reading("the files", other),
        };
    };
    let is_opening = error.location().is_some_and(|at| at.column.is_none() && at.row_group.is_none());
    let failure = Failure::reading(&name, error);
    if is_opening { explain_open(failure, File::open(&*name).ok()) } else { failure }
}
