//! The layouts that chunks of a footer had so far, and which of them the next one may have.

use super::Layout;

/// In place of the number of a layout: none was made.
pub(crate) const NO_LAYOUT: u16 = u16::MAX;

/// Layouts on the way from the first one that a chunk is compared with. Each agrees with the chunk farther than the one before.
const ATTEMPTS: usize = 16;

/// Guesses on the way from the layout that was expected, before the way from the root.
const GUESSES: usize = 4;

/// Guesses that are kept.
const GUESS_SLOTS: usize = 1024;

/// Chunks that are walked over before a layout is made. Making one costs as much as walking over eight, which a file of few
/// chunks does not get back.
const FIRST_LAYOUT: u64 = 32;

/// What making a layout has to have been worth: so many chunks that had one, for each layout made. A footer whose chunks
/// are all different pays for few layouts, and the memory of layouts is a fraction of that of the chunks.
const MATCHES_PER_LAYOUT: u64 = 8;
/// Layouts that are made without having been worth it yet.
const FREE_LAYOUTS: u64 = 64;

/// A layout, and others to go on with: where a chunk first differs from this one, and by which byte, tells which.
///
/// So the layouts are a tree, whose root is the first one.
#[derive(Debug)]
struct Known {
    layout: Layout,
    /// In order of place and byte.
    others: Vec<(u32, u8, u16)>,
    /// The one that the chunk behind the last one of this layout had.
    next: u16,
}

#[derive(Debug, Default)]
pub(crate) struct Layouts {
    known: Vec<Known>,
    /// The one that fitted last.
    last: u16,
    /// By [`slot`]: the layout that the last chunk had which differed there. Two may share a place; whether a guess fits is
    /// always seen.
    guesses: Vec<u16>,
    /// The layout that the last chunk was compared with in the end, and where it differs; nothing goes on from there.
    end: Option<(u16, u32, u8)>,
    walked: u64,
    matched: u64,
}

impl Layouts {
    /// The number of the layout that the chunk at the start of `bytes` has, and the chunk's length; `None` if it is not found.
    /// `expected` is tried first or, without it, the layout that followed the last one before.
    #[inline]
    pub(crate) fn find(&mut self, bytes: &[u8], expected: u16) -> Option<(u16, usize)> {
        let expected = if expected == NO_LAYOUT { self.known.get(usize::from(self.last))?.next } else { expected };
        if let Some(layout) = self.get(expected)
            && layout.fits(bytes)
        {
            let len = layout.len();
            self.matched += 1;
            self.last = expected;
            return Some((expected, len));
        }
        let found = self.find_by_guesses(bytes, expected);
        if let Some((number, _)) = found {
            self.matched += 1;
            self.follow(number);
        }
        found
    }

    /// Bounds of other lengths are the most frequent difference between chunks of a column. Each guess mends one of them.
    fn find_by_guesses(&mut self, bytes: &[u8], expected: u16) -> Option<(u16, usize)> {
        let mut number = expected;
        let mut slots = [0; GUESSES];
        for kept in &mut slots {
            let difference = self.get(number).and_then(|layout| layout.first_difference(bytes));
            let Some((at, byte)) = difference else { return self.find_from_root(bytes) };
            *kept = slot(number, at, byte);
            number = self.guesses.get(*kept).copied().unwrap_or(0);
            if let Some(layout) = self.get(number)
                && layout.fits(bytes)
            {
                return Some((number, layout.len()));
            }
        }
        let (number, len) = self.find_from_root(bytes)?;
        for slot in slots {
            if let Some(guess) = self.guesses.get_mut(slot) {
                *guess = number;
            }
        }
        Some((number, len))
    }

    fn find_from_root(&mut self, bytes: &[u8]) -> Option<(u16, usize)> {
        self.end = None;
        let mut number = 0;
        for _ in 0..ATTEMPTS {
            let Known { layout, others, .. } = self.known.get(usize::from(number))?;
            if layout.fits(bytes) {
                return Some((number, layout.len()));
            }
            // There is none if the layout is longer than what is left of the footer.
            let (at, byte) = layout.first_difference(bytes)?;
            let Ok(other) = others.binary_search_by_key(&(at, byte), |&(at, byte, _)| (at, byte)) else {
                self.end = Some((number, at, byte));
                return None;
            };
            number = others[other].2;
        }
        None
    }

    /// Notes that a chunk with the layout `number` comes behind the last one.
    fn follow(&mut self, number: u16) {
        if let Some(last) = self.known.get_mut(usize::from(self.last)) {
            last.next = number;
        }
        self.last = number;
    }

    /// Makes a layout of `chunk`, for which none was found, if that promises to be worth it; gives its number or [`NO_LAYOUT`].
    pub(crate) fn learn(&mut self, chunk: &[u8]) -> u16 {
        self.walked += 1;
        let made = self.known.len() as u64;
        if self.walked < FIRST_LAYOUT || made > FREE_LAYOUTS + self.matched / MATCHES_PER_LAYOUT {
            return NO_LAYOUT;
        }
        let end = self.end.take();
        let Some(number) = u16::try_from(self.known.len()).ok().filter(|&number| number != NO_LAYOUT) else {
            return NO_LAYOUT;
        };
        if number > 0 && end.is_none() {
            // It could not be found again.
            return NO_LAYOUT;
        }
        let Some(layout) = Layout::of(chunk) else { return NO_LAYOUT };
        self.guesses.resize(GUESS_SLOTS, 0);
        self.known.push(Known { layout, others: Vec::new(), next: number });
        if let Some((before, at, byte)) = end
            && let Some(Known { others, .. }) = self.known.get_mut(usize::from(before))
        {
            let place = others.partition_point(|&(other_at, other_byte, _)| (other_at, other_byte) < (at, byte));
            others.insert(place, (at, byte, number));
        }
        self.follow(number);
        number
    }

    #[inline]
    pub(crate) fn get(&self, number: u16) -> Option<&Layout> {
        self.known.get(usize::from(number)).map(|known| &known.layout)
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let spare = (self.known.capacity() - self.known.len()) * size_of::<Known>();
        let known = |known: &Known| known.layout.memory_bytes() + known.others.capacity() * size_of::<(u32, u8, u16)>();
        self.known.iter().map(known).sum::<usize>() + spare + self.guesses.capacity() * 2
    }
}

fn slot(number: u16, at: u32, byte: u8) -> usize {
    let key = u32::from(number) << 20 ^ at << 8 ^ u32::from(byte);
    (key.wrapping_mul(0x9e37_79b1) >> 22) as usize % GUESS_SLOTS
}
