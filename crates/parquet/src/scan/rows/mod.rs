//! The rows of a row group as sets: selections, windows, bit masks.

mod mask;
mod selection;
mod truth;
mod window;

pub(in crate::scan) use mask::Mask;
pub use selection::RowSelection;
pub(in crate::scan) use selection::{RowGroupRows, split_selection};
pub(in crate::scan) use truth::Truth;
pub(in crate::scan) use window::{DecodeRanges, Window, Windows};
