//! The rule by which rows expire: a column with a time, and a length of time after it.

use std::fmt;
use std::time::Duration;

use arrow_schema::DataType;
use lath_store::{RecordReader, RecordWriter};

use crate::error::{Error, Result};

/// Maximum lifetime of rows: 1,000 years of 365.25 days.
const MAX_LIFETIME: Duration = Duration::from_secs(31_557_600_000);

/// The rule by which rows of a table expire: a row is gone once the time in its column plus the lifetime has come.
///
/// ```
/// use std::time::Duration;
///
/// use lath_table::TimeToLive;
///
/// let ttl = TimeToLive::new("ts", Duration::from_secs(30 * 86_400));
/// assert_eq!(ttl.to_string(), "ts + INTERVAL '30 days'");
/// ```
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeToLive {
    /// A column of timestamps or dates. Rows in which it is null do not expire.
    pub column: String,
    /// The time after the one in the column; zero if the column has the time at which a row expires.
    pub lifetime: Duration,
}

impl TimeToLive {
    /// Rows expire this long after the time in a column.
    pub fn new(column: impl Into<String>, lifetime: Duration) -> Self {
        Self { column: column.into(), lifetime }
    }
}

impl fmt::Display for TimeToLive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.column)?;
        let micros = self.lifetime.as_micros();
        if micros == 0 {
            return Ok(());
        }
        let units: [(u128, &str); 4] =
            [(86_400_000_000, "day"), (3_600_000_000, "hour"), (60_000_000, "minute"), (1_000_000, "second")];
        match units.into_iter().find(|(unit, _)| micros.is_multiple_of(*unit)) {
            Some((unit, name)) => {
                let (count, plural) = (micros / unit, if micros == unit { "" } else { "s" });
                write!(f, " + INTERVAL '{count} {name}{plural}'")
            }
            None => write!(f, " + INTERVAL '{micros} microseconds'"),
        }
    }
}

/// The rule as a schema stores it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ttl {
    /// The number of the column.
    pub(crate) column: u32,
    pub(crate) lifetime_micros: u64,
}

impl Ttl {
    /// The rule for the column with this number and type.
    pub(crate) fn new(rule: &TimeToLive, column: u32, data_type: &DataType) -> Result<Self> {
        if !matches!(data_type, DataType::Timestamp(..) | DataType::Date32 | DataType::Date64) {
            return Err(Error::schema(format!(
                "column {:?} is {data_type}, and rows expire by a column of timestamps or dates: name another column",
                rule.column
            )));
        }
        if rule.lifetime > MAX_LIFETIME {
            return Err(Error::schema("rows live for at most 1,000 years: choose a shorter time, or drop the TTL"));
        }
        let micros = u64::try_from(rule.lifetime.as_micros()).unwrap_or(u64::MAX);
        Ok(Self { column, lifetime_micros: micros })
    }

    pub(crate) fn lifetime(self) -> Duration {
        Duration::from_micros(self.lifetime_micros)
    }

    /// Writes it at the end of a schema's record.
    pub(crate) fn write(self, record: &mut RecordWriter) {
        record.u32(self.column).u64(self.lifetime_micros);
    }

    /// Reads it from the end of a schema's record. A schema without one ends before it.
    pub(crate) fn read(record: &mut RecordReader<'_>) -> Result<Option<Self>> {
        if record.is_at_end() {
            return Ok(None);
        }
        Ok(Some(Self { column: record.u32()?, lifetime_micros: record.u64()? }))
    }
}
