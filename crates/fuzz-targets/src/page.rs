//! `column | rows | values | pages`: a column chunk with its page headers, uncompressed, of any type and shape.

use crate::Input;
use crate::file::{Chunk, read};
use lath_parquet::Strings;
use parquet::basic::Compression;

/// Checks one input.
///
/// # Panics
/// If the input is handled wrongly.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let column = input.byte();
    let (row_count, value_count) = (input.short() as u16, input.short() as u16);
    let chunk = Chunk { column, codec: Compression::UNCOMPRESSED, row_count, value_count };
    let file = chunk.file_around(&input.rest());
    read(file.clone(), Strings::Views, 8192);
    read(file, Strings::Offsets, 50);
}
