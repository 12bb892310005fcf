//! Rules out files by arrays over slots, without access to any file.

use lath_predicate::{BoundPredicate, Comparison, Test, Value, ValueTest};
use lath_store::{Snapshot, Tree};

use crate::error::Result;
use crate::records::{BLOCK_SLOTS, BLOCKS, BlockKey, BlockKind, ColumnKind, PlanningColumn, SEGMENTS};
use crate::slots::{Bitmap, BoundsTest, KeyHash, Segment, combine};

/// Maximum number of keys of a list that are looked up in filters; scans probe for more of them file by file.
const MAX_KEYS: usize = 64;

/// Evaluates predicates on arrays over slots.
pub(crate) struct FileSelector<'a> {
    blocks: Option<Tree<'a>>,
    segments: Option<Tree<'a>>,
    slots: u32,
    columns: &'a [PlanningColumn],
}

impl<'a> FileSelector<'a> {
    pub(crate) fn new(snapshot: &'a Snapshot, slots: u32, columns: &'a [PlanningColumn]) -> Result<Self> {
        Ok(Self { blocks: snapshot.tree(BLOCKS)?, segments: snapshot.tree(SEGMENTS)?, slots, columns })
    }

    /// The slots that have a file.
    fn live(&self) -> Result<Bitmap> {
        self.bits(BlockKind::Live, 0)
    }

    /// The slots of the files that can have rows for which `predicate` is true. The leaf of each of its columns is the number of a
    /// planning column.
    pub(crate) fn select(&self, predicate: &BoundPredicate) -> Result<Bitmap> {
        let mut selected = self.live()?;
        let test = predicate.test.clone().simplify();
        self.narrow(predicate, &test, &mut selected)?;
        Ok(selected)
    }

    /// Removes the slots of files where `test` is true for no row.
    fn narrow(&self, predicate: &BoundPredicate, test: &Test, slots: &mut Bitmap) -> Result<()> {
        match test {
            Test::Constant(Some(true)) => {}
            Test::Constant(_) => *slots = Bitmap::empty(self.slots as usize),
            Test::All(tests) => {
                // Bounds are cheap, so filters are probed for the few files that bounds leave.
                for test in tests {
                    self.narrow_by_bounds(predicate, test, slots)?;
                }
                for test in tests {
                    self.narrow(predicate, test, slots)?;
                }
                self.narrow_by_made(predicate, tests, slots)?;
            }
            Test::Any(tests) => {
                let mut any = Bitmap::empty(self.slots as usize);
                for test in tests {
                    let mut part = slots.clone();
                    part.subtract(&any);
                    self.narrow(predicate, test, &mut part)?;
                    any.unite(&part);
                }
                *slots = any;
            }
            Test::Is(test, Some(true)) => self.narrow(predicate, test, slots)?,
            Test::Values { column, test: values } => {
                self.narrow_by_bounds(predicate, test, slots)?;
                let column = predicate.columns.get(*column).and_then(|column| column.leaf);
                if let (Some(column), Some(values)) = (column, keys(values)) {
                    self.narrow_by_made(predicate, std::slice::from_ref(test), slots)?;
                    self.narrow_by_filters(column as u32, 1, &[values], slots)?;
                }
            }
            // These can be true for rows for which their operand is not.
            Test::Not(_) | Test::Is(..) | Test::Columns { .. } => {}
        }
        Ok(())
    }

    /// Applies bounds, if the test is about one column.
    fn narrow_by_bounds(&self, predicate: &BoundPredicate, test: &Test, slots: &mut Bitmap) -> Result<()> {
        let Test::Values { column, test } = test else { return Ok(()) };
        let column = predicate.columns.get(*column).filter(|column| !column.repeated).and_then(|column| column.leaf);
        let (Some(column), Some(test)) = (column, BoundsTest::new(test)) else { return Ok(()) };
        let Some(blocks) = self.blocks else { return Ok(()) };
        for (block, words) in slots.words_mut().chunks_mut(BLOCK_SLOTS as usize / 64).enumerate() {
            if words.iter().all(|word| *word == 0) {
                continue;
            }
            let key = BlockKey { kind: BlockKind::Bounds, column: column as u32, block: block as u32 };
            let pairs = blocks.get(&key.to_bytes())?.unwrap_or_default().as_chunks().0;
            // Slots past the end of a block have no bounds.
            for (word, pairs) in words.iter_mut().zip(pairs.chunks(64)) {
                let unknown = if pairs.len() < 64 { u64::MAX << pairs.len() } else { 0 };
                if *word != 0 {
                    *word &= test.test_word(pairs) | unknown;
                }
            }
        }
        Ok(())
    }

    /// Applies the filters that the catalog made, if tests look up all of their columns: one test for a filter of one column, several
    /// for a filter of several.
    fn narrow_by_made(&self, predicate: &BoundPredicate, tests: &[Test], slots: &mut Bitmap) -> Result<()> {
        for made in self.columns.iter().filter(|column| column.kind == ColumnKind::Made) {
            let fields = made.schema.fields();
            if (fields.len() > 1) != (tests.len() > 1) {
                continue;
            }
            let looked_up = |name: &str| {
                let own =
                    self.columns.iter().find(|column| column.kind == ColumnKind::File && column.name() == name)?;
                tests.iter().find_map(|test| match test {
                    Test::Values { column, test } => {
                        let leaf = predicate.columns.get(*column)?.leaf?;
                        keys(test).filter(|_| leaf as u32 == own.id)
                    }
                    _ => None,
                })
            };
            let Some(values) = fields.iter().map(|field| looked_up(field.name())).collect::<Option<Vec<_>>>() else {
                continue;
            };
            self.narrow_by_filters(made.id, fields.len(), &values, slots)?;
        }
        Ok(())
    }

    /// Removes the slots of files whose filters cover all their rows and have none of the keys. `values` has a list for each column.
    fn narrow_by_filters(&self, column: u32, columns: usize, values: &[&[Value]], slots: &mut Bitmap) -> Result<()> {
        let count = values.iter().try_fold(1usize, |count, values| count.checked_mul(values.len()));
        let (Some(segments), Some(1..=MAX_KEYS)) = (self.segments, count) else { return Ok(()) };
        if slots.is_empty() {
            return Ok(());
        }
        let mut filtered = self.bits(BlockKind::Filtered, column)?;
        filtered.intersect(slots);
        if filtered.is_empty() {
            return Ok(());
        }
        let mut found = Bitmap::empty(self.slots as usize);
        let mut hashed: Option<(u64, Option<Vec<u64>>)> = None;
        for segment in Segment::read_all(segments, column)? {
            let code = segment.class.hash;
            if hashed.as_ref().is_none_or(|(known, _)| *known != code) {
                hashed = Some((code, KeyHash::from_code(code, columns).and_then(|hash| hashes(&hash, values))));
            }
            match &hashed {
                Some((_, Some(hashes))) => segment.probe(hashes, &filtered, &mut found)?,
                // Any of these files can have a key that cannot be looked up.
                _ => segment.slots.iter().for_each(|slot| {
                    let slot = u32::from_le_bytes(*slot);
                    if filtered.contains(slot) {
                        found.insert(slot);
                    }
                }),
            }
        }
        filtered.subtract(&found);
        slots.subtract(&filtered);
        Ok(())
    }

    fn bits(&self, kind: BlockKind, column: u32) -> Result<Bitmap> {
        Bitmap::read(self.blocks, kind, column, self.slots)
    }
}

/// The values for which a test is true; `None` if there is no list of them.
fn keys(test: &ValueTest) -> Option<&[Value]> {
    match test {
        ValueTest::Compare(Comparison::Equal, value) => Some(std::slice::from_ref(value)),
        ValueTest::In(set) => Some(set.values()),
        _ => None,
    }
}

/// The hashes of all combinations of values; `None` if one of them cannot be looked up.
fn hashes(hash: &KeyHash, values: &[&[Value]]) -> Option<Vec<u64>> {
    let mut combinations: Vec<Vec<u64>> = vec![Vec::new()];
    for (hash, values) in hash.columns().iter().zip(values) {
        let own: Vec<Vec<u64>> = values.iter().map(|value| hash.hash_value(value)).collect::<Option<_>>()?;
        let own: Vec<u64> = own.concat();
        combinations =
            combinations.iter().flat_map(|before| own.iter().map(|hash| [&before[..], &[*hash]].concat())).collect();
    }
    Some(combinations.into_iter().map(combine).collect())
}
