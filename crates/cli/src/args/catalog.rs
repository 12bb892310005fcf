//! Arguments of `catalog`, and of commands that search by one.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::OpenArgs;
use super::write::parse_size;

/// Commands on a catalog.
#[derive(Debug, Subcommand)]
pub(crate) enum CatalogCommand {
    /// Add files: read their footers, page indexes and Bloom filters into the catalog
    #[command(after_help = ADD_HELP)]
    Add(CatalogAddArgs),
    /// Add new files, update changed files and drop removed files; for a table, by its log
    #[command(
        after_help = "Exits 3 if a file cannot be read.\n\nExamples:\n  lath catalog refresh data/\n  lath catalog refresh --catalog lake.catalog"
    )]
    Refresh(CatalogArgs),
    /// List the files that a catalog has
    #[command(
        after_help = "A line for each file: rows, bytes and location; ? for the rows of a file that could not be read.\n\nExample:\n  lath catalog list --catalog lake.catalog"
    )]
    List(CatalogArgs),
    /// Remove locations, as they were added; the files themselves stay
    #[command(
        after_help = "Example:\n  lath catalog remove s3://bucket/trips/ --catalog lake.catalog\n  lath catalog remove lake.catalog s3://bucket/trips/"
    )]
    Remove(CatalogRemoveArgs),
    /// Show the contents and the size of a catalog
    #[command(after_help = "Example:\n  lath catalog stats data/")]
    Stats(CatalogArgs),
    /// Compare a catalog with its files: states, footers, page indexes and bounds
    #[command(
        after_help = "Prints a line for each problem and what to do. Exits 0 if there is none, 1 if files were changed, added or removed, 3 if the\ncatalog itself is damaged.\n\nExample:\n  lath catalog check data/"
    )]
    Check(CatalogArgs),
    /// Refresh a catalog periodically, until Ctrl-C
    #[command(after_help = "Example:\n  lath catalog watch data/ --every 2")]
    Watch(CatalogWatchArgs),
}

const ADD_HELP: &str = "\
Without --catalog, the catalog of a folder is the file _lath_catalog in it, which find, count and sql use on their own. Files that a
catalog has already are read again only if they have changed. If it fails, the catalog stays as it was. Exits 3 if a file cannot be read,
which is added nevertheless: each search looks into it.

The catalog of a table of Delta Lake or Iceberg has that table alone. Searches by it are of the table's newest version, or of the version that
--at chooses; refresh reads the log and the new files.

Examples:
  lath catalog add data/
  lath catalog add lake/events --key id
  lath catalog add data/ --key id --key city,started
  lath catalog add 'data/*.parquet' s3://bucket/trips/ --catalog lake.catalog
  lath find --catalog lake.catalog --where \"id = 4711\"";

/// A catalog.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct CatalogArgs {
    /// The catalog, or the folder that it is in
    #[arg(value_name = "CATALOG")]
    argument: Option<PathBuf>,
    /// The catalog as an option, as other commands take it
    #[arg(id = "catalog_option", long = "catalog", value_name = "CATALOG")]
    option: Option<PathBuf>,
}

impl CatalogArgs {
    /// The path of the catalog, or of its folder.
    pub(crate) fn path(&self) -> &Path {
        // One of them is there.
        self.option.as_deref().or(self.argument.as_deref()).unwrap_or(Path::new(""))
    }
}

#[derive(Debug, Args)]
pub(crate) struct CatalogAddArgs {
    /// Parquet files, directories, globs, URLs, or @LIST (a file that lists these); or a table of Delta Lake or Iceberg
    #[arg(required = true, value_name = "FILES")]
    pub(crate) files: Vec<PathBuf>,
    /// The catalog's file [default: _lath_catalog in the folder, if FILES is one]
    #[arg(long, value_name = "FILE")]
    pub(crate) catalog: Option<PathBuf>,
    /// Make Bloom filters of this column where files have none or weak ones, or of several columns that are looked up together; may be given
    /// several times
    #[arg(long = "key", value_name = "COLUMN[,COLUMN…]")]
    pub(crate) keys: Vec<String>,
    /// Maximum bytes of filters that are kept for a column of a file [default: 1MiB]
    #[arg(long, value_name = "BYTES", value_parser = parse_size)]
    pub(crate) filter_budget: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct CatalogRemoveArgs {
    /// The catalog, or the folder that it is in; without this option, the first argument
    #[arg(long, value_name = "CATALOG")]
    pub(crate) catalog: Option<PathBuf>,
    /// Locations as they were added, after the catalog unless --catalog names it
    #[arg(required = true, value_name = "LOCATION")]
    pub(crate) arguments: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct CatalogWatchArgs {
    #[command(flatten)]
    pub(crate) catalog: CatalogArgs,
    /// Seconds between refreshes
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) every: u32,
}

/// The files to search: by name, or the files of a catalog.
#[derive(Debug, Args)]
pub(crate) struct SearchInputArgs {
    /// Parquet files, directories, globs, URLs, @LIST (a file that lists these), or - for standard input
    #[arg(required_unless_present = "catalog", value_name = "FILES")]
    pub(crate) files: Vec<PathBuf>,
    /// Search the files of this catalog, as of its last refresh, or the newest version of its table; opens only files that it does not rule
    /// out (see lath catalog)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["files", "footer_key", "column_key"])]
    pub(crate) catalog: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) open: OpenArgs,
}
