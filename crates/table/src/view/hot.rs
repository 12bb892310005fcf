//! Hot rows as record batches.

use std::sync::Arc;

use arrow_array::ArrayRef;
use lath_store::Cursor;

use super::View;
use crate::error::{Error, Result};
use crate::records::TreeName;
use crate::row::key::KeyRange;
use crate::row::{ByteList, HotValue, StoredRows, TableSchema, ValueColumns, value_codec};

/// The columns of hot rows to decode, in a schema that is not older than any of the rows.
#[derive(Debug)]
pub(crate) struct HotColumns {
    /// The place of each column among the decoded ones: first the key, if it is decoded, then value columns.
    places: Vec<usize>,
    has_key: bool,
    values: ValueColumns,
}

impl HotColumns {
    /// The columns at these places of a schema, in this order.
    pub(crate) fn new(schema: &Arc<TableSchema>, columns: &[usize]) -> Result<Self> {
        let has_key = schema.key().columns().iter().any(|column| columns.contains(column));
        let values = ValueColumns::new(schema, columns)?;
        let keys = schema.key().columns().iter().copied().filter(|_| has_key);
        let decoded: Vec<usize> = keys.chain(values.places()).collect();
        let place = |column| decoded.iter().position(|other| other == column);
        let places = columns.iter().map(place).collect::<Option<_>>();
        let places = places.ok_or_else(|| Error::internal("a column is neither of the key nor a value"))?;
        Ok(Self { places, has_key, values })
    }

    /// All columns.
    pub(crate) fn all(schema: &Arc<TableSchema>) -> Result<Self> {
        Self::new(schema, &(0..schema.arrow().fields().len()).collect::<Vec<_>>())
    }
}

/// Encoded hot rows, cut to the columns to decode.
#[derive(Debug)]
pub(crate) struct HotRows {
    columns: Arc<HotColumns>,
    keys: ByteList,
    rows: StoredRows,
}

impl HotRows {
    pub(crate) fn new(columns: Arc<HotColumns>) -> Self {
        Self { columns, keys: ByteList::default(), rows: StoredRows::default() }
    }

    /// Adds the row with this key and value.
    pub(crate) fn push(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let HotValue { schema, row, .. } = value_codec::parse(key, value)?;
        self.keys.push(key);
        self.rows.push(schema, row, &self.columns.values)
    }

    /// Adds up to `max_rows` rows from the position of a cursor, below the end of a range. Returns whether rows are left there.
    pub(crate) fn fill(&mut self, cursor: &mut Cursor<'_>, range: &KeyRange, max_rows: usize) -> Result<bool> {
        while let (Some(key), Some(value)) = (cursor.key(), cursor.value()?) {
            if !range.is_below_end(key) {
                return Ok(false);
            }
            if self.len() == max_rows {
                return Ok(true);
            }
            self.push(key, value)?;
            cursor.next()?;
        }
        Ok(false)
    }

    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The columns.
    pub(crate) fn decode(&self) -> Result<Vec<ArrayRef>> {
        let columns = &self.columns;
        let schema = columns.values.schema();
        let mut decoded = if columns.has_key { schema.decode_keys(self.keys.iter())? } else { Vec::new() };
        decoded.extend(self.rows.decode(&columns.values)?);
        Ok(columns.places.iter().map(|&at| Arc::clone(&decoded[at])).collect())
    }
}

/// Reads hot rows in the order of their keys, some at a time.
#[derive(Debug)]
pub(crate) struct HotCursor {
    /// The rest of the range.
    range: KeyRange,
    columns: Arc<HotColumns>,
    is_done: bool,
}

impl HotCursor {
    pub(crate) fn new(range: KeyRange, columns: HotColumns) -> Self {
        Self { range, columns: Arc::new(columns), is_done: false }
    }

    /// The keys and columns of the next rows, at most `max_rows`; none at the end.
    pub(crate) fn next(&mut self, view: &mut dyn View, max_rows: usize) -> Result<Option<(ByteList, Vec<ArrayRef>)>> {
        let mut rows = HotRows::new(Arc::clone(&self.columns));
        if !self.is_done
            && max_rows > 0
            && let Some(tree) = view.tree(TreeName::Hot)?
        {
            let mut cursor = tree.cursor();
            cursor.lower_bound(&self.range.low)?;
            self.is_done = !rows.fill(&mut cursor, &self.range, max_rows)?;
        }
        let Some(last) = rows.keys.last() else { return Ok(None) };
        self.range.low = [last, &[0]].concat();
        let columns = rows.decode()?;
        Ok(Some((rows.keys, columns)))
    }
}
