//! Catalogs that commands search by.

use std::path::{Path, PathBuf};

use lath_catalog::{Catalog, Error, InFolder};
use lath_parquet::{DatasetOptions, OpenOptions, Predicate};

use crate::args::{SearchInputArgs, TableArgs};
use crate::failure::{Failure, Result};
use crate::inputs::{Inputs, OpenArguments};
use crate::table::{Table, scan_failure};

/// How a command searches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Search<'a> {
    pub(crate) table: TableArgs,
    /// The columns that are read, by path; `None` for all.
    pub(crate) columns: Option<&'a [String]>,
    /// What files are ruled out by; `None` if none is to be ruled out before it is opened.
    pub(crate) predicate: Option<&'a Predicate>,
    /// Whether every file is to be opened in its place: row groups are chosen by number.
    pub(crate) needs_all_files: bool,
}

/// The path of the catalog that is named by itself or by its folder.
pub(crate) fn path_of(named: &Path) -> PathBuf {
    if named.is_dir() { named.join(Catalog::FILE_NAME) } else { named.to_owned() }
}

/// Opens the files that are searched as a table: those of a catalog, if one was given or lies in the only folder that is searched
/// and is up to date.
pub(crate) fn open_table(args: &SearchInputArgs, search: &Search<'_>) -> Result<Table> {
    if let Some(named) = &args.catalog {
        if search.needs_all_files {
            return Err(Failure::Usage("--row-groups needs the files themselves instead of --catalog".to_owned()));
        }
        let path = path_of(named);
        let catalog = Catalog::open_read_only(&path).map_err(|error| catalog_failure(&path, error))?;
        return table_of(catalog, args, search);
    }
    if let Some(catalog) = catalog_of_folder(args).filter(|_| !search.needs_all_files) {
        return table_of(catalog, args, search);
    }
    Table::open(&mut Inputs::find_in(&args.files, &args.open)?, search.table)
}

fn table_of(catalog: Catalog, args: &SearchInputArgs, search: &Search<'_>) -> Result<Table> {
    let options = DatasetOptions::new()
        .open_options(OpenArguments::of(&args.open)?.add_to(OpenOptions::new()))
        .union_schemas(search.table.unites_schemas())
        .partitions(!search.table.no_partitions);
    catalog.check_columns(search.columns, &options).map_err(|error| catalog_failure(catalog.path(), error))?;
    let dataset = match search.predicate {
        Some(predicate) => catalog.select(predicate, &options),
        None => catalog.dataset(&options),
    };
    let dataset = dataset.map_err(|error| match error {
        Error::Predicate { source } => Failure::Usage(format!("--where: {source}")),
        other => catalog_failure(catalog.path(), other),
    })?;
    Ok(Table::of_catalog(dataset, catalog))
}

/// The catalog in the only folder that is searched, if it is about that folder alone and up to date.
fn catalog_of_folder(args: &SearchInputArgs) -> Option<Catalog> {
    let ([folder], false) = (args.files.as_slice(), args.open.has_keys() || args.open.plain_files) else { return None };
    match Catalog::in_folder(folder) {
        InFolder::Current(catalog) => Some(catalog),
        InFolder::Nothing => None,
        InFolder::Stale => {
            eprintln!(
                "note: {} is older than the files, which are therefore listed; bring it up to date with: lath catalog refresh {}",
                path_of(folder).display(),
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
        Error::NoCatalog { .. } => Failure::Io(error.to_string()),
        Error::Corrupt { .. } => Failure::Corrupt(format!("{path}: {error}")),
        Error::Store { source: lath_store::Error::Corrupt { .. } } => Failure::Corrupt(format!("{path}: {error}")),
        Error::Store { source: lath_store::Error::Internal(what) } => Failure::Internal(what),
        Error::Store { .. } => Failure::Io(format!("{path}: {error}")),
        Error::Predicate { .. } | Error::Invalid { .. } => Failure::Usage(error.to_string()),
        other => Failure::Corrupt(format!("{path}: {other}")),
    }
}
