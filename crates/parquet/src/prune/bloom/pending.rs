//! Probes of filters that are not in memory.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use lath_format::ColumnChunk;
use lath_kernels::bloom::{self, BLOCK_LEN};

use super::super::thresholds::BLOCK_COST_BYTES;
use super::keys::Keys;
use super::results::{ProbeResult, ProbeResults, probe_bitset};
use crate::error::Result;
use crate::file::ParquetFile;
use crate::filters::{ColumnFilters, FilterHeader, FilterMemory, HeaderState, MAX_HEADER_LEN, Reservation};

/// Reads what `pending` needs, all probes together in each round, and sets their results.
pub(super) fn finish_pending(
    file: &ParquetFile,
    mut pending: Vec<PendingProbe<'_>>,
    memory: Option<&Arc<FilterMemory>>,
    results: &mut [ProbeResults],
) -> Result<()> {
    let mut ranges = Vec::new();
    while !pending.is_empty() {
        ranges.clear();
        for probe in &mut pending {
            probe.request(memory, &mut ranges);
        }
        let read = file.read_many(&ranges)?;
        let mut incomplete = Vec::new();
        for mut probe in pending {
            match probe.receive(&read)? {
                ProbeState::Result(result) => results[probe.result.0].set(probe.result.1, result),
                ProbeState::Incomplete => incomplete.push(probe),
            }
        }
        pending = incomplete;
    }
    Ok(())
}

/// A filter of the file.
struct Filter<'a> {
    filters: &'a ColumnFilters,
    /// Memory for caching it once it is probed often.
    memory: Option<&'a Arc<FilterMemory>>,
    /// The cost of a request, in blocks.
    request_cost: u64,
    row_group: usize,
    offset: u64,
    /// Bytes of header and bitset according to the footer, or the bytes up to the end of the file.
    len: u64,
    is_len_stated: bool,
    header: Option<FilterHeader>,
    /// Whether the header was read; otherwise it is a guess.
    is_header_read: bool,
}

impl<'a> Filter<'a> {
    /// `None` if there is no filter, or if it is encrypted or does not lie within the file.
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
        let (header, is_header_read) = match filters.header(row_group) {
            HeaderState::Unusable => return None,
            HeaderState::Read(header) => (Some(header), true),
            HeaderState::Unread => (FilterHeader::guess(len).filter(|_| is_len_stated), false),
        };
        let memory = file.filters().memory();
        let request_cost = file.source().request_cost_bytes() / BLOCK_COST_BYTES as u64;
        Some(Self { filters, memory, request_cost, row_group, offset, len, is_len_stated, header, is_header_read })
    }

    /// Memory for the whole filter, if blocks of it have cost as much.
    fn reserve_if_worth_caching(&self, header: FilterHeader) -> Option<Reservation> {
        let is_worth = u64::from(header.bitset_len) <= self.filters.read_cost(self.row_group) * BLOCK_COST_BYTES as u64;
        self.memory.filter(|_| is_worth)?.reserve(header.bitset_len.into())
    }

    /// Adds the cost of a request for this many blocks, or for bytes that cost as much.
    fn add_read_cost(&self, blocks: usize) {
        self.filters.add_read_cost(self.row_group, blocks as u64 + self.request_cost);
    }

    /// Parses the header. Returns whether it is as guessed; `None` if the filter cannot be used.
    fn set_header(&mut self, bytes: &[u8]) -> Option<bool> {
        let fits = |header: &FilterHeader| match self.is_len_stated {
            true => header.filter_len() == self.len,
            false => header.filter_len() <= self.len,
        };
        let header = FilterHeader::read(bytes).filter(fits);
        self.filters.set_header(self.row_group, header);
        let is_as_guessed = header == self.header;
        self.header = header;
        self.is_header_read = true;
        header.map(|_| is_as_guessed)
    }
}

/// The part of a filter that is requested.
enum Part {
    /// No part of the bitset, before the header is known.
    None,
    /// Header and bitset, to be cached if there is a reservation.
    Whole(Option<Reservation>),
    /// The bitset, to be cached.
    Bitset(Reservation),
    /// Blocks with these numbers, ascending.
    Blocks(Vec<usize>),
}

/// A probe of a filter that is not in memory.
pub(super) struct PendingProbe<'a> {
    keys: &'a Keys,
    /// Index of the lookup and number of the row group.
    result: (usize, usize),
    filter: Filter<'a>,
    part: Part,
    /// Index of its first range among all ranges of the read.
    first_range: usize,
}

/// The state of a probe after bytes have arrived.
enum ProbeState {
    Result(ProbeResult),
    /// Another part has to be read.
    Incomplete,
}

impl ProbeState {
    const POSSIBLE: Self = Self::Result(ProbeResult::Possible);
}

impl<'a> PendingProbe<'a> {
    /// `None` if there is no usable filter. `result` is where the result goes: index of the lookup and number of the row group.
    pub(super) fn new(
        file: &'a ParquetFile,
        chunk: ColumnChunk<'_>,
        filters: &'a ColumnFilters,
        row_group: usize,
        keys: &'a Keys,
        result: (usize, usize),
    ) -> Option<Self> {
        let filter = Filter::new(file, chunk, filters, row_group)?;
        Some(Self { keys, result, filter, part: Part::None, first_range: 0 })
    }

    /// Adds the ranges that have to be read next to `ranges`.
    fn request(&mut self, memory: Option<&Arc<FilterMemory>>, ranges: &mut Vec<Range<u64>>) {
        self.first_range = ranges.len();
        let filter = &self.filter;
        self.part = filter.header.map_or(Part::None, |header| self.choose_part(header, memory));
        if !matches!(self.part, Part::Whole(_)) && !filter.is_header_read {
            ranges.push(filter.offset..filter.offset + filter.len.min(MAX_HEADER_LEN));
        }
        match (&self.part, filter.header) {
            (Part::Whole(_), Some(header)) => ranges.push(filter.offset..filter.offset + header.filter_len()),
            (Part::Bitset(_), Some(header)) => ranges.push(header.bitset(filter.offset)),
            (Part::Blocks(blocks), Some(header)) => {
                ranges.extend(blocks.iter().map(|&block| header.block(filter.offset, block)));
            }
            _ => {}
        }
    }

    fn choose_part(&self, header: FilterHeader, memory: Option<&Arc<FilterMemory>>) -> Part {
        if let Some(reservation) = memory.and_then(|memory| memory.reserve(header.bitset_len.into())) {
            return Part::Whole(Some(reservation));
        }
        if let (None, Some(reservation)) = (memory, self.filter.reserve_if_worth_caching(header)) {
            return Part::Bitset(reservation);
        }
        let hashes = &self.keys.hashes;
        // Duplicate blocks are not counted: most lists are much shorter than a filter, or much longer.
        if hashes.len() * BLOCK_COST_BYTES >= header.bitset_len as usize {
            return Part::Whole(None);
        }
        let mut blocks: Vec<usize> =
            hashes.iter().map(|hash| bloom::block_index(*hash, header.block_count())).collect();
        blocks.sort_unstable();
        blocks.dedup();
        Part::Blocks(blocks)
    }

    fn receive(&mut self, read: &[Bytes]) -> Result<ProbeState> {
        let Some(mut read) = read.get(self.first_range..) else { return Ok(ProbeState::POSSIBLE) };
        if !self.filter.is_header_read {
            let Some(header) = read.first() else { return Ok(ProbeState::POSSIBLE) };
            match self.filter.set_header(header) {
                None => return Ok(ProbeState::POSSIBLE),
                Some(false) => return Ok(ProbeState::Incomplete),
                Some(true) => {}
            }
            if !matches!(self.part, Part::Whole(_)) {
                read = &read[1..];
            }
        }
        let (keys, Some(header)) = (self.keys, self.filter.header) else { return Ok(ProbeState::POSSIBLE) };
        let result = match std::mem::replace(&mut self.part, Part::None) {
            Part::None => return Ok(ProbeState::Incomplete),
            Part::Whole(reservation) => {
                let whole =
                    read.first().and_then(|whole| whole.get(header.header_len.into()..header.filter_len() as usize));
                let Some(bitset) = whole else { return Ok(ProbeState::POSSIBLE) };
                if let Some(reservation) = reservation {
                    self.filter.filters.cache(self.filter.row_group, Bytes::copy_from_slice(bitset), reservation);
                } else {
                    self.filter.add_read_cost(bitset.len().div_ceil(BLOCK_COST_BYTES));
                }
                probe_bitset(bitset, keys, &keys.hashes)?
            }
            Part::Bitset(reservation) => {
                let Some(bitset) = read.first().filter(|bitset| bitset.len() == header.bitset_len as usize) else {
                    return Ok(ProbeState::POSSIBLE);
                };
                // Requests are joined: a slice of one would keep the bytes of the others in memory.
                let is_joined = self.filter.request_cost > 0;
                let bitset = if is_joined { Bytes::copy_from_slice(bitset) } else { bitset.clone() };
                self.filter.filters.cache(self.filter.row_group, bitset.clone(), reservation);
                probe_bitset(&bitset, keys, &keys.hashes)?
            }
            Part::Blocks(blocks) => {
                self.filter.add_read_cost(keys.hashes.len());
                keys.result(|number| {
                    let hash = keys.hashes[number];
                    let block = blocks.binary_search(&bloom::block_index(hash, header.block_count())).ok();
                    let block = block.and_then(|block| read.get(block)?.get(..BLOCK_LEN));
                    // A filter of one block is that block.
                    block.is_none_or(|block| bloom::check(block, hash).unwrap_or(true))
                })
            }
        };
        Ok(ProbeState::Result(result))
    }
}
