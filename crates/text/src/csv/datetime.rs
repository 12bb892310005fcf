//! Dates and timestamps in ISO 8601.

use arrow_cast::parse::string_to_datetime;
use arrow_schema::TimeUnit;
use chrono::{DateTime, NaiveDate, Utc};

use super::number::digits_end;
use crate::date_time_format::{days_since_1970, since_1970};

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
        since_1970(self.instant, unit)
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
}
