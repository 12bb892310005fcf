//! `meta`: the footer and the page index.

mod json;
mod text;

use lath_format::FileMetaData;
use lath_format::schema::is_at_or_below;
use lath_parquet::{OpenOptions, ParquetFile};

use super::print;
use super::schema::json_text;
use crate::args::MetaArgs;
use crate::failure::{Failure, Outcome, Result};
use crate::input::inputs::Inputs;
use crate::metadata::page_index::FileInfo;

/// A file, and the parts of it to show.
struct Subject {
    name: String,
    file_bytes: Option<u64>,
    file: ParquetFile,
    /// The page index, if it is shown.
    has_indexes: bool,
    row_groups: Vec<usize>,
    /// Indices of leaf columns.
    columns: Vec<usize>,
}

/// Prints the metadata of every file.
pub(super) fn run(args: &MetaArgs) -> Result<Outcome> {
    let mut inputs = Inputs::find(&args.inputs)?;
    // The footers of the files of a table, as they are stored.
    let files = inputs.lake().map(|lake| lake.dataset().files().to_vec());
    for index in 0..files.as_ref().map_or(inputs.len(), Vec::len) {
        let (file, name) = match files.as_ref().and_then(|files| files.get(index)) {
            Some(file) => (inputs.open_stored(file, OpenOptions::new())?, file.location().to_owned()),
            None => (inputs.open(index)?, inputs.name(index)),
        };
        let subject = Subject::new(&file, name, Some(file.source().len()), args)?;
        let text = if args.json {
            json_text(&json::describe(&subject))
        } else {
            let separator = if index > 0 { "\n" } else { "" };
            format!("{separator}{}", text::describe(&subject, args.pages))
        };
        print(&text)?;
    }
    Ok(Outcome::Done)
}

impl Subject {
    fn new(file: &ParquetFile, name: String, file_bytes: Option<u64>, args: &MetaArgs) -> Result<Self> {
        let mut has_indexes = args.json || args.pages;
        if has_indexes && let Err(error) = file.page_index() {
            match Failure::reading(&name, error) {
                // The footer says enough without it.
                Failure::Corrupt(what) => eprintln!("note: the page index is not shown: {what}"),
                other => return Err(other),
            }
            has_indexes = false;
        }
        let count = file.metadata().row_group_count();
        let row_groups = match &args.row_groups {
            None => (0..count).collect(),
            Some(list) => list.resolve(count).map_err(|index| {
                Failure::Usage(format!("{name}: there is no row group {index}; the file has {count}, counted from 0"))
            })?,
        };
        let columns = chosen_columns(file.metadata(), args.columns.as_deref(), &name)?;
        Ok(Self { name, file_bytes, file: file.clone(), has_indexes, row_groups, columns })
    }

    fn metadata(&self) -> &FileMetaData {
        self.file.metadata()
    }

    fn info(&self) -> FileInfo<'_> {
        // The page index has been read before if it is needed.
        let indexes = if self.has_indexes { self.file.page_index().ok() } else { None };
        FileInfo { metadata: self.metadata(), indexes }
    }
}

/// Indices of the leaf columns at or below `paths`; all of them if `None`.
pub(super) fn chosen_columns(metadata: &FileMetaData, paths: Option<&[String]>, file: &str) -> Result<Vec<usize>> {
    let schema = metadata.schema_descr();
    let leaves: Vec<String> = schema.columns().iter().map(|column| column.path().string()).collect();
    let Some(paths) = paths else { return Ok((0..leaves.len()).collect()) };
    if let Some(path) = paths.iter().find(|path| !leaves.iter().any(|leaf| is_at_or_below(leaf, path))) {
        return Err(Failure::Usage(format!("{file}: there is no column {path:?}; there are {}", leaves.join(", "))));
    }
    let is_chosen = |leaf: &String| paths.iter().any(|path| is_at_or_below(leaf, path));
    Ok((0..leaves.len()).filter(|&index| is_chosen(&leaves[index])).collect())
}
