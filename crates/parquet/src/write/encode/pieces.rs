//! The pieces of a page as one slice, for encodings that look at neighbours.

use crate::write::physical::Values;

/// Memory in which pieces are joined; a single piece is taken where it is.
#[derive(Debug, Default)]
pub(super) struct Joined<T> {
    words: Vec<T>,
}

impl<T: Copy> Joined<T> {
    /// The words of all pieces; `of` gives those of one.
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
