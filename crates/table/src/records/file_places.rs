//! The URLs of the tables whose files are in buckets.

use lath_store::{RecordReader, RecordWriter, Snapshot, Transaction};

use super::layout::file_key;
use crate::error::Result;

/// The tree with the URL of each table whose files are in a bucket: number, or 0 for the only table of a folder → the URL. It outlives the trees of a
/// dropped table, whose objects are removed later.
pub(crate) const FILE_PLACES: &str = "places";

/// The URL below which the files of a table are; `None` if they are in its folder.
pub(crate) fn file_place(snapshot: &Snapshot, table: Option<u64>) -> Result<Option<String>> {
    let Some(places) = snapshot.tree(FILE_PLACES)? else { return Ok(None) };
    let Some(place) = places.get(&file_key(table.unwrap_or(0)))? else { return Ok(None) };
    Ok(Some(RecordReader::new("the place of files", place)?.text()?.to_owned()))
}

/// Records the URL below which the files of a table are.
pub(crate) fn put_file_place(transaction: &mut Transaction, table: Option<u64>, url: &str) -> Result<()> {
    let record = RecordWriter::default().bytes(url.as_bytes()).finish();
    Ok(transaction.tree(FILE_PLACES)?.put(&file_key(table.unwrap_or(0)), &record)?)
}
