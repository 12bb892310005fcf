//! Converts rows of older versions of a schema to a newer one.
//!
//! Columns are identified by number: a renamed column is the same column; a column that was dropped and added again is a
//! different one.

use std::sync::Arc;

use arrow_array::ArrayRef;

use super::key_codec::as_type;
use super::schema::TableSchema;
use crate::error::{Error, Result};

/// Conversion of rows of one version to the same or a newer one.
#[derive(Debug)]
pub(crate) struct Upgrade {
    from: Arc<TableSchema>,
    to: Arc<TableSchema>,
    /// For each column of the newer version, its place in the older one; `None` if it was added since.
    places: Vec<Option<usize>>,
}

impl Upgrade {
    pub(crate) fn new(from: Arc<TableSchema>, to: Arc<TableSchema>) -> Self {
        let columns = 0..to.arrow().fields().len();
        let places = columns.map(|column| from.place_of_id(to.id(column))).collect();
        Self { from, to, places }
    }

    pub(crate) fn from(&self) -> &Arc<TableSchema> {
        &self.from
    }

    pub(crate) fn to(&self) -> &Arc<TableSchema> {
        &self.to
    }

    /// Whether both are the same version.
    pub(crate) fn is_identity(&self) -> bool {
        self.from.version() == self.to.version()
    }

    /// The place of a column of the newer version in the older one; `None` if it was added since.
    pub(crate) fn place(&self, column: usize) -> Option<usize> {
        self.places[column]
    }

    /// A column of the newer version: `stored` as the older one has it, or what rows have that are older than the column.
    pub(crate) fn column(&self, column: usize, stored: Option<ArrayRef>, row_count: usize) -> Result<ArrayRef> {
        let array = match stored {
            Some(stored) => as_type(stored, self.to.arrow().field(column).data_type())?,
            None => self.to.default_values(column, row_count)?,
        };
        self.to.with_column_categories(column, array)
    }
}

/// The value columns of a schema, of encoded rows of the same or an older version.
pub(crate) fn decode_values<'r>(
    schema: &Arc<TableSchema>,
    version: u32,
    rows: impl IntoIterator<Item = &'r [u8]>,
    row_count: usize,
) -> Result<Vec<ArrayRef>> {
    if version == schema.version() {
        return schema.values().decode(rows);
    }
    let upgrade = Upgrade::new(schema.with_version(version)?, Arc::clone(schema));
    let codec = upgrade.from().values();
    let decoded = codec.decode(rows)?;
    let column = |&column: &usize| {
        let stored = match upgrade.place(column) {
            Some(place) => {
                let at = codec.columns().iter().position(|&other| other == place);
                let at = at.ok_or_else(|| Error::corrupt("a value column was part of the key"))?;
                Some(Arc::clone(&decoded[at]))
            }
            None => None,
        };
        upgrade.column(column, stored, row_count)
    };
    schema.values().columns().iter().map(column).collect()
}
