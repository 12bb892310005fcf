//! Resolves the input arguments to Parquet files.

use std::fs;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use lath_parquet::{
    Dataset, DatasetFile, DatasetOptions, Error, FileVersion, FolderFormat, OpenOptions, ParquetFile, Predicate,
};

use crate::args::{InputArgs, OpenArgs, TableArgs, TextArgs};
use crate::failure::{Failure, Result};
use crate::input::lake::{self, Lake};
use crate::input::open_arguments::OpenArguments;
use crate::input::table_folder::is_table_folder;
use crate::input::text_files::{TextReading, is_text_file};

/// The files that a command works on, in order.
#[derive(Debug)]
pub(crate) struct Inputs {
    files: Vec<Input>,
    arguments: OpenArguments,
    stdin: Option<Bytes>,
    text: Option<TextReading>,
}

/// One file, not yet open.
#[derive(Debug, Clone)]
enum Input {
    File(Box<DatasetFile>),
    /// The folder of a table with a primary key.
    Table(PathBuf),
    /// A file of another format, whose rows are read as from Parquet.
    Text(PathBuf),
    /// A table of Delta Lake or Iceberg; then there is no other input.
    Lake(Box<Lake>),
    Stdin,
}

impl Inputs {
    /// Finds the files that `args` name. Directories and globs are expanded in order of name.
    pub(crate) fn find(args: &InputArgs) -> Result<Self> {
        Self::find_in(&args.files, &args.open)
    }

    /// Finds the files called `names`, which are opened as `args` say.
    pub(crate) fn find_in(names: &[PathBuf], args: &OpenArgs) -> Result<Self> {
        Self::find_with(names, args, None)
    }

    /// As [`find_in`](Self::find_in), without files of a table of Delta Lake or Iceberg that cannot have a row for which `condition` is
    /// true.
    pub(crate) fn find_with(names: &[PathBuf], args: &OpenArgs, condition: Option<&Predicate>) -> Result<Self> {
        if let Some(lake) = lake::find(names, args, condition)? {
            let files = vec![Input::Lake(Box::new(lake))];
            return Ok(Self { files, arguments: OpenArguments::of(args)?, stdin: None, text: None });
        }
        let options = DatasetOptions::new().plain_files(args.plain_files);
        let mut files = Vec::new();
        for name in names {
            if name == Path::new("-") {
                files.push(Input::Stdin);
            } else if is_table_folder(name, args) {
                files.push(Input::Table(name.clone()));
            } else {
                let found = DatasetFile::find(name, &options).map_err(|error| not_found(name, error))?;
                files.extend(found.into_iter().map(|file| Input::File(Box::new(file))));
            }
        }
        if !args.plain_files {
            check_single_files(names)?;
        }
        let stdin_count = files.iter().filter(|file| matches!(file, Input::Stdin)).count();
        if stdin_count > 1 {
            return Err(Failure::Usage("- (standard input) can be given only once".to_owned()));
        }
        Ok(Self { files, arguments: OpenArguments::of(args)?, stdin: None, text: None })
    }

    /// Reads files of CSV, JSON lines and Arrow IPC too, which their names tell; up to `max_rows` of each.
    pub(crate) fn with_text(mut self, args: &TextArgs, max_rows: Option<u64>) -> Result<Self> {
        for input in &mut self.files {
            if let Input::File(file) = input
                && let Some(path) = file.path().filter(|path| is_text_file(path))
            {
                *input = Input::Text(path.to_owned());
            }
        }
        if self.has_text() {
            self.text = Some(TextReading::new(args, max_rows)?);
        }
        Ok(self)
    }

    /// Whether there are files of other formats than Parquet.
    fn has_text(&self) -> bool {
        self.files.iter().any(|input| matches!(input, Input::Text(_)))
    }

    /// Whether the file at `index` is not Parquet.
    pub(crate) fn is_text(&self, index: usize) -> bool {
        matches!(self.files[index], Input::Text(_))
    }

    /// Refuses an option of Parquet files if there are others.
    pub(crate) fn refuse_for_text(&self, option: &str, is_given: bool) -> Result<()> {
        match (0..self.len()).find(|&index| self.is_text(index)).filter(|_| is_given) {
            Some(index) => Err(Failure::Usage(format!(
                "{option} applies to Parquet files, and {} is another format; leave it out",
                self.name(index)
            ))),
            None => Ok(()),
        }
    }

    /// Number of files.
    pub(crate) fn len(&self) -> usize {
        self.files.len()
    }

    /// The name of the file at `index`, as messages show it.
    pub(crate) fn name(&self, index: usize) -> String {
        match &self.files[index] {
            Input::File(file) => file.location().to_owned(),
            Input::Table(path) | Input::Text(path) => path.display().to_string(),
            Input::Lake(lake) => lake.location().to_owned(),
            Input::Stdin => "standard input".to_owned(),
        }
    }

    /// The path of the file at `index`; `None` for standard input, for URLs and for tables.
    pub(crate) fn path(&self, index: usize) -> Option<&Path> {
        match &self.files[index] {
            Input::File(file) => file.path(),
            Input::Text(path) => Some(path),
            Input::Table(_) | Input::Lake(_) | Input::Stdin => None,
        }
    }

    /// The path or URL by which the file at `index` can be replaced.
    pub(crate) fn written_path(&self, index: usize) -> Option<PathBuf> {
        match &self.files[index] {
            Input::File(file) => Some(file.path().map_or_else(|| file.location().into(), Path::to_owned)),
            _ => None,
        }
    }

    /// The version of the object at `index`, which is read in this version from now on; `None` for a local file.
    pub(crate) fn pin(&mut self, index: usize) -> Result<Option<FileVersion>> {
        let Input::File(file) = &mut self.files[index] else { return Ok(None) };
        if file.path().is_some() {
            return Ok(None);
        }
        let name = file.location().to_owned();
        let version = match file.listed_version() {
            Some(version) => version.clone(),
            None => match file.current_version().map_err(|error| Failure::reading(&name, error))? {
                Some(version) => version,
                None => return Err(Failure::Io(format!("{name}: there is no such object"))),
            },
        };
        **file = file.as_ref().clone().with_version(version.clone());
        Ok(Some(version))
    }

    /// The folder of the table with a primary key that the input at `index` is.
    pub(crate) fn keyed_folder(&self, index: usize) -> Option<&Path> {
        match &self.files[index] {
            Input::Table(folder) => Some(folder),
            Input::File(_) | Input::Text(_) | Input::Lake(_) | Input::Stdin => None,
        }
    }

    /// The table of Delta Lake or Iceberg that the only input is.
    pub(crate) fn lake(&self) -> Option<&Lake> {
        match self.files.as_slice() {
            [Input::Lake(lake)] => Some(lake),
            _ => None,
        }
    }

    /// Refuses a table of Delta Lake or Iceberg, for a command that works on files.
    pub(crate) fn refuse_lake(&self) -> Result<()> {
        self.lake().map_or(Ok(()), |lake| Err(not_files_but_lake(lake)))
    }

    /// Whether the file at `index` was named by a URL.
    pub(crate) fn is_remote(&self, index: usize) -> bool {
        matches!(&self.files[index], Input::File(file) if file.path().is_none())
    }

    /// The paths of all files.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        (0..self.len()).filter_map(|index| self.path(index))
    }

    /// Size in bytes of the file at `index`, where it is known.
    pub(crate) fn byte_len(&self, index: usize) -> Option<u64> {
        match &self.files[index] {
            Input::File(file) => match file.path() {
                Some(path) => fs::metadata(path).map(|metadata| metadata.len()).ok(),
                None => file.size(),
            },
            Input::Text(path) => fs::metadata(path).map(|metadata| metadata.len()).ok(),
            Input::Table(_) | Input::Lake(_) => None,
            Input::Stdin => self.stdin.as_ref().map(|bytes| bytes.len() as u64),
        }
    }

    /// Whether keys were given.
    pub(crate) fn are_decrypted(&self) -> bool {
        self.arguments.decryption.is_some()
    }

    /// Some of the files as one dataset. The outer error is one of reading standard input.
    pub(crate) fn dataset(&mut self, indices: Range<usize>, args: TableArgs) -> Result<lath_parquet::Result<Dataset>> {
        if let Some(lake) = self.lake() {
            return Ok(Ok(lake.dataset().clone()));
        }
        let mut files = Vec::with_capacity(indices.len());
        for index in indices {
            files.push(match &self.files[index] {
                Input::File(file) => DatasetFile::clone(file),
                Input::Table(folder) => return Err(not_files(folder)),
                Input::Lake(lake) => return Err(not_files_but_lake(lake)),
                Input::Text(_) | Input::Stdin => self.open(index)?.into(),
            });
        }
        let options = DatasetOptions::new()
            .open_options(self.arguments.add_to(OpenOptions::new()))
            .union_schemas(args.unites_schemas())
            .partitions(!args.no_partitions);
        Ok(Dataset::from_files(files, options))
    }

    /// Opens the file at `index`: reads its footer.
    pub(crate) fn open(&mut self, index: usize) -> Result<ParquetFile> {
        self.open_with(index, OpenOptions::new())
    }

    /// Opens a file of a table of Delta Lake or Iceberg with `options`, with the columns that it has stored.
    pub(crate) fn open_stored(&self, file: &DatasetFile, options: OpenOptions) -> Result<ParquetFile> {
        let name = file.location();
        let options = Arc::new(DatasetOptions::new().open_options(self.arguments.add_to(options)));
        let stored = DatasetFile::at(name, file.size(), [], &options).and_then(|stored| stored.open());
        stored.map_err(|error| Failure::reading(name, error))
    }

    /// Opens the file at `index` with `options`, to which its name and what the command line says are added.
    pub(crate) fn open_with(&mut self, index: usize, options: OpenOptions) -> Result<ParquetFile> {
        let name = self.name(index);
        let options = self.arguments.add_to(options.name(name.clone()));
        match &self.files[index] {
            Input::File(file) => file.open_with(options).map_err(|error| Failure::reading(&name, error)),
            Input::Table(folder) => Err(not_files(folder)),
            Input::Lake(lake) => Err(not_files_but_lake(lake)),
            Input::Text(path) => match &mut self.text {
                Some(reading) => reading.read(path, &name, options),
                None => Err(Failure::internal(&name, "text is read without options")),
            },
            Input::Stdin => {
                let bytes = match &self.stdin {
                    Some(bytes) => bytes.clone(),
                    None => self.stdin.insert(read_stdin()?).clone(),
                };
                options.from_bytes(bytes).map_err(|error| Failure::reading(&name, error))
            }
        }
    }
}

/// The error for a table where files are needed.
fn not_files(folder: &Path) -> Failure {
    let folder = folder.display();
    Failure::Usage(format!(
        "{folder} is a table with a primary key, and this command takes files: use lath table to show or change it, or lath convert {folder} -o FILE to write its rows to a file; --plain-files reads its Parquet files, with the rows that were deleted"
    ))
}

/// The error for a table of Delta Lake or Iceberg where files are needed.
fn not_files_but_lake(lake: &Lake) -> Failure {
    let (folder, format) = (lake.location(), lake.format());
    Failure::Usage(format!(
        "{folder} is {format}, and this command changes or copies files, which would not be part of the table; lath convert {folder} -o FILE writes its rows to a file; --plain-files reads its Parquet files, with rows that were deleted"
    ))
}

/// Says of a single file that is named if it is one of a table, and refuses several of one table: a shell has made them of a glob.
fn check_single_files(names: &[PathBuf]) -> Result<()> {
    let files = || names.iter().map(PathBuf::as_path).filter(|name| name.is_file());
    FolderFormat::check_files(files()).map_err(|error| not_found(Path::new("the files"), error))?;
    for file in files() {
        if let Some((folder, format)) = file.parent().and_then(FolderFormat::enclosing) {
            eprintln!(
                "note: {} is a file of {}, which is {format}: it may have rows that were replaced or deleted",
                file.display(),
                folder.display()
            );
        }
    }
    Ok(())
}

fn read_stdin() -> Result<Bytes> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes).map_err(|error| Failure::Io(format!("standard input: {error}")))?;
    Ok(bytes.into())
}

/// The error for an input that cannot be found.
fn not_found(name: &Path, error: Error) -> Failure {
    match error {
        Error::Io { at, source, .. } => {
            let place = at.file.map_or_else(|| name.display().to_string(), |file| file.to_string());
            Failure::Io(format!("{place}: {source}"))
        }
        Error::Invalid { what } => Failure::Usage(what),
        other => Failure::reading(&name.display().to_string(), other),
    }
}
