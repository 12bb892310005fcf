//! The order of rows in files: by their keys, or by other columns first.

use arrow_array::ArrayRef;
use arrow_schema::FieldRef;

use super::canonical_floats::FloatKeys;
use super::key_codec::{KeyCodec, is_orderable};
use super::schema::TableSchema;
use crate::error::{Error, Result};

/// An order of rows by some columns and then by the key. Nulls come first.
#[derive(Debug)]
pub(crate) struct RowOrder {
    /// The numbers of the columns before the key.
    ids: Vec<u32>,
    /// Encodes these columns, and behind them the other columns of the key.
    codec: KeyCodec,
}

impl RowOrder {
    /// The order by the columns with these numbers; `None` for the order of keys.
    pub(crate) fn from_ids(ids: &[u32], schema: &TableSchema) -> Result<Option<Self>> {
        if is_order_of_keys(ids, schema) {
            return Ok(None);
        }
        let places = ids.iter().map(|&id| schema.place_of_id(id)).collect::<Option<Vec<_>>>();
        let mut places = places.ok_or_else(|| Error::corrupt("files are sorted by a column that the schema lacks"))?;
        for &column in schema.key().columns() {
            if !places.contains(&column) {
                places.push(column);
            }
        }
        let fields = places.iter().map(|&place| FieldRef::clone(&schema.arrow().fields()[place])).collect();
        // By bits: an order may distinguish floats that are equal as keys.
        Ok(Some(Self { ids: ids.to_vec(), codec: KeyCodec::new(places, fields, FloatKeys::ByBits)? }))
    }

    pub(crate) fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// Encodes the columns that decide the order, so that bytes are ordered as rows are.
    pub(crate) fn codec(&self) -> &KeyCodec {
        &self.codec
    }

    /// The columns of this order among all columns of a table.
    pub(crate) fn select(&self, columns: &[ArrayRef]) -> Vec<ArrayRef> {
        self.codec.select(columns)
    }
}

/// Whether rows that are sorted by these columns and then by the key are in the order of their keys, of which no two are equal.
fn is_order_of_keys(ids: &[u32], schema: &TableSchema) -> bool {
    schema.key().columns().iter().zip(ids).all(|(&column, &id)| schema.id(column) == id)
}

/// Whether rows that are sorted by these columns in one schema are so in another one: the types are the same.
pub(crate) fn is_same_order(ids: &[u32], one: &TableSchema, other: &TableSchema) -> bool {
    ids.iter().all(|&id| match (one.place_of_id(id), other.place_of_id(id)) {
        (Some(a), Some(b)) => one.arrow().field(a).data_type() == other.arrow().field(b).data_type(),
        _ => false,
    })
}

/// The numbers of columns by which files are to be sorted.
pub(crate) fn cluster_ids<S: AsRef<str>>(schema: &TableSchema, columns: &[S]) -> Result<Vec<u32>> {
    let mut ids = Vec::with_capacity(columns.len());
    for name in columns {
        let name = name.as_ref();
        let Some((place, field)) = schema.arrow().column_with_name(name) else {
            return Err(Error::schema(format!("there is no column {name:?} to cluster by: name columns of the table")));
        };
        if field.data_type().is_nested() || !is_orderable(field.data_type()) {
            return Err(Error::schema(format!(
                "files cannot be clustered by column {name:?}, which is {}: name columns of single values that have an order",
                field.data_type()
            )));
        }
        let id = schema.id(place);
        if ids.contains(&id) {
            return Err(Error::schema(format!("column {name:?} is twice among those to cluster by: name it once")));
        }
        ids.push(id);
    }
    Ok(ids)
}
