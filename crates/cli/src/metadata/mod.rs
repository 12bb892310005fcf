//! Types, statistics and page indexes as text.

pub(crate) mod page_index;
pub(crate) mod parquet_type;
pub(crate) mod statistic;
