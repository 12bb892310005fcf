use std::panic::{AssertUnwindSafe, catch_unwind};

use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};

use super::{LARGE_PAGE_BYTES, check_room};
use crate::error::{Error, Result};

/// Memory allocated for output before the input has produced that much.
const FIRST_STEP_BYTES: usize = 256 << 10;

/// Brotli. Its output has no useful bound, so that memory grows with the decompressed bytes.
///
/// <https://www.rfc-editor.org/rfc/rfc7932>
#[derive(Debug)]
pub(crate) struct Decoder;

impl Decoder {
    #[expect(clippy::unused_self, reason = "a codec is called as the others are")]
    pub(super) fn decompress(&self, src: &[u8], dst: &mut Vec<u8>, len: usize) -> Result<usize> {
        // The decoder is safe Rust that indexes by values from the stream; a malformed stream that its checks miss panics. Only
        // `dst` outlives the panic, and its contents are undefined after an error.
        catch_unwind(AssertUnwindSafe(|| decompress(src, dst, len)))
            .unwrap_or_else(|_| Err(Error::corrupt("Brotli: malformed stream")))
    }
}

fn decompress(src: &[u8], dst: &mut Vec<u8>, len: usize) -> Result<usize> {
    // Strict: without the format extension's windows of up to 1 GiB.
    let mut state =
        BrotliState::new_strict(StandardAlloc::default(), StandardAlloc::default(), StandardAlloc::default());
    let (mut read, mut src_left) = (0, src.len());
    let (mut written, mut total) = (0, 0);
    if dst.is_empty() {
        dst.resize(len.min(FIRST_STEP_BYTES), 0);
    }
    loop {
        let mut dst_left = dst.len().min(len) - written;
        let end = written + dst_left;
        let result = BrotliDecompressStream(
            &mut src_left,
            &mut read,
            src,
            &mut dst_left,
            &mut written,
            &mut dst[..end],
            &mut total,
            &mut state,
        );
        match result {
            BrotliResult::ResultSuccess => return Ok(written),
            BrotliResult::NeedsMoreOutput if dst.len() < len => {
                let next = len.min(2 * dst.len());
                if next > LARGE_PAGE_BYTES / 2 {
                    check_room(len)?;
                }
                dst.resize(next, 0);
            }
            BrotliResult::NeedsMoreOutput => return Err(Error::corrupt("Brotli: more data than the page header says")),
            BrotliResult::NeedsMoreInput => return Err(Error::corrupt("Brotli: data ends within the stream")),
            BrotliResult::ResultFailure => return Err(Error::corrupt("Brotli: malformed stream")),
        }
    }
}
