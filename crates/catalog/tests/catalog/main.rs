//! Catalogs of files on disk, compared with scans of the same files without one.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod changes;
mod damage;
mod files;
mod histories;
mod keys;
mod planning;
mod schemas;
