//! Commands that look for rows and summarize them.

#[cfg(feature = "sql")]
mod column_path;
pub(in crate::commands) mod count;
#[cfg(feature = "sql")]
mod count_by;
#[cfg(feature = "sql")]
pub(in crate::commands) mod describe;
pub(in crate::commands) mod find;
#[cfg(feature = "sql")]
mod find_ordered;
#[cfg(feature = "sql")]
pub(in crate::commands) use find_ordered::order_terms;
