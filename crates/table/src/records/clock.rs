//! The clock by which rows expire.

use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// The clock by which rows of a table with a [time to live](crate::Table::set_ttl) expire. The default is the clock of the system.
///
/// ```
/// use std::time::{Duration, SystemTime};
///
/// use lath_table::{Clock, TableOptions};
///
/// // A program whose rows expire a day late.
/// let options = TableOptions::new().clock(Clock::new(|| SystemTime::now() - Duration::from_secs(86_400)));
/// ```
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> SystemTime + Send + Sync>);

impl Clock {
    /// A clock that a function reads.
    pub fn new(now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// Microseconds since 1970-01-01T00:00:00Z.
    pub(crate) fn now_micros(&self) -> i64 {
        let micros = |duration: std::time::Duration| i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        match (self.0)().duration_since(UNIX_EPOCH) {
            Ok(since) => micros(since),
            Err(before) => -micros(before.duration()),
        }
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new(SystemTime::now)
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Clock").field(&self.now_micros()).finish()
    }
}
