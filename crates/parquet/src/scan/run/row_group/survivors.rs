use std::sync::Arc;

use arrow_array::Int64Array;

use crate::scan::rows::{Mask, Window};

/// Surviving rows of a window.
#[derive(Debug)]
pub(in crate::scan) enum Survivors {
    /// All rows, because no test was needed.
    All(Window),
    Some {
        window: Window,
        kept: Arc<Mask>,
    },
}

impl Survivors {
    pub(in crate::scan) fn window(&self) -> &Window {
        match self {
            Self::All(window) | Self::Some { window, .. } => window,
        }
    }

    /// Number of rows.
    pub(in crate::scan) fn count(&self) -> usize {
        match self {
            Self::All(window) => window.len(),
            Self::Some { kept, .. } => kept.count(),
        }
    }

    /// The first `max_rows` of the rows.
    pub(in crate::scan) fn first(self, max_rows: usize) -> Self {
        match self {
            Self::All(window) => Self::All(window.first(max_rows)),
            Self::Some { window, mut kept } => {
                if kept.count() > max_rows {
                    Arc::make_mut(&mut kept).truncate(max_rows);
                }
                Self::Some { window, kept }
            }
        }
    }

    /// Numbers of the rows within the file, if the row group begins with `first_row`.
    pub(in crate::scan) fn row_numbers(&self, first_row: u64) -> Int64Array {
        let number = |row: u64| (first_row + row).cast_signed();
        match self {
            Self::All(window) => Int64Array::from_iter_values(window.ranges().iter().cloned().flatten().map(number)),
            Self::Some { window, kept } => Int64Array::from_iter_values(window.row_numbers(kept).map(number)),
        }
    }
}
