//! Parquet pages decoded by SIMD kernels and assembled into Arrow.

mod codec;
mod crypto;
mod envelope;
mod error;
mod options;
mod page;
mod schema;
mod source;

pub use error::{Error, Location, Result};
pub use options::{Limits, Strings};
pub use schema::Projection;
pub use source::{ByteRanges, LocalFile};
