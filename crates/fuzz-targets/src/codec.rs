//! `codec | decompressed length | compressed body`: one data page of bytes, of any codec.

use crate::Input;
use crate::file::{Chunk, read};
use lath_parquet::Strings;
use parquet::basic::Compression;

/// Appends a number in Thrift's compact protocol, in zigzag form.
fn push_int(out: &mut Vec<u8>, value: usize) {
    let mut rest = value << 1;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// The header of a data page of 12-byte values.
fn page_header(len: usize, compressed_len: usize) -> Vec<u8> {
    let mut out = vec![0x15, 0x00, 0x15];
    push_int(&mut out, len);
    out.push(0x15);
    push_int(&mut out, compressed_len);
    // The data page's own header: number of values, PLAIN, levels in RLE.
    out.extend([0x2C, 0x15]);
    push_int(&mut out, len / 12);
    out.extend([0x15, 0x00, 0x15, 0x06, 0x15, 0x06, 0x00, 0x00]);
    out
}

/// Checks one input.
///
/// # Panics
/// If the input is handled wrongly.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let codec = match input.byte() % 7 {
        0 => Compression::SNAPPY,
        1 => Compression::GZIP(Default::default()),
        2 => Compression::BROTLI(Default::default()),
        3 => Compression::ZSTD(Default::default()),
        4 => Compression::LZ4_RAW,
        5 => Compression::LZ4,
        _ => Compression::LZO,
    };
    let len = input.short();
    let body = input.rest();
    let count = (len / 12) as u16;
    // Values of 12 bytes, required.
    let chunk = Chunk { column: 8, codec, row_count: count, value_count: count };
    let mut pages = page_header(len, body.len());
    pages.extend(body);
    read(chunk.file_around(&pages), Strings::Views, 8192);
}
