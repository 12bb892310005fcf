//! Joins the pieces of a page to one slice, for encodings that look at neighbouring values.

use crate::physical::Values;

/// Memory for joined pieces; a single piece is used in place.
#[derive(Debug, Default)]
pub(super) struct JoinedPieces<T> {
    words: Vec<T>,
}

impl<T: Copy> JoinedPieces<T> {
    /// The words of all pieces; `of` returns the words of one piece.
    pub(super) fn join<'a>(
        &'a mut self,
        pieces: &'a [Values],
        of: impl Fn(&Values) -> Option<&[T]>,
    ) -> Option<&'a [T]> {
        if let [piece] = pieces {
            return of(piece);
        }
        self.words.clear();
        for piece in pieces {
            self.words.extend_from_slice(of(piece)?);
        }
        Some(&self.words)
    }
}

pub(super) fn words32(values: &Values) -> Option<&[u32]> {
    match values {
        Values::Words32(words) => Some(words),
        _ => None,
    }
}

pub(super) fn words64(values: &Values) -> Option<&[u64]> {
    match values {
        Values::Words64(words) => Some(words),
        _ => None,
    }
}
