//! Chooses the state of each sector after a crash, among the states that it went through.

use fastrand::Rng;

/// The way in which a crash chooses, for all sectors of a file. Plain cases come often, because real disks produce
/// them.
#[derive(Debug, Clone, Copy)]
pub(super) enum Choice {
    /// Nothing was written since the sync.
    Oldest,
    /// Everything was written.
    Newest,
    /// The first part of the writes, in the order of the file or of time, as a fraction of the whole.
    Prefix(f64),
    /// Each sector by itself: with this probability the newest, otherwise any.
    Each(f64),
}

impl Choice {
    pub(super) fn new(random: &mut Rng) -> Self {
        match random.u8(..8) {
            0 => Self::Oldest,
            1 => Self::Newest,
            2 | 3 => Self::Prefix(random.f64()),
            // Few sectors missing, or few present: these find a forgotten sync.
            4 => Self::Each(0.97),
            5 => Self::Each(0.0),
            _ => Self::Each(random.f64()),
        }
    }

    /// Chooses one of `states` states, the oldest being 0, for a write or sector at this `place` (0 to 1).
    pub(super) fn state(self, random: &mut Rng, states: usize, place: f64) -> usize {
        match self {
            Self::Oldest => 0,
            Self::Newest => states - 1,
            Self::Prefix(part) => {
                if place < part {
                    states - 1
                } else {
                    0
                }
            }
            Self::Each(newest) => {
                if random.f64() < newest {
                    states - 1
                } else {
                    random.usize(..states)
                }
            }
        }
    }
}
