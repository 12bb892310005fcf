//! Commands that look for rows and summarize them.

pub(in crate::commands) mod count;
#[cfg(feature = "sql")]
mod count_by;
#[cfg(feature = "sql")]
pub(in crate::commands) mod describe;
pub(in crate::commands) mod find;
#[cfg(feature = "sql")]
mod find_ordered;
