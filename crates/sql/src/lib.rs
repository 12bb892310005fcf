//! SQL over Parquet: [DataFusion](https://datafusion.apache.org) plans and runs queries, Lath scans the files.
//!
//! A [`Dataset`](lath_parquet::Dataset) becomes a table by [`LathTable`]. Conditions are pushed down to the scan if Lath evaluates them as
//! SQL does. So are dynamic filters: the keys of a join's other side and the bound of `ORDER BY … LIMIT` rule out row groups by statistics,
//! Bloom filters and page indexes, and rows by Lath's comparisons.
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

mod bind;
mod blocking;
mod calendar;
mod captures;
mod change;
mod computed;
mod definition;
mod dialect;
mod effect;
mod error;
mod explain;
mod files;
mod functions;
mod grammar;
mod join_order;
mod json;
mod keyed;
mod local_path;
mod macros;
mod memory;
mod names;
mod prepared;
mod program;
mod progress;
mod refusal;
#[cfg(feature = "remote")]
pub mod remote;
mod reshape;
mod rewrite;
mod scan;
mod select_columns;
mod session;
mod shared_plan;
mod sharing;
mod statement;
mod stop;
mod syntax;
mod table_opening;
mod text;
mod transaction;
mod with_queries;
mod write;

pub use blocking::{Answer, BlockingSession};
pub use error::{Error, Result};
pub use files::LathTable;
pub use files::SomeColumns;
pub use files::{CatalogTable, keyed_snapshot, keyed_table, lake_table};
pub use program::{ProgramStatement, StatementPlan, StatementRows};
pub use progress::QueryProgress;
pub use session::{Session, SessionBuilder, WrapPlanner};
pub use statement::split_statements;
pub use stop::Stop;
pub use text::Mistake;
