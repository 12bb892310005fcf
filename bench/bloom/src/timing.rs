//! Times one probe by many calls.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Nanoseconds per probe: of the best call, and of the median call.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    pub best: f64,
    pub median: f64,
}

/// The minimum number of calls, however long they take.
const MIN_CALLS: usize = 3;

/// Nanoseconds per probe, for every call.
#[derive(Default)]
pub struct Times(Vec<f64>);

impl Times {
    /// Calls `work`, which makes `probe_count` probes, again and again for `total`.
    pub fn repeat<T>(&mut self, probe_count: usize, total: Duration, mut work: impl FnMut() -> T) {
        let (started, before) = (Instant::now(), self.0.len());
        while self.0.len() < before + MIN_CALLS || started.elapsed() < total {
            let call = Instant::now();
            black_box(work());
            self.0.push(call.elapsed().as_secs_f64() * 1e9 / probe_count as f64);
        }
    }

    pub fn timing(mut self) -> Timing {
        self.0.sort_by(f64::total_cmp);
        Timing { best: self.0[0], median: self.0[self.0.len() / 2] }
    }
}
