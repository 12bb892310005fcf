//! The locations that were added to a catalog.

use lath_store::{RecordReader, RecordWriter, Snapshot, Transaction};

use super::trees::{ROOTS, number_in, number_key};
use crate::error::{Error, Result};

/// A location that was added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Root {
    pub(crate) number: u32,
    /// In the form of [`Entry::name`](crate::file::Entry::name).
    pub(crate) name: String,
}

/// All locations, in the order in which they were added.
pub(crate) fn read(snapshot: &Snapshot) -> Result<Vec<Root>> {
    let Some(tree) = snapshot.tree(ROOTS)? else { return Ok(Vec::new()) };
    let root = |entry: lath_store::Result<lath_store::Entry<'_>>| {
        let (key, value) = entry?;
        let number = number_in(&key).ok_or_else(|| Error::corrupt("a location without a number"))?;
        Ok(Root { number, name: RecordReader::new("a location", value)?.text()?.to_owned() })
    };
    tree.iter().map(root).collect()
}

pub(crate) fn put(transaction: &mut Transaction, root: &Root) -> Result<()> {
    let record = RecordWriter::default().bytes(root.name.as_bytes()).finish();
    Ok(transaction.tree(ROOTS)?.put(&number_key(root.number), &record)?)
}

pub(crate) fn remove(transaction: &mut Transaction, number: u32) -> Result<()> {
    transaction.tree(ROOTS)?.remove(&number_key(number))?;
    Ok(())
}
