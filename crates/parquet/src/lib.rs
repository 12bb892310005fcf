//! Parquet pages decoded by SIMD kernels and assembled into Arrow.

mod envelope;
mod error;
mod options;
mod schema;

pub use error::{Error, Location, Result};
pub use options::{Limits, Strings};
pub use schema::Projection;
