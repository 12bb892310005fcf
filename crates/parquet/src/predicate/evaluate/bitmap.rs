//! Bitmaps that kernels write.

use arrow_buffer::{BooleanBuffer, Buffer};
use lath_kernels::KernelError;
use lath_kernels::compare::{self, word_count};

use super::super::syntax::Comparison;
use crate::error::Result;

/// A bit for each of `len` values, by a kernel that fills words of 64.
pub(super) fn filled(
    len: usize,
    kernel: impl FnOnce(&mut [u64]) -> std::result::Result<(), KernelError>,
) -> Result<BooleanBuffer> {
    let mut words = vec![0; word_count(len)];
    kernel(&mut words)?;
    Ok(BooleanBuffer::new(Buffer::from_vec(words), 0, len))
}

impl From<Comparison> for compare::Comparison {
    fn from(op: Comparison) -> Self {
        match op {
            Comparison::Equal => Self::Equal,
            Comparison::NotEqual => Self::NotEqual,
            Comparison::Less => Self::Less,
            Comparison::LessOrEqual => Self::LessOrEqual,
            Comparison::Greater => Self::Greater,
            Comparison::GreaterOrEqual => Self::GreaterOrEqual,
        }
    }
}
