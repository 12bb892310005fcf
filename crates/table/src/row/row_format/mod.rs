//! Reads Arrow's row format without its converter.

pub(super) mod one_row;
pub(super) mod row_columns;
