//! ALP: encodes decimal numbers of FLOAT and DOUBLE columns as integers.
//!
//! The pairs of exponent and factor for vectors are found on the first page of a chunk, and again on a page that they do not
//! suit. Finding them takes as long as encoding two or three pages; testing them on a part of a page takes a third of the time of
//! encoding one.

use lath_kernels::alp::{self, Candidates, Float};
use lath_parquet::Result;

use super::not_encoded;
use super::pieces::{self, JoinedPieces};
use crate::physical::Values;

/// Number of values from the middle of each page on which the pairs are tested.
const TESTED: usize = 1_024;
/// Pairs suit a page if these values take at most this multiple of their size with the page's best pairs.
const SUITABLE: f64 = 1.125;

/// The pairs in use, kept from page to page of a chunk.
#[derive(Debug, Default)]
pub(super) struct Alp {
    floats: Option<Candidates<f32>>,
    doubles: Option<Candidates<f64>>,
}

impl Alp {
    /// Maximum encoded size of the values.
    pub(super) fn max_len(pieces: &[Values]) -> usize {
        let count = pieces.iter().map(Values::len).sum();
        match pieces.first() {
            Some(Values::Words64(_)) => alp::max_encoded_len::<f64>(count),
            _ => alp::max_encoded_len::<f32>(count),
        }
    }

    /// Encodes a page of FLOAT or DOUBLE.
    pub(super) fn encode(
        &mut self,
        pieces: &[Values],
        words32: &mut JoinedPieces<u32>,
        words64: &mut JoinedPieces<u64>,
        out: &mut [u8],
    ) -> Result<usize> {
        // A page without values is the same for both types.
        if let Some(words) = words32.join(pieces, pieces::words32) {
            encode(bytemuck::cast_slice(words), &mut self.floats, out)
        } else if let Some(words) = words64.join(pieces, pieces::words64) {
            encode(bytemuck::cast_slice(words), &mut self.doubles, out)
        } else {
            Err(not_encoded("ALP"))
        }
    }
}

fn encode<T: Float>(values: &[T], kept: &mut Option<Candidates<T>>, out: &mut [u8]) -> Result<usize> {
    let candidates = match kept {
        Some(candidates) if suit(candidates, values) => *candidates,
        _ => Candidates::find(values),
    };
    if !values.is_empty() {
        *kept = Some(candidates);
    }
    Ok(alp::encode(values, &candidates, out)?)
}

/// Whether pairs that were found on another page suit this one.
fn suit<T: Float>(candidates: &Candidates<T>, values: &[T]) -> bool {
    let start = values.len().saturating_sub(TESTED) / 2;
    let tested = &values[start..values.len().min(start + TESTED)];
    let own = alp::estimate_len(tested, &Candidates::find(tested));
    alp::estimate_len(tested, candidates) as f64 <= SUITABLE * own as f64
}
