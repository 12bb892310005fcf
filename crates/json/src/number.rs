//! Parses numbers exactly.

use arrow_buffer::i256;

/// Larger exponents exceed every type.
const MAX_EXPONENT: i64 = 100_000;
/// Number of digits that a double always represents.
const SAFE_DIGITS: usize = 15;
/// Maximum exponent at which a double represents all of these digits.
const SAFE_EXPONENT: i64 = 250;
/// The maximum number of significant digits of a double's exact value.
const MAX_DIGITS: usize = 767;

/// A decimal number: `digits` · 10^`exponent`, with a sign.
#[derive(Debug, PartialEq)]
struct Decimal {
    is_negative: bool,
    /// Without leading and trailing zeros; empty for zero.
    digits: String,
    exponent: i64,
}

impl Decimal {
    /// Reads digits with at most one point and an exponent, after an optional sign.
    fn parse(text: &str) -> Option<Self> {
        let (is_negative, unsigned) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent)?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.len() + fraction.len() == 0 || !is_digits(whole) || !is_digits(fraction) {
            return None;
        }
        let all = format!("{whole}{fraction}");
        let kept = all.trim_end_matches('0');
        let exponent = exponent - fraction.len() as i64 + (all.len() - kept.len()) as i64;
        Some(Self { is_negative, digits: kept.trim_start_matches('0').to_owned(), exponent })
    }

    /// The number as a multiple of 10^-`scale`; `None` if it is not one, or exceeds 256 bits.
    fn steps(&self, scale: i8) -> Option<i256> {
        if self.digits.is_empty() {
            return Some(i256::ZERO);
        }
        let zeros = usize::try_from(self.exponent.checked_add(scale.into())?).ok()?;
        if self.digits.len() + zeros > 78 {
            return None;
        }
        let sign = if self.is_negative { "-" } else { "" };
        i256::from_string(&format!("{sign}{}{}", self.digits, "0".repeat(zeros)))
    }
}

fn parse_exponent(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let magnitude = digits.parse().unwrap_or(MAX_EXPONENT).min(MAX_EXPONENT);
    Some(if text.starts_with('-') { -magnitude } else { magnitude })
}

/// Parses an integer in any notation.
pub(crate) fn whole(text: &str) -> Option<i128> {
    if let Ok(value) = text.parse() {
        return Some(value);
    }
    Decimal::parse(text)?.steps(0)?.to_i128()
}

/// Parses a number as a multiple of 10^-`scale`; `None` if it is not one.
pub(crate) fn steps(text: &str, scale: i8) -> Option<i256> {
    Decimal::parse(text)?.steps(scale)
}

/// Parses a double; `None` if it overflows.
pub(crate) fn double(text: &str) -> Option<f64> {
    let value: f64 = text.parse().ok()?;
    (value.is_finite() || !text.bytes().any(|byte| byte.is_ascii_digit())).then_some(value)
}

/// Whether a double, printed with as many digits, equals the text that it was parsed from.
pub(crate) fn keeps_digits(value: f64, text: &str) -> bool {
    let Some(number) = Decimal::parse(text) else { return true };
    let count = number.digits.len();
    if count == 0 {
        return true;
    }
    let magnitude = number.exponent + count as i64;
    if count <= SAFE_DIGITS && (-SAFE_EXPONENT..SAFE_EXPONENT).contains(&magnitude) {
        return true;
    }
    if !value.is_finite() || value == 0.0 || count > MAX_DIGITS {
        return false;
    }
    // An integer has to match exactly. For other numbers, the shortest text that reads back is enough.
    let is_whole = !text.contains(['.', 'e', 'E']);
    let exact = format!("{value:.*e}", count - 1);
    let printed = Decimal::parse(&exact);
    if is_whole {
        return Decimal::parse(&format!("{value:.0}")).is_some_and(|exact| exact == number);
    }
    printed.is_some_and(|printed| printed == number) || Decimal::parse(&format!("{value:e}")) == Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_may_be_written_in_any_way() {
        let large = i128::from(u64::MAX) + 1;
        for (text, value) in
            [("2", 2), ("-0", 0), ("2.0", 2), ("1e3", 1000), ("25e-1", 0), ("18446744073709551616", large)]
        {
            assert_eq!(whole(text), Some(value).filter(|_| text != "25e-1"), "{text}");
        }
        for text in
            ["2.5", "1e-1", "1e400", "", "-", ".", "1e", "0x1", "NaN", "true", "1.2.3", "1e99999999999999999999"]
        {
            assert_eq!(whole(text), None, "{text}");
        }
    }

    #[test]
    fn decimals_have_no_more_digits_than_their_scale() {
        assert_eq!(steps("1.25", 2), Some(i256::from_i128(125)));
        assert_eq!(steps("1.250", 2), Some(i256::from_i128(125)));
        assert_eq!(steps("1.255", 2), None);
        assert_eq!(steps("1.5e-1", 2), Some(i256::from_i128(15)));
        assert_eq!(steps("1200", -2), Some(i256::from_i128(12)));
        assert_eq!(steps("1250", -2), None);
    }

    #[test]
    fn doubles_keep_the_digits_that_are_written() {
        let keeps = |text: &str| keeps_digits(double(text).unwrap(), text);
        for text in
            ["1.5", "0.1", "9007199254740992", "0.30000000000000004", "1e300", "5e-324", "0.10000000000000001", "0"]
        {
            assert!(keeps(text), "{text}");
        }
        for text in ["9007199254740993", "0.12345678901234567890", "18446744073709551617", "1234567890.12345678901"] {
            assert!(!keeps(text), "{text}");
        }
        assert_eq!(double("1e400"), None);
        assert!(double("NaN").is_some_and(f64::is_nan) && double("-inf") == Some(f64::NEG_INFINITY));
    }
}
