//! Parses and writes dates, times, timestamps and UUIDs in the form of literals.

use std::fmt::{self, Display, Formatter};

use arrow_schema::TimeUnit;

pub(crate) const NANOS_PER_SECOND: i128 = 1_000_000_000;
pub(crate) const NANOS_PER_DAY: i128 = 86_400 * NANOS_PER_SECOND;

/// The nanoseconds in one unit.
pub(crate) fn nanos_per(unit: TimeUnit) -> i128 {
    match unit {
        TimeUnit::Second => NANOS_PER_SECOND,
        TimeUnit::Millisecond => NANOS_PER_SECOND / 1000,
        TimeUnit::Microsecond => 1000,
        TimeUnit::Nanosecond => 1,
    }
}

/// Parses `YYYY-MM-DD` to days since 1970-01-01. Years may have a sign and up to seven digits.
pub(crate) fn parse_date(text: &str) -> Option<i32> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut parts = digits.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || !(4..=7).contains(&year.len()) {
        return None;
    }
    let year = number(year, 7)?;
    let (year, month, day) = (if negative { -year } else { year }, number(month, 2)?, number(day, 2)?);
    let is_valid = (1..=12).contains(&month) && (1..=month_days(year, month)).contains(&day);
    is_valid.then(|| days_from_civil(year, month, day)).and_then(|days| i32::try_from(days).ok())
}

/// Parses `HH:MM`, `HH:MM:SS` or `HH:MM:SS.fraction` to nanoseconds since midnight.
pub(crate) fn parse_time(text: &str) -> Option<i64> {
    let (clock, fraction) = match text.split_once('.') {
        Some((clock, fraction)) => (clock, Some(fraction)),
        None => (text, None),
    };
    let mut parts = clock.split(':');
    let (hours, minutes, seconds) = (number(parts.next()?, 2)?, number(parts.next()?, 2)?, parts.next());
    if parts.next().is_some() || (fraction.is_some() && seconds.is_none()) {
        return None;
    }
    let seconds = seconds.map_or(Some(0), |seconds| number(seconds, 2))?;
    if hours > 23 || minutes > 59 || seconds > 59 {
        return None;
    }
    let nanos = match fraction {
        None => 0,
        Some(digits) => number(digits, 9)? * 10i64.pow(9 - digits.len() as u32),
    };
    Some((hours * 3600 + minutes * 60 + seconds) * 1_000_000_000 + nanos)
}

/// Whether a number of nanoseconds since midnight is a time of day.
pub(crate) fn is_time(nanos: i64) -> bool {
    (0..86_400_000_000_000).contains(&nanos)
}

/// Parses a date, or a date and time, to nanoseconds since 1970-01-01T00:00:00Z. Without an offset, the time is in UTC.
pub(crate) fn parse_timestamp(text: &str) -> Option<i128> {
    let Some((date, time)) = text.split_once([' ', 'T', 't']) else {
        return parse_date(text).map(|days| i128::from(days) * NANOS_PER_DAY);
    };
    let (clock, offset) = match time.find(['+', '-', 'Z', 'z']) {
        Some(at) => (time[..at].trim_end(), parse_offset(&time[at..])?),
        None => (time.trim_end().strip_suffix("UTC").map_or(time, str::trim_end), 0),
    };
    Some(i128::from(parse_date(date)?) * NANOS_PER_DAY + i128::from(parse_time(clock)?) - offset * NANOS_PER_SECOND)
}

/// Parses `Z`, `+HH`, `+HHMM` or `+HH:MM` to seconds east of Greenwich.
fn parse_offset(text: &str) -> Option<i128> {
    if text.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+')?),
    };
    let digits = match digits.len() {
        5 if digits.as_bytes()[2] == b':' => digits.replacen(':', "", 1),
        2 | 4 => digits.to_owned(),
        _ => return None,
    };
    let whole = number(&digits, 4)?;
    let (hours, minutes) = if digits.len() == 2 { (whole, 0) } else { (whole / 100, whole % 100) };
    (hours < 24 && minutes < 60).then(|| sign * i128::from(hours * 3600 + minutes * 60))
}

/// Parses digits up to a maximum number.
fn number(text: &str, most: usize) -> Option<i64> {
    let is_number = (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

fn month_days(year: i64, month: i64) -> i64 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The days since 1970-01-01 of a date in the proleptic Gregorian calendar. Years start in March here, so that a leap day is the last one.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// The inverse of [`days_from_civil`].
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let (era, day_of_era) = ((days + 719_468).div_euclid(146_097), (days + 719_468).rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = (shifted + 2) % 12 + 1;
    (era * 400 + year_of_era + i64::from(month <= 2), month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

/// Days since 1970-01-01, written as in a literal.
pub(crate) struct Date(pub(crate) i64);

impl Display for Date {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (year, month, day) = civil_from_days(self.0);
        let sign = if year < 0 { "-" } else { "" };
        write!(f, "{sign}{:04}-{month:02}-{day:02}", year.abs())
    }
}

/// Nanoseconds since midnight, written as in a literal.
pub(crate) struct Time(pub(crate) i64);

impl Display for Time {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (seconds, nanos) = (self.0 / 1_000_000_000, self.0 % 1_000_000_000);
        write!(f, "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)?;
        if nanos > 0 { write!(f, ".{nanos:09}") } else { Ok(()) }
    }
}

/// Nanoseconds since 1970-01-01T00:00:00Z, displayed as in a literal.
///
/// ```
/// assert_eq!(lath_predicate::Timestamp(1_500_000_000).to_string(), "1970-01-01 00:00:01.500000000");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timestamp(pub i128);

impl Display for Timestamp {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (days, nanos) = (self.0.div_euclid(NANOS_PER_DAY), self.0.rem_euclid(NANOS_PER_DAY));
        write!(f, "{} {}", Date(days as i64), Time(nanos as i64))
    }
}

/// Parses pairs of hexadecimal digits to bytes.
pub(crate) fn parse_hex(hex: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = hex.chars().map(|c| c.to_digit(16).map(|digit| digit as u8)).collect::<Option<_>>()?;
    let pairs = digits.chunks_exact(2);
    pairs.remainder().is_empty().then(|| pairs.map(|pair| pair[0] << 4 | pair[1]).collect())
}

/// Parses a UUID to its bytes.
pub(crate) fn parse_uuid(text: &str) -> Option<[u8; 16]> {
    let text = text.trim_start_matches('{').trim_end_matches('}');
    let groups: Vec<usize> = text.split('-').map(str::len).collect();
    if !matches!(groups.as_slice(), [8, 4, 4, 4, 12] | [32]) {
        return None;
    }
    parse_hex(&text.replace('-', ""))?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use arrow_array::types::Date32Type;
    use arrow_cast::parse::Parser;

    use super::*;

    #[test]
    fn dates_count_days() {
        assert_eq!(parse_date("1970-01-02"), Some(1));
        assert_eq!(parse_date("1969-12-31"), Some(-1));
        assert_eq!(parse_date("2025-02-29"), None);
        assert_eq!(parse_date("2025-02-28 10:00"), None);
        assert_eq!(parse_date("yesterday"), None);
        assert_eq!(parse_date("-0001-03-01"), Some(-719_834));
        assert_eq!(parse_date("2024-2-29"), Some(19_782));
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
        assert_eq!(parse_timestamp("1970-01-01 00:01"), Some(60 * NANOS_PER_SECOND));
        assert_eq!(parse_timestamp("1970-01-01T00:00:01.5Z"), Some(NANOS_PER_SECOND * 3 / 2));
        assert_eq!(parse_timestamp("1970-01-01 01:00+01:00"), Some(0));
        assert_eq!(parse_timestamp("1969-12-31 23:59:59.9"), Some(-NANOS_PER_SECOND / 10));
        assert_eq!(parse_timestamp("9999-12-31 23:59:59"), Some(253_402_300_799 * NANOS_PER_SECOND));
        assert_eq!(parse_timestamp("1969-12-31 19:00-0500"), Some(0));
        assert_eq!(parse_timestamp("1970-01-01 00:00:01 UTC"), Some(NANOS_PER_SECOND));
        assert_eq!(parse_timestamp("soon"), None);
        assert_eq!(parse_timestamp("1970-01-01 00:00é"), None);
    }

    #[test]
    fn what_is_written_reads_back() {
        let mut random = fastrand::Rng::with_seed(11);
        for _ in 0..10_000 {
            let days = random.i64(-3_000_000..3_000_000);
            assert_eq!(parse_date(&Date(days).to_string()), i32::try_from(days).ok());
            let nanos = i128::from(days) * NANOS_PER_DAY + i128::from(random.i64(..)).rem_euclid(NANOS_PER_DAY);
            assert_eq!(parse_timestamp(&Timestamp(nanos).to_string()), Some(nanos));
        }
        // Compared with the calendar of another library.
        for days in (-800_000..3_000_000).step_by(997) {
            let text = Date(i64::from(days)).to_string();
            if !text.starts_with('-') && text.len() == 10 {
                assert_eq!(<Date32Type as Parser>::parse(&text), Some(days), "{text}");
            }
        }
    }

    #[test]
    fn uuids_are_read_with_and_without_groups() {
        let bytes = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255];
        assert_eq!(parse_uuid("00010203-0405-0607-0809-0A0B0C0D0EFF"), Some(bytes));
        assert_eq!(parse_uuid("000102030405060708090a0b0c0d0eff"), Some(bytes));
        assert_eq!(parse_uuid("00010203-0405-0607-0809-0a0b0c0d0e"), None);
    }
}
