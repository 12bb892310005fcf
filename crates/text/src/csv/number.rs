//! Tells numbers from text: a number represents its text without loss.

use std::fmt::Write;

/// A number in text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Number {
    /// Digits without a point, with an optional minus sign.
    Integer { value: i128 },
    /// Any other number that a float represents.
    Float {
        /// Whether it has a point, an exponent with a sign, or is not finite. Without these, as 12E4, it may be a name.
        is_clear: bool,
    },
}

/// Number of digits that a float always represents.
const SAFE_DIGITS: usize = 15;
/// With an exponent below this, a float always represents the safe digits.
const SAFE_EXPONENT: i32 = 250;

/// Classifies `text`; `None` if it is not a number, or if a number would not give back its digits: leading zeros, a plus sign,
/// more digits than a float has.
pub(super) fn classify(text: &str, point: u8) -> Option<Number> {
    let bytes = text.as_bytes();
    let start = usize::from(bytes.first() == Some(&b'-'));
    let integer_end = digits_end(bytes, start);
    let integer_len = integer_end - start;
    if integer_len > 1 && bytes[start] == b'0' {
        return None;
    }
    if integer_end == bytes.len() && integer_len > 0 {
        return integer(text, start, integer_len);
    }
    if integer_len == 0 && matches!(text, "NaN" | "nan" | "inf" | "-inf") {
        return Some(Number::Float { is_clear: true });
    }
    let has_point = bytes.get(integer_end) == Some(&point);
    let fraction = integer_end + usize::from(has_point);
    let fraction_end = digits_end(bytes, fraction);
    let digit_count = integer_len + fraction_end - fraction;
    if digit_count == 0 {
        return None;
    }
    let (exponent, has_sign) = match &bytes[fraction_end..] {
        [] => (0, false),
        [b'e' | b'E', sign, ..] => (text[fraction_end + 1..].parse::<i32>().ok()?, matches!(sign, b'-' | b'+')),
        _ => return None,
    };
    let is_safe = digit_count <= SAFE_DIGITS && -SAFE_EXPONENT < exponent && exponent < SAFE_EXPONENT;
    if !is_safe {
        let digits = bytes[start..integer_end].iter().chain(&bytes[fraction..fraction_end]).copied();
        if !is_kept(parse(text, point)?, digits.skip_while(|&digit| digit == b'0')) {
            return None;
        }
    }
    Some(Number::Float { is_clear: has_point || has_sign })
}

/// The end of the digits that start at `from`.
pub(super) fn digits_end(bytes: &[u8], from: usize) -> usize {
    let mut end = from;
    while end < bytes.len() && bytes[end].is_ascii_digit() {
        end += 1;
    }
    end
}

/// The integer of `digit_count` digits behind a sign of `start` bytes.
fn integer(text: &str, start: usize, digit_count: usize) -> Option<Number> {
    if text == "-0" {
        return Some(Number::Float { is_clear: false });
    }
    if digit_count > 18 {
        // No integer type has more than 20 digits.
        let value = (digit_count <= 20).then(|| text.parse()).transpose();
        return value.ok()?.map(|value| Number::Integer { value });
    }
    let mut value = 0;
    for &digit in &text.as_bytes()[start..] {
        value = value * 10 + i64::from(digit - b'0');
    }
    let value = if start == 1 { -value } else { value };
    Some(Number::Integer { value: value.into() })
}

/// Parses a float.
pub(super) fn parse(text: &str, point: u8) -> Option<f64> {
    if point == b'.' {
        return text.parse().ok();
    }
    if text.contains('.') {
        return None;
    }
    text.replacen(char::from(point), ".", 1).parse().ok()
}

/// The maximum number of significant digits of a float's exact value.
const MAX_DIGITS: usize = 767;

/// Whether `value`, printed with the same number of digits, has these digits.
fn is_kept(value: f64, digits: impl Iterator<Item = u8> + Clone) -> bool {
    let count = digits.clone().count();
    if count == 0 {
        return true;
    }
    if count > MAX_DIGITS {
        return false;
    }
    let printed = |printed: &str| {
        let mantissa = printed.bytes().take_while(|&byte| byte != b'e').filter(u8::is_ascii_digit);
        let zeros = std::iter::repeat(b'0');
        mantissa.chain(zeros).take(count).eq(digits.clone())
    };
    if !value.is_finite() || value == 0.0 {
        return false;
    }
    let mut text = String::with_capacity(count + 8);
    // Writing to a string does not fail. The shortest form is tried first, because it usually matches and is fast.
    let _ = write!(text, "{value:e}");
    if text.len() <= count + 7 && printed(&text) {
        return true;
    }
    text.clear();
    let _ = write!(text, "{value:.*e}", count - 1);
    printed(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLEAR: Option<Number> = Some(Number::Float { is_clear: true });

    #[test]
    fn integers_are_digits_as_they_are_printed() {
        for (text, value) in [("0", 0), ("12", 12), ("-7", -7), ("18446744073709551615", u64::MAX.into())] {
            assert_eq!(classify(text, b'.'), Some(Number::Integer { value }), "{text}");
        }
        for text in ["007", "+5", "-", "", " 1", "1 ", "1_000", "123456789012345678901", "-01", "0x1F", "１"] {
            assert_eq!(classify(text, b'.'), None, "{text:?}");
        }
    }

    #[test]
    fn floats_are_numbers_whose_digits_are_kept() {
        for text in [
            "1.5",
            "1.50",
            "-0.25",
            ".5",
            "5.",
            "0.0",
            "1e-07",
            "1.5E+10",
            "6.02e23",
            "NaN",
            "-inf",
            "0.1234567890123456",
            "0.10000000000000001",
            "0.30000000000000004",
            "2.2250738585072014e-308",
            "1.7976931348623157e308",
            "0.000000000000000000001",
            "100000000000000000000000.0",
        ] {
            assert_eq!(classify(text, b'.'), CLEAR, "{text}");
        }
        for text in [
            "1.50?",
            "01.5",
            "00.5",
            "+1.5",
            ".",
            "-.",
            "1.5.2",
            "1e",
            "e5",
            "1e400",
            "1.0e-400",
            "0.12345678901234567890",
            "1234567890.12345678901",
            "1,5",
            "1.5e5.5",
            "infinity",
        ] {
            assert_eq!(classify(text, b'.'), None, "{text}");
        }
    }

    #[test]
    fn digits_with_an_unsigned_exponent_may_be_a_name() {
        for text in ["1e5", "12E4", "-0"] {
            assert_eq!(classify(text, b'.'), Some(Number::Float { is_clear: false }), "{text}");
        }
    }

    #[test]
    fn the_point_may_be_a_comma() {
        assert_eq!(classify("1,50", b','), CLEAR);
        assert_eq!(classify("1.50", b','), None);
        assert_eq!(classify("1.234,5", b','), None);
        assert_eq!(parse("-1,25", b','), Some(-1.25));
        assert_eq!(parse("1.25", b','), None);
    }
}
