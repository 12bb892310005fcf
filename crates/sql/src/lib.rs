//! SQL over Parquet: [DataFusion](https://datafusion.apache.org) plans and runs queries, Lath scans the files.
//!
//! A [`Dataset`](lath_parquet::Dataset) becomes a table by [`LathTable`]. Conditions go into the scan where Lath answers them as SQL
//! does, those that a query finds out while it runs too: the keys of a join's other side and the bound of `ORDER BY … LIMIT` rule out
//! row groups by statistics, Bloom filters and page indexes, and rows by Lath's comparisons.
//!
//! ```
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! use lath_sql::Session;
//!
//! let session = Session::new();
//! let answer = session.sql("SELECT 6 * 7 AS answer").await?.collect().await?;
//! assert_eq!(answer[0].num_rows(), 1);
//! # Ok::<(), datafusion::error::DataFusionError>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod blocking;
mod boxed;
mod caret;
mod catalog_table;
mod change;
mod declared_order;
mod definition;
mod dialect;
mod effect;
mod error;
mod explain;
mod external;
mod field_projection;
mod grammar;
mod join_order;
mod json_table;
mod keyed;
mod lines;
mod literal;
mod local_path;
mod location;
mod memory;
mod metrics;
mod mistake;
mod names;
mod narrow;
mod progress;
mod pushdown;
mod read_parquet;
mod refusal;
mod rewrite;
mod row_files;
mod running_filters;
mod selectivity;
mod session;
mod some_columns;
mod source;
mod statement;
mod statistics;
mod stop;
mod stream;
mod table;
mod translate;
mod value_lists;
mod write;

pub use blocking::{Answer, BlockingSession};
pub use catalog_table::{CatalogTable, keyed_table};
pub use error::{Error, Result};
pub use mistake::Mistake;
pub use progress::QueryProgress;
pub use row_files::{FileRows, ReadError, RowReader};
pub use session::{Session, SessionBuilder};
pub use some_columns::SomeColumns;
pub use statement::split_statements;
pub use stop::Stop;
pub use table::LathTable;
