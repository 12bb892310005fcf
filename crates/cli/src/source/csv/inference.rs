//! Which type a column's values have, by what they look like.
//!
//! A type is chosen only if each value, read as this type, stands for the same thing as its text: `01234` is no number. How
//! a value is spelled may differ: `1.50` is the number 1.5, and `08:30+01:00` the instant 07:30 in UTC.

use arrow_schema::{DataType, TimeUnit};

use super::moment::{MomentFormat, iso_date, iso_moment};
use super::number::{self, Number};
use crate::source::text::UTC_LABEL;

/// A type whose values look alike.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Inferred {
    Text,
    Boolean,
    Int64,
    UInt64,
    Float64,
    Date,
    Timestamp {
        unit: TimeUnit,
        has_offset: bool,
    },
    /// A date or timestamp in a format that was asked for.
    Formatted(MomentFormat),
}

impl Inferred {
    pub(super) fn data_type(&self) -> DataType {
        match self {
            Self::Text => DataType::Utf8,
            Self::Boolean => DataType::Boolean,
            Self::Int64 => DataType::Int64,
            Self::UInt64 => DataType::UInt64,
            Self::Float64 => DataType::Float64,
            Self::Date => DataType::Date32,
            Self::Timestamp { unit, has_offset } => DataType::Timestamp(*unit, has_offset.then(|| UTC_LABEL.into())),
            Self::Formatted(format) => format.data_type(),
        }
    }
}

/// What is true of the values of a column that have been seen.
#[derive(Debug, Clone)]
pub(super) struct Guess {
    point: u8,
    /// Formats that all values have.
    formats: Vec<MomentFormat>,
    has_values: bool,
    is_text: bool,
    has_booleans: bool,
    has_dates: bool,
    numbers: Numbers,
    moments: Moments,
}

#[derive(Debug, Clone, Default)]
struct Numbers {
    smallest: i128,
    largest: i128,
    has_integers: bool,
    /// An integer that a float does not hold.
    has_long_integers: bool,
    has_floats: bool,
    has_clear_floats: bool,
}

#[derive(Debug, Clone, Default)]
struct Moments {
    with_offset: bool,
    without_offset: bool,
    in_nanoseconds: bool,
    /// A year that a count of nanoseconds does not reach.
    has_distant: bool,
}

impl Guess {
    pub(super) fn new(point: u8, formats: &[MomentFormat]) -> Self {
        Self {
            point,
            formats: formats.to_vec(),
            has_values: false,
            is_text: false,
            has_booleans: false,
            has_dates: false,
            numbers: Numbers::default(),
            moments: Moments::default(),
        }
    }

    /// Looks at a value.
    pub(super) fn add(&mut self, text: &str) {
        self.has_values = true;
        if !self.formats.is_empty() {
            self.formats.retain(|format| format.fits(text));
        }
        if self.is_text {
            return;
        }
        if let Some(number) = number::classify(text, self.point) {
            self.numbers.add(number);
        } else if let Some(moment) = iso_moment(text) {
            let moments = &mut self.moments;
            moments.with_offset |= moment.has_offset;
            moments.without_offset |= !moment.has_offset;
            moments.in_nanoseconds |= moment.fraction_digits > 6;
            moments.has_distant |= moment.count(TimeUnit::Nanosecond).is_none();
        } else if iso_date(text).is_some() {
            self.has_dates = true;
        } else if boolean(text).is_some() {
            self.has_booleans = true;
        } else {
            self.is_text = true;
        }
    }

    /// The type of the column.
    pub(super) fn outcome(&self) -> Inferred {
        if let Some(format) = self.formats.first().filter(|_| self.has_values) {
            return Inferred::Formatted(format.clone());
        }
        let numbers = self.numbers.has_integers || self.numbers.has_floats;
        let moments = self.moments.with_offset || self.moments.without_offset;
        match (self.is_text, numbers, moments, self.has_dates, self.has_booleans) {
            (false, true, false, false, false) => self.numbers.outcome(),
            (false, false, true, false, false) => self.moments.outcome(),
            (false, false, false, true, false) => Inferred::Date,
            (false, false, false, false, true) => Inferred::Boolean,
            _ => Inferred::Text,
        }
    }
}

impl Numbers {
    fn add(&mut self, number: Number) {
        match number {
            Number::Integer { value } => {
                self.has_integers = true;
                self.smallest = self.smallest.min(value);
                self.largest = self.largest.max(value);
                self.has_long_integers |= value as f64 as i128 != value;
            }
            Number::Float { is_clear } => {
                self.has_floats = true;
                self.has_clear_floats |= is_clear;
            }
        }
    }

    fn outcome(&self) -> Inferred {
        if self.has_floats {
            return if self.has_clear_floats && !self.has_long_integers { Inferred::Float64 } else { Inferred::Text };
        }
        if self.smallest >= i64::MIN.into() && self.largest <= i64::MAX.into() {
            Inferred::Int64
        } else if self.smallest >= 0 && self.largest <= u64::MAX.into() {
            Inferred::UInt64
        } else {
            Inferred::Text
        }
    }
}

impl Moments {
    fn outcome(&self) -> Inferred {
        let unit = if self.in_nanoseconds { TimeUnit::Nanosecond } else { TimeUnit::Microsecond };
        if self.with_offset == self.without_offset || self.in_nanoseconds && self.has_distant {
            return Inferred::Text;
        }
        Inferred::Timestamp { unit, has_offset: self.with_offset }
    }
}

/// What a word says, in whatever case.
pub(super) fn boolean(text: &str) -> Option<bool> {
    match text {
        "true" => Some(true),
        "false" => Some(false),
        _ if text.eq_ignore_ascii_case("true") => Some(true),
        _ if text.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(values: &[&str]) -> Inferred {
        let mut guess = Guess::new(b'.', &[]);
        values.iter().for_each(|value| guess.add(value));
        guess.outcome()
    }

    #[test]
    fn all_values_are_of_one_type() {
        let timestamp = |unit, has_offset| Inferred::Timestamp { unit, has_offset };
        for (values, expected) in [
            (&["1", "-2"][..], Inferred::Int64),
            (&["1", "18446744073709551615"], Inferred::UInt64),
            (&["-1", "18446744073709551615"], Inferred::Text),
            (&["1", "2.5"], Inferred::Float64),
            (&["9007199254740993", "2.5"], Inferred::Text),
            (&["1e5", "12E4", "7"], Inferred::Text),
            (&["1e5", "0.5"], Inferred::Float64),
            (&["1", "007"], Inferred::Text),
            (&["true", "FALSE"], Inferred::Boolean),
            (&["true", "1"], Inferred::Text),
            (&["2025-01-31", "2025-02-28"], Inferred::Date),
            (&["2025-01-31", "2025-02-29"], Inferred::Text),
            (&["2025-01-31", "2025-01-31 08:30:00"], Inferred::Text),
            (&["2025-01-31 08:30:00", "2025-01-31T08:30:00.25"], timestamp(TimeUnit::Microsecond, false)),
            (&["2025-01-31 08:30:00Z", "2025-01-31 08:30:00+01"], timestamp(TimeUnit::Microsecond, true)),
            (&["2025-01-31 08:30:00Z", "2025-01-31 08:30:00"], Inferred::Text),
            (&["2025-01-31 08:30:00.123456789"], timestamp(TimeUnit::Nanosecond, false)),
            (&["2025-01-31 08:30:00.123456789", "0900-01-31 08:30:00"], Inferred::Text),
            (&[], Inferred::Text),
        ] {
            assert_eq!(outcome(values), expected, "{values:?}");
        }
    }

    #[test]
    fn formats_that_were_asked_for_come_first() {
        let formats = [MomentFormat::new("%Y%m%d").unwrap(), MomentFormat::new("%d.%m.%Y").unwrap()];
        let outcome = |values: &[&str]| {
            let mut guess = Guess::new(b'.', &formats);
            values.iter().for_each(|value| guess.add(value));
            guess.outcome()
        };
        assert_eq!(outcome(&["20250131", "20250201"]), Inferred::Formatted(formats[0].clone()));
        assert_eq!(outcome(&["31.01.2025"]), Inferred::Formatted(formats[1].clone()));
        assert_eq!(outcome(&["20250131", "31.01.2025"]), Inferred::Text);
        assert_eq!(outcome(&["20250131", "20259999"]), Inferred::Int64);
        assert_eq!(outcome(&[]), Inferred::Text);
    }
}
