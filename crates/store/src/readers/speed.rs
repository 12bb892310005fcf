//! What a pin takes, and a scan.

use std::hint::black_box;
use std::time::Instant;

use super::{Readers, SHARED_LEN};
use crate::storage::{MemoryStorage, Storage};

/// `cargo test --release -p lath-store readers::speed -- --ignored --nocapture`
#[test]
#[ignore = "measures, and fails at nothing"]
fn pins_and_scans() {
    const ROUNDS: u32 = 2_000_000;
    let storage = MemoryStorage::new(1 << 20).unwrap();
    let readers = Readers::new(storage.shared(SHARED_LEN).unwrap()).unwrap();
    readers.publish(128, 1 << 20);
    let nanoseconds = |name: &str, rounds: u32, work: &mut dyn FnMut()| {
        let best = (0..5).map(|_| {
            let start = Instant::now();
            (0..rounds).for_each(|_| work());
            start.elapsed().as_nanos() as f64 / f64::from(rounds)
        });
        println!("{name}: {:.1} ns", best.fold(f64::MAX, f64::min));
    };
    nanoseconds("a pin, taken and dropped", ROUNDS, &mut || drop(black_box(readers.pin().unwrap())));
    nanoseconds("one fence", ROUNDS, &mut || std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst));
    let mut out = Vec::new();
    for count in [1, 16, 256, 4096] {
        let pins: Vec<_> = (0..count).map(|_| readers.pin().unwrap()).collect();
        nanoseconds(&format!("a scan of {count} pins"), 20_000, &mut || readers.pinned(black_box(&mut out)));
        assert_eq!(out.len(), 1 + pins.len());
    }
}
