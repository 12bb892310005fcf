//! Guesses the length of the next file's footer: files of one table have footers of about the same length.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::file::LOCAL_FOOTER_GUESS_BYTES;

/// The largest footer that was read for a dataset. A clone is for another dataset, and starts at 0.
#[derive(Debug, Default)]
pub(super) struct FootersRead {
    /// In bytes; 0 if there is none.
    largest: AtomicU64,
}

impl FootersRead {
    /// Maximum bytes to read if the footer may be shorter.
    const MAX_GUESSED_BYTES: u64 = 64 << 10;

    /// Bytes to read first from the end of the next local file.
    pub(super) fn guess_bytes(&self) -> u64 {
        match self.largest.load(Ordering::Relaxed) {
            0 => LOCAL_FOOTER_GUESS_BYTES,
            // Offsets and counts may have more digits, and strings more letters.
            largest => (largest + largest / 8 + 64).min(Self::MAX_GUESSED_BYTES),
        }
    }

    /// Adds the length of a footer.
    pub(super) fn add(&self, footer_bytes: u64) {
        if footer_bytes > self.largest.load(Ordering::Relaxed) {
            self.largest.fetch_max(footer_bytes, Ordering::Relaxed);
        }
    }
}

impl Clone for FootersRead {
    fn clone(&self) -> Self {
        Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guess_follows_the_largest_footer_within_bounds() {
        let read = FootersRead::default();
        assert_eq!(read.guess_bytes(), LOCAL_FOOTER_GUESS_BYTES);
        for (footer_bytes, guess) in [(800, 964), (1600, 1864), (80, 1864), (1 << 30, 64 << 10)] {
            read.add(footer_bytes);
            assert_eq!(read.guess_bytes(), guess);
        }
        assert_eq!(read.clone().guess_bytes(), LOCAL_FOOTER_GUESS_BYTES);
    }
}
