//! `column | rows | values | pages`: a column chunk with its page headers, uncompressed, of any type and shape.
#![no_main]

use lath_fuzz::Input;
use lath_fuzz::file::{Chunk, read};
use lath_parquet::Strings;
use libfuzzer_sys::fuzz_target;
use parquet::basic::Compression;

fuzz_target!(|data: &[u8]| {
    let mut input = Input::new(data);
    let column = input.byte();
    let (row_count, value_count) = (input.short() as u16, input.short() as u16);
    let chunk = Chunk { column, codec: Compression::UNCOMPRESSED, row_count, value_count };
    let file = chunk.file_around(&input.rest());
    read(file.clone(), Strings::Views, 8192);
    read(file, Strings::Offsets, 50);
});
