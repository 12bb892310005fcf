//! What probes of Bloom filters cost, tier by tier.

use std::hint::black_box;
use std::time::Duration;

use lath_kernels::{KernelError, Tier, bloom};

use super::filter::{FilledFilter, absent};
use super::timing::{Times, Timing};

/// What is measured at each tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Single,
    Bulk,
    Count,
    Filters,
}

impl Way {
    pub(crate) const ALL: [Self; 4] = [Self::Single, Self::Bulk, Self::Count, Self::Filters];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Bulk => "bulk",
            Self::Count => "count",
            Self::Filters => "filters",
        }
    }
}

/// The figures of one size.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) bytes: u64,
    pub(crate) keys: u64,
    pub(crate) filters: usize,
    pub(crate) false_positive_rate: f64,
    pub(crate) expected_false_positive_rate: f64,
    pub(crate) raw_load: Timing,
    /// In the order of [`Way::ALL`].
    pub(crate) tiers: Vec<(Tier, [Timing; 4])>,
}

/// Probes of one call.
fn probe_count(len: usize) -> usize {
    // More than the caches have room for, where the filter is larger than they are.
    if len <= 4 << 20 { 1 << 16 } else { 1 << 20 }
}

/// Times that each tier has its turn.
const TURNS: u32 = 4;

/// Absent keys of which the share that passes is taken.
const CHANCES: u64 = 1 << 22;

/// Keys of the filter that are looked for.
const PRESENT: u64 = 1 << 20;

/// Bytes that are needed beside the filter.
pub(crate) const WORKING_MEMORY: u64 = 64 << 20;

/// Why there are no figures.
#[derive(Debug)]
pub(crate) enum Wrong {
    Kernel(KernelError),
    /// A key that was inserted is not found, or a tier answers otherwise than the scalar one.
    Answers {
        what: &'static str,
        tier: Tier,
    },
}

impl From<KernelError> for Wrong {
    fn from(error: KernelError) -> Self {
        Self::Kernel(error)
    }
}

/// Measures a filter at every tier.
pub(crate) fn measure(filter: &FilledFilter, filter_count: usize, each: Duration) -> Result<Measured, Wrong> {
    let current = Tier::current();
    let measured = measure_tiers(filter, filter_count, each);
    current.select();
    measured
}

fn measure_tiers(filter: &FilledFilter, filter_count: usize, each: Duration) -> Result<Measured, Wrong> {
    let bitset = filter.bitset();
    let hashes = absent(probe_count(bitset.len()));
    let present = filter.present(PRESENT.min(filter.keys()));
    let blocks = bitset.len() / bloom::BLOCK_LEN;
    let filter_count = filter_count.min(blocks);
    let filters: Vec<&[u8]> =
        bitset.chunks_exact(blocks / filter_count * bloom::BLOCK_LEN).take(filter_count).collect();

    let mut expected = None;
    for &tier in Tier::available() {
        tier.select();
        if bloom::count_many(bitset, &present)? != present.len() {
            return Err(Wrong::Answers { what: "a key that is in the filter is not found", tier });
        }
        let answers = answers(bitset, &filters, &hashes)?;
        if expected.get_or_insert_with(|| answers.clone()) != &answers {
            return Err(Wrong::Answers { what: "the answers are not those of the scalar tier", tier });
        }
    }
    let mut raw_load = Times::default();
    let mut tiers: Vec<(Tier, [Times; 4])> = Tier::available().iter().map(|&tier| (tier, Default::default())).collect();
    // In turns, so that what else the machine does is not to one tier's charge.
    for _ in 0..TURNS {
        for (tier, times) in &mut tiers {
            tier.select();
            for (times, way) in times.iter_mut().zip(Way::ALL) {
                measure_way(way, bitset, &filters, &hashes, times, each / TURNS);
            }
        }
        raw_load.repeat(hashes.len(), each / TURNS, || raw_loads(bitset, &hashes));
    }
    Ok(Measured {
        bytes: bitset.len() as u64,
        keys: filter.keys(),
        filters: filters.len(),
        false_positive_rate: filter.false_positive_rate(CHANCES)?,
        expected_false_positive_rate: filter.expected_false_positive_rate(),
        raw_load: raw_load.timing(),
        tiers: tiers.into_iter().map(|(tier, times)| (tier, times.map(Times::timing))).collect(),
    })
}

/// Keys that are looked up in all filters before the answers are compared.
const COMPARED: usize = 100;

/// What a tier answers: to every hash in bulk and one by one, and to some in all filters.
#[derive(Debug, Clone, PartialEq)]
struct Answers {
    bulk: Vec<u64>,
    single: Vec<bool>,
    in_filters: Vec<u64>,
}

fn answers(bitset: &[u8], filters: &[&[u8]], hashes: &[u64]) -> Result<Answers, KernelError> {
    let mut bulk = vec![0; hashes.len().div_ceil(64)];
    bloom::check_many(bitset, hashes, &mut bulk)?;
    let single = hashes.iter().map(|&hash| bloom::check(bitset, hash)).collect::<Result<_, _>>()?;
    let mut in_filters = Vec::new();
    let mut out = vec![0; filters.len().div_ceil(64)];
    for &hash in &hashes[..COMPARED] {
        bloom::check_filters(filters, hash, &mut out)?;
        in_filters.extend_from_slice(&out);
    }
    Ok(Answers { bulk, single, in_filters })
}

fn measure_way(way: Way, bitset: &[u8], filters: &[&[u8]], hashes: &[u64], times: &mut Times, each: Duration) {
    let count = hashes.len();
    match way {
        Way::Single => times.repeat(count, each, || {
            black_box(hashes).iter().filter(|&&hash| bloom::check(bitset, hash) == Ok(true)).count()
        }),
        Way::Bulk => {
            let mut out = vec![0; count.div_ceil(64)];
            times.repeat(count, each, || bloom::check_many(bitset, black_box(hashes), &mut out));
        }
        Way::Count => times.repeat(count, each, || bloom::count_many(bitset, black_box(hashes))),
        Way::Filters => {
            let mut out = vec![0; filters.len().div_ceil(64)];
            // Other keys each time: those of one call are blocks that the caches have.
            let keys = (count / filters.len()).clamp(1, count);
            let mut groups = hashes.chunks_exact(keys).cycle();
            times.repeat(keys * filters.len(), each, || {
                for &hash in groups.next().unwrap_or_default() {
                    let _ = black_box(bloom::check_filters(black_box(filters), hash, &mut out));
                }
            });
        }
    }
}

/// Reads the blocks of the hashes, and nothing else.
fn raw_loads(bitset: &[u8], hashes: &[u64]) -> [u64; 4] {
    let blocks = bitset.as_chunks::<{ bloom::BLOCK_LEN }>().0;
    let mut all = [0; 4];
    for &hash in black_box(hashes) {
        let words = blocks[bloom::block_index(hash, blocks.len())].as_chunks::<8>().0;
        all.iter_mut().zip(words).for_each(|(all, word)| *all ^= u64::from_le_bytes(*word));
    }
    all
}
