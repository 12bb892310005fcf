//! Exact decimal numbers of any size.

use std::cmp::Ordering;
use std::fmt;

use arrow_buffer::i256;

/// The number of decimal digits that always fit into an `i256`.
const MAX_DIGITS: usize = 76;
/// Larger exponents are outside the range of every type.
const MAX_EXPONENT: i32 = 10_000;

/// A decimal number.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Number {
    negative: bool,
    /// Decimal digits without a point.
    digits: String,
    /// Number of `digits` before the point; may be negative, or beyond their end.
    point: i32,
    text: String,
}

/// A number in units of 10⁻ˢ, rounded down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Floor {
    /// The number of units; `None` if it does not fit into an `i256`.
    pub(crate) steps: Option<i256>,
    /// Whether the number was not rounded.
    pub(crate) exact: bool,
    /// Whether the number is below zero.
    pub(crate) negative: bool,
}

impl Number {
    /// Parses digits with at most one point and an optional exponent, after an optional sign.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent)?),
            None => (unsigned, 0),
        };
        let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{integer}{fraction}");
        if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let leading_zeros = digits.bytes().take_while(|&digit| digit == b'0').count();
        let point = i32::try_from(integer.len()).ok()? + exponent - i32::try_from(leading_zeros).ok()?;
        let digits = digits[leading_zeros..].trim_end_matches('0').to_owned();
        Some(Self { negative: negative && !digits.is_empty(), digits, point, text: text.to_owned() })
    }

    /// The number `steps` · 10⁻ˢ, where `s` is `scale`.
    pub(crate) fn from_steps(steps: &str, scale: i8) -> Option<Self> {
        let (sign, digits) = steps.strip_prefix('-').map_or(("", steps), |digits| ("-", digits));
        match usize::try_from(scale) {
            Ok(0) => Self::parse(steps),
            Ok(scale) => {
                let digits = format!("{digits:0>width$}", width = scale + 1);
                let (whole, fraction) = digits.split_at(digits.len() - scale);
                Self::parse(&format!("{sign}{whole}.{fraction}"))
            }
            Err(_) => Self::parse(&format!("{sign}{digits}{}", "0".repeat(scale.unsigned_abs().into()))),
        }
    }

    /// The number with its sign changed.
    pub(crate) fn negated(&self) -> Self {
        let text = match self.text.strip_prefix('-') {
            Some(positive) => positive.to_owned(),
            None => format!("-{}", self.text),
        };
        Self { negative: !self.negative && !self.digits.is_empty(), text, ..self.clone() }
    }

    /// The number in units of 10⁻ˢ, where `s` is `scale`, rounded down.
    pub(crate) fn floor(&self, scale: i8) -> Floor {
        let point = self.point + i32::from(scale);
        let whole_len = usize::try_from(point).unwrap_or(0);
        let exact = self.digits.len() <= whole_len;
        let steps = match self.digits.is_empty() {
            true => Some(i256::ZERO),
            false if whole_len > MAX_DIGITS => None,
            false => {
                let whole = &self.digits[..whole_len.min(self.digits.len())];
                let magnitude = i256::from_string(&format!("0{whole:0<whole_len$}"));
                magnitude.map(|magnitude| match (self.negative, exact) {
                    (false, _) => magnitude,
                    (true, true) => magnitude.wrapping_neg(),
                    (true, false) => magnitude.wrapping_neg().wrapping_sub(i256::ONE),
                })
            }
        };
        Floor { steps, exact, negative: self.negative }
    }

    /// Whether the number was written without point and exponent.
    pub(crate) fn is_written_as_integer(&self) -> bool {
        !self.text.contains(['.', 'e', 'E'])
    }

    /// Compares the number with a float that has no fraction.
    pub(crate) fn compare_whole(&self, float: f64) -> Ordering {
        Self::parse(&format!("{float:.0}")).map_or(Ordering::Equal, |other| self.compare(&other))
    }

    fn compare(&self, other: &Self) -> Ordering {
        let sign = |number: &Self| match (number.digits.is_empty(), number.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        };
        let magnitude = || self.point.cmp(&other.point).then_with(|| self.digits.cmp(&other.digits));
        sign(self).cmp(&sign(other)).then_with(|| match sign(self) {
            0 => Ordering::Equal,
            1 => magnitude(),
            _ => magnitude().reverse(),
        })
    }

    /// The nearest `f64`.
    pub(crate) fn to_f64(&self) -> f64 {
        self.text.parse().unwrap_or(f64::NAN)
    }

    /// The nearest `f32`.
    pub(crate) fn to_f32(&self) -> f32 {
        self.text.parse().unwrap_or(f32::NAN)
    }
}

/// Compares `steps` · 10⁻ˢ, where `s` is `scale`, with a float. NaN is above all numbers.
pub(crate) fn compare_with_float(steps: i256, scale: i8, float: f64) -> Ordering {
    if float.is_nan() || float == f64::INFINITY {
        return Ordering::Less;
    }
    if float == f64::NEG_INFINITY {
        return Ordering::Greater;
    }
    // If the numbers are far apart, rounding does not matter.
    let nearly = match (steps.to_i128(), steps.to_parts()) {
        (Some(steps), _) => steps as f64,
        (None, (low, high)) => high as f64 * 2f64.powi(128) + low as f64,
    };
    let near = nearly / 10f64.powi(scale.into());
    let tolerance = near.abs() * 1e-12;
    if near.is_finite() && (near - float).abs() > tolerance + f64::MIN_POSITIVE {
        return near.total_cmp(&float);
    }
    // The shortest text of a float is not exact; 1,074 decimal places are.
    let exact = Number::parse(&format!("{float:.1074}"));
    let steps = Number::parse(&format!("{steps}e{}", -i32::from(scale)));
    match (steps, exact) {
        (Some(steps), Some(exact)) => steps.compare(&exact),
        _ => near.total_cmp(&float),
    }
}

fn parse_exponent(text: &str) -> Option<i32> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if unsigned.is_empty() || !unsigned.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let magnitude = unsigned.parse().unwrap_or(MAX_EXPONENT).min(MAX_EXPONENT);
    Some(if text.starts_with('-') { -magnitude } else { magnitude })
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floor(text: &str, scale: i8) -> (Option<i128>, bool) {
        let floor = Number::parse(text).unwrap().floor(scale);
        (floor.steps.map(|steps| steps.to_i128().unwrap()), floor.exact)
    }

    #[test]
    fn numbers_are_rounded_down_and_say_whether_they_were() {
        assert_eq!(floor("12", 0), (Some(12), true));
        assert_eq!(floor("12.5", 0), (Some(12), false));
        assert_eq!(floor("-12.5", 0), (Some(-13), false));
        assert_eq!(floor("-12.0", 0), (Some(-12), true));
        assert_eq!(floor("12.345", 2), (Some(1234), false));
        assert_eq!(floor("12.34", 4), (Some(123_400), true));
        assert_eq!(floor("1e3", 0), (Some(1000), true));
        assert_eq!(floor("1.25e-1", 3), (Some(125), true));
        assert_eq!(floor("0.001", 2), (Some(0), false));
        assert_eq!(floor("-0.001", 2), (Some(-1), false));
        assert_eq!(floor("1200", -2), (Some(12), true));
        assert_eq!(floor("1250", -2), (Some(12), false));
        assert_eq!(floor("000", 5), (Some(0), true));
        assert_eq!(floor(".5", 1), (Some(5), true));
        assert_eq!(floor("1e-999999999999", 10), (Some(0), false));
    }

    #[test]
    fn numbers_beyond_every_type_have_no_steps_but_a_sign() {
        let floor = Number::parse("-1e99999999999").unwrap().floor(0);
        assert_eq!((floor.steps, floor.negative), (None, true));
    }

    #[test]
    fn what_is_not_a_number_is_refused() {
        for text in ["", ".", "-", "1e", "e5", "1.2.3", "0x10", "1_000", "NaN", "1e+-5"] {
            assert_eq!(Number::parse(text), None, "{text:?}");
        }
    }
}
