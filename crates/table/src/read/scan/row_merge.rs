//! Merges the rows of several sources, in the order of keys or of files.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};

use super::current::Current;
use super::row_source::RowSource;
use crate::error::Result;
use crate::row::{ByteList, RowOrder, TableSchema, interleave_rows};
use crate::view::View;

/// Merges sources that have no key in common.
#[derive(Debug)]
pub(crate) struct RowMerge {
    schema: Arc<TableSchema>,
    columns: Vec<usize>,
    /// `None` for the order of keys.
    order: Option<Arc<RowOrder>>,
    sources: Vec<RowSource>,
}

/// Some rows in order.
#[derive(Debug)]
pub(crate) struct MergedRows {
    pub(crate) columns: Vec<ArrayRef>,
    pub(crate) row_count: usize,
    /// The bytes that rows are ordered by: their keys, or the encoded columns of another order.
    pub(crate) keys: ByteList,
}

impl RowMerge {
    /// Merges rows that come in the order of their keys.
    pub(crate) fn by_key(schema: Arc<TableSchema>, columns: Vec<usize>, sources: Vec<RowSource>) -> Self {
        Self { schema, columns, order: None, sources }
    }

    /// Merges rows that come in this order.
    pub(crate) fn in_order(
        schema: Arc<TableSchema>,
        columns: Vec<usize>,
        order: Arc<RowOrder>,
        sources: Vec<RowSource>,
    ) -> Self {
        Self { schema, columns, order: Some(order), sources }
    }

    /// The next rows, at most `max_rows`; none at the end. With `with_keys`, the rows come with the bytes that they are
    /// ordered by.
    pub(crate) fn next(&mut self, view: &mut dyn View, max_rows: usize, with_keys: bool) -> Result<MergedRows> {
        let mut pieces: Vec<Vec<ArrayRef>> = Vec::new();
        let mut order: Vec<(usize, usize)> = Vec::new();
        let mut keys = ByteList::default();
        // For each source, where the batch that it is at is among the pieces.
        let mut piece_of: Vec<Option<usize>> = vec![None; self.sources.len()];
        while order.len() < max_rows {
            let codec = self.order.as_deref().map_or(self.schema.key(), RowOrder::codec);
            for (source, piece) in self.sources.iter_mut().zip(&mut piece_of) {
                if source.is_used_up() {
                    source.fill(view, self.columns.len(), codec)?;
                    *piece = None;
                }
            }
            let Some((first, end)) = self.first_run() else { break };
            let Some(current) = self.sources[first].current_mut() else { break };
            let piece = *piece_of[first].get_or_insert_with(|| {
                pieces.push(current.columns.clone());
                pieces.len() - 1
            });
            let end = end.min(current.at + (max_rows - order.len()));
            for row in current.at..end {
                order.push((piece, row));
                if with_keys {
                    keys.push(current.keys.get(row));
                }
            }
            current.at = end;
        }
        let column = |at: usize| {
            let arrays: Vec<&dyn Array> = pieces.iter().map(|piece| &*piece[at]).collect();
            interleave_rows(&arrays, &order)
        };
        let columns =
            if order.is_empty() { Vec::new() } else { (0..self.columns.len()).map(column).collect::<Result<_>>()? };
        Ok(MergedRows { columns, row_count: order.len(), keys })
    }

    /// The source with the smallest key, and the end of its rows whose keys are below all other sources.
    fn first_run(&self) -> Option<(usize, usize)> {
        let (mut first, mut second): (Option<(usize, &Current)>, Option<&Current>) = (None, None);
        for (at, source) in self.sources.iter().enumerate() {
            let Some(current) = source.current() else { continue };
            match first {
                Some((_, least)) if least.key() <= current.key() => {
                    if second.is_none_or(|second| current.key() < second.key()) {
                        second = Some(current);
                    }
                }
                _ => {
                    second = first.map(|(_, current)| current).or(second);
                    first = Some((at, current));
                }
            }
        }
        let (first, current) = first?;
        let Some(second) = second else { return Some((first, current.len)) };
        let bound = second.key();
        let mut end = current.at + 1;
        while end < current.len && current.keys.get(end) < bound {
            end += 1;
        }
        Some((first, end))
    }
}
