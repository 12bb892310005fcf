//! The workload that the allocator was tuned for, with measurements: random inserts into a trie, 512 a transaction,
//! from nothing to 700,000 leaves. A leaf grows by a unit now and then and splits at 16; a transaction rewrites some
//! 1,250 nodes, of which 40 % are leaves of 5 to 15 units, 40 % inner nodes of 2 or 3 and 20 % upper nodes of 36. The
//! nodes of the last checkpoint are kept until the next, 64 transactions later.
//!
//! Measured on two busy cores, the first three rows on a Xeon and the others on an EPYC. The columns are: the file's
//! length in MiB with 414 MiB live, and with 483 MiB live and 8 parked; pages of 4 KiB dirtied a transaction, counted
//! at checkpoints; nanoseconds from the best tenth to the median. A release takes 10 to 19 ns, except in the last row.
//!
//! | policy | file at 414 MiB live | at 483 | pages | allocating, ns |
//! | --- | --- | --- | --- | --- |
//! | this one: three classes, a region is filled with a seventh of it free, the one with most units freed since first | 483 | 571 | 481 | 17 to 30 |
//! | the one with most units free first | 483 | 555 | 471 | 20 to 32 |
//! | two classes, up to 16 units and more, a seventh | 475 | 547 | 537 | 14 to 18 |
//! | two classes, a tenth | 467 | 539 | 568 | 24 to 31 |
//! | two classes, a seventh | 475 | 547 | 485 | 19 to 28 |
//! | two classes, a fifth | 491 | 571 | 428 | 22 to 28 |
//! | a seventh, upper nodes anywhere | 475 | 595 | 442 | 27 to 117 |
//! | next fit over the whole file | 515 | 595 | 535 | 440 to 660 |
//! | best fit over the whole file, in ordered sets | 443 | 515 | 752 | 295 to 430, a release 114 to 169 |
//!
//! Opening a saved map of 256 GiB takes 1 to 1.5 ms, writing it 1.1 s.

use super::reclaim::{Reclaimer, RetiredNode};
use super::*;
use std::time::Instant;

const LEAVES: usize = 700_000;
const CHECKPOINT_EVERY: u64 = 64;

const ABSENT: RetiredNode = RetiredNode { extent: Extent { start: 0, units: 0 }, birth: 0 };

struct Trie {
    /// Upper nodes, inner nodes, leaves.
    levels: [Vec<RetiredNode>; 3],
    now: u64,
}

impl Trie {
    /// Chooses the nodes that the next transaction rewrites, in the order of random descents, with their new sizes.
    /// Puts the old ones into `dead`.
    fn rewrite(&mut self, rng: &mut fastrand::Rng, dead: &mut Vec<RetiredNode>) -> Vec<(usize, usize, u32)> {
        self.now += 1;
        let leaves = self.levels[2].len();
        let inner = (leaves / 10).clamp(1, self.levels[1].len());
        let upper = (inner / 256).clamp(1, self.levels[0].len());
        let mut rewritten = Vec::new();
        for _ in 0..512 {
            let leaf = rng.usize(..leaves);
            let above = (leaf as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) as usize % inner;
            for (level, at) in [(0, above % upper), (1, above), (2, leaf)] {
                let node = &mut self.levels[level][at];
                if node.birth == self.now {
                    continue;
                }
                let old = std::mem::replace(node, RetiredNode { birth: self.now, ..*node });
                if old.birth > 0 {
                    dead.push(old);
                }
                match (level, old.extent.units + u32::from(rng.u8(..100) < 36)) {
                    (0, _) => rewritten.push((0, at, 36)),
                    (1, _) => rewritten.push((1, at, 2 + rng.u32(..2))),
                    (_, 16..) => {
                        rewritten.push((2, at, 8));
                        rewritten.push((2, self.levels[2].len(), 8));
                        self.levels[2].push(RetiredNode { birth: self.now, ..ABSENT });
                    }
                    (_, units) => rewritten.push((2, at, units.max(5))),
                }
            }
        }
        rewritten
    }
}

fn quantiles(times: &mut Vec<f64>) -> String {
    times.sort_by(f64::total_cmp);
    let text = match times.len() {
        0 => "?".to_owned(),
        len => format!("{:.1} to {:.1}", times[len / 10], times[len / 2]),
    };
    times.clear();
    text
}

fn mebibytes(units: u64) -> f64 {
    units as f64 / 16_384.0
}

#[test]
#[ignore = "prints figures; run in release"]
fn simulated_load() {
    let seed = 1;
    println!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut space = Space::new(128, 128);
    let levels = [vec![ABSENT; 256], vec![ABSENT; 65_536], vec![ABSENT]];
    let mut trie = Trie { levels, now: 0 };
    let mut reclaimer = Reclaimer::new();
    let mut durable = 0;
    let (mut allocating, mut releasing) = (Vec::new(), Vec::new());
    let (mut dead, mut places) = (Vec::new(), Vec::new());
    let (mut pages, mut dirtied, mut checkpoints) = (Vec::new(), 0, 0);
    let mut report_at = LEAVES / 7;
    while trie.levels[2].len() < LEAVES {
        let rewritten = trie.rewrite(&mut rng, &mut dead);
        let begin = Instant::now();
        for &(.., units) in &rewritten {
            let start = loop {
                match space.allocate(units) {
                    Some(start) => break start,
                    None => space.grow(space.end() + (space.end() / 32).clamp(16_384, 131_072)),
                }
            };
            places.push(start);
        }
        allocating.push(begin.elapsed().as_nanos() as f64 / rewritten.len() as f64);
        for ((level, at, units), start) in rewritten.into_iter().zip(places.drain(..)) {
            trie.levels[level][at].extent = Extent { start, units };
            pages.extend(start / 64..=(start + u64::from(units) - 1) / 64);
        }
        if trie.now.is_multiple_of(CHECKPOINT_EVERY) {
            durable = trie.now;
            pages.sort_unstable();
            pages.dedup();
            dirtied += pages.len() as u64;
            checkpoints += 1;
            pages.clear();
        }
        let count = dead.len();
        let begin = Instant::now();
        reclaimer.retire(&mut dead, trie.now);
        reclaimer.reclaim(&[durable], &mut space);
        releasing.push(begin.elapsed().as_nanos() as f64 / count.max(1) as f64);
        if trie.levels[2].len() >= report_at {
            report_at += LEAVES / 7;
            let parked = reclaimer.parked_units(durable);
            println!(
                "{:6} leaves: {:5.1} MiB live, {:4.1} parked, file {:5.1}; allocate {} ns, release {} ns; {} pages a transaction",
                trie.levels[2].len(),
                mebibytes(space.used_units() - parked),
                mebibytes(parked),
                mebibytes(space.end()),
                quantiles(&mut allocating),
                quantiles(&mut releasing),
                dirtied / (checkpoints * CHECKPOINT_EVERY),
            );
            (dirtied, checkpoints) = (0, 0);
            let bound = (space.used_units() as f64 * 1.27) as u64 + 16_384 * 20;
            assert!(space.end() < bound, "the file has {} units for {} used ones", space.end(), space.used_units());
        }
    }
    let live: u64 = trie.levels.iter().flatten().map(|node| u64::from(node.extent.units)).sum();
    let parked = reclaimer.parked_units(durable);
    assert_eq!(space.used_units(), live + parked);
    let mut again = Space::new(128, space.end());
    assert!(trie.levels.iter().flatten().all(|node| node.birth == 0 || again.mark_used(node.extent)), "nodes overlap");
}

#[test]
#[ignore = "prints figures; run in release"]
fn opening_a_large_map() {
    let mut rng = fastrand::Rng::with_seed(1);
    for gibibytes in [1, 16, 256] {
        let mut space = Space::new(128, gibibytes << 24);
        for region in 0..space.end() / u64::from(REGION) {
            for _ in 0..50 {
                let start = region * u64::from(REGION) + rng.u64(128..32_000);
                space.mark_used(Extent { start, units: 10 });
            }
        }
        let begin = Instant::now();
        let bytes = space.save([]);
        let writing = begin.elapsed();
        let begin = Instant::now();
        let mut opened = Space::lazy(bytes).unwrap();
        let opening = begin.elapsed();
        let begin = Instant::now();
        assert!(opened.allocate(10).is_some());
        let first = begin.elapsed();
        let begin = Instant::now();
        opened.load_all();
        println!(
            "{gibibytes} GiB: write {writing:?}, open {opening:?}, first node {first:?}, read all {:?}",
            begin.elapsed()
        );
        assert_eq!(opened.free_units(), space.free_units() - 10);
    }
}
