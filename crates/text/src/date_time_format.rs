//! Formats of dates and timestamps besides ISO 8601.

use std::fmt;
use std::fmt::Write;

use arrow_schema::{DataType, TimeUnit};
use chrono::format::{Fixed, Item, Numeric, Parsed, StrftimeItems, parse};
use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, Utc};

/// The time zone of timestamps with an offset.
pub(crate) const UTC_LABEL: &str = "UTC";

const DAYS_TO_1970: i32 = 719_163;

/// The number of `unit`s since 1970; `None` if that overflows or loses digits.
pub(crate) fn since_1970(instant: DateTime<Utc>, unit: TimeUnit) -> Option<i64> {
    let nanos = instant.timestamp_subsec_nanos();
    match unit {
        TimeUnit::Second => (nanos == 0).then(|| instant.timestamp()),
        TimeUnit::Millisecond => nanos.is_multiple_of(1_000_000).then(|| instant.timestamp_millis()),
        TimeUnit::Microsecond => nanos.is_multiple_of(1_000).then(|| instant.timestamp_micros()),
        TimeUnit::Nanosecond => instant.timestamp_nanos_opt(),
    }
}

/// The days since 1970.
pub(crate) fn days_since_1970(date: NaiveDate) -> i32 {
    date.num_days_from_ce() - DAYS_TO_1970
}

/// A format of dates or timestamps besides ISO 8601.
#[derive(Clone, PartialEq)]
pub struct DateTimeFormat {
    text: String,
    items: Vec<Item<'static>>,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Date,
    Timestamp,
    /// A timestamp with its offset.
    Instant,
}

impl fmt::Debug for DateTimeFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DateTimeFormat").field(&self.text).finish()
    }
}

impl fmt::Display for DateTimeFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl DateTimeFormat {
    /// Parses a format in `strftime` syntax.
    ///
    /// # Errors
    /// If a specifier is not known, or the format lacks a part of the date.
    pub fn new(text: &str) -> Result<Self, String> {
        let items = StrftimeItems::new(text).parse_to_owned();
        let items = items.map_err(|_| format!("{text} has an unknown % specifier; write for example %d.%m.%Y"))?;
        let has_time = items.iter().any(|item| {
            matches!(
                item,
                Item::Numeric(Numeric::Hour | Numeric::Hour12 | Numeric::Timestamp, _)
                    | Item::Fixed(Fixed::RFC2822 | Fixed::RFC3339)
            )
        });
        // Whether a format has all parts of a date is found out by printing a sample and parsing it.
        let sample = DateTime::from_timestamp(1_234_567_890, 0).unwrap_or_default();
        let mut printed = String::new();
        let is_printed = write!(printed, "{}", sample.fixed_offset().format_with_items(items.iter())).is_ok();
        let mut parsed = Parsed::new();
        let is_read = is_printed && parse(&mut parsed, &printed, items.iter()).is_ok();
        let kind = match parsed.offset().is_some() {
            true if is_read && parsed.to_datetime().is_ok() => Kind::Instant,
            false if is_read && has_time && parsed.to_naive_datetime_with_offset(0).is_ok() => Kind::Timestamp,
            false if is_read && !has_time && parsed.to_naive_date().is_ok() => Kind::Date,
            _ => {
                return Err(format!("{text} lacks a part of the date; write for example %d.%m.%Y or '%d.%m.%Y %H:%M'"));
            }
        };
        Ok(Self { text: text.to_owned(), items, kind })
    }

    /// The type of columns in this format.
    pub(crate) fn data_type(&self) -> DataType {
        match self.kind {
            Kind::Date => DataType::Date32,
            Kind::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
            Kind::Instant => DataType::Timestamp(TimeUnit::Microsecond, Some(UTC_LABEL.into())),
        }
    }

    /// Parses `text` to days since 1970.
    pub(crate) fn days(&self, text: &str) -> Option<i32> {
        self.parsed(text)?.to_naive_date().ok().map(days_since_1970)
    }

    /// Parses `text` to microseconds since 1970.
    pub(crate) fn microseconds(&self, text: &str) -> Option<i64> {
        let instant = self.date_time(text)?.and_utc();
        since_1970(instant, TimeUnit::Microsecond)
    }

    /// Whether `text` is in this format.
    pub(crate) fn fits(&self, text: &str) -> bool {
        match self.kind {
            Kind::Date => self.days(text).is_some(),
            Kind::Timestamp | Kind::Instant => self.microseconds(text).is_some(),
        }
    }

    /// Converts `text` to ISO 8601.
    pub(crate) fn to_iso(&self, text: &str) -> Option<String> {
        match self.kind {
            Kind::Date => Some(self.parsed(text)?.to_naive_date().ok()?.to_string()),
            Kind::Timestamp => Some(self.date_time(text)?.format("%Y-%m-%dT%H:%M:%S%.f").to_string()),
            Kind::Instant => Some(self.date_time(text)?.format("%Y-%m-%dT%H:%M:%S%.fZ").to_string()),
        }
    }

    fn date_time(&self, text: &str) -> Option<NaiveDateTime> {
        let parsed = self.parsed(text)?;
        match self.kind {
            Kind::Instant => parsed.to_datetime().ok().map(|instant| instant.naive_utc()),
            _ => parsed.to_naive_datetime_with_offset(0).ok(),
        }
    }

    fn parsed(&self, text: &str) -> Option<Parsed> {
        let mut parsed = Parsed::new();
        parse(&mut parsed, text, self.items.iter()).ok()?;
        Some(parsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_of_dates_or_timestamps() {
        let format = |text| DateTimeFormat::new(text).unwrap();
        assert_eq!(format("%d.%m.%Y").days("31.01.2025"), Some(20_119));
        assert_eq!(format("%d/%m/%y").days("31/02/25"), None);
        assert_eq!(format("%d %b %Y").data_type(), DataType::Date32);
        assert_eq!(format("%m/%d/%Y %I:%M %p").microseconds("01/01/1970 01:00 AM"), Some(3_600_000_000));
        assert_eq!(format("%s").microseconds("2"), Some(2_000_000));
        let zoned = format("%Y%m%d %H%M%S %z");
        assert_eq!(zoned.data_type(), DataType::Timestamp(TimeUnit::Microsecond, Some(UTC_LABEL.into())));
        assert_eq!(zoned.microseconds("19700101 010000 +0100"), Some(0));
        assert_eq!(zoned.to_iso("19700101 010000 +0100").as_deref(), Some("1970-01-01T00:00:00Z"));
        for text in ["%d.%m", "%H:%M", "%Q", "dd.mm.yyyy", ""] {
            assert!(DateTimeFormat::new(text).is_err(), "{text}");
        }
    }
}
