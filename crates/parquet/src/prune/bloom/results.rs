//! The results of probing filters.

use lath_kernels::bloom;

use super::keys::{Keys, second_hash};
use crate::error::Result;
use crate::filters::ColumnFilters;

/// The results of probing the filters of a leaf, row group by row group.
#[derive(Debug)]
pub(crate) struct ProbeResults {
    /// Number of row groups.
    pub(super) count: usize,
    /// One bit for each row group: set if a key may be there, or if there is no filter.
    pub(super) possible: Vec<u64>,
    /// Row groups that may have some of the keys, but not all: the numbers of these keys; ascending by row group.
    narrowed: Vec<(usize, Vec<u32>)>,
}

impl ProbeResults {
    /// Every key may be in every row group.
    pub(super) fn new(row_groups: usize) -> Self {
        Self { count: row_groups, possible: vec![u64::MAX; row_groups.div_ceil(64)], narrowed: Vec::new() }
    }

    /// Whether none of the keys is in the `number`th probed row group.
    pub(crate) fn is_absent(&self, number: usize) -> bool {
        self.possible.get(number / 64).is_some_and(|word| word >> (number % 64) & 1 == 0)
    }

    /// The keys that may be in a row group, if it is some of them but not all.
    pub(crate) fn narrowed(&self, number: usize) -> Option<&[u32]> {
        let at = self.narrowed.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        self.narrowed.get(at).map(|(_, keys)| keys.as_slice())
    }

    pub(super) fn set(&mut self, number: usize, result: ProbeResult) {
        match result {
            ProbeResult::Possible => {}
            ProbeResult::Absent => {
                if let Some(word) = self.possible.get_mut(number / 64) {
                    *word &= !(1 << (number % 64));
                }
            }
            ProbeResult::Narrowed(keys) => self.narrowed.push((number, keys)),
        }
    }

    /// Probes second filters for the keys that pass the first.
    pub(super) fn probe_second(&mut self, filters: &ColumnFilters, keys: &Keys, row_groups: &[usize]) -> Result<()> {
        if !filters.has_second() {
            return Ok(());
        }
        let hashes: Vec<u64> = keys.hashes.iter().map(|hash| second_hash(*hash)).collect();
        let mut passed = std::mem::take(&mut self.narrowed).into_iter().peekable();
        for (number, &row_group) in row_groups.iter().enumerate() {
            let passed = passed.next_if(|(narrowed, _)| *narrowed == number).map(|(_, keys)| keys);
            let second = match filters.second(row_group).filter(|_| !self.is_absent(number)) {
                Some(bitset) => probe_bitset(bitset, keys, &hashes)?,
                None => ProbeResult::Possible,
            };
            let result = match (passed, second) {
                (Some(mut both), ProbeResult::Narrowed(second)) => {
                    both.retain(|key| second.binary_search(key).is_ok());
                    if both.is_empty() { ProbeResult::Absent } else { ProbeResult::Narrowed(both) }
                }
                (Some(passed), ProbeResult::Possible) => ProbeResult::Narrowed(passed),
                (_, second) => second,
            };
            self.set(number, result);
        }
        Ok(())
    }

    pub(super) fn sort(&mut self) {
        self.narrowed.sort_unstable_by_key(|(number, _)| *number);
    }
}

/// The result of probing one filter.
#[derive(Debug)]
pub(super) enum ProbeResult {
    /// Every key may be there.
    Possible,
    /// No key is there.
    Absent,
    /// Only keys with these numbers may be there.
    Narrowed(Vec<u32>),
}

/// The result of probing a bitset for keys, with these hashes.
pub(super) fn probe_bitset(bitset: &[u8], keys: &Keys, hashes: &[u64]) -> Result<ProbeResult> {
    let mut present = vec![0; hashes.len().div_ceil(64)];
    bloom::check_many(bitset, hashes, &mut present)?;
    Ok(keys.result(|number| present[number / 64] >> (number % 64) & 1 != 0))
}

impl Keys {
    /// The result, given whether each hash may be there.
    pub(super) fn result(&self, is_present: impl Fn(usize) -> bool) -> ProbeResult {
        let mut possible = Vec::new();
        let mut next = 0;
        for (number, &key) in self.key_numbers.iter().enumerate() {
            // Keys without a hash may be there.
            possible.extend(next..key);
            next = next.max(key + 1);
            if is_present(number) && possible.last() != Some(&key) {
                possible.push(key);
            }
        }
        possible.extend(next..self.count as u32);
        match possible.len() {
            0 => ProbeResult::Absent,
            all if all == self.count => ProbeResult::Possible,
            _ => ProbeResult::Narrowed(possible),
        }
    }
}
