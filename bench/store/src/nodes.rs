//! Times a search in a node, at every tier.
//!
//! There are 512 nodes of 256 bytes (they fit a second-level cache), each with its own arrays and a number of bytes
//! within the range that the row names. For latency, the next node depends on the answer in the one before; for
//! throughput, it does not. The first row is the choice of nodes alone, which the others include. The program stops
//! unless every tier gives the same sum of answers.

use std::hint::black_box;
use std::time::Instant;

use lath_bench_record::record::Record;
use lath_kernels::{Tier, bytesearch};

const NODES: usize = 512;
const CALLS: usize = 100_000;
const ROUNDS: usize = 25;

/// A node with the bytes that are searched.
struct Node {
    /// 16 bytes before the sorted bytes, or bytes in any order, and the bytes after them.
    sorted: [u8; 320],
    bytes: [u8; 320],
    count: usize,
    key: u8,
}

/// xorshift64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

fn nodes(least: usize, most: usize) -> Vec<Node> {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut node = || {
        let count = least + random.next() as usize % (most - least + 1);
        let mut bytes = [0; 320];
        bytes.fill_with(|| random.next() as u8);
        let mut sorted = bytes;
        sorted[16..16 + count].sort_unstable();
        // Most of the searched keys are present.
        let key = bytes[16 + random.next() as usize % (count + count / 4 + 1).min(300)];
        Node { sorted, bytes, count, key }
    };
    (0..NODES).map(|_| node()).collect()
}

/// Nanoseconds a call, and the sum of the answers.
#[inline(never)]
fn time<const DEPENDENT: bool>(nodes: &[Node], search: &impl Fn(&Node) -> u64) -> (f64, u64) {
    let mut best = f64::MAX;
    let mut sum = 0_u64;
    for _ in 0..ROUNDS {
        let mut random = Random(88_172_645_463_325_252);
        let mut at = 0;
        sum = 0;
        let started = Instant::now();
        for _ in 0..CALLS {
            let answer = search(&nodes[at % NODES]);
            sum = sum.wrapping_add(answer);
            let next = random.next();
            at = if DEPENDENT { next ^ (answer & 1) } else { next } as usize;
        }
        best = best.min(started.elapsed().as_nanos() as f64 / CALLS as f64);
    }
    (best, black_box(sum))
}

/// The tiers that have their own code here.
fn tiers() -> impl Iterator<Item = Tier> {
    Tier::available().iter().copied().filter(|&tier| tier != Tier::Sse41)
}

#[derive(Default)]
struct Rows(Vec<Vec<String>>);

impl Rows {
    fn add(&mut self, name: &str, [least, most]: [usize; 2], search: impl Fn(&Node) -> u64) {
        let nodes = nodes(least, most);
        let length = if least == most { least.to_string() } else { format!("{least} to {most}") };
        let mut row = vec![name.to_owned(), length];
        let mut sums = None;
        for tier in tiers() {
            assert_eq!(tier.select(), tier);
            let (latency, dependent) = time::<true>(&nodes, &search);
            let (throughput, independent) = time::<false>(&nodes, &search);
            assert_eq!(*sums.get_or_insert((dependent, independent)), (dependent, independent), "{name} at {tier}");
            row.push(format!("{latency:.1} · {throughput:.1}"));
        }
        self.0.push(row);
    }
}

/// Prints the table, and leaves the kernels at their tier.
pub fn run(record: &mut Record) {
    let tier = Tier::current();
    let mut rows = Rows::default();
    rows.add("(the choice of a node)", [32, 32], |node| u64::from(node.key));
    for lengths in [[8, 8], [20, 48], [64, 64], [1, 64], [65, 256], [255, 255]] {
        rows.add("lower_bound", lengths, |node| {
            bytesearch::lower_bound(&node.sorted[16..16 + node.count], node.key) as u64
        });
        rows.add("lower_bound_within", lengths, |node| {
            bytesearch::lower_bound_within(&node.sorted, 16, node.count, node.key) as u64
        });
        rows.add("upper_bound_within", lengths, |node| {
            bytesearch::upper_bound_within(&node.sorted, 16, node.count, node.key) as u64
        });
        rows.add("partition_point (std)", lengths, |node| {
            node.sorted[16..16 + node.count].partition_point(|&byte| byte < node.key) as u64
        });
    }
    for lengths in [[8, 8], [20, 48], [32, 32], [1, 64]] {
        rows.add("find_byte_mask", lengths, |node| {
            bytesearch::find_byte_mask(&node.bytes[16..16 + node.count], node.key).trailing_zeros().into()
        });
        rows.add("find_byte_mask_within", lengths, |node| {
            bytesearch::find_byte_mask_within(&node.bytes, 16, node.count, node.key).trailing_zeros().into()
        });
        rows.add("position (std)", lengths, |node| {
            node.bytes[16..16 + node.count].iter().position(|&byte| byte == node.key).unwrap_or(64) as u64
        });
    }
    tier.select();
    record.heading("What a search in a node takes: ns by latency · by throughput, best of 25 rounds");
    let head = ["kernel", "bytes"].into_iter().chain(tiers().map(Tier::name));
    record.table(&head.map(str::to_owned).collect::<Vec<_>>(), &rows.0);
}
