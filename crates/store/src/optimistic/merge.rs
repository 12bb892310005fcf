//! Moves over the entries of a snapshot's tree and the changes to it, as if they were one tree.

use std::ops::Bound;

use super::changes::TreeChanges;
use crate::error::Result;
use crate::tree::{Cursor, Tree};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Before,
    At,
    After,
}

/// The direction of the last move, in which the cursors of both sides are ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Forward,
    Backward,
}

/// A position among the entries of a snapshot's tree and the changes to it.
///
/// In the direction of the last move, the snapshot's cursor is at the next visible entry, or at the current one if that is the snapshot's, and
/// `own` is the next put entry, or the current one.
#[derive(Debug, Clone)]
pub(super) struct MergedCursor<'t> {
    base: Cursor<'t>,
    changes: Option<&'t TreeChanges>,
    place: Place,
    direction: Direction,
    has_base: bool,
    own: Option<(&'t [u8], &'t [u8])>,
    /// The current key and, if it was put, its value.
    key: Vec<u8>,
    own_value: Option<&'t [u8]>,
}

impl<'t> MergedCursor<'t> {
    pub(super) fn new(tree: Tree<'t>, changes: Option<&'t TreeChanges>) -> Self {
        Self {
            base: tree.cursor(),
            changes: changes.filter(|changes| !changes.has_no_entries()),
            place: Place::Before,
            direction: Direction::Forward,
            has_base: false,
            own: None,
            key: Vec::new(),
            own_value: None,
        }
    }

    pub(super) fn key(&self) -> Option<&[u8]> {
        match self.changes {
            None => self.base.key(),
            Some(_) => (self.place == Place::At).then_some(&self.key[..]),
        }
    }

    pub(super) fn value(&self) -> Result<Option<&'t [u8]>> {
        match (self.changes, self.own_value) {
            (None, _) => self.base.value(),
            (Some(_), _) if self.place != Place::At => Ok(None),
            (_, None) => self.base.value(),
            (_, value) => Ok(value),
        }
    }

    pub(super) fn is_before_first(&self) -> bool {
        self.place == Place::Before
    }

    pub(super) fn is_after_last(&self) -> bool {
        self.place == Place::After
    }

    pub(super) fn seek_to_start(&mut self) {
        self.base.seek_to_start();
        self.place = Place::Before;
    }

    pub(super) fn seek_to_end(&mut self) {
        self.base.seek_to_end();
        self.place = Place::After;
    }

    /// Moves to the first key that is not less than `key`.
    pub(super) fn lower_bound(&mut self, key: &[u8]) -> Result<bool> {
        let has_base = self.base.lower_bound(key)?;
        let Some(changes) = self.changes else { return Ok(self.follow_base(has_base, Place::After)) };
        self.turn_forward(changes, has_base, Bound::Included(key))?;
        self.settle()
    }

    pub(super) fn next(&mut self) -> Result<bool> {
        let Some(changes) = self.changes else {
            let has_base = self.base.next()?;
            return Ok(self.follow_base(has_base, Place::After));
        };
        match (self.place, self.direction) {
            (Place::After, _) => return Ok(false),
            (Place::Before, _) => {
                self.base.seek_to_start();
                let has_base = self.base.next()?;
                self.turn_forward(changes, has_base, Bound::Unbounded)?;
            }
            (Place::At, Direction::Backward) => {
                let key = std::mem::take(&mut self.key);
                let has_base = self.base.upper_bound(&key)?;
                self.turn_forward(changes, has_base, Bound::Excluded(&key))?;
            }
            (Place::At, Direction::Forward) if self.own_value.is_some() => {
                self.own = next_put(changes, Bound::Excluded(&self.key));
            }
            (Place::At, Direction::Forward) => {
                let has_base = self.base.next()?;
                self.skip_forward(changes, has_base)?;
            }
        }
        self.settle()
    }

    pub(super) fn prev(&mut self) -> Result<bool> {
        let Some(changes) = self.changes else {
            let has_base = self.base.prev()?;
            return Ok(self.follow_base(has_base, Place::Before));
        };
        match (self.place, self.direction) {
            (Place::Before, _) => return Ok(false),
            (Place::After, _) => {
                self.base.seek_to_end();
                let has_base = self.base.prev()?;
                self.turn_backward(changes, has_base, Bound::Unbounded)?;
            }
            (Place::At, Direction::Forward) => {
                let key = std::mem::take(&mut self.key);
                self.base.lower_bound(&key)?;
                let has_base = self.base.prev()?;
                self.turn_backward(changes, has_base, Bound::Excluded(&key))?;
            }
            (Place::At, Direction::Backward) if self.own_value.is_some() => {
                self.own = previous_put(changes, Bound::Excluded(&self.key));
            }
            (Place::At, Direction::Backward) => {
                let has_base = self.base.prev()?;
                self.skip_backward(changes, has_base)?;
            }
        }
        self.settle()
    }

    /// Moves as the snapshot's cursor has moved, without changes.
    fn follow_base(&mut self, has_base: bool, end: Place) -> bool {
        self.place = if has_base { Place::At } else { end };
        has_base
    }

    fn turn_forward(&mut self, changes: &'t TreeChanges, has_base: bool, from: Bound<&[u8]>) -> Result<()> {
        self.direction = Direction::Forward;
        self.own = next_put(changes, from);
        self.skip_forward(changes, has_base)
    }

    fn turn_backward(&mut self, changes: &'t TreeChanges, has_base: bool, to: Bound<&[u8]>) -> Result<()> {
        self.direction = Direction::Backward;
        self.own = previous_put(changes, to);
        self.skip_backward(changes, has_base)
    }

    /// Moves the snapshot's cursor to an entry that the changes neither replace nor remove.
    fn skip_forward(&mut self, changes: &TreeChanges, has_base: bool) -> Result<()> {
        self.has_base = has_base && !changes.is_emptied;
        while self.has_base
            && let Some(key) = self.base.key()
        {
            if let Some((_, end)) = changes.removed.find(key) {
                self.has_base = match end {
                    Some(end) => self.base.lower_bound(end)?,
                    None => false,
                };
            } else if changes.entries.contains_key(key) {
                self.has_base = self.base.next()?;
            } else {
                break;
            }
        }
        Ok(())
    }

    fn skip_backward(&mut self, changes: &TreeChanges, has_base: bool) -> Result<()> {
        self.has_base = has_base && !changes.is_emptied;
        while self.has_base
            && let Some(key) = self.base.key()
        {
            if let Some((low, _)) = changes.removed.find(key) {
                self.base.lower_bound(low)?;
            } else if !changes.entries.contains_key(key) {
                break;
            }
            self.has_base = self.base.prev()?;
        }
        Ok(())
    }

    /// Makes the nearer of the two next entries the current one, and returns whether there is one.
    fn settle(&mut self) -> Result<bool> {
        let base = self.base.key().filter(|_| self.has_base);
        let is_own = match (base, self.own) {
            (Some(base), Some((own, _))) => (own < base) == (self.direction == Direction::Forward),
            (None, Some(_)) => true,
            (Some(_), None) => false,
            (None, None) => {
                self.place = if self.direction == Direction::Forward { Place::After } else { Place::Before };
                return Ok(false);
            }
        };
        let own = self.own.filter(|_| is_own);
        self.key.clear();
        self.key.extend_from_slice(own.map(|(key, _)| key).or(base).unwrap_or_default());
        self.own_value = own.map(|(_, value)| value);
        self.place = Place::At;
        Ok(true)
    }
}

fn next_put<'t>(changes: &'t TreeChanges, from: Bound<&[u8]>) -> Option<(&'t [u8], &'t [u8])> {
    let mut entries = changes.entries.range::<[u8], _>((from, Bound::Unbounded));
    entries.find_map(|(key, value)| Some((&key[..], value.as_deref()?)))
}

fn previous_put<'t>(changes: &'t TreeChanges, to: Bound<&[u8]>) -> Option<(&'t [u8], &'t [u8])> {
    let mut entries = changes.entries.range::<[u8], _>((Bound::Unbounded, to)).rev();
    entries.find_map(|(key, value)| Some((&key[..], value.as_deref()?)))
}
