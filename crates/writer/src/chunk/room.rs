//! Cuts entries of a batch to the size of a page.

use lath_kernels::select;
use lath_parquet::Result;

use crate::physical::Values;
use crate::stripe::StripedLeaf;

/// Entries of a batch for one page.
#[derive(Debug, Clone, Copy)]
pub(super) struct EntrySpan {
    pub(super) entries: usize,
    pub(super) rows: usize,
    pub(super) values: usize,
}

/// Space left in a page.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    pub(super) rows: usize,
    /// Bytes of values, as counted against the page.
    pub(super) bytes: usize,
    /// Whether the page has no entries yet.
    pub(super) is_empty: bool,
    /// Maximum definition level of the column.
    pub(super) max_def_level: u8,
}

impl Room {
    /// The entries from `entry` on, whose first value is `value`, that fit into the page: whole rows, at least one if the page is
    /// empty.
    pub(super) fn fit(&self, striped: &StripedLeaf, values: &Values, entry: usize, value: usize) -> Result<EntrySpan> {
        let &Self { rows: rows_left, bytes: bytes_left, is_empty, max_def_level } = self;
        let entry_count = striped.entry_count();
        let values_left = values.len() - value;
        let Some(rep_levels) = &striped.rep_levels else {
            let mut rows = rows_left.min(entry_count - entry);
            let Some(present) = striped.present.as_ref().filter(|present| present.null_count() > 0) else {
                rows = values.fitting(value, rows.min(values_left), bytes_left).max(usize::from(is_empty));
                return Ok(EntrySpan { entries: rows, rows, values: rows });
            };
            // There are at most as many values as rows; if the fitting values leave space, another span follows.
            let fitting = values.fitting(value, rows.min(values_left), bytes_left);
            let selection = present.inner();
            let count_in = |rows| select::count_ones(selection.values(), selection.offset() + entry, rows);
            if count_in(rows)? > fitting {
                rows = rows.min(fitting).max(usize::from(is_empty));
            }
            return Ok(EntrySpan { entries: rows, rows, values: count_in(rows)? });
        };
        let fitting = values.fitting(value, values_left, bytes_left);
        let def_levels = striped.def_levels.as_deref();
        let mut span = EntrySpan { entries: 0, rows: 0, values: 0 };
        let (mut rows, mut count) = (0, 0);
        for at in entry..entry_count {
            if rep_levels[at] == 0 {
                if rows > 0 && (count <= fitting || (is_empty && span.rows == 0)) {
                    span = EntrySpan { entries: at - entry, rows, values: count };
                }
                if rows >= rows_left || count > fitting {
                    return Ok(span);
                }
                rows += 1;
            }
            count += usize::from(def_levels.is_none_or(|levels| levels[at] == max_def_level));
        }
        if count <= fitting || (is_empty && span.rows == 0) {
            span = EntrySpan { entries: entry_count - entry, rows, values: count };
        }
        Ok(span)
    }
}
