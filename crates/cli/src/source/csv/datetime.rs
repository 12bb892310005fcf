//! Dates and timestamps: in ISO 8601, and in given formats.

use std::fmt;
use std::fmt::Write;

use arrow_cast::parse::string_to_datetime;
use arrow_schema::{DataType, TimeUnit};
use chrono::format::{Fixed, Item, Numeric, Parsed, StrftimeItems, parse};
use chrono::{DateTime, NaiveDate, NaiveDateTime, Utc};

use super::number::digits_end;
use crate::source::text::UTC_LABEL;

const DAYS_TO_1970: i32 = 719_163;

/// A timestamp in ISO 8601.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct IsoTimestamp {
    pub(super) instant: DateTime<Utc>,
    /// Whether it has an offset from UTC.
    pub(super) has_offset: bool,
    pub(super) fraction_digits: usize,
}

impl IsoTimestamp {
    /// The number of `unit`s since 1970; `None` if that overflows or loses digits.
    pub(super) fn count(&self, unit: TimeUnit) -> Option<i64> {
        count(self.instant, unit)
    }
}

fn count(instant: DateTime<Utc>, unit: TimeUnit) -> Option<i64> {
    let nanos = instant.timestamp_subsec_nanos();
    match unit {
        TimeUnit::Second => (nanos == 0).then(|| instant.timestamp()),
        TimeUnit::Millisecond => nanos.is_multiple_of(1_000_000).then(|| instant.timestamp_millis()),
        TimeUnit::Microsecond => nanos.is_multiple_of(1_000).then(|| instant.timestamp_micros()),
        TimeUnit::Nanosecond => instant.timestamp_nanos_opt(),
    }
}

/// The days since 1970 of a date such as `2025-01-31`.
pub(super) fn iso_date(text: &str) -> Option<i32> {
    let bytes = text.as_bytes();
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
        return None;
    }
    days(number(&bytes[..4])?, number(&bytes[5..7])?, number(&bytes[8..])?)
}

fn days(year: u32, month: u32, day: u32) -> Option<i32> {
    NaiveDate::from_ymd_opt(year as i32, month, day).map(days_since_1970)
}

fn days_since_1970(date: NaiveDate) -> i32 {
    use chrono::Datelike;
    date.num_days_from_ce() - DAYS_TO_1970
}

fn number(digits: &[u8]) -> Option<u32> {
    let mut number = 0;
    for &digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        number = number * 10 + u32::from(digit - b'0');
    }
    Some(number)
}

/// A timestamp such as `2025-01-31 08:30:00`, with `T` in place of the space, a fraction of up to nine digits, `Z` or an offset.
pub(super) fn iso_timestamp(text: &str) -> Option<IsoTimestamp> {
    let bytes = text.as_bytes();
    // Arrow's parser accepts more: times without colons, names of zones.
    if bytes.len() < 19 || !matches!(bytes[10], b'T' | b' ') || bytes[13] != b':' || bytes[16] != b':' {
        return None;
    }
    // A leap second cannot be represented.
    if bytes[17] == b'6' && bytes[18] == b'0' {
        return None;
    }
    let fraction_end = if bytes.get(19) == Some(&b'.') { digits_end(bytes, 20) } else { 19 };
    let fraction_digits = fraction_end.saturating_sub(20);
    let offset = &bytes[fraction_end..];
    if fraction_digits > 9 || !matches!(offset.first(), None | Some(b'Z' | b'+' | b'-')) {
        return None;
    }
    let instant = string_to_datetime(&Utc, text).ok()?;
    Some(IsoTimestamp { instant, has_offset: !offset.is_empty(), fraction_digits })
}

/// A format of dates or timestamps, given by `--date-format`.
#[derive(Clone, PartialEq)]
pub(crate) struct DateTimeFormat {
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
    pub(crate) fn new(text: &str) -> Result<Self, String> {
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
    pub(super) fn data_type(&self) -> DataType {
        match self.kind {
            Kind::Date => DataType::Date32,
            Kind::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
            Kind::Instant => DataType::Timestamp(TimeUnit::Microsecond, Some(UTC_LABEL.into())),
        }
    }

    /// Parses `text` to days since 1970.
    pub(super) fn days(&self, text: &str) -> Option<i32> {
        self.parsed(text)?.to_naive_date().ok().map(days_since_1970)
    }

    /// Parses `text` to microseconds since 1970.
    pub(super) fn microseconds(&self, text: &str) -> Option<i64> {
        let instant = self.date_time(text)?.and_utc();
        count(instant, TimeUnit::Microsecond)
    }

    /// Whether `text` is in this format.
    pub(super) fn fits(&self, text: &str) -> bool {
        match self.kind {
            Kind::Date => self.days(text).is_some(),
            Kind::Timestamp | Kind::Instant => self.microseconds(text).is_some(),
        }
    }

    /// Converts `text` to ISO 8601.
    pub(super) fn to_iso(&self, text: &str) -> Option<String> {
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
    fn dates_are_days_that_exist() {
        assert_eq!(iso_date("1970-01-01"), Some(0));
        assert_eq!(iso_date("2024-02-29"), Some(19_782));
        for text in ["2025-02-29", "2025-13-01", "2025-1-31", "20250131", "2025/01/31", "2025-01-31 ", "+025-01-31"] {
            assert_eq!(iso_date(text), None, "{text}");
        }
    }

    #[test]
    fn timestamps_have_fractions_and_offsets() {
        let micros =
            |text| iso_timestamp(text).map(|timestamp| (timestamp.count(TimeUnit::Microsecond), timestamp.has_offset));
        assert_eq!(micros("1970-01-01 00:00:01"), Some((Some(1_000_000), false)));
        assert_eq!(micros("1970-01-01T00:00:00.25Z"), Some((Some(250_000), true)));
        assert_eq!(micros("1970-01-01 01:00:00+01:00"), Some((Some(0), true)));
        assert_eq!(micros("1970-01-01 00:00:00.000000001"), Some((None, false)));
        assert_eq!(micros("0001-01-01 00:00:00"), Some((Some(-62_135_596_800_000_000), false)));
        for text in [
            "1970-01-01",
            "1970-01-01 00:00",
            "1970-01-01 24:00:00",
            "1970-01-01 000000",
            "1970-01-01 00:00:60",
            "1970-01-01 00:00:00 UTC",
            "1970-01-01 00:00:00.0000000001",
            "1970-01-01 00:00:00.",
            "1970-01-01 00:00:0é",
        ] {
            assert_eq!(iso_timestamp(text), None, "{text}");
        }
    }

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
