//! Dates, times, timestamps and UUIDs as they are written in literals.

use arrow_array::timezone::Tz;
use arrow_array::types::Date32Type;
use arrow_cast::parse::{Parser, string_to_datetime, string_to_time_nanoseconds};

use crate::inputs::parse_hex;

/// Days since 1970-01-01.
pub(super) fn parse_date(text: &str) -> Option<i32> {
    // The parser of Arrow takes timestamps too, and drops what follows the date.
    let is_date = text.trim_start_matches(['+', '-']).bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    if is_date { Date32Type::parse(text) } else { None }
}

/// Nanoseconds since midnight.
pub(super) fn parse_time(text: &str) -> Option<i64> {
    string_to_time_nanoseconds(&with_seconds(text)).ok()
}

/// Nanoseconds since 1970-01-01T00:00:00Z. Without an offset, the time is taken as UTC.
pub(super) fn parse_timestamp(text: &str) -> Option<i128> {
    let utc: Tz = "+00:00".parse().ok()?;
    let text = match text.split_once([' ', 'T']) {
        Some((date, time)) => format!("{date}T{}", with_seconds(time)),
        None => text.to_owned(),
    };
    let moment = string_to_datetime(&utc, &text).ok()?;
    Some(i128::from(moment.timestamp()) * 1_000_000_000 + i128::from(moment.timestamp_subsec_nanos()))
}

/// `08:30` as `08:30:00`; an offset may follow.
fn with_seconds(time: &str) -> String {
    let clock_end = time.find(['+', '-', 'Z', 'z', ' ']).unwrap_or(time.len());
    let (clock, offset) = time.split_at(clock_end);
    match clock.matches(':').count() {
        1 => format!("{clock}:00{offset}"),
        _ => time.to_owned(),
    }
}

/// The bytes of a UUID.
pub(super) fn parse_uuid(text: &str) -> Option<[u8; 16]> {
    let text = text.trim_start_matches('{').trim_end_matches('}');
    let groups: Vec<usize> = text.split('-').map(str::len).collect();
    if !matches!(groups.as_slice(), [8, 4, 4, 4, 12] | [32]) {
        return None;
    }
    parse_hex(&text.replace('-', ""))?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i128 = 1_000_000_000;

    #[test]
    fn dates_count_days() {
        assert_eq!(parse_date("1970-01-02"), Some(1));
        assert_eq!(parse_date("1969-12-31"), Some(-1));
        assert_eq!(parse_date("2025-02-29"), None);
        assert_eq!(parse_date("2025-02-28 10:00"), None);
        assert_eq!(parse_date("yesterday"), None);
    }

    #[test]
    fn times_may_leave_out_the_seconds() {
        assert_eq!(parse_time("00:01"), Some(60_000_000_000));
        assert_eq!(parse_time("00:00:01.000000001"), Some(1_000_000_001));
        assert_eq!(parse_time("25:00"), None);
    }

    #[test]
    fn timestamps_are_instants() {
        assert_eq!(parse_timestamp("1970-01-01"), Some(0));
        assert_eq!(parse_timestamp("1970-01-01 00:01"), Some(60 * SECOND));
        assert_eq!(parse_timestamp("1970-01-01T00:00:01.5Z"), Some(SECOND * 3 / 2));
        assert_eq!(parse_timestamp("1970-01-01 01:00+01:00"), Some(0));
        assert_eq!(parse_timestamp("1969-12-31 23:59:59.9"), Some(-SECOND / 10));
        assert_eq!(parse_timestamp("9999-12-31 23:59:59"), Some(253_402_300_799 * SECOND));
        assert_eq!(parse_timestamp("soon"), None);
    }

    #[test]
    fn uuids_are_read_with_and_without_groups() {
        let bytes = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255];
        assert_eq!(parse_uuid("00010203-0405-0607-0809-0A0B0C0D0EFF"), Some(bytes));
        assert_eq!(parse_uuid("000102030405060708090a0b0c0d0eff"), Some(bytes));
        assert_eq!(parse_uuid("00010203-0405-0607-0809-0a0b0c0d0e"), None);
    }
}
