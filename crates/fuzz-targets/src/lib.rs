//! The checks of the fuzz targets as plain functions: each takes the bytes of one input and panics at a defect.
//!
//! `fuzz/` runs them under libFuzzer with a nightly compiler; `tests/seeds.rs` runs them over `fuzz/seeds` with any.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a target fails by panicking")]

pub mod alp;
pub mod bitpack;
pub mod bloom;
pub mod byte_stream_split;
pub mod bytesearch;
#[cfg(feature = "reader")]
pub mod codec;
pub mod compare;
pub mod delta;
pub mod delta_byte_array;
pub mod delta_length;
pub mod dictionary;
pub mod encode;
pub mod encode_bytes;
#[cfg(feature = "reader")]
mod file;
#[cfg(feature = "reader")]
pub mod iceberg;
pub mod levels;
#[cfg(feature = "reader")]
pub mod page;
pub mod plain_byte_array;
#[cfg(feature = "reader")]
pub mod predicate;
pub mod rle;
pub mod snappy;
pub mod store_open;
pub mod store_operations;
#[cfg(feature = "reader")]
pub mod whole_file;

/// An input of a target: parameters first, then the data to decode.
#[derive(Debug)]
pub(crate) struct Input<'a> {
    bytes: &'a [u8],
}

impl<'a> Input<'a> {
    /// The whole input.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Takes the next byte, zero at the end.
    pub(crate) fn byte(&mut self) -> u8 {
        let Some((&byte, rest)) = self.bytes.split_first() else { return 0 };
        self.bytes = rest;
        byte
    }

    /// Takes the next two bytes as a number.
    pub(crate) fn short(&mut self) -> usize {
        usize::from(self.byte()) | usize::from(self.byte()) << 8
    }

    /// Returns whether everything has been taken.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Takes the next `len` bytes, or all that remain.
    pub(crate) fn take(&mut self, len: usize) -> &'a [u8] {
        let (taken, rest) = self.bytes.split_at(len.min(self.bytes.len()));
        self.bytes = rest;
        taken
    }

    /// The rest, in a separate allocation that ends with the bytes.
    pub(crate) fn rest(self) -> Vec<u8> {
        self.bytes.to_vec()
    }
}

/// Calls `decode` for batches of `batch_len` elements until it returns less than a batch, an error, or `limit` elements
/// in total. Returns all elements and the error.
pub(crate) fn in_batches<T: Copy + Default, E>(
    batch_len: usize,
    limit: usize,
    mut decode: impl FnMut(&mut [T]) -> Result<usize, E>,
) -> (Vec<T>, Option<E>) {
    let mut all = Vec::new();
    let mut batch = vec![T::default(); batch_len.clamp(1, limit.max(1))];
    while all.len() < limit {
        let batch = &mut batch[..batch_len.clamp(1, limit - all.len())];
        match decode(batch) {
            Ok(count) => {
                all.extend_from_slice(&batch[..count]);
                if count < batch.len() {
                    break;
                }
            }
            Err(error) => return (all, Some(error)),
        }
    }
    (all, None)
}

/// Asserts that both decoded the same values, or the same up to an error in one of them.
pub(crate) fn assert_agree<T: PartialEq + std::fmt::Debug, E>(a: (Vec<T>, Option<E>), b: (Vec<T>, Option<E>)) {
    assert_eq!(a.1.is_some(), b.1.is_some(), "one way of decoding fails and the other does not");
    let len = if a.1.is_some() { a.0.len().min(b.0.len()) } else { a.0.len().max(b.0.len()) };
    assert_eq!(a.0.get(..len), b.0.get(..len));
}
