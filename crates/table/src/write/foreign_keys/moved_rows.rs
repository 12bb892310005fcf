//! Remembers which rows have become which, when their keys change.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use arrow_select::take::take;

use crate::error::Result;
use crate::read::{SortedKeys, get_many, with_codec};
use crate::row::KeyCodec;
use crate::write::open_write::OpenWrite;
use crate::write::transaction::Transaction;

impl Transaction {
    /// Tells the transaction that rows get other keys: the rows with these keys, which are then deleted, become these new rows, in the same
    /// order. Foreign keys with a [`ForeignKeyAction`](crate::ForeignKeyAction) on changes follow them.
    ///
    /// # Errors
    /// As [`delete`](Self::delete) and [`upsert`](Self::upsert).
    pub fn move_rows(&mut self, old_keys: &RecordBatch, rows: &RecordBatch) -> Result<()> {
        if !self.changing.foreign_keys().have_actions() {
            return Ok(());
        }
        let schema = Arc::clone(self.changing.schema());
        let keys = SortedKeys::new(&schema, &schema.conform_key(old_keys)?)?;
        self.changing.record_moves(&keys, &schema.conform(rows)?.columns)
    }
}

impl OpenWrite {
    /// Remembers the values that others refer to of rows with these keys, and the new values of the same rows; and the rows whose own foreign
    /// keys keep their values.
    fn record_moves(&mut self, keys: &SortedKeys, new: &[ArrayRef]) -> Result<()> {
        let foreign_keys = Arc::clone(self.foreign_keys());
        let targets: BTreeSet<u64> = foreign_keys.referring.iter().map(|key| key.target).collect();
        let indexes: BTreeSet<u64> = foreign_keys.own.iter().map(|key| key.index).collect();
        let schema = Arc::clone(self.schema());
        let all: Vec<usize> = (0..schema.arrow().fields().len()).collect();
        let found = get_many(&Arc::clone(self.engine()), &mut self.view()?, keys, &all)?;
        let there = found.places.iter().enumerate().filter_map(|(row, place)| Some((row as u64, (*place)? as u64)));
        let (new_rows, old_rows): (Vec<u64>, Vec<u64>) = there.unzip();
        let (new_rows, old_rows) = (UInt64Array::from(new_rows), UInt64Array::from(old_rows));
        let mut values = |target: u64| {
            with_codec(&self.view()?, target, |codec, _| {
                let old = encode_rows(codec, found.rows.columns(), &old_rows)?;
                Ok(old.into_iter().zip(encode_rows(codec, new, &new_rows)?).collect::<Vec<_>>())
            })
        };
        let mut moved = Vec::new();
        for target in targets.into_iter().filter(|&target| foreign_keys.act_on(target)) {
            moved.push((target, values(target)?));
        }
        let mut kept = Vec::new();
        for index in indexes {
            kept.push((index, values(index)?));
        }
        for (target, values) in moved {
            for ((old, has_null), (new, _)) in values {
                // Also an equal value, which the row has again after it was deleted. No row refers to a null, but a value may become one.
                if !has_null {
                    self.touched_mut().remove(target, old, Some(new));
                }
            }
        }
        let new_keys = schema.key().encode(&schema.key().select(new))?;
        for (index, values) in kept {
            for (&row, (old, new)) in new_rows.values().iter().zip(values) {
                if old == new {
                    self.touched_mut().keep_values(index, new_keys.row(row as usize).data().to_vec());
                }
            }
        }
        Ok(())
    }
}

/// The encoded values of some rows in the columns of a key or index, and whether there is a null among them.
fn encode_rows(codec: &KeyCodec, columns: &[ArrayRef], rows: &UInt64Array) -> Result<Vec<(Vec<u8>, bool)>> {
    let columns = codec.select(columns);
    let taken = columns.iter().map(|column| take(column, rows, None)).collect::<Result<Vec<_>, _>>()?;
    let encoded = codec.encode(&taken)?;
    let has_null = |row: usize| taken.iter().any(|column| column.is_null(row));
    Ok((0..encoded.num_rows()).map(|row| (encoded.row(row).data().to_vec(), has_null(row))).collect())
}
