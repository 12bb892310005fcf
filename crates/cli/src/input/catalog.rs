//! Opens the files that a command searches, with a catalog if there is one.

use std::path::{Path, PathBuf};

use lath_catalog::{Catalog, Error, InFolder};
use lath_parquet::{DatasetOptions, OpenOptions, Predicate, is_store};

use crate::args::{SearchInputArgs, TableArgs, TextArgs};
use crate::failure::{Failure, Result, scan_failure};
use crate::input::inputs::Inputs;
use crate::input::open_arguments::OpenArguments;
use crate::input::table::Table;

/// The rows and columns that a command searches for.
#[derive(Debug, Clone)]
pub(crate) struct Search<'a> {
    pub(crate) table: TableArgs,
    /// How files of text are read.
    pub(crate) text: &'a TextArgs,
    /// The columns that are read, by path; `None` for all.
    pub(crate) columns: Option<&'a [String]>,
    /// The condition of the rows.
    pub(crate) predicate: Predicate,
    /// Whether a catalog may rule out files by the condition.
    pub(crate) prunes_files: bool,
    /// Whether all files are opened in their order, because row groups are chosen by number.
    pub(crate) needs_all_files: bool,
    /// Whether the report of the scan is wanted, which says nothing of text.
    pub(crate) explains: bool,
}

/// The path of the catalog that is named by itself or by its folder.
pub(crate) fn catalog_path(named: &Path) -> PathBuf {
    let is_folder = match named.to_str() {
        Some(url) if is_store(url) => url.ends_with('/'),
        _ => named.is_dir(),
    };
    if is_folder { named.join(Catalog::FILE_NAME) } else { named.to_owned() }
}

/// Opens the files to search as a table. A catalog selects them if one was given, or if the only searched folder has one that is up to
/// date.
pub(crate) fn open_table(args: &SearchInputArgs, search: Search<'_>) -> Result<Table> {
    if let Some(named) = &args.catalog {
        if search.needs_all_files {
            return Err(Failure::Usage("--row-groups needs the files themselves instead of --catalog".to_owned()));
        }
        let path = catalog_path(named);
        let catalog = Catalog::open_read_only(&path).map_err(|error| catalog_failure(&path, error))?;
        if args.open.plain_files {
            return Err(Failure::Usage(
                "--plain-files reads files that are named; a catalog decides which files it has".to_owned(),
            ));
        }
        return select(catalog, args, search);
    }
    if let Some(catalog) = catalog_in_folder(args).filter(|_| !search.needs_all_files) {
        return select(catalog, args, search);
    }
    // A report counts the files that are ruled out, and row groups are chosen by number.
    let prunes_now = search.prunes_files && !search.explains && !search.needs_all_files;
    let condition = Some(&search.predicate).filter(|_| prunes_now);
    let mut inputs = Inputs::find_with(&args.files, &args.open, condition)?.with_text(search.text, None)?;
    inputs.refuse_for_text("--row-groups", search.needs_all_files)?;
    inputs.refuse_for_text("--explain", search.explains)?;
    Table::open(&mut inputs, search.table)?.with_condition(search.predicate)
}

fn select(catalog: Catalog, args: &SearchInputArgs, search: Search<'_>) -> Result<Table> {
    let catalog = at_version(catalog, args)?;
    let options = DatasetOptions::new()
        .open_options(OpenArguments::of(&args.open)?.add_to(OpenOptions::new()))
        .union_schemas(search.table.unites_schemas())
        .partitions(!search.table.no_partitions);
    catalog.check_columns(search.columns, &options).map_err(|error| catalog_failure(catalog.path(), error))?;
    let (selecting, remaining) = match search.prunes_files {
        true => (search.predicate, Predicate::TRUE),
        false => (Predicate::TRUE, search.predicate),
    };
    let selection = catalog.select(&selecting, &options).map_err(|error| match error {
        Error::Predicate { source } => Failure::Usage(format!("--where: {source}")),
        other => catalog_failure(catalog.path(), other),
    })?;
    Table::selected(selection, catalog).with_condition(remaining)
}

/// The catalog at the version of its table that is chosen.
#[cfg(feature = "lake")]
fn at_version(catalog: Catalog, args: &SearchInputArgs) -> Result<Catalog> {
    let Some(at) = &args.open.at else { return Ok(catalog) };
    let path = catalog.path().to_owned();
    catalog.at(at.parse().map_err(scan_failure)?).map_err(|error| catalog_failure(&path, error))
}

#[cfg(not(feature = "lake"))]
fn at_version(catalog: Catalog, _: &SearchInputArgs) -> Result<Catalog> {
    Ok(catalog)
}

/// The catalog in the folder, if one folder is searched, and the catalog has all of its files and no others.
fn catalog_in_folder(args: &SearchInputArgs) -> Option<Catalog> {
    let ([folder], false) = (args.files.as_slice(), args.open.has_keys() || args.open.plain_files) else { return None };
    match Catalog::in_folder(folder) {
        InFolder::Current(catalog) => Some(catalog),
        InFolder::Nothing => None,
        InFolder::Stale => {
            eprintln!(
                "note: {} is older than the files, which are therefore listed; bring it up to date with: lath catalog refresh {}",
                catalog_path(folder).display(),
                folder.display()
            );
            None
        }
    }
}

/// The failure of an operation on the catalog at `path`.
pub(crate) fn catalog_failure(path: &Path, error: Error) -> Failure {
    let path = path.display();
    match error {
        Error::Parquet { source } => match std::sync::Arc::try_unwrap(source) {
            Ok(error) => match &error {
                lath_parquet::Error::Io { source, at, .. } if at.file.is_some() => {
                    let file = at.file.as_deref().unwrap_or_default();
                    Failure::Io(format!("{file}: {source}"))
                }
                _ => scan_failure(error),
            },
            Err(shared) => Failure::Corrupt(shared.to_string()),
        },
        Error::NoCatalog { .. } | Error::Changed { .. } => Failure::Io(error.to_string()),
        Error::Corrupt { .. } => Failure::Corrupt(format!("{path}: {error}")),
        Error::Store { source: lath_store::Error::Corrupt { .. } } => Failure::Corrupt(format!("{path}: {error}")),
        Error::Store { source: lath_store::Error::Internal(what) } => Failure::Internal(what),
        Error::Store { .. } => Failure::Io(format!("{path}: {error}")),
        Error::Predicate { .. } | Error::Invalid { .. } => Failure::Usage(error.to_string()),
        other => Failure::Corrupt(format!("{path}: {other}")),
    }
}
