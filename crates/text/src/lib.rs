//! Files of CSV and JSON lines as Arrow batches, compressed or not, and Arrow batches as such files.
//!
//! Types are inferred that lose nothing: `01234` stays text, and a number keeps its digits. The command, the SQL engine and the packages for
//! Python all read text by this crate, so that a file has the same columns and rows in each.
//!
//! ```
//! use lath_text::{TextFile, TextFormat, TextOptions};
//!
//! # let folder = tempfile::tempdir()?;
//! let path = folder.path().join("stations.csv");
//! std::fs::write(&path, "code;height\n007;1.5\n")?;
//! let rows = TextFile::open(&path)?.read(TextFormat::Csv, &TextOptions::default(), 1024, None)?;
//! let types: Vec<String> = rows.schema.fields().iter().map(|field| field.data_type().to_string()).collect();
//! assert_eq!(types, ["Utf8", "Float64"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod compression;
mod csv;
mod date_time_format;
mod error;
mod file;
mod format;
mod hexadecimal;
mod json;
mod options;
mod origin;
mod read;
mod write;

pub use compression::Bytes;
pub use date_time_format::DateTimeFormat;
pub use error::{Error, Result, Setting};
pub use file::{TextFile, TextRows};
pub use format::{Compression, TextFormat};
pub use options::TextOptions;
pub use origin::{InferRows, Origin};
pub use write::{
    CellFormatter, CsvWriteOptions, TextWriteOptions, TextWriter, UTC, encoder_options, in_utc, is_uuid, is_variant,
    json_writer, variant_texts,
};
