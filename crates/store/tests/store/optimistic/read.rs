//! Reads of an optimistic transaction, which also run on a model.

use std::ops::Bound;

use lath_store::{Entry, OptimisticTree, Result};

use crate::history::Entries;

/// A range of keys.
pub(super) type KeyRange = (Vec<u8>, Option<Vec<u8>>);

#[derive(Debug, Clone)]
pub(super) enum Read {
    Get(Vec<u8>),
    Count(KeyRange),
    /// The first entries of a range, or the last ones.
    Scan {
        range: KeyRange,
        limit: usize,
        is_backward: bool,
    },
    /// Both ends of a range in turn.
    Both {
        range: KeyRange,
        limit: usize,
    },
    /// A cursor's moves from the first key that is not less than this one, from the start or from the end: forward or back.
    Walk {
        from: Option<Vec<u8>>,
        moves: Vec<bool>,
    },
    IsEmpty,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    Nothing,
    NoTree,
    Value(Option<Vec<u8>>),
    Count(usize),
    Flag(bool),
    Entries(Vec<Option<(Vec<u8>, Vec<u8>)>>),
    Names(Vec<String>),
}

/// Whether `key` is in a range.
pub(super) fn is_within(key: &[u8], (low, high): &KeyRange) -> bool {
    key >= &low[..] && high.as_ref().is_none_or(|high| key < &high[..])
}

fn bounds((low, high): &KeyRange) -> (Bound<&[u8]>, Bound<&[u8]>) {
    (Bound::Included(&low[..]), high.as_deref().map_or(Bound::Unbounded, Bound::Excluded))
}

fn owned(entry: Result<Entry<'_>>) -> Option<(Vec<u8>, Vec<u8>)> {
    entry.map(|(key, value)| Some((key, value.to_vec()))).unwrap()
}

/// Takes entries from both ends in turn, and one more each.
fn take_both<T>(mut entries: impl DoubleEndedIterator<Item = T>, limit: usize) -> Vec<T> {
    let mut taken = Vec::new();
    for at in 0..limit {
        taken.extend(if at % 2 == 0 { entries.next() } else { entries.next_back() });
    }
    taken
}

pub(super) fn read(tree: OptimisticTree<'_>, read: &Read) -> Answer {
    match read {
        Read::Get(key) => Answer::Value(tree.get(key).unwrap().map(<[u8]>::to_vec)),
        Read::Count(range) => Answer::Count(tree.count::<&[u8]>(bounds(range)).unwrap() as usize),
        Read::Scan { range, limit, is_backward } => {
            let entries = tree.range::<&[u8]>(bounds(range));
            Answer::Entries(match is_backward {
                false => entries.take(*limit).map(owned).collect(),
                true => entries.rev().take(*limit).map(owned).collect(),
            })
        }
        Read::Both { range, limit } => {
            Answer::Entries(take_both(tree.range::<&[u8]>(bounds(range)), *limit).into_iter().map(owned).collect())
        }
        Read::Walk { from, moves } => {
            let mut cursor = tree.cursor();
            match from {
                Some(from) => drop(cursor.lower_bound(from).unwrap()),
                None if moves.first() == Some(&false) => cursor.seek_to_end(),
                None => cursor.seek_to_start(),
            }
            let mut entries = Vec::new();
            for is_forward in moves {
                let has_key = if *is_forward { cursor.next() } else { cursor.prev() }.unwrap();
                let value = cursor.value().unwrap();
                assert_eq!((has_key, has_key), (cursor.key().is_some(), value.is_some()));
                entries.push(cursor.key().map(<[u8]>::to_vec).zip(value.map(<[u8]>::to_vec)));
            }
            Answer::Entries(entries)
        }
        Read::IsEmpty => Answer::Flag(tree.is_empty().unwrap()),
    }
}

/// Reads a model.
pub(super) fn read_model(entries: &Entries, read: &Read) -> Answer {
    let copied = |(key, value): (&Vec<u8>, &Vec<u8>)| Some((key.clone(), value.clone()));
    match read {
        Read::Get(key) => Answer::Value(entries.get(key).cloned()),
        Read::Count(range) => Answer::Count(entries.keys().filter(|key| is_within(key, range)).count()),
        Read::Scan { range, limit, is_backward } => {
            let entries = entries.iter().filter(|(key, _)| is_within(key, range));
            Answer::Entries(match is_backward {
                false => entries.take(*limit).map(copied).collect(),
                true => entries.rev().take(*limit).map(copied).collect(),
            })
        }
        Read::Both { range, limit } => {
            let entries = entries.iter().filter(|(key, _)| is_within(key, range));
            Answer::Entries(take_both(entries, *limit).into_iter().map(copied).collect())
        }
        Read::Walk { from, moves } => {
            let list: Vec<_> = entries.iter().collect();
            // -1 is before the first key, and the number of keys after the last.
            let mut at = match from {
                Some(from) => list.partition_point(|(key, _)| *key < from) as isize,
                None if moves.first() == Some(&false) => list.len() as isize,
                None => -1,
            };
            let walked = moves.iter().map(|is_forward| {
                at = (at + if *is_forward { 1 } else { -1 }).clamp(-1, list.len() as isize);
                usize::try_from(at).ok().and_then(|at| list.get(at)).and_then(|entry| copied(*entry))
            });
            Answer::Entries(walked.collect())
        }
        Read::IsEmpty => Answer::Flag(entries.is_empty()),
    }
}
