//! A progress bar on standard error for work that takes longer than a second.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::console::quantity::{bytes, duration, grouped};

const PATIENCE: Duration = Duration::from_secs(1);
const INTERVAL: Duration = Duration::from_millis(100);
const BAR_CELLS: u64 = 30;

/// Whether a bar is displayed.
static DRAWN: AtomicBool = AtomicBool::new(false);

/// Removes the bar, so that something else can be written.
pub(crate) fn clear_line() {
    if DRAWN.swap(false, Ordering::Relaxed) {
        // Failing to draw is not an error.
        let _ = write!(io::stderr(), "\r\x1b[K");
    }
}

/// Counts finished work, and displays it on a terminal.
#[derive(Debug)]
pub(crate) struct Progress {
    unit: Unit,
    total: u64,
    done: u64,
    start: Instant,
    next: Option<Instant>,
}

/// The counted unit.
#[derive(Debug, Clone, Copy)]
enum Unit {
    Items(&'static str),
    Bytes,
}

impl Unit {
    fn amount(self, count: u64) -> String {
        match self {
            Self::Items(_) => grouped(count),
            Self::Bytes => bytes(count),
        }
    }

    fn amount_with_name(self, count: u64) -> String {
        match self {
            Self::Items(name) => format!("{} {name}", grouped(count)),
            Self::Bytes => bytes(count),
        }
    }
}

impl Progress {
    /// Progress towards `total` items named `unit`. Nothing is drawn if `hidden`, or where standard error is not a terminal.
    pub(crate) fn new(unit: &'static str, total: u64, hidden: bool) -> Self {
        Self::of(Unit::Items(unit), total, hidden)
    }

    /// Progress towards `total` bytes.
    pub(crate) fn new_bytes(total: u64, hidden: bool) -> Self {
        Self::of(Unit::Bytes, total, hidden)
    }

    fn of(unit: Unit, total: u64, hidden: bool) -> Self {
        let start = Instant::now();
        let visible = !hidden && io::stderr().is_terminal();
        Self { unit, total, done: 0, start, next: visible.then(|| start + PATIENCE) }
    }

    /// Whether anything is ever drawn.
    pub(crate) fn is_visible(&self) -> bool {
        self.next.is_some()
    }

    /// Increases `total`, when more work is found.
    pub(crate) fn grow(&mut self, more: u64) {
        self.total += more;
    }

    /// Counts `count` more items as finished.
    pub(crate) fn advance(&mut self, count: u64) {
        self.done += count;
        let Some(next) = self.next else { return };
        let now = Instant::now();
        if now >= next {
            self.next = Some(now + INTERVAL);
            self.draw(now - self.start);
        }
    }

    /// Removes the bar, so that something else can be written.
    pub(crate) fn clear(&mut self) {
        clear_line();
    }

    fn draw(&mut self, elapsed: Duration) {
        let line = line(self.done, self.total, self.unit, elapsed);
        let _ = write!(io::stderr(), "\r{line}\x1b[K");
        DRAWN.store(true, Ordering::Relaxed);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

fn line(done: u64, total: u64, unit: Unit, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64().max(1e-3);
    let rate = unit.amount_with_name((done as f64 / seconds) as u64);
    if total == 0 || done > total {
        return format!("{}, {rate}/s", unit.amount_with_name(done));
    }
    let full = (u128::from(done) * u128::from(BAR_CELLS) / u128::from(total)) as usize;
    let percent = u128::from(done) * 100 / u128::from(total);
    let left = duration(seconds * (total - done) as f64 / done.max(1) as f64);
    let (bar, rest) = ("█".repeat(full), "░".repeat(BAR_CELLS as usize - full));
    let (done, total) = (unit.amount(done), unit.amount_with_name(total));
    format!("{bar}{rest} {percent:>3} %  {done} of {total}, {rate}/s, {left} left")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_grows_with_the_work() {
        let rows = Unit::Items("rows");
        let half = line(500, 1000, rows, Duration::from_secs(2));
        let bar = format!("{}{}", "█".repeat(15), "░".repeat(15));
        assert_eq!(half, format!("{bar}  50 %  500 of 1,000 rows, 250 rows/s, 2 s left"));
        assert_eq!(line(7, 0, rows, Duration::from_secs(2)), "7 rows, 3 rows/s");
        let bytes = line(64 << 20, 128 << 20, Unit::Bytes, Duration::from_secs(200));
        assert_eq!(bytes, format!("{bar}  50 %  64.0 MiB of 128 MiB, 328 KiB/s, 3 min 20 s left"));
    }
}
