//! The levels of entries below a list.

use super::definition::{Definition, LIVE};

/// The entries that contain the slots below a list.
#[derive(Debug, Clone)]
pub(super) struct Entries {
    rep_levels: Vec<u8>,
    /// Definition level of each entry that ended higher up, [`LIVE`] for slots; `None` if all are slots.
    ended: Option<Vec<u8>>,
}

impl Entries {
    /// Expands each slot to the elements of its list. An empty list stays an entry.
    pub(super) fn new(above: Option<&Self>, lengths: &[usize], definition: &Definition, rep_level: u8) -> Self {
        let element_count: usize = lengths.iter().sum();
        let empty_count = lengths.iter().filter(|&&length| length == 0).count();
        let ended_above = above.and_then(|above| above.ended.as_deref());
        let ended_count = ended_above.map_or(0, |ended| ended.len() - lengths.len()) + empty_count;

        let mut entries = Self { rep_levels: vec![rep_level; element_count + ended_count], ended: None };
        if ended_count == 0 {
            let mut start = 0;
            match above {
                None => lengths.iter().for_each(|length| {
                    entries.rep_levels[start] = 0;
                    start += length;
                }),
                Some(above) => lengths.iter().zip(&above.rep_levels).for_each(|(length, rep_level)| {
                    entries.rep_levels[start] = *rep_level;
                    start += length;
                }),
            }
            return entries;
        }

        let levels = definition.levels();
        let mut slots = (0..).zip(lengths);
        // An entry that is a slot, or one that ended above.
        let mut place = Place { ended: vec![LIVE; entries.rep_levels.len()], start: 0 };
        let mut next_slot = |place: &mut Place, rep_levels: &mut [u8], rep_level| {
            let Some((slot, &length)) = slots.next() else { return };
            let level = levels.as_ref().map_or(definition.deepest(), |levels| levels[slot]);
            place.put(rep_levels, rep_level, length, level);
        };
        match above {
            None => lengths.iter().for_each(|_| next_slot(&mut place, &mut entries.rep_levels, 0)),
            Some(above) => {
                for (i, &rep_level) in above.rep_levels.iter().enumerate() {
                    match ended_above.map_or(LIVE, |ended| ended[i]) {
                        LIVE => next_slot(&mut place, &mut entries.rep_levels, rep_level),
                        level => place.put(&mut entries.rep_levels, rep_level, 0, level),
                    }
                }
            }
        }
        entries.ended = Some(place.ended);
        entries
    }

    /// The definition levels of all entries, whose slots have `slot_levels`, or all `deepest`.
    pub(super) fn def_levels(&self, slot_levels: Option<Vec<u8>>, deepest: u8) -> Vec<u8> {
        match (&self.ended, slot_levels) {
            (None, None) => vec![deepest; self.rep_levels.len()],
            (None, Some(levels)) => levels,
            (Some(ended), None) => ended.iter().map(|&level| level.min(deepest)).collect(),
            (Some(ended), Some(levels)) => {
                let mut slot = 0;
                let level = |&level: &u8| {
                    let is_live = level == LIVE;
                    // After the last slot no entry is live.
                    let own = levels.get(slot).copied().unwrap_or(LIVE);
                    slot += usize::from(is_live);
                    if is_live { own } else { level }
                };
                ended.iter().map(level).collect()
            }
        }
    }

    pub(super) fn into_rep_levels(self) -> Vec<u8> {
        self.rep_levels
    }
}

/// Position of the next list.
struct Place {
    ended: Vec<u8>,
    start: usize,
}

impl Place {
    /// Adds a list of `length` elements, or an entry that ended at `level`.
    fn put(&mut self, rep_levels: &mut [u8], rep_level: u8, length: usize, level: u8) {
        rep_levels[self.start] = rep_level;
        if length == 0 {
            self.ended[self.start] = level;
        }
        self.start += length.max(1);
    }
}
