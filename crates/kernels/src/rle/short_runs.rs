//! Short runs (at most [`SHORT`] values, a header of one byte), decoded without a branch that depends on their kind or
//! length:
//!
//! ```text
//! unpacked   32 values from the end of the header on, masked by the width, or by zero if the run is repeated
//! repeated   32 times the value after the header, or zero if the run is bit-packed
//! out        unpacked | repeated, all 32 stored; then the output moves by the run's length, the input by its bytes
//! ```
//!
//! The next run overwrites values stored past the length. The latency from a header to the next one is about twelve
//! cycles whatever the run is; a mispredicted branch alone costs more.

/// The maximum number of values in a short run.
pub(super) const SHORT: usize = 32;

/// A short run.
pub(super) struct ShortRun {
    /// Number of values.
    length: usize,
    /// Bytes of the header and the payload.
    bytes: usize,
    /// All ones if the run is bit-packed, else zero.
    pub(super) packed_mask: u32,
    /// The repeated value, zero if the run is bit-packed.
    pub(super) value: u32,
}

/// Returns whether the run whose header is at `position` may be short: long ones are not worth loading the constants of
/// a width twice.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(super) fn may_begin(src: &[u8], position: usize) -> bool {
    src.get(position).is_some_and(|&header| run_length(header.into()) <= SHORT)
}

/// The number of values by the first byte of a header: over [`SHORT`] if that is not the last.
#[inline(always)]
fn run_length(header: u64) -> usize {
    (header as usize >> 1) << ((header & 1) * 3)
}

/// Decodes whole runs from `*position` on while they are short, have `window` bytes after their header, and there is
/// room for [`SHORT`] values. `emit` gets each run, those bytes, and the target of its values. Moves `*position`, and
/// returns the number of values.
///
/// Inlined into each tier's function, so that `emit` is inlined too. `width` is not zero.
#[inline(always)]
pub(super) fn take<T>(
    src: &[u8],
    width: u32,
    window: usize,
    position: &mut usize,
    out: &mut [T],
    emit: impl Fn(&ShortRun, &[u8], &mut [T; SHORT]),
) -> usize {
    let value_bytes = width.div_ceil(8) as usize;
    let stored = (1 << (8 * value_bytes)) - 1;
    let window = window.max(8) + 1;
    let (mut at, mut written) = (*position, 0);
    while let Some(bytes) = src.get(at..).and_then(|rest| rest.get(..window))
        && let (Some(&word), Some(payload)) = (bytes.first_chunk(), bytes.get(1..))
        && let Some(block) = out.get_mut(written..).and_then(<[T]>::first_chunk_mut)
    {
        let word = u64::from_le_bytes(word);
        let packed = word & 1;
        let units = (word & 0xff) as usize >> 1;
        let length = run_length(word & 0xff);
        let value = (word >> 8) & stored & packed.wrapping_sub(1);
        // A header of several bytes has a length over 32 in its first byte. Other code rejects a value that is too
        // wide.
        if length > SHORT || value >> width != 0 {
            break;
        }
        let payload_bytes = if packed == 1 { units * width as usize } else { value_bytes };
        let run = ShortRun {
            length,
            bytes: 1 + payload_bytes,
            packed_mask: packed.wrapping_neg() as u32,
            value: value as u32,
        };
        emit(&run, payload, block);
        written += run.length;
        at += run.bytes;
    }
    *position = at;
    written
}
