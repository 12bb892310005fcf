//! Which of the states that a sector went through a crash leaves.

use fastrand::Rng;

/// How a crash chooses, for all sectors of a file. Plain cases come often, because they are what real disks do.
#[derive(Debug, Clone, Copy)]
pub(super) enum Choice {
    /// Nothing was written since the sync.
    Oldest,
    /// All was written.
    Newest,
    /// What was first in the order of the file or of time was written, up to this part of the whole.
    Prefix(f64),
    /// Each sector by itself; with this chance it is the newest, otherwise any.
    Each(f64),
}

impl Choice {
    pub(super) fn new(random: &mut Rng) -> Self {
        match random.u8(..8) {
            0 => Self::Oldest,
            1 => Self::Newest,
            2 | 3 => Self::Prefix(random.f64()),
            // Few sectors missing, or few sectors there, is what finds a forgotten sync.
            4 => Self::Each(0.97),
            5 => Self::Each(0.0),
            _ => Self::Each(random.f64()),
        }
    }

    /// Which of `states` states, the oldest being 0, something is left in that lies at this `place` (0 to 1).
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
