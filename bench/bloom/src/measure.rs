//! Times probes of one filter in turns: every tier, the peer, and a plain load of the same bytes.

use std::hint::black_box;
use std::time::Duration;

use lath_kernels::{Tier, bloom};

use crate::filter::{FilledFilter, absent};
use crate::timing::{Times, Timing};

/// A way to probe a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// One key a call.
    Single,
    /// Many keys a call, with the answers as a bitmap.
    Bulk,
    /// Many keys a call, with the number of hits as the answer.
    Count,
    /// One key in one call to many filters, which all have the measured size.
    Filters,
}

impl Way {
    pub const ALL: [Self; 4] = [Self::Single, Self::Bulk, Self::Count, Self::Filters];

    pub fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Bulk => "bulk",
            Self::Count => "count",
            Self::Filters => "filters",
        }
    }
}

/// The figures of one size; timings are in the order of [`Way::ALL`].
pub struct Measurement {
    pub key_count: u64,
    pub filter_count: usize,
    pub false_positive_rate: f64,
    pub expected_false_positive_rate: f64,
    pub raw_load: Timing,
    pub tiers: Vec<(Tier, [Timing; 4])>,
    /// sbbf-rs, which has no bulk probes, in a loop of single ones.
    pub peer: [Timing; 4],
}

/// The number of filters that one key is looked up in.
const FILTERS: usize = 2_000;
/// The number of turns of each side.
const TURNS: u32 = 4;
/// The number of absent keys for the false positive rate.
const CHANCES: u64 = 1 << 22;
/// The number of keys of the filter to look up.
const PRESENT: u64 = 1 << 20;
/// The number of keys that are looked up in all filters to compare the answers.
const COMPARED: usize = 100;

/// The number of probes in one call. If the filter is larger than the caches, the probes cover more blocks than fit
/// into them.
fn probe_count(len: usize) -> usize {
    if len <= 4 << 20 { 1 << 16 } else { 1 << 20 }
}

/// Measures a filter of `len` bytes, each tier `total` for each way.
pub fn measure(len: usize, total: Duration) -> Measurement {
    let filter = FilledFilter::new(len);
    let bitset = filter.bitset();
    let hashes = absent(probe_count(len));
    let blocks = len / bloom::BLOCK_LEN;
    let filter_count = FILTERS.min(blocks);
    let filters: Vec<&[u8]> =
        bitset.chunks_exact(blocks / filter_count * bloom::BLOCK_LEN).take(filter_count).collect();
    let peer = Peer::new();
    check_answers(&filter, &filters, &hashes, &peer);

    let mut raw_load = Times::default();
    let mut tiers: Vec<(Tier, [Times; 4])> = Tier::available().iter().map(|&tier| (tier, Default::default())).collect();
    let mut peer_times: [Times; 4] = Default::default();
    for _ in 0..TURNS {
        for (tier, times) in &mut tiers {
            tier.select();
            for (times, way) in times.iter_mut().zip(Way::ALL) {
                time_tier(way, bitset, &filters, &hashes, times, total / TURNS);
            }
        }
        for (times, way) in peer_times.iter_mut().zip(Way::ALL) {
            time_peer(way, &peer, bitset, &filters, &hashes, times, total / TURNS);
        }
        raw_load.repeat(hashes.len(), total / TURNS, || raw_loads(bitset, &hashes));
    }
    let measured = Measurement {
        key_count: filter.key_count(),
        filter_count,
        false_positive_rate: filter.false_positive_rate(CHANCES),
        expected_false_positive_rate: filter.expected_false_positive_rate(),
        raw_load: raw_load.timing(),
        tiers: tiers.into_iter().map(|(tier, times)| (tier, times.map(Times::timing))).collect(),
        peer: peer_times.map(Times::timing),
    };
    let ratio = measured.false_positive_rate / measured.expected_false_positive_rate;
    assert!((ratio - 1.0).abs() < 0.2, "{ratio} of the expected false positives");
    measured
}

/// Checks that all keys are found, and that every tier and the peer answer like the scalar tier.
fn check_answers(filter: &FilledFilter, filters: &[&[u8]], hashes: &[u64], peer: &Peer) {
    let bitset = filter.bitset();
    let present = filter.present(PRESENT);
    let mut expected: Option<(Vec<u64>, Vec<u64>)> = None;
    for &tier in Tier::available() {
        tier.select();
        assert_eq!(bloom::count_many(bitset, &present), Ok(present.len()), "keys of the filter that {tier} finds");
        let mut bulk = vec![0; hashes.len().div_ceil(64)];
        bloom::check_many(bitset, hashes, &mut bulk).expect("blocks are whole");
        let hits = bulk.iter().map(|word| word.count_ones() as usize).sum();
        assert_eq!(bloom::count_many(bitset, hashes), Ok(hits), "count at {tier}");
        for (index, &hash) in hashes.iter().enumerate() {
            assert_eq!(bloom::check(bitset, hash), Ok(bulk[index / 64] >> (index % 64) & 1 == 1), "single at {tier}");
        }
        let mut in_filters = Vec::new();
        let mut out = vec![0; filters.len().div_ceil(64)];
        for &hash in &hashes[..COMPARED] {
            bloom::check_filters(filters, hash, &mut out).expect("blocks are whole");
            in_filters.extend_from_slice(&out);
        }
        let answers = (bulk, in_filters);
        assert!(expected.get_or_insert_with(|| answers.clone()) == &answers, "{tier} answers otherwise");
    }
    let (bulk, _) = expected.expect("there is a scalar tier");
    for (index, &hash) in hashes.iter().enumerate() {
        assert_eq!(peer.contains(bitset, hash), bulk[index / 64] >> (index % 64) & 1 == 1, "sbbf-rs");
    }
}

fn time_tier(way: Way, bitset: &[u8], filters: &[&[u8]], hashes: &[u64], times: &mut Times, total: Duration) {
    let count = hashes.len();
    match way {
        Way::Single => times.repeat(count, total, || {
            black_box(hashes).iter().filter(|&&hash| bloom::check(bitset, hash) == Ok(true)).count()
        }),
        Way::Bulk => {
            let mut out = vec![0; count.div_ceil(64)];
            times.repeat(count, total, || bloom::check_many(bitset, black_box(hashes), &mut out));
        }
        Way::Count => times.repeat(count, total, || bloom::count_many(bitset, black_box(hashes))),
        Way::Filters => {
            let mut out = vec![0; filters.len().div_ceil(64)];
            time_filters(filters.len(), hashes, times, total, |hash| {
                let _ = black_box(bloom::check_filters(black_box(filters), hash, &mut out));
            });
        }
    }
}

fn time_peer(
    way: Way,
    peer: &Peer,
    bitset: &[u8],
    filters: &[&[u8]],
    hashes: &[u64],
    times: &mut Times,
    total: Duration,
) {
    match way {
        Way::Filters => time_filters(filters.len(), hashes, times, total, |hash| {
            black_box(black_box(filters).iter().filter(|filter| peer.contains(filter, hash)).count());
        }),
        _ => times.repeat(hashes.len(), total, || {
            black_box(hashes).iter().filter(|&&hash| peer.contains(bitset, hash)).count()
        }),
    }
}

/// Calls `look_up` with other keys each time, because the caches have the blocks of the last ones.
fn time_filters(filter_count: usize, hashes: &[u64], times: &mut Times, total: Duration, mut look_up: impl FnMut(u64)) {
    let key_count = (hashes.len() / filter_count).max(1);
    let mut groups = hashes.chunks_exact(key_count).cycle();
    times.repeat(key_count * filter_count, total, || {
        groups.next().expect("groups come again").iter().for_each(|&hash| look_up(hash));
    });
}

/// Loads the blocks of the hashes, and does nothing else.
fn raw_loads(bitset: &[u8], hashes: &[u64]) -> [u64; 4] {
    let blocks = bitset.as_chunks::<{ bloom::BLOCK_LEN }>().0;
    let mut all = [0; 4];
    for &hash in black_box(hashes) {
        let words = blocks[bloom::block_index(hash, blocks.len())].as_chunks::<8>().0;
        all.iter_mut().zip(words).for_each(|(all, word)| *all ^= u64::from_le_bytes(*word));
    }
    all
}

/// sbbf-rs.
struct Peer(sbbf_rs::FilterFn);

impl Peer {
    fn new() -> Self {
        Self(sbbf_rs::FilterFn::new())
    }

    fn contains(&self, bitset: &[u8], hash: u64) -> bool {
        // It loads blocks from aligned addresses.
        assert_eq!(bitset.as_ptr().align_offset(bloom::BLOCK_LEN), 0);
        // SAFETY: the bitset is aligned to a block, and has this many blocks.
        unsafe { self.0.contains(bitset.as_ptr(), bitset.len() / bloom::BLOCK_LEN, hash) }
    }
}
