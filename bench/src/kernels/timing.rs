//! Times one call by many short samples: a sample is so short that the scheduler rarely interrupts it.

use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug)]
pub struct Timing {
    pub best: f64,
    pub median: f64,
}

/// Seconds per call of `work`.
pub fn time(total: Duration, mut work: impl FnMut()) -> Timing {
    work();
    let start = Instant::now();
    work();
    let once = start.elapsed().as_secs_f64().max(1e-9);
    let calls = (100e-6 / once).ceil().max(1.0) as usize;
    let mut samples = Vec::new();
    let begin = Instant::now();
    while begin.elapsed() < total || samples.len() < 20 {
        let start = Instant::now();
        for _ in 0..calls {
            work();
        }
        samples.push(start.elapsed().as_secs_f64() / calls as f64);
    }
    samples.sort_by(f64::total_cmp);
    Timing { best: samples[0], median: samples[samples.len() / 2] }
}
