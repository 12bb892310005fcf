use datafusion::common::{Result, not_impl_err};

/// A grouping set, and the set whose groups its groups are computed from. A set is a mask of the keys that are null in it, as DataFusion has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Level {
    /// For each key, whether the set leaves it out.
    pub(super) is_null: Vec<bool>,
    /// The index of the level with the groups to merge; `None` for the first level.
    pub(super) parent: Option<usize>,
    /// The values of `__grouping_id`: one each time that the query names the set, none if it does not.
    pub(super) ids: Vec<u64>,
}

impl Level {
    /// The keys of the set.
    pub(super) fn keys(&self) -> Vec<usize> {
        (0..self.is_null.len()).filter(|&key| !self.is_null[key]).collect()
    }
}

/// The levels of grouping sets. The first one has all keys, even if the query does not name that set; each other one follows its parent, which has the
/// fewest keys of those that have all of its own.
///
/// # Errors
/// More than 64 keys.
pub(super) fn levels(sets: &[Vec<bool>], keys: usize) -> Result<Vec<Level>> {
    if keys > 64 {
        return not_impl_err!("grouping sets of more than 64 columns");
    }
    let mut levels = vec![Level { is_null: vec![false; keys], parent: None, ids: Vec::new() }];
    let mut ordered: Vec<&Vec<bool>> = sets.iter().collect();
    ordered.sort_by_key(|set| set.iter().filter(|&&is_null| is_null).count());
    for set in ordered {
        let known = levels.iter().position(|level| level.is_null == *set);
        let at = known.unwrap_or_else(|| {
            let has_all = |level: &Level| level.is_null.iter().zip(set).all(|(&above, &below)| below || !above);
            let parent = (0..levels.len()).filter(|&at| has_all(&levels[at])).min_by_key(|&at| levels[at].keys().len());
            levels.push(Level { is_null: set.clone(), parent, ids: Vec::new() });
            levels.len() - 1
        });
        let (named, mask) =
            (levels[at].ids.len() as u64, set.iter().fold(0, |mask, &is_null| mask << 1 | u64::from(is_null)));
        // The mask, below the number of times that the set was named before.
        levels[at].ids.push(mask | named.checked_shl(keys as u32).unwrap_or_default());
    }
    Ok(levels)
}

/// The greatest number of times that a set was named before.
pub(super) fn max_ordinal(levels: &[Level]) -> usize {
    levels.iter().map(|level| level.ids.len().saturating_sub(1)).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(keys: &str) -> Vec<bool> {
        keys.chars().map(|key| key == '-').collect()
    }

    #[test]
    fn rollup_is_a_chain() {
        let found = levels(&[set("---"), set("a--"), set("ab-"), set("abc")], 3).unwrap();
        let found: Vec<_> = found.iter().map(|level| (level.keys().len(), level.parent, level.ids.clone())).collect();
        let expected =
            [(3, None, vec![0]), (2, Some(0), vec![0b001]), (1, Some(1), vec![0b011]), (0, Some(2), vec![0b111])];
        assert_eq!(found, expected);
    }

    #[test]
    fn sets_without_a_finest_one_get_it() {
        let found = levels(&[set("a-"), set("-b"), set("a-")], 2).unwrap();
        assert_eq!(found[0], Level { is_null: set("ab"), parent: None, ids: vec![] });
        assert_eq!(found[1], Level { is_null: set("a-"), parent: Some(0), ids: vec![0b01, 0b101] });
        assert_eq!(found[2], Level { is_null: set("-b"), parent: Some(0), ids: vec![0b10] });
        assert_eq!(max_ordinal(&found), 1);
    }

    #[test]
    fn cube_takes_the_smallest_parents() {
        let found = levels(&[set("ab"), set("a-"), set("-b"), set("--")], 2).unwrap();
        let parents: Vec<_> = found.iter().map(|level| level.parent).collect();
        assert_eq!(parents, [None, Some(0), Some(0), Some(1)]);
    }
}
