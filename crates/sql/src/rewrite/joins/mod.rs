//! Rewrites joins by nullable keys, set operations, and comparisons of rows.

mod multisets;
mod null_safe_joins;
pub(crate) mod row_subqueries;
pub(crate) mod rows;

pub(crate) use self::multisets::Multisets;
pub(crate) use self::null_safe_joins::null_safe_rules;
pub(crate) use self::rows::{combined, negated, pair};
