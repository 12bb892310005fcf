//! Some of the value columns of encoded rows.

use std::sync::Arc;

use arrow_array::ArrayRef;

use super::row_format::row_columns::RowColumns;
use super::schema::TableSchema;
use super::upgrade::decode_values;
use super::value_codec::ValueCodec;
use crate::error::Result;

/// Decodes some value columns of rows that are not newer than a schema.
#[derive(Debug)]
pub(crate) struct ValueColumns {
    schema: Arc<TableSchema>,
    /// Places among the value columns, ascending.
    columns: Vec<usize>,
    /// Cuts these columns out of rows of this schema and decodes them; `None` if whole rows are decoded.
    cut: Option<(RowColumns, ValueCodec)>,
}

impl ValueColumns {
    /// All value columns.
    pub(crate) fn all(schema: &Arc<TableSchema>) -> Self {
        Self { schema: Arc::clone(schema), columns: (0..schema.values().columns().len()).collect(), cut: None }
    }

    /// The value columns among these places in the table's schema.
    pub(crate) fn new(schema: &Arc<TableSchema>, wanted: &[usize]) -> Result<Self> {
        let all = schema.values().columns();
        let is_taken: Vec<bool> = all.iter().map(|column| wanted.contains(column)).collect();
        if !is_taken.contains(&false) {
            return Ok(Self::all(schema));
        }
        let columns: Vec<usize> = (0..all.len()).filter(|&at| is_taken[at]).collect();
        let fields = schema.values().fields();
        let cut = RowColumns::new(fields.iter().map(|field| field.data_type()), &is_taken);
        let cut = match cut {
            Some(cut) => {
                let places = columns.iter().map(|&at| all[at]).collect();
                let fields = columns.iter().map(|&at| Arc::clone(&fields[at])).collect();
                Some((cut, ValueCodec::new(places, fields)?))
            }
            None => None,
        };
        Ok(Self { schema: Arc::clone(schema), columns, cut })
    }

    pub(crate) fn schema(&self) -> &Arc<TableSchema> {
        &self.schema
    }

    pub(crate) fn len(&self) -> usize {
        self.columns.len()
    }

    /// The places of the columns in the table's schema.
    pub(crate) fn places(&self) -> impl Iterator<Item = usize> {
        self.columns.iter().map(|&at| self.schema.values().columns()[at])
    }

    /// The columns to cut out of a row of this version; `None` for the whole row.
    pub(crate) fn cut(&self, version: u32) -> Option<&RowColumns> {
        self.cut.as_ref().filter(|_| version == self.schema.version()).map(|(cut, _)| cut)
    }

    /// The columns of rows of one version, which are cut if rows of that version are.
    pub(crate) fn decode<'r>(
        &self,
        version: u32,
        rows: impl IntoIterator<Item = &'r [u8]>,
        row_count: usize,
    ) -> Result<Vec<ArrayRef>> {
        let decoded = match &self.cut {
            Some((_, codec)) if version == self.schema.version() => codec.decode(rows)?,
            _ => {
                let all = decode_values(&self.schema, version, rows, row_count)?;
                self.columns.iter().map(|&at| Arc::clone(&all[at])).collect()
            }
        };
        let with_categories = |(place, array)| self.schema.with_column_categories(place, array);
        self.places().zip(decoded).map(with_categories).collect()
    }
}
