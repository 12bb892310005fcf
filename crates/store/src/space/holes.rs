//! The holes of the current region by length: each request takes the smallest hole that fits.

/// The holes at the time when the region was listed, less the units taken from here since. Other allocations in the
/// region make entries stale, so the bitmap is checked before a hole is used.
#[derive(Debug)]
pub(super) struct Holes {
    /// The number of the region.
    pub(super) region: usize,
    /// `exact[n]`: first units, within the region, of the holes of n units.
    exact: [Vec<u16>; LONG as usize],
    /// A bit for each list of `exact` that is not empty.
    filled: u64,
    /// First unit and length of longer holes.
    long: Vec<(u16, u16)>,
}

/// Holes of at least this many units are kept in one list.
const LONG: u32 = 64;

impl Holes {
    pub(super) fn new() -> Self {
        Self { region: 0, exact: std::array::from_fn(|_| Vec::new()), filled: 0, long: Vec::new() }
    }

    pub(super) fn clear(&mut self) {
        self.filled = 0;
        self.exact.iter_mut().for_each(Vec::clear);
        self.long.clear();
    }

    #[inline]
    pub(super) fn add(&mut self, start: u32, len: u32) {
        if len < LONG {
            self.exact[len as usize].push(start as u16);
            self.filled |= 1 << len;
        } else {
            self.long.push((start as u16, (len - 1) as u16));
        }
    }

    /// Takes `units` from the smallest hole that has them, and returns their first unit within the region.
    #[inline]
    pub(super) fn take(&mut self, units: u32) -> Option<u32> {
        if units < LONG {
            let fitting = self.filled & (u64::MAX << units);
            if fitting != 0 {
                let len = fitting.trailing_zeros();
                let bin = &mut self.exact[len as usize];
                let start = u32::from(bin.pop()?);
                if bin.is_empty() {
                    self.filled &= !(1 << len);
                }
                if len > units {
                    self.add(start + units, len - units);
                }
                return Some(start);
            }
        }
        self.take_long(units)
    }

    /// The first unit that [`take`](Self::take) would probably return for fewer units than `LONG`.
    #[inline]
    pub(super) fn peek(&self, units: u32) -> Option<u32> {
        debug_assert!(units < LONG, "only short holes are told easily");
        let fitting = self.filled & (u64::MAX << units);
        match fitting {
            0 => self.long.last().map(|&(start, _)| start.into()),
            _ => self.exact[fitting.trailing_zeros() as usize].last().map(|&start| start.into()),
        }
    }

    fn take_long(&mut self, units: u32) -> Option<u32> {
        // The last hole first: the rest of a partly used hole is there, so a run is used up before the next.
        let at = self.long.iter().rposition(|&(_, last)| u32::from(last) + 1 >= units)?;
        let (start, last) = self.long.swap_remove(at);
        let left = u32::from(last) + 1 - units;
        if left > 0 {
            self.add(u32::from(start) + units, left);
        }
        Some(start.into())
    }
}
