//! Keeps the entries of an Arrow dictionary in their order, including entries without rows.
//!
//! The order of categories has a meaning: libraries compare and sort by it. Parquet stores it only in the dictionary page, from
//! which pyarrow restores the dictionary of a column.

use arrow_array::Array;
use lath_parquet::Result;

use super::Dictionary;
use crate::physical::Values;

/// Codes of a chunk that rows use.
#[derive(Debug, Default)]
pub(super) struct Categories {
    used: Vec<bool>,
}

impl Categories {
    pub(super) fn mark(&mut self, code: u32) {
        let code = code as usize;
        if code >= self.used.len() {
            self.used.resize(code + 1, false);
        }
        self.used[code] = true;
    }
}

impl Dictionary {
    /// Adds all entries of the Arrow dictionary that `values` are keys of, unless they take more than `max_bytes` or other
    /// entries came before.
    pub(crate) fn add_categories(&mut self, values: &Values, max_bytes: usize) -> Result<()> {
        let Values::Codes { entries, .. } = values else { return Ok(()) };
        // A key of 32 bits for each.
        let is_present = |key: &u32| entries.array.is_valid(*key as usize);
        let Ok(count) = u32::try_from(entries.array.len()) else { return Ok(()) };
        let is_too_large = self.categories.is_some() || self.len() > 0 || entries.values.plain_len() > max_bytes;
        if is_too_large {
            return Ok(());
        }
        let keys: Vec<u32> = (0..count).filter(is_present).collect();
        let mut codes = vec![0; keys.len()];
        if !keys.is_empty() && self.intern(&entries.values.expanded_at(&keys)?, &mut codes)? {
            self.categories = Some(Categories::default());
        }
        Ok(())
    }

    /// Whether the order of the entries is kept.
    pub(crate) fn has_categories(&self) -> bool {
        self.categories.is_some()
    }

    /// Number of entries that rows use.
    pub(crate) fn used_len(&self) -> usize {
        match &self.categories {
            Some(categories) => categories.used.iter().filter(|used| **used).count(),
            None => self.len(),
        }
    }

    /// The entries that rows use.
    pub(crate) fn used_entries(&self) -> Result<Values> {
        let entries = self.entries();
        match &self.categories {
            Some(Categories { used }) => {
                let codes = (0u32..).zip(used).filter_map(|(code, used)| used.then_some(code));
                entries.expanded_at(&codes.collect::<Vec<u32>>())
            }
            None => Ok(entries),
        }
    }
}
