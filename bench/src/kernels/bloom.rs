//! Bloom probes: of filters that fit a cache and of filters that fit none, one key a call and many, and one key in many
//! filters. Filters and hashes are created when a side is measured, because the largest takes a gigabyte.

use std::hint::black_box;
use std::time::Duration;

use lath_kernels::bloom;
use lath_parquet::HugePages;
use parquet::bloom_filter::Sbbf;
use twox_hash::XxHash64;

use super::encode::{Goal, Row, side};
use super::timing::{Timing, time};
use super::workload::COUNT;
use crate::data::Random;

const MIB: usize = 1 << 20;

/// The number of groups of [`COUNT`] keys; each call takes the next. One group's blocks are still in the caches when
/// its turn comes again.
const GROUPS: usize = 16;

/// The number of filters that one key is looked up in.
const FILTERS: usize = 2000;

struct Probes {
    bitset: HugePages,
    values: Vec<i64>,
    hashes: Vec<u64>,
}

impl Probes {
    /// A filter with a false positive rate of about one in a hundred.
    fn new(len: usize) -> Self {
        let mut random = Random(len as u64);
        let mut bitset = HugePages::zeroed(len).expect("there is memory");
        for word in bitset.as_chunks_mut::<8>().0 {
            *word = (random.next() | random.next() & random.next() & random.next()).to_le_bytes();
        }
        let values: Vec<i64> = (0..GROUPS * COUNT).map(|_| random.next() as i64).collect();
        let hashes = values.iter().map(|value| XxHash64::oneshot(0, &value.to_le_bytes())).collect();
        Self { bitset, values, hashes }
    }

    /// Times `count_hits` on groups of hashes and their values, and compares its answers with the specification's.
    fn time(&self, total: Duration, mut count_hits: impl FnMut(&[u64], &[i64]) -> usize) -> Timing {
        let groups = self.hashes.chunks_exact(COUNT).zip(self.values.chunks_exact(COUNT));
        let mut hits = 0;
        for (hashes, values) in groups.clone() {
            hits += count_hits(hashes, values);
        }
        assert_eq!(hits, self.hashes.iter().filter(|&&hash| is_found(&self.bitset, hash)).count());
        let mut turns = groups.cycle();
        time(total, || {
            let (hashes, values) = turns.next().expect("groups come again");
            black_box(count_hits(black_box(hashes), black_box(values)));
        })
    }
}

/// The check of the specification, word by word.
fn is_found(bitset: &[u8], hash: u64) -> bool {
    const SALT: [u32; 8] =
        [0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31];
    let blocks = bitset.as_chunks::<32>().0;
    let block = &blocks[(((hash >> 32) * blocks.len() as u64) >> 32) as usize];
    block.as_chunks::<4>().0.iter().zip(SALT).all(|(word, salt)| {
        let bit = (hash as u32).wrapping_mul(salt) >> 27;
        u32::from_le_bytes(*word) >> bit & 1 == 1
    })
}

pub fn rows() -> Vec<Row> {
    let size = |len: usize| if len < MIB { format!("{} KiB", len >> 10) } else { format!("{} MiB", len >> 20) };
    let mut rows = Vec::new();
    for (len, single, bulk) in [(MIB / 2, Some(1.5), 1.0), (128 * MIB, None, 6.0), (1024 * MIB, None, 11.7)] {
        rows.push(Row {
            name: format!("bloom-check-{}m", len / MIB),
            what: format!("Bloom check, one key a call, {}, prehashed (`parquet`: with the hash)", size(len)),
            goal: single.map_or(Goal::None, Goal::NanosecondsPerValue),
            lath: side(move |total| {
                let probes = Probes::new(len);
                let bitset: &[u8] = &probes.bitset;
                probes.time(total, |hashes, _| {
                    hashes.iter().filter(|&&hash| bloom::check(bitset, hash) == Ok(true)).count()
                })
            }),
            peers: peers(len),
        });
        rows.push(Row {
            name: format!("bloom-bulk-{}m", len / MIB),
            what: format!("Bloom check, many keys a call, {}, prehashed (peers: as above)", size(len)),
            goal: Goal::NanosecondsPerValue(bulk),
            lath: side(move |total| {
                let probes = Probes::new(len);
                let mut out = vec![0; COUNT / 64];
                probes.time(total, |hashes, _| {
                    bloom::check_many(&probes.bitset, hashes, &mut out).expect("blocks are whole");
                    out.iter().map(|word| word.count_ones() as usize).sum()
                })
            }),
            peers: peers(len),
        });
    }
    rows.push(filters_row());
    rows
}

/// Peers that check hashes or values one by one; none has bulk checks.
fn peers(len: usize) -> Vec<(&'static str, super::encode::Side)> {
    let sbbf_rs = side(move |total| {
        let probes = Probes::new(len);
        let bitset = probes.bitset.as_ptr();
        let filter = sbbf_rs::FilterFn::new();
        probes.time(total, |hashes, _| {
            let contains = |hash: u64| {
                // SAFETY: the bitset is aligned to a page, and has this many blocks.
                unsafe { filter.contains(bitset, len / 32, hash) }
            };
            hashes.iter().filter(|&&hash| contains(hash)).count()
        })
    });
    let parquet = side(move |total| {
        let probes = Probes::new(len);
        let filter = Sbbf::new(&probes.bitset);
        probes.time(total, |_, values| values.iter().filter(|&value| filter.check(value)).count())
    });
    vec![("sbbf-rs", sbbf_rs), ("parquet", parquet)]
}

/// As many answers as in the other rows, from fewer keys: each call takes the next of them.
fn filters_row() -> Row {
    const LEN: usize = 64 << 10;
    let keys = COUNT / FILTERS;
    let lath = side(move |total| {
        let probes = Probes::new(FILTERS * LEN);
        let filters: Vec<&[u8]> = probes.bitset.chunks_exact(LEN).collect();
        let mut out = vec![0; FILTERS.div_ceil(64)];
        let mut look_up = |hash: u64| {
            bloom::check_filters(&filters, hash, &mut out).expect("blocks are whole");
            out.iter().map(|word| word.count_ones() as usize).sum::<usize>()
        };
        for &hash in &probes.hashes[..keys] {
            assert_eq!(look_up(hash), filters.iter().filter(|filter| is_found(filter, hash)).count());
        }
        per_value(total, &probes.hashes, keys, look_up)
    });
    let sbbf_rs = side(move |total| {
        let probes = Probes::new(FILTERS * LEN);
        let filters: Vec<&[u8]> = probes.bitset.chunks_exact(LEN).collect();
        let filter = sbbf_rs::FilterFn::new();
        // SAFETY: each bitset is aligned to 64 KiB, and has this many blocks.
        let contains = |bitset: &[u8], hash| unsafe { filter.contains(bitset.as_ptr(), LEN / 32, hash) };
        let look_up = |hash: u64| filters.iter().filter(|bitset| contains(bitset, hash)).count();
        for &hash in &probes.hashes[..keys] {
            assert_eq!(look_up(hash), filters.iter().filter(|filter| is_found(filter, hash)).count());
        }
        per_value(total, &probes.hashes, keys, look_up)
    });
    let parquet = side(move |total| {
        let probes = Probes::new(FILTERS * LEN);
        let filters: Vec<&[u8]> = probes.bitset.chunks_exact(LEN).collect();
        let peers: Vec<Sbbf> = filters.iter().map(|bitset| Sbbf::new(bitset)).collect();
        let values: Vec<u64> = probes.values.iter().map(|&value| value as u64).collect();
        let look_up = |value: u64| peers.iter().filter(|filter| filter.check(&(value as i64))).count();
        for (&value, &hash) in values.iter().zip(&probes.hashes).take(keys) {
            assert_eq!(look_up(value), filters.iter().filter(|filter| is_found(filter, hash)).count());
        }
        per_value(total, &values, keys, look_up)
    });
    Row {
        name: "bloom-filters".to_owned(),
        what: "Bloom check, one key in 2,000 filters of 64 KiB, prehashed (`parquet`: with the hash)".to_owned(),
        goal: Goal::NanosecondsPerValue(15.0),
        lath,
        peers: vec![("sbbf-rs", sbbf_rs), ("parquet", parquet)],
    }
}

/// The time of [`COUNT`] answers. `keys` keys at a time give almost as many.
fn per_value(total: Duration, keys_of_all: &[u64], keys: usize, mut look_up: impl FnMut(u64) -> usize) -> Timing {
    let mut turns = keys_of_all.chunks_exact(keys).cycle();
    let timing = time(total, || {
        for &key in turns.next().expect("groups come again") {
            black_box(look_up(black_box(key)));
        }
    });
    let scale = COUNT as f64 / (keys * FILTERS) as f64;
    Timing { best: timing.best * scale, median: timing.median * scale }
}
