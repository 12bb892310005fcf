//! Parses values that the log has as text.

use arrow_array::types::Date32Type;
use arrow_cast::parse::{Parser, string_to_datetime};
use chrono::Utc;

/// The days since 1970 of a date.
pub(super) fn days(text: &str) -> Option<i32> {
    Date32Type::parse(text)
}

/// The microseconds since 1970 of a time.
pub(super) fn micros(text: &str) -> Option<i64> {
    string_to_datetime(&Utc, text).ok().map(|time| time.timestamp_micros())
}

/// The integer that a decimal number is at a scale, if it has no digit behind that: `-12.5` is -1250 at scale 2.
pub(super) fn unscaled(text: &str, scale: i8) -> Option<i128> {
    let (digits, exponent) = match text.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, digits.strip_prefix('+').unwrap_or(digits)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut value: i128 = 0;
    for byte in whole.bytes().chain(fraction.bytes()) {
        let digit = char::from(byte).to_digit(10)?;
        value = value.checked_mul(10)?.checked_add(i128::from(digit))?;
    }
    let shift = i32::from(scale).checked_add(exponent)?.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let power = |shift: u32| 10i128.checked_pow(shift);
    if value == 0 {
        return Some(0);
    }
    let value = match u32::try_from(shift) {
        Ok(shift) => value.checked_mul(power(shift)?)?,
        Err(_) => {
            let divisor = power(shift.unsigned_abs())?;
            (value % divisor == 0).then(|| value / divisor)?
        }
    };
    Some(sign * value)
}
