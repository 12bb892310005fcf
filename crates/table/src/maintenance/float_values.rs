//! Keys of floats by value, for tables that were made with keys of floats by their bits.
//!
//! Files and trees are in the order of the encoded keys, in which -NaN came first and -0.0 before 0.0. So all rows are put again, in one
//! transaction, under a new version of the schema; older commits keep theirs, and the files that they need.

use std::collections::BTreeMap;
use std::sync::Arc;

use lath_store::Durability;

use crate::error::{Error, Result};
use crate::read::scan::{RowMerge, RowSource};
use crate::read::{SortedKeys, contains_many};
use crate::records::{Feed, TreeName};
use crate::row::key::KeyRange;
use crate::row::{BATCH_ROWS, ByteList, FloatKeys, KeyCodec, SchemaParts, TableSchema, has_floats};
use crate::view::{Commit, Engine, HotColumns, HotCursor, View, WithExpired, dead_rows};
use crate::write::OpenWrite;

/// Encodes floats in keys and indexes by value from now on, if the table does not do so yet. Changes that were kept go, as their keys would be
/// others.
///
/// # Errors
/// [`Error::EqualKeys`] if two keys are one by value; then nothing is changed.
pub(crate) fn use_float_values(engine: &Arc<Engine>) -> Result<()> {
    if View::schema(&Commit::newest(engine)?).floats() == FloatKeys::ByValue {
        return Ok(());
    }
    let mut changing = OpenWrite::begin(engine)?;
    // While the transaction is open, this stays the newest commit.
    let mut pinned = Commit::newest(engine)?;
    let schema = Arc::clone(changing.schema());
    let by_value = schema.next(SchemaParts { floats: FloatKeys::ByValue, ..schema.parts() })?;
    let encodes_floats = |codec: &KeyCodec| codec.fields().iter().any(|field| has_floats(field.data_type()));
    let indexes = Arc::clone(changing.indexes());
    if encodes_floats(schema.key()) || indexes.iter().any(|index| encodes_floats(index.codec())) {
        check_distinct(engine, &mut pinned, &schema, by_value.key())?;
        put_anew(engine, &mut changing, &mut pinned, by_value)?;
    } else {
        changing.set_schema(by_value)?;
    }
    changing.commit(Durability::Sync)
}

/// Replaces all rows by the same ones in another schema.
fn put_anew(
    engine: &Arc<Engine>,
    changing: &mut OpenWrite,
    pinned: &mut Arc<Commit>,
    by_value: TableSchema,
) -> Result<()> {
    let manifest = Arc::clone(changing.manifest());
    manifest.files().iter().try_for_each(|entry| changing.drop_file(entry))?;
    for name in [TreeName::Hot, TreeName::Tombstones] {
        changing.replace_hot(name, &[])?;
    }
    changing.set_hot_bytes(0);
    for index in Arc::clone(changing.indexes()).iter() {
        changing.index_tree_mut(index.number())?.remove_range(&[], None)?;
    }
    let feed = changing.state().feed.clone();
    changing.changes_tree()?.remove_range(&[], None)?;
    changing.set_feed(None);
    changing.set_schema(by_value)?;
    let schema = Arc::clone(changing.schema());
    let mut rows = all_rows(engine, pinned, (0..schema.arrow().fields().len()).collect())?;
    loop {
        let found = rows.next(pinned, BATCH_ROWS, false)?;
        if found.row_count == 0 {
            break;
        }
        let columns = schema.with_key_form(found.columns)?;
        changing.put(schema.key().encode(&schema.key().select(&columns))?, columns)?;
    }
    changing.write_pending()?;
    let from = changing.state().stamp + 1;
    changing.set_feed(feed.map(|feed| Feed { from, ..feed }));
    Ok(())
}

/// Makes sure that no two keys are one by value.
fn check_distinct(
    engine: &Arc<Engine>,
    pinned: &mut Arc<Commit>,
    schema: &TableSchema,
    by_value: &KeyCodec,
) -> Result<()> {
    // The keys that become others, by these.
    let mut changed: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    let equal = |first: &[u8], second: &[u8]| -> Result<()> {
        let describe = |key| -> Result<String> { Ok(schema.key().describe(&schema.key().decode([key])?, 0)) };
        Err(Error::EqualKeys { first: describe(first)?, second: describe(second)? })
    };
    let mut rows = all_rows(engine, pinned, schema.key().columns().to_vec())?;
    loop {
        let found = rows.next(pinned, BATCH_ROWS, true)?;
        if found.row_count == 0 {
            break;
        }
        for (old, new) in found.keys.iter().zip(&by_value.encode(&found.columns)?) {
            if old != new.data()
                && let Some(other) = changed.insert(new.data().to_vec(), old.to_vec())
            {
                return equal(&other, old);
            }
        }
    }
    let mut keys = ByteList::default();
    changed.keys().for_each(|key| keys.push(key));
    let are_there = contains_many(engine, &mut WithExpired(pinned), &SortedKeys::from_sorted(keys))?;
    match changed.iter().zip(are_there).find(|(_, is_there)| *is_there) {
        Some(((new, old), _)) => equal(old, new),
        None => Ok(()),
    }
}

/// All rows, in the order of their keys.
fn all_rows(engine: &Arc<Engine>, pinned: &mut Arc<Commit>, columns: Vec<usize>) -> Result<RowMerge> {
    let schema = Arc::clone(View::schema(pinned));
    let manifest = Arc::clone(pinned.manifest());
    let dead = dead_rows(engine, pinned, manifest.files())?;
    let mut sources = Vec::new();
    let count = dead.len();
    for (entry, dead) in manifest.files().iter().zip(&dead) {
        let file = engine.cold(pinned, entry)?;
        sources.push(RowSource::all_by_key(&file, dead, &columns, count)?);
    }
    sources.push(RowSource::hot(HotCursor::new(KeyRange::default(), HotColumns::new(&schema, &columns)?), u64::MAX));
    Ok(RowMerge::by_key(schema, columns, sources))
}
