//! Changes of tables without a primary key, whose rows have numbers as keys.

mod numbers;
mod target;

pub(super) use self::numbers::RowNumbers;
pub(crate) use self::target::adapt_row_target;
