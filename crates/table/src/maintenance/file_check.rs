//! Whether a file is what its entry says.

use std::sync::Arc;

use arrow_schema::SchemaRef;

use crate::file::DataFile;
use crate::records::{BLOCK_ROWS, BlockIndex, BlockKeys, FileEntry, KeyBounds};
use crate::row::{RowOrder, TableSchema, field_id, is_same_order};
use crate::view::{Commit, Engine, read_mask};

/// Checks the mask of a file and, if `reads`, all its rows; what is wrong with it.
pub(crate) fn check_file(
    engine: &Engine,
    view: &mut Arc<Commit>,
    entry: &FileEntry,
    reads: bool,
) -> Result<(), String> {
    let mask = read_mask(view, entry.number).map_err(shown)?;
    if mask.len() != entry.masked {
        return Err(format!("the mask has {} rows, and its entry says {}", mask.len(), entry.masked));
    }
    if mask.iter().last().is_some_and(|row| row >= entry.rows) {
        return Err("the mask has rows that the file does not have".to_owned());
    }
    if !reads {
        return Ok(());
    }
    let file = engine.cold(view, entry).map_err(shown)?;
    let open = file.file().open().map_err(|error| error.to_string())?;
    if open.row_count() != entry.rows {
        return Err(format!("it has {} rows, and its entry says {}", open.row_count(), entry.rows));
    }
    check_columns(open.schema(), file.stored_schema())?;
    check_rows(&file, entry)
}

/// Whether a file has the columns of the schema in which it was written; if not, what is wrong.
fn check_columns(found: &SchemaRef, schema: &TableSchema) -> Result<(), String> {
    let ids: Vec<Option<u32>> = found.fields().iter().map(|field| field_id(field).ok()).collect();
    let expected = (0..schema.arrow().fields().len()).map(|column| Some(schema.id(column)));
    if ids.iter().copied().eq(expected) {
        return Ok(());
    }
    // Files of other programs may have no numbers.
    let names = |schema: &SchemaRef| schema.fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>();
    if ids.iter().all(Option::is_none) && names(found) == names(schema.arrow()) {
        return Ok(());
    }
    Err(format!("its columns differ from schema {}, in which it was written", schema.version()))
}

/// Reads all rows of a file, and holds their order and their keys against the entry.
fn check_rows(file: &DataFile, entry: &FileEntry) -> Result<(), String> {
    let codec = file.schema().key();
    let order = match is_same_order(&entry.order, file.stored_schema(), file.schema()) {
        true => RowOrder::from_ids(&entry.order, file.schema()).map_err(shown)?,
        // A column of the order was dropped or widened since.
        false => None,
    };
    let all: Vec<usize> = (0..file.schema().arrow().fields().len()).collect();
    let mut keys_check = KeysCheck::new(file.keys(), entry);
    let mut last: Option<Vec<u8>> = None;
    let mut next = 0;
    for batch in file.scan(&all).and_then(|scan| file.numbered(scan, &all)).map_err(shown)? {
        let (columns, rows) = batch.map_err(shown)?;
        let keys = codec.encode(&codec.select(&columns)).map_err(shown)?;
        let sort_keys = order.as_ref().map(|order| order.codec().encode(&order.select(&columns)));
        let sort_keys = sort_keys.transpose().map_err(shown)?;
        for (at, (key, row)) in keys.iter().zip(rows).enumerate() {
            if row != next {
                return Err(format!("rows out of order: expected {next}, found {row}"));
            }
            if let Some(sort_keys) = &sort_keys {
                let sort_key = sort_keys.row(at).data();
                if last.as_ref().is_some_and(|last| sort_key <= &last[..]) {
                    return Err(format!("rows out of order: row {row} does not sort after the row before it"));
                }
                last = Some(sort_key.to_vec());
            }
            keys_check.push(row, key.data())?;
            next = row + 1;
        }
    }
    if next != entry.rows {
        return Err("its last key differs from its entry".to_owned());
    }
    keys_check.finish()
}

/// Compares the keys of a file with its entry and its index of blocks.
enum KeysCheck<'f> {
    Sorted { fences: &'f BlockIndex, entry: &'f FileEntry, last: Option<Vec<u8>> },
    Unsorted { stored: &'f KeyBounds, entry: &'f FileEntry, found: KeyBounds },
}

impl<'f> KeysCheck<'f> {
    fn new(keys: &'f BlockKeys, entry: &'f FileEntry) -> Self {
        match keys {
            BlockKeys::First(fences) => Self::Sorted { fences, entry, last: None },
            BlockKeys::Bounds(stored) => Self::Unsorted { stored, entry, found: KeyBounds::default() },
        }
    }

    fn push(&mut self, row: u64, key: &[u8]) -> Result<(), String> {
        match self {
            Self::Unsorted { found, .. } => found.push(key).map_err(shown),
            Self::Sorted { fences, entry, last } => {
                if last.as_ref().is_some_and(|last| key <= &last[..]) {
                    return Err(format!("the key of row {row} is not greater than the one before it"));
                }
                if row == 0 && key != &entry.min[..] {
                    return Err("its first key differs from its entry".to_owned());
                }
                if row.is_multiple_of(BLOCK_ROWS) && fences.key((row / BLOCK_ROWS) as usize) != key {
                    return Err(format!("the first key of the block at row {row} differs from the block index"));
                }
                *last = Some(key.to_vec());
                Ok(())
            }
        }
    }

    fn finish(self) -> Result<(), String> {
        match self {
            Self::Sorted { entry, last, .. } => match last.as_ref() == Some(&entry.max) {
                true => Ok(()),
                false => Err("its last key differs from its entry".to_owned()),
            },
            Self::Unsorted { stored, entry, mut found } => {
                found.end_block().map_err(shown)?;
                if found.whole_file() != Some((&entry.min, &entry.max)) {
                    return Err("its least and greatest key differ from its entry".to_owned());
                }
                match (0..found.len()).find(|&block| found.block(block) != stored.block(block)) {
                    None => Ok(()),
                    Some(block) => {
                        let row = block as u64 * BLOCK_ROWS;
                        Err(format!("the keys of the block at row {row} are outside of its stored bounds"))
                    }
                }
            }
        }
    }
}

fn shown(error: crate::Error) -> String {
    error.to_string()
}
