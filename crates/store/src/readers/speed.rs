//! Measures the time of a pin and of a scan.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::time::Instant;

use super::{Readers, SHARED_LEN};
use crate::storage::{MemoryStorage, Storage};

/// `cargo test --release -p lath-store readers::speed -- --ignored --nocapture`
#[test]
#[ignore = "measures, and fails at nothing"]
fn pins_and_scans() {
    let storage = MemoryStorage::new(1 << 20).unwrap();
    let readers = Readers::new(storage.shared(SHARED_LEN).unwrap()).unwrap();
    readers.publish(128, 1 << 20);
    // Many short batches, so that some are not interrupted.
    let nanoseconds = |name: &str, work: &mut dyn FnMut()| {
        let best = (0..1000).map(|_| {
            let start = Instant::now();
            (0..100).for_each(|_| work());
            start.elapsed().as_nanos() as f64 / 100.0
        });
        println!("{name}: {:.1} ns", best.fold(f64::MAX, f64::min));
    };
    nanoseconds("a pin, taken and dropped", &mut || drop(black_box(readers.pin().unwrap())));
    let word = AtomicU64::new(0);
    nanoseconds("of that a store and a fence", &mut || {
        black_box(&word).store(1, Ordering::Release);
        fence(Ordering::SeqCst);
    });
    let shared = Arc::new(word);
    nanoseconds("of that another reference to the table", &mut || drop(black_box(Arc::clone(&shared))));
    let mut out = Vec::new();
    for count in [1, 16, 256, 4096] {
        let pins: Vec<_> = (0..count).map(|_| readers.pin().unwrap()).collect();
        nanoseconds(&format!("a scan of {count} pins"), &mut || readers.pinned(black_box(&mut out)));
        assert_eq!(out.len(), 1 + pins.len());
    }
}
