//! Looking keys up in the filters of row groups, with as few bytes and requests as it takes.
//!
//! The footer says where a filter is and, if the writer is not old, how long it is with its header, which tells where the
//! bitset probably starts: header and blocks are asked for together. A header that says otherwise costs a second round,
//! as does a footer without lengths; headers are remembered with the file, so that later probes read blocks alone.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use lath_format::ColumnChunk;
use lath_kernels::bloom::{self, BLOCK_LEN};

use super::keys::{Keys, second_hash};
use crate::error::Result;
use crate::file::ParquetFile;
use crate::filters::{Claim, ColumnFilters, FilterMemory, Known};
use crate::filters::{MAX_HEADER_LEN, Place};

/// What reading a block costs, in bytes of a filter that is read whole: a read of a file's 32 cached bytes takes about as long
/// as copying so many. Once what was read of a filter has cost as much as the whole of it does, it is read and kept with the file's
/// footer: at no time has more than twice as much been spent as had been best. Where requests take long, each adds its own
/// cost ([`ByteRanges::request_cost_bytes`](crate::ByteRanges::request_cost_bytes)).
const BLOCK_COST: usize = 4096;

/// Keys that are looked up in the filters of a leaf.
#[derive(Debug)]
pub(crate) struct Lookup {
    /// Index among the Parquet leaves.
    pub(crate) leaf: usize,
    pub(crate) keys: Keys,
}

/// What the filters of a leaf say of keys, row group by row group.
#[derive(Debug)]
pub(crate) struct Answers {
    /// Number of row groups.
    count: usize,
    /// A bit for each row group: whether any key may be there, or there is no filter to ask.
    possible: Vec<u64>,
    /// The keys that may be there, by number, where some but not all may; ascending by row group.
    narrowed: Vec<(usize, Vec<u32>)>,
}

impl Answers {
    /// Everything is possible.
    fn new(row_groups: usize) -> Self {
        Self { count: row_groups, possible: vec![u64::MAX; row_groups.div_ceil(64)], narrowed: Vec::new() }
    }

    /// Whether none of the keys is in the row group that is the `number`th of those asked for.
    pub(crate) fn is_absent(&self, number: usize) -> bool {
        self.possible.get(number / 64).is_some_and(|word| word >> (number % 64) & 1 == 0)
    }

    /// The keys that may be in a row group, unless it is all or none of them.
    pub(crate) fn narrowed(&self, number: usize) -> Option<&[u32]> {
        let at = self.narrowed.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        self.narrowed.get(at).map(|(_, keys)| keys.as_slice())
    }

    fn set(&mut self, number: usize, answer: Answer) {
        match answer {
            Answer::Possible => {}
            Answer::Absent => {
                if let Some(word) = self.possible.get_mut(number / 64) {
                    *word &= !(1 << (number % 64));
                }
            }
            Answer::Narrowed(keys) => self.narrowed.push((number, keys)),
        }
    }

    /// Asks second filters of the keys that first ones let pass.
    fn ask_second(&mut self, filters: &ColumnFilters, keys: &Keys, row_groups: &[usize]) -> Result<()> {
        if !filters.has_second() {
            return Ok(());
        }
        let hashes: Vec<u64> = keys.hashes.iter().map(|hash| second_hash(*hash)).collect();
        let mut passed = std::mem::take(&mut self.narrowed).into_iter().peekable();
        for (number, &row_group) in row_groups.iter().enumerate() {
            let passed = passed.next_if(|(narrowed, _)| *narrowed == number).map(|(_, keys)| keys);
            let second = match filters.second(row_group).filter(|_| !self.is_absent(number)) {
                Some(bitset) => in_bitset(bitset, keys, &hashes)?,
                None => Answer::Possible,
            };
            let answer = match (passed, second) {
                (Some(mut both), Answer::Narrowed(second)) => {
                    both.retain(|key| second.binary_search(key).is_ok());
                    if both.is_empty() { Answer::Absent } else { Answer::Narrowed(both) }
                }
                (Some(passed), Answer::Possible) => Answer::Narrowed(passed),
                (_, second) => second,
            };
            self.set(number, answer);
        }
        Ok(())
    }

    fn sort(&mut self) {
        self.narrowed.sort_unstable_by_key(|(number, _)| *number);
    }
}

/// What a filter says of keys.
#[derive(Debug)]
enum Answer {
    /// Any may be there.
    Possible,
    /// None is there.
    Absent,
    /// Only these may be there, by number.
    Narrowed(Vec<u32>),
}

/// The answers to each lookup for `row_groups`.
pub(crate) fn probe(
    file: &ParquetFile,
    lookups: &[Lookup],
    row_groups: &[usize],
    memory: Option<&Arc<FilterMemory>>,
) -> Result<Vec<Answers>> {
    let mut answers: Vec<Answers> = lookups.iter().map(|_| Answers::new(row_groups.len())).collect();
    let mut pending = Vec::new();
    let metadata = file.metadata();
    let (row_group_count, leaf_count) = (metadata.row_group_count(), metadata.column_count());
    for (number, (lookup, answers)) in lookups.iter().zip(&mut answers).enumerate() {
        let Some(filters) = file.filters().column(lookup.leaf, leaf_count, row_group_count) else { continue };
        let mut in_memory = InMemory::with_capacity(if filters.keeps_any() { row_groups.len() } else { 0 });
        for (at, &row_group) in row_groups.iter().enumerate() {
            if let Some(bitset) = filters.kept(row_group) {
                in_memory.add(bitset, at);
            } else if let Ok(chunk) = metadata.chunk(row_group, lookup.leaf)
                && let Some(filter) = Filter::new(file, chunk, filters, row_group)
            {
                pending.push(Pending {
                    keys: &lookup.keys,
                    answer: (number, at),
                    filter,
                    body: Body::None,
                    first_range: 0,
                });
            }
        }
        in_memory.look_up(&lookup.keys, answers)?;
    }
    let mut ranges = Vec::new();
    while !pending.is_empty() {
        ranges.clear();
        for item in &mut pending {
            item.ask(memory, &mut ranges);
        }
        let read = file.read_many(&ranges)?;
        let mut rest = Vec::new();
        for mut item in pending {
            match item.take(&read)? {
                Taken::Answer(answer) => answers[item.answer.0].set(item.answer.1, answer),
                Taken::Nothing => rest.push(item),
            }
        }
        pending = rest;
    }
    for (lookup, answers) in lookups.iter().zip(&mut answers) {
        answers.sort();
        if let Some(filters) = file.filters().column(lookup.leaf, leaf_count, row_group_count) {
            answers.ask_second(filters, &lookup.keys, row_groups)?;
        }
    }
    Ok(answers)
}

/// The answers for `row_groups` of filters that need not be read; `None` if there are none. `keys` says what is looked up.
pub(crate) fn probe_kept(
    file: &ParquetFile,
    leaf: usize,
    keys: impl FnOnce() -> Option<Keys>,
    row_groups: &[usize],
) -> Result<Option<Answers>> {
    let Some(filters) = file.filters().kept_column(leaf) else { return Ok(None) };
    let Some(keys) = keys() else { return Ok(None) };
    let mut answers = Answers::new(row_groups.len());
    let mut in_memory = InMemory::with_capacity(row_groups.len());
    for (at, &row_group) in row_groups.iter().enumerate() {
        if let Some(bitset) = filters.kept(row_group) {
            in_memory.add(bitset, at);
        }
    }
    in_memory.look_up(&keys, &mut answers)?;
    answers.sort();
    answers.ask_second(filters, &keys, row_groups)?;
    Ok(Some(answers))
}

/// Filters that need not be read, with the numbers of their row groups.
struct InMemory<'a> {
    bitsets: Vec<&'a [u8]>,
    numbers: Vec<usize>,
}

impl<'a> InMemory<'a> {
    fn with_capacity(capacity: usize) -> Self {
        Self { bitsets: Vec::with_capacity(capacity), numbers: Vec::with_capacity(capacity) }
    }

    fn add(&mut self, bitset: &'a Bytes, number: usize) {
        self.bitsets.push(bitset);
        self.numbers.push(number);
    }

    fn look_up(self, keys: &Keys, answers: &mut Answers) -> Result<()> {
        if let Some(hash) = keys.only() {
            let mut present = vec![0; self.bitsets.len().div_ceil(64)];
            bloom::check_filters(&self.bitsets, hash, &mut present)?;
            if self.bitsets.len() == answers.count {
                // One for each row group.
                answers.possible = present;
                return Ok(());
            }
            for (at, number) in self.numbers.into_iter().enumerate() {
                if present[at / 64] >> (at % 64) & 1 == 0 {
                    answers.set(number, Answer::Absent);
                }
            }
            return Ok(());
        }
        for (bitset, number) in self.bitsets.into_iter().zip(self.numbers) {
            answers.set(number, in_bitset(bitset, keys, &keys.hashes)?);
        }
        Ok(())
    }
}

/// What a bitset says of keys, of which `hashes` are those that are in it.
fn in_bitset(bitset: &[u8], keys: &Keys, hashes: &[u64]) -> Result<Answer> {
    let mut present = vec![0; hashes.len().div_ceil(64)];
    bloom::check_many(bitset, hashes, &mut present)?;
    Ok(keys.answer(|number| present[number / 64] >> (number % 64) & 1 != 0))
}

impl Keys {
    /// The answer, by whether each hash is there.
    fn answer(&self, is_present: impl Fn(usize) -> bool) -> Answer {
        let mut possible = Vec::new();
        let mut next = 0;
        for (number, &key) in self.of.iter().enumerate() {
            // Keys without a hash are possible.
            possible.extend(next..key);
            next = next.max(key + 1);
            if is_present(number) && possible.last() != Some(&key) {
                possible.push(key);
            }
        }
        possible.extend(next..self.count as u32);
        match possible.len() {
            0 => Answer::Absent,
            all if all == self.count => Answer::Possible,
            _ => Answer::Narrowed(possible),
        }
    }
}

/// A filter of the file.
struct Filter<'a> {
    filters: &'a ColumnFilters,
    /// Where it is kept if it is asked often.
    memory: Option<&'a Arc<FilterMemory>>,
    /// What a request costs, in blocks.
    request_cost: u64,
    row_group: usize,
    offset: u64,
    /// Bytes that header and bitset have by the footer, or may have by the file's length.
    len: u64,
    is_len_stated: bool,
    place: Option<Place>,
    /// The header says so.
    is_known: bool,
}

impl<'a> Filter<'a> {
    /// `None` if there is none, or none that can be used: one that is encrypted, or does not lie within the file.
    fn new(
        file: &'a ParquetFile,
        chunk: ColumnChunk<'_>,
        filters: &'a ColumnFilters,
        row_group: usize,
    ) -> Option<Self> {
        let location = chunk.bloom_filter()?;
        let offset = u64::try_from(location.offset).ok()?;
        if offset == 0 || chunk.is_encrypted() {
            return None;
        }
        let left = file.source().len().checked_sub(offset)?;
        let len = match location.len {
            Some(len) => u64::try_from(len).ok().filter(|len| *len <= left)?,
            None => left,
        };
        let is_len_stated = location.len.is_some();
        let (place, is_known) = match filters.known(row_group) {
            Known::Unusable => return None,
            Known::At(place) => (Some(place), true),
            Known::Nothing => (Place::guess(len).filter(|_| is_len_stated), false),
        };
        let memory = file.filters().memory();
        let request_cost = file.source().request_cost_bytes() / BLOCK_COST as u64;
        Some(Self { filters, memory, request_cost, row_group, offset, len, is_len_stated, place, is_known })
    }

    /// Room for the whole of it, if it is worth keeping.
    fn claim_if_asked_often(&self, place: Place) -> Option<Claim> {
        let is_often = u64::from(place.len) <= self.filters.spent(self.row_group) * BLOCK_COST as u64;
        self.memory.filter(|_| is_often)?.claim(place.len.into())
    }

    /// Takes note that so many blocks, or as much as they cost, have been read by a request.
    fn add_spent(&self, blocks: usize) {
        self.filters.add_spent(self.row_group, blocks as u64 + self.request_cost);
    }

    /// Takes what the header says; returns whether it is as expected, `None` if the filter cannot be used.
    fn learn(&mut self, header: &[u8]) -> Option<bool> {
        let fits = |place: &Place| match self.is_len_stated {
            true => place.filter_len() == self.len,
            false => place.filter_len() <= self.len,
        };
        let place = Place::read(header).filter(fits);
        self.filters.learn(self.row_group, place);
        let is_expected = place == self.place;
        self.place = place;
        self.is_known = true;
        place.map(|_| is_expected)
    }
}

/// What is read of a bitset.
enum Body {
    None,
    /// The filter with its header, to be kept if there is room for it.
    Whole(Option<Claim>),
    /// The bitset alone, to be kept.
    Bitset(Claim),
    /// Blocks by their numbers, ascending.
    Blocks(Vec<usize>),
}

struct Pending<'a> {
    keys: &'a Keys,
    /// Numbers of the lookup and of the row group.
    answer: (usize, usize),
    filter: Filter<'a>,
    body: Body,
    /// Index of the first of its ranges.
    first_range: usize,
}

/// What came of what was read.
enum Taken {
    Answer(Answer),
    /// More has to be read.
    Nothing,
}

impl Taken {
    const POSSIBLE: Self = Self::Answer(Answer::Possible);
}

impl Pending<'_> {
    /// Adds what has to be read next to `ranges`.
    fn ask(&mut self, memory: Option<&Arc<FilterMemory>>, ranges: &mut Vec<Range<u64>>) {
        self.first_range = ranges.len();
        let filter = &self.filter;
        self.body = filter.place.map_or(Body::None, |place| self.body_of(place, memory));
        if !matches!(self.body, Body::Whole(_)) && !filter.is_known {
            ranges.push(filter.offset..filter.offset + filter.len.min(MAX_HEADER_LEN));
        }
        match (&self.body, filter.place) {
            (Body::Whole(_), Some(place)) => ranges.push(filter.offset..filter.offset + place.filter_len()),
            (Body::Bitset(_), Some(place)) => ranges.push(place.bitset(filter.offset)),
            (Body::Blocks(blocks), Some(place)) => {
                ranges.extend(blocks.iter().map(|&block| place.block(filter.offset, block)));
            }
            _ => {}
        }
    }

    fn body_of(&self, place: Place, memory: Option<&Arc<FilterMemory>>) -> Body {
        if let Some(claim) = memory.and_then(|memory| memory.claim(place.len.into())) {
            return Body::Whole(Some(claim));
        }
        if let (None, Some(claim)) = (memory, self.filter.claim_if_asked_often(place)) {
            return Body::Bitset(claim);
        }
        let hashes = &self.keys.hashes;
        // Most lists are much shorter than a filter, or much longer.
        if hashes.len() * BLOCK_COST >= place.len as usize {
            return Body::Whole(None);
        }
        let mut blocks: Vec<usize> = hashes.iter().map(|hash| bloom::block_index(*hash, place.block_count())).collect();
        blocks.sort_unstable();
        blocks.dedup();
        Body::Blocks(blocks)
    }

    fn take(&mut self, read: &[Bytes]) -> Result<Taken> {
        let Some(mut read) = read.get(self.first_range..) else { return Ok(Taken::POSSIBLE) };
        if !self.filter.is_known {
            let Some(header) = read.first() else { return Ok(Taken::POSSIBLE) };
            match self.filter.learn(header) {
                None => return Ok(Taken::POSSIBLE),
                Some(false) => return Ok(Taken::Nothing),
                Some(true) => {}
            }
            if !matches!(self.body, Body::Whole(_)) {
                read = &read[1..];
            }
        }
        let (keys, Some(place)) = (self.keys, self.filter.place) else { return Ok(Taken::POSSIBLE) };
        let answer = match std::mem::replace(&mut self.body, Body::None) {
            Body::None => return Ok(Taken::Nothing),
            Body::Whole(claim) => {
                let whole =
                    read.first().and_then(|whole| whole.get(place.header_len.into()..place.filter_len() as usize));
                let Some(bitset) = whole else { return Ok(Taken::POSSIBLE) };
                if let Some(claim) = claim {
                    self.filter.filters.keep(self.filter.row_group, Bytes::copy_from_slice(bitset), claim);
                } else {
                    self.filter.add_spent(bitset.len().div_ceil(BLOCK_COST));
                }
                in_bitset(bitset, keys, &keys.hashes)?
            }
            Body::Bitset(claim) => {
                let Some(bitset) = read.first().filter(|bitset| bitset.len() == place.len as usize) else {
                    return Ok(Taken::POSSIBLE);
                };
                // What a request brings is cut out of all that it was joined with, which would be kept in memory too.
                let is_joined = self.filter.request_cost > 0;
                let bitset = if is_joined { Bytes::copy_from_slice(bitset) } else { bitset.clone() };
                self.filter.filters.keep(self.filter.row_group, bitset.clone(), claim);
                in_bitset(&bitset, keys, &keys.hashes)?
            }
            Body::Blocks(blocks) => {
                self.filter.add_spent(keys.hashes.len());
                keys.answer(|number| {
                    let hash = keys.hashes[number];
                    let block = blocks.binary_search(&bloom::block_index(hash, place.block_count())).ok();
                    let block = block.and_then(|block| read.get(block)?.get(..BLOCK_LEN));
                    // A filter of one block is that block.
                    block.is_none_or(|block| bloom::check(block, hash).unwrap_or(true))
                })
            }
        };
        Ok(Taken::Answer(answer))
    }
}
