//! The layouts that chunks of a footer had so far, and which of them the next one may have.

use super::Layout;

/// In place of the number of a layout: none was made.
pub(crate) const NO_LAYOUT: u16 = u16::MAX;

/// Layouts that the next chunk is compared with.
const RECENT: usize = 8;

/// Chunks that are walked over before a layout is made. Making one costs as much as walking over eight, which a file of few
/// chunks does not get back.
const FIRST_LAYOUT: u64 = 32;

/// What making a layout has to have been worth: so many chunks that had one, for each layout made. A footer whose chunks
/// are all different pays for few layouts, and the memory of layouts is a fraction of that of the chunks.
const MATCHES_PER_LAYOUT: u64 = 8;
/// Layouts that are made without having been worth it yet.
const FREE_LAYOUTS: u64 = 64;

#[derive(Debug, Default)]
pub(crate) struct Layouts {
    known: Vec<Layout>,
    /// The last ones that fit, the latest first.
    recent: Vec<u16>,
    walked: u64,
    matched: u64,
}

impl Layouts {
    /// The number of the layout that the chunk at the start of `bytes` has, and the chunk's length; `None` if none of those
    /// that are tried fits. `expected` is tried first.
    #[inline]
    pub(crate) fn find(&mut self, bytes: &[u8], expected: u16) -> Option<(u16, usize)> {
        if let Some(layout) = self.get(expected)
            && layout.fits(bytes)
        {
            let len = layout.len();
            self.matched += 1;
            return Some((expected, len));
        }
        self.find_recent(bytes, expected)
    }

    fn find_recent(&mut self, bytes: &[u8], tried: u16) -> Option<(u16, usize)> {
        for position in 0..self.recent.len() {
            let number = self.recent[position];
            if number != tried
                && let Some(layout) = self.get(number)
                && layout.fits(bytes)
            {
                let len = layout.len();
                self.recent[..=position].rotate_right(1);
                self.matched += 1;
                return Some((number, len));
            }
        }
        None
    }

    /// Makes a layout of `chunk`, which none fits, if that promises to be worth it; gives its number or [`NO_LAYOUT`].
    pub(crate) fn learn(&mut self, chunk: &[u8]) -> u16 {
        self.walked += 1;
        let made = self.known.len() as u64;
        if self.walked < FIRST_LAYOUT || made > FREE_LAYOUTS + self.matched / MATCHES_PER_LAYOUT {
            return NO_LAYOUT;
        }
        let Some(number) = u16::try_from(self.known.len()).ok().filter(|&number| number != NO_LAYOUT) else {
            return NO_LAYOUT;
        };
        let Some(layout) = Layout::of(chunk) else { return NO_LAYOUT };
        self.known.push(layout);
        self.recent.truncate(RECENT - 1);
        self.recent.insert(0, number);
        number
    }

    #[inline]
    pub(crate) fn get(&self, number: u16) -> Option<&Layout> {
        self.known.get(usize::from(number))
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let spare = (self.known.capacity() - self.known.len()) * size_of::<Layout>();
        self.known.iter().map(Layout::memory_bytes).sum::<usize>() + spare + self.recent.capacity() * 2
    }
}
