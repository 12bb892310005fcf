//! A bar on standard error for work that takes longer than a second.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use crate::quantity::grouped;

const PATIENCE: Duration = Duration::from_secs(1);
const INTERVAL: Duration = Duration::from_millis(100);
const BAR_CELLS: u64 = 30;

/// Counts what is done, and shows it where someone can see it.
#[derive(Debug)]
pub(crate) struct Progress {
    unit: &'static str,
    total: u64,
    done: u64,
    start: Instant,
    next: Option<Instant>,
    drawn: bool,
}

impl Progress {
    /// Progress towards `total` things called `unit`. Nothing is ever drawn if `hidden`, or where standard error is not
    /// a terminal.
    pub(crate) fn new(unit: &'static str, total: u64, hidden: bool) -> Self {
        let start = Instant::now();
        let visible = !hidden && io::stderr().is_terminal();
        Self { unit, total, done: 0, start, next: visible.then(|| start + PATIENCE), drawn: false }
    }

    /// Makes `total` larger, when more work is found.
    pub(crate) fn grow(&mut self, more: u64) {
        self.total += more;
    }

    /// `count` more are done.
    pub(crate) fn advance(&mut self, count: u64) {
        self.done += count;
        let Some(next) = self.next else { return };
        let now = Instant::now();
        if now >= next {
            self.next = Some(now + INTERVAL);
            self.draw(now - self.start);
        }
    }

    /// Takes the bar away, so that something else can be written.
    pub(crate) fn clear(&mut self) {
        if self.drawn {
            // A bar that cannot be drawn is no reason to stop.
            let _ = write!(io::stderr(), "\r\x1b[K");
            self.drawn = false;
        }
    }

    fn draw(&mut self, elapsed: Duration) {
        let line = line(self.done, self.total, self.unit, elapsed);
        let _ = write!(io::stderr(), "\r{line}\x1b[K");
        self.drawn = true;
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

fn line(done: u64, total: u64, unit: &str, elapsed: Duration) -> String {
    if total == 0 || done > total {
        return format!("{} {unit}", grouped(done));
    }
    let full = (u128::from(done) * u128::from(BAR_CELLS) / u128::from(total)) as usize;
    let percent = u128::from(done) * 100 / u128::from(total);
    let left = elapsed.as_secs_f64() * (total - done) as f64 / done.max(1) as f64;
    let (bar, rest) = ("█".repeat(full), "░".repeat(BAR_CELLS as usize - full));
    format!("{bar}{rest} {percent:>3} %  {} of {} {unit}, {left:.0} s left", grouped(done), grouped(total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_grows_with_the_work() {
        let half = line(500, 1000, "rows", Duration::from_secs(2));
        assert_eq!(half, format!("{}{}  50 %  500 of 1,000 rows, 2 s left", "█".repeat(15), "░".repeat(15)));
        assert_eq!(line(7, 0, "rows", Duration::from_secs(2)), "7 rows");
    }
}
