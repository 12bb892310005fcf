//! Finds partition columns in the names of directories, and stores their values as arrays over slots.

use std::sync::Arc;

use arrow_array::Array;
use arrow_schema::Schema;
use lath_parquet::{DatasetFile, DatasetOptions, PartitionColumn, Partitions};
use lath_predicate::value_at;
use lath_store::RecordWriter;

use super::edit::Edit;
use crate::error::{Error, Result};
use crate::file::Entry;
use crate::records::{
    BLOCK_SLOTS, BLOCKS, BlockKey, BlockKind, COLUMNS, ColumnKind, FILES, META, NAMES, PARTITIONS_KEY, ipc, number_in,
    number_key,
};
use crate::slots::Bounds;

/// Updates the partition columns, and writes all buffered changes. The transaction is not committed.
pub(crate) fn finish(mut edit: Edit<'_>) -> Result<()> {
    if edit.may_have_partitions {
        update(&mut edit)?;
    }
    edit.finish()
}

/// Finds the partition columns of all files again, because their types depend on all values.
fn update(edit: &mut Edit<'_>) -> Result<()> {
    let (slots, names) = names(edit)?;
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let partitions = Partitions::of(&names, &DatasetOptions::new())?;
    store(edit, partitions.columns(), &slots, |at| partitions.rows(at))
}

/// Stores partition columns, and for each of some slots the rows of its values in them.
pub(super) fn store<'r>(
    edit: &mut Edit<'_>,
    partitions: &[PartitionColumn],
    slots: &[u32],
    rows: impl Fn(usize) -> &'r [u32],
) -> Result<()> {
    let mut ids = Vec::new();
    for column in partitions {
        let schema = Arc::new(Schema::new(vec![Arc::clone(column.field())]));
        let known = edit.columns.iter().find(|known| known.is_like(ColumnKind::Partition, &schema));
        ids.push(match known.map(|known| known.id) {
            Some(id) => id,
            None => edit.add_column(ColumnKind::Partition, schema)?,
        });
    }
    for (at, slot) in slots.iter().enumerate() {
        for ((id, column), &row) in ids.iter().zip(partitions).zip(rows(at)) {
            let bounds = bounds(column, row);
            edit.blocks.set_partition(edit.transaction, *id, *slot, row)?;
            edit.blocks.set_bounds(edit.transaction, *id, *slot, bounds)?;
        }
    }
    drop_others(edit, &ids)?;
    let mut record = RecordWriter::default();
    record.u32(ids.len() as u32);
    for (id, column) in ids.iter().zip(partitions) {
        record.u32(*id).bytes(&ipc::array_to_bytes(column.field(), column.values())?);
    }
    edit.transaction.tree(META)?.put(PARTITIONS_KEY, &record.finish())?;
    Ok(())
}

/// The bounds of the value in a row of a partition column. A file without such a value has the column itself.
fn bounds(column: &PartitionColumn, row: u32) -> Bounds {
    if row == DatasetFile::NO_CONSTANT {
        return Bounds::UNKNOWN;
    }
    match value_at(column.values(), row as usize) {
        Some(value) => Bounds::new(&value, &value),
        None if column.values().is_null(row as usize) => Bounds::NO_VALUE,
        None => Bounds::UNKNOWN,
    }
}

/// The slots and names of all files, in order.
fn names(edit: &mut Edit<'_>) -> Result<(Vec<u32>, Vec<String>)> {
    let mut slots = Vec::new();
    for entry in edit.transaction.tree(NAMES)?.as_tree()?.iter() {
        slots.extend(number_in(entry?.1));
    }
    let mut names = Vec::with_capacity(slots.len());
    let mut tree = edit.transaction.tree(FILES)?;
    for slot in &slots {
        let record = tree.get(&number_key(*slot))?.ok_or_else(|| Error::corrupt("a name without a file"))?;
        names.push(Entry::from_record(record)?.name);
    }
    Ok((slots, names))
}

/// Removes partition columns that no longer exist.
fn drop_others(edit: &mut Edit<'_>, ids: &[u32]) -> Result<()> {
    let others: Vec<u32> = edit
        .columns
        .iter()
        .filter(|column| column.kind == ColumnKind::Partition && !ids.contains(&column.id))
        .map(|column| column.id)
        .collect();
    edit.columns.retain(|column| !others.contains(&column.id));
    for id in others {
        edit.transaction.tree(COLUMNS)?.remove(&number_key(id))?;
        for kind in [BlockKind::Bounds, BlockKind::Partition] {
            for block in 0..=edit.state.slots / BLOCK_SLOTS {
                edit.transaction.tree(BLOCKS)?.remove(&BlockKey { kind, column: id, block }.to_bytes())?;
            }
        }
    }
    Ok(())
}
