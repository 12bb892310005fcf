//! Timing by repetition.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Nanoseconds that a thing took: at best, and in the median of all calls.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Timing {
    pub(crate) best: f64,
    pub(crate) median: f64,
}

/// Calls that are made however long they take.
const FEWEST: usize = 3;

/// What calls took, in nanoseconds for each of the things that they did.
#[derive(Debug, Clone, Default)]
pub(crate) struct Times(Vec<f64>);

impl Times {
    /// Calls `work`, which does `count` things, again and again for `time`.
    pub(crate) fn repeat<T>(&mut self, count: usize, time: Duration, mut work: impl FnMut() -> T) {
        let (started, before) = (Instant::now(), self.0.len());
        while self.0.len() < before + FEWEST || started.elapsed() < time {
            let call = Instant::now();
            black_box(work());
            self.0.push(call.elapsed().as_secs_f64() * 1e9 / count.max(1) as f64);
        }
    }

    /// The best and the median; zero where nothing was called.
    pub(crate) fn timing(mut self) -> Timing {
        self.0.sort_by(f64::total_cmp);
        let at = |index: usize| self.0.get(index).copied().unwrap_or(0.0);
        Timing { best: at(0), median: at(self.0.len() / 2) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thing_takes_its_share_of_a_call() {
        let mut times = Times::default();
        times.repeat(10, Duration::from_millis(20), || std::thread::sleep(Duration::from_millis(5)));
        let timing = times.timing();
        // Five milliseconds for ten things, or longer where the machine is busy.
        assert!(timing.best >= 500_000.0 && timing.best <= timing.median, "{timing:?}");
    }

    #[test]
    fn the_median_is_between_the_others() {
        assert_eq!(Times(vec![5.0, 1.0, 3.0]).timing(), Timing { best: 1.0, median: 3.0 });
        assert_eq!(Times::default().timing(), Timing { best: 0.0, median: 0.0 });
    }
}
