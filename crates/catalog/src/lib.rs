//! A catalog of Parquet files stores the metadata of files that Lath does not own in one store file. A search asks the catalog which
//! files can have matching rows, and opens only these.
//!
//! With the feature `lake`, the files may be a table's of Delta Lake or Iceberg: the log of the table says which files it has, which of
//! their rows are deleted, and how columns map, so that results are of the table's current version also before a refresh.
//!
//! Files are plain folders, Hive partitions and objects in stores. [`Catalog::add`] reads their footers, page indexes and Bloom
//! filters, and makes filters of key columns where files have none. [`Catalog::select`] gives the files that a predicate does not
//! rule out, and scans them without reading metadata again that the catalog has. Each of these files is compared with its recorded
//! state; a changed file is read as it is now. [`Catalog::refresh`] finds files that were added, changed or removed.
//!
//! ```no_run
//! # fn main() -> lath_catalog::Result<()> {
//! use lath_catalog::{AddOptions, Catalog};
//! use lath_parquet::{DatasetOptions, Predicate};
//!
//! let catalog = Catalog::create("trips/_lath_catalog")?;
//! let changes = catalog.add(["trips/"], &AddOptions::new().key(["id"]))?;
//! println!("{} files", changes.added);
//!
//! let wanted = Predicate::parse("id = 4711 AND year = 2026")?;
//! for batch in catalog.select(&wanted, &DatasetOptions::new())?.scan().build()? {
//!     println!("{} rows", batch?.num_rows());
//! }
//! # Ok(())
//! # }
//! ```

mod bucket;
mod catalog;
mod check;
#[cfg(test)]
mod crash_tests;
mod error;
mod file;
mod planning;
mod records;
mod slots;
mod stale_files;
mod update;

pub use catalog::{Catalog, CatalogFile, CatalogStats, CatalogTable};
pub use check::{CatalogCheck, CatalogProblem};
pub use error::{Error, Result};
pub use planning::Selection;
pub use update::AddOptions;
pub use update::Changes;
pub use update::InFolder;
