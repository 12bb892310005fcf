//! A file: opened and read to its end, and some of its rows by the offset index.

use crate::file::{read, read_some};
use bytes::Bytes;
use lath_parquet::Strings;

/// Checks one input.
///
/// # Panics
/// If the input is handled wrongly.
pub fn run(data: &[u8]) {
    let bytes = Bytes::copy_from_slice(data);
    read(bytes.clone(), Strings::Views, 8192);
    read(bytes.clone(), Strings::Offsets, 50);
    read_some(bytes);
}
