//! Infers the type of a column from its values.
//!
//! A type is chosen only if no value loses information: `01234` is not a number. Spelling may change: `1.50` is the number 1.5,
//! and `08:30+01:00` the instant 07:30 in UTC.

use arrow_schema::{DataType, TimeUnit};

use super::datetime::{iso_date, iso_timestamp};
use super::number::{self, Number};
use crate::date_time_format::DateTimeFormat;
use crate::date_time_format::UTC_LABEL;

/// A type that can be inferred.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum InferredType {
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
    /// A date or timestamp in a format that was given.
    Formatted(DateTimeFormat),
}

impl InferredType {
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

/// The types that the values read so far allow.
#[derive(Debug, Clone)]
pub(super) struct TypeGuess {
    point: u8,
    /// Formats that fit all values.
    formats: Vec<DateTimeFormat>,
    has_values: bool,
    is_text: bool,
    has_booleans: bool,
    has_dates: bool,
    numbers: NumberGuess,
    timestamps: TimestampGuess,
}

#[derive(Debug, Clone, Default)]
struct NumberGuess {
    smallest: i128,
    largest: i128,
    has_integers: bool,
    /// An integer that a float cannot represent.
    has_long_integers: bool,
    has_floats: bool,
    has_clear_floats: bool,
}

#[derive(Debug, Clone, Default)]
struct TimestampGuess {
    with_offset: bool,
    without_offset: bool,
    in_nanoseconds: bool,
    /// A year that nanoseconds cannot represent.
    has_distant: bool,
}

impl TypeGuess {
    pub(super) fn new(point: u8, formats: &[DateTimeFormat]) -> Self {
        Self {
            point,
            formats: formats.to_vec(),
            has_values: false,
            is_text: false,
            has_booleans: false,
            has_dates: false,
            numbers: NumberGuess::default(),
            timestamps: TimestampGuess::default(),
        }
    }

    /// Adds a value.
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
        } else if let Some(timestamp) = iso_timestamp(text) {
            let timestamps = &mut self.timestamps;
            timestamps.with_offset |= timestamp.has_offset;
            timestamps.without_offset |= !timestamp.has_offset;
            timestamps.in_nanoseconds |= timestamp.fraction_digits > 6;
            timestamps.has_distant |= timestamp.count(TimeUnit::Nanosecond).is_none();
        } else if iso_date(text).is_some() {
            self.has_dates = true;
        } else if boolean(text).is_some() {
            self.has_booleans = true;
        } else {
            self.is_text = true;
        }
    }

    /// The type of the column.
    pub(super) fn inferred_type(&self) -> InferredType {
        if let Some(format) = self.formats.first().filter(|_| self.has_values) {
            return InferredType::Formatted(format.clone());
        }
        let numbers = self.numbers.has_integers || self.numbers.has_floats;
        let timestamps = self.timestamps.with_offset || self.timestamps.without_offset;
        match (self.is_text, numbers, timestamps, self.has_dates, self.has_booleans) {
            (false, true, false, false, false) => self.numbers.inferred_type(),
            (false, false, true, false, false) => self.timestamps.inferred_type(),
            (false, false, false, true, false) => InferredType::Date,
            (false, false, false, false, true) => InferredType::Boolean,
            _ => InferredType::Text,
        }
    }
}

impl NumberGuess {
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

    fn inferred_type(&self) -> InferredType {
        if self.has_floats {
            return if self.has_clear_floats && !self.has_long_integers {
                InferredType::Float64
            } else {
                InferredType::Text
            };
        }
        if self.smallest >= i64::MIN.into() && self.largest <= i64::MAX.into() {
            InferredType::Int64
        } else if self.smallest >= 0 && self.largest <= u64::MAX.into() {
            InferredType::UInt64
        } else {
            InferredType::Text
        }
    }
}

impl TimestampGuess {
    fn inferred_type(&self) -> InferredType {
        let unit = if self.in_nanoseconds { TimeUnit::Nanosecond } else { TimeUnit::Microsecond };
        if self.with_offset == self.without_offset || self.in_nanoseconds && self.has_distant {
            return InferredType::Text;
        }
        InferredType::Timestamp { unit, has_offset: self.with_offset }
    }
}

/// Parses true or false, in any case.
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

    fn inferred_type(values: &[&str]) -> InferredType {
        let mut guess = TypeGuess::new(b'.', &[]);
        values.iter().for_each(|value| guess.add(value));
        guess.inferred_type()
    }

    #[test]
    fn all_values_are_of_one_type() {
        let timestamp = |unit, has_offset| InferredType::Timestamp { unit, has_offset };
        for (values, expected) in [
            (&["1", "-2"][..], InferredType::Int64),
            (&["1", "18446744073709551615"], InferredType::UInt64),
            (&["-1", "18446744073709551615"], InferredType::Text),
            (&["1", "2.5"], InferredType::Float64),
            (&["9007199254740993", "2.5"], InferredType::Text),
            (&["1e5", "12E4", "7"], InferredType::Text),
            (&["1e5", "0.5"], InferredType::Float64),
            (&["1", "007"], InferredType::Text),
            (&["true", "FALSE"], InferredType::Boolean),
            (&["true", "1"], InferredType::Text),
            (&["2025-01-31", "2025-02-28"], InferredType::Date),
            (&["2025-01-31", "2025-02-29"], InferredType::Text),
            (&["2025-01-31", "2025-01-31 08:30:00"], InferredType::Text),
            (&["2025-01-31 08:30:00", "2025-01-31T08:30:00.25"], timestamp(TimeUnit::Microsecond, false)),
            (&["2025-01-31 08:30:00Z", "2025-01-31 08:30:00+01"], timestamp(TimeUnit::Microsecond, true)),
            (&["2025-01-31 08:30:00Z", "2025-01-31 08:30:00"], InferredType::Text),
            (&["2025-01-31 08:30:00.123456789"], timestamp(TimeUnit::Nanosecond, false)),
            (&["2025-01-31 08:30:00.123456789", "0900-01-31 08:30:00"], InferredType::Text),
            (&[], InferredType::Text),
        ] {
            assert_eq!(inferred_type(values), expected, "{values:?}");
        }
    }

    #[test]
    fn given_formats_come_first() {
        let formats = [DateTimeFormat::new("%Y%m%d").unwrap(), DateTimeFormat::new("%d.%m.%Y").unwrap()];
        let inferred_type = |values: &[&str]| {
            let mut guess = TypeGuess::new(b'.', &formats);
            values.iter().for_each(|value| guess.add(value));
            guess.inferred_type()
        };
        assert_eq!(inferred_type(&["20250131", "20250201"]), InferredType::Formatted(formats[0].clone()));
        assert_eq!(inferred_type(&["31.01.2025"]), InferredType::Formatted(formats[1].clone()));
        assert_eq!(inferred_type(&["20250131", "31.01.2025"]), InferredType::Text);
        assert_eq!(inferred_type(&["20250131", "20259999"]), InferredType::Int64);
        assert_eq!(inferred_type(&[]), InferredType::Text);
    }
}
