//! The layouts of the chunks of a footer so far, and a prediction of the next chunk's layout.

use super::Layout;

/// The number of the layout of a chunk without one.
pub(crate) const NO_LAYOUT: u16 = u16::MAX;

/// The maximum number of layouts with which a chunk is compared, starting at the root. Each agrees with more of the chunk than the one before.
const ATTEMPTS: usize = 16;

/// The maximum number of guesses after the expected layout, before starting at the root.
const GUESSES: usize = 4;

/// The number of guesses that are kept.
const GUESS_SLOTS: usize = 1024;

/// The number of chunks that are walked over before a layout is made. Making one costs as much as walking over eight, which does not pay in a
/// file of few chunks.
const FIRST_LAYOUT: u64 = 32;

/// The minimum number of chunks with a layout for each layout made. With it, a footer of entirely different chunks makes few layouts, and layouts
/// take a fraction of the memory of the chunks.
const MATCHES_PER_LAYOUT: u64 = 8;
/// The number of layouts that are made before that minimum applies.
const FREE_LAYOUTS: u64 = 64;

/// A layout, and the layouts to try next, by the place and byte of a chunk's first difference from this one.
///
/// The layouts form a tree, whose root is the first one.
#[derive(Debug)]
struct LayoutNode {
    layout: Layout,
    /// Sorted by place and byte.
    others: Vec<(u32, u8, u16)>,
    /// The layout of the chunk after the last one with this layout.
    next: u16,
}

#[derive(Debug, Default)]
pub(crate) struct Layouts {
    known: Vec<LayoutNode>,
    /// The last matching layout.
    last: u16,
    /// By [`slot`]: the layout of the last chunk that differed there. Two differences can share a slot, so guesses are always checked.
    guesses: Vec<u16>,
    /// The last layout with which the last chunk was compared, and the place of the difference, for which there is no next layout.
    end: Option<(u16, u32, u8)>,
    walked: u64,
    matched: u64,
}

impl Layouts {
    /// Finds the layout of the chunk at the start of `bytes`; returns its number and the chunk's length. Tries `expected` first or, if there is
    /// none, the layout that followed the last one before.
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

    /// Bounds of other lengths are the most frequent difference between chunks of a column. Each guess corrects one of them.
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
            let LayoutNode { layout, others, .. } = self.known.get(usize::from(number))?;
            if layout.fits(bytes) {
                return Some((number, layout.len()));
            }
            // There is no byte if the layout is longer than the rest of the footer.
            let (at, byte) = layout.first_difference(bytes)?;
            let Ok(other) = others.binary_search_by_key(&(at, byte), |&(at, byte, _)| (at, byte)) else {
                self.end = Some((number, at, byte));
                return None;
            };
            number = others[other].2;
        }
        None
    }

    /// Records that a chunk with the layout `number` follows the last one.
    fn follow(&mut self, number: u16) {
        if let Some(last) = self.known.get_mut(usize::from(self.last)) {
            last.next = number;
        }
        self.last = number;
    }

    /// Makes a layout of `chunk`, for which none was found, if that is likely to pay; returns its number or [`NO_LAYOUT`].
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
            // Such a layout could not be found again.
            return NO_LAYOUT;
        }
        let Some(layout) = Layout::of(chunk) else { return NO_LAYOUT };
        self.guesses.resize(GUESS_SLOTS, 0);
        self.known.push(LayoutNode { layout, others: Vec::new(), next: number });
        if let Some((before, at, byte)) = end
            && let Some(LayoutNode { others, .. }) = self.known.get_mut(usize::from(before))
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
        let spare = (self.known.capacity() - self.known.len()) * size_of::<LayoutNode>();
        let known =
            |known: &LayoutNode| known.layout.memory_bytes() + known.others.capacity() * size_of::<(u32, u8, u16)>();
        self.known.iter().map(known).sum::<usize>() + spare + self.guesses.capacity() * 2
    }
}

fn slot(number: u16, at: u32, byte: u8) -> usize {
    let key = u32::from(number) << 20 ^ at << 8 ^ u32::from(byte);
    (key.wrapping_mul(0x9e37_79b1) >> 22) as usize % GUESS_SLOTS
}
