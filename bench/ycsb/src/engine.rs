//! The interface of a measured engine.

use std::path::Path;

/// The number of fields of a row.
pub const FIELDS: usize = 10;

/// Bytes of a field.
pub const FIELD_BYTES: usize = 100;

/// Bytes of all fields.
pub const ROW_BYTES: usize = FIELDS * FIELD_BYTES;

/// The fields of a row.
pub type Row = [Vec<u8>; FIELDS];

/// An open engine, which any number of threads use.
pub trait Engine: Sync + Sized {
    /// The state that each thread has for itself.
    type Client<'e>: Client
    where
        Self: 'e;

    fn open(folder: &Path, is_synced: bool) -> Self;

    /// Stores the first rows, in commits of many.
    fn load(&self, rows: &mut dyn Iterator<Item = (String, Row)>);

    fn client(&self) -> Self::Client<'_>;

    /// A line for the record: a peer's version, and facts about the run.
    fn note(&self) -> Option<String> {
        None
    }
}

pub trait Client {
    /// Replaces `row` with all fields of a row, one after the other; with nothing if there is no such row.
    fn read(&mut self, key: &str, row: &mut Vec<u8>);

    /// Replaces one field, in a commit.
    fn update(&mut self, key: &str, field: usize, value: &[u8]);

    /// Adds a row, in a commit.
    fn insert(&mut self, key: &str, row: &Row);

    /// All fields of up to `count` rows from `key` on; returns the number of rows.
    fn scan(&mut self, key: &str, count: usize) -> usize;
}

/// A row as engines of bytes store it.
pub fn joined(row: &Row) -> Vec<u8> {
    row.concat()
}

/// A stored row with one field replaced.
pub fn with_field(row: &[u8], field: usize, value: &[u8]) -> Vec<u8> {
    let mut row = row.to_vec();
    row[field * FIELD_BYTES..(field + 1) * FIELD_BYTES].copy_from_slice(value);
    row
}
