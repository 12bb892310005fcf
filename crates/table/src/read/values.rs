//! Looks for rows by the values of foreign keys.

use std::collections::BTreeSet;

use arrow_array::{Array, ArrayRef};
use arrow_cast::cast;

use super::lookup::{SortedKeys, contains_many};
use crate::error::{Error, Result};
use crate::records::{Index, PRIMARY_KEY, entry_values};
use crate::row::{ByteList, KeyCodec};
use crate::view::{Engine, View};

/// The columns of the index with this number, or of the primary key.
pub(crate) fn with_codec<T>(
    view: &dyn View,
    target: u64,
    used: impl FnOnce(&KeyCodec, Option<&Index>) -> Result<T>,
) -> Result<T> {
    if target == PRIMARY_KEY {
        return used(view.schema().key(), None);
    }
    let index = view.indexes().iter().find(|index| index.number() == target);
    let index = index.ok_or_else(|| Error::corrupt("the index of a foreign key is missing"))?;
    used(index.codec(), Some(index))
}

/// The encoded values that rows have in an index, each once.
pub(crate) fn all_values(view: &mut dyn View, index: u64) -> Result<BTreeSet<Vec<u8>>> {
    let mut all = BTreeSet::new();
    if let Some(tree) = view.index_tree(index)? {
        for entry in tree.iter() {
            let (entry, value) = entry?;
            all.insert(entry_values(&entry, value)?.to_vec());
        }
    }
    Ok(all)
}

/// For each row of these columns, whether the table has a row with the same values in an index or in its primary key. A null is no value.
/// Types may differ in width and layout.
pub(crate) fn has_values(engine: &Engine, view: &mut dyn View, target: u64, values: &[ArrayRef]) -> Result<Vec<bool>> {
    let (encoded, index) =
        with_codec(view, target, |codec, index| Ok((encode_values(codec, values)?, index.cloned())))?;
    let mut found = vec![false; encoded.len()];
    match index {
        None => {
            let keys: ByteList = encoded.iter().flatten().map(Vec::as_slice).collect();
            let mut is_there = contains_many(engine, view, &SortedKeys::from_list(&keys))?.into_iter();
            let bound = found.iter_mut().zip(&encoded).filter(|(_, values)| values.is_some());
            bound.for_each(|(found, _)| *found = is_there.next().unwrap_or(false));
        }
        Some(index) => {
            let Some(tree) = view.index_tree(index.number())? else { return Ok(found) };
            for (found, values) in found.iter_mut().zip(&encoded) {
                let Some(values) = values else { continue };
                *found = tree.prefix(values).next().transpose()?.is_some();
            }
        }
    }
    Ok(found)
}

/// The encoded rows; `None` for one with a null, or with a value that the column's type does not have.
pub(crate) fn encode_values(codec: &KeyCodec, values: &[ArrayRef]) -> Result<Vec<Option<Vec<u8>>>> {
    let fields = codec.fields().iter();
    let values = values.iter().zip(fields).map(|(array, field)| cast(array, field.data_type()));
    let values = values.collect::<Result<Vec<_>, _>>()?;
    let rows = codec.encode(&values)?;
    let has_null = |row: usize| values.iter().any(|array| array.is_null(row));
    Ok((0..rows.num_rows()).map(|row| (!has_null(row)).then(|| rows.row(row).data().to_vec())).collect())
}
