//! Converts the slots of a leaf to values of its column's physical type, without nulls.

mod convert;
mod dense;
mod expand;
mod strings;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::{DataType, IntervalUnit, TimeUnit};
use lath_format::schema::ColumnDescriptor;
use lath_format::schema::PhysicalType;

pub(super) use strings::Strings;

use convert::{Misfit, Narrow};
use lath_parquet::{Error, ExactType, Result};

/// Values of a column in the layout of its physical type; shares the batch's memory if it has that layout.
#[derive(Debug, Clone)]
pub(super) enum Values {
    Booleans(BooleanBuffer),
    /// INT32 and FLOAT, as bits.
    Words32(ScalarBuffer<u32>),
    /// INT64 and DOUBLE, as bits.
    Words64(ScalarBuffer<u64>),
    /// FIXED_LEN_BYTE_ARRAY and INT96.
    Fixed {
        width: usize,
        len: usize,
        bytes: Buffer,
    },
    /// BYTE_ARRAY.
    Strings(Strings),
    /// Codes into entries of the batch's dictionary.
    Codes {
        codes: ScalarBuffer<u32>,
        entries: Entries,
    },
    /// Columns without values, whose slots are all null.
    Nothing,
}

/// The values of an Arrow dictionary.
#[derive(Debug, Clone)]
pub(super) struct Entries {
    /// The original array, by which the dictionary is recognized.
    pub(super) array: ArrayRef,
    pub(super) values: Box<Values>,
}

impl Values {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Booleans(bits) => bits.len(),
            Self::Words32(words) => words.len(),
            Self::Words64(words) => words.len(),
            Self::Fixed { len, .. } => *len,
            Self::Strings(strings) => strings.len(),
            Self::Codes { codes, .. } => codes.len(),
            Self::Nothing => 0,
        }
    }

    pub(super) fn slice(&self, start: usize, len: usize) -> Self {
        match self {
            Self::Booleans(bits) => Self::Booleans(bits.slice(start, len)),
            Self::Words32(words) => Self::Words32(words.slice(start, len)),
            Self::Words64(words) => Self::Words64(words.slice(start, len)),
            Self::Fixed { width, bytes, .. } => {
                Self::Fixed { width: *width, len, bytes: bytes.slice_with_length(start * width, len * width) }
            }
            Self::Strings(strings) => Self::Strings(strings.slice(start, len)),
            Self::Codes { codes, entries } => Self::Codes { codes: codes.slice(start, len), entries: entries.clone() },
            Self::Nothing => Self::Nothing,
        }
    }

    /// Size of the values in PLAIN encoding.
    pub(super) fn plain_len(&self) -> usize {
        match self {
            Self::Booleans(bits) => bits.len().div_ceil(8),
            Self::Words32(words) => 4 * words.len(),
            Self::Words64(words) => 8 * words.len(),
            Self::Fixed { bytes, .. } => bytes.len(),
            Self::Strings(strings) => 4 * strings.len() + strings.data_len(),
            Self::Codes { codes, entries } => match &*entries.values {
                Self::Strings(strings) => 4 * codes.len() + strings.coded_data_len(codes),
                Self::Fixed { width, .. } => width * codes.len(),
                Self::Words32(_) => 4 * codes.len(),
                _ => 8 * codes.len(),
            },
            Self::Nothing => 0,
        }
    }

    /// Number of values from `start` on, at most `max_count`, that take at most `bytes` in PLAIN encoding.
    pub(super) fn fitting(&self, start: usize, max_count: usize, bytes: usize) -> usize {
        let of_width = |width: usize| max_count.min(bytes.checked_div(width).unwrap_or(max_count));
        match self {
            Self::Booleans(_) => max_count.min(bytes.saturating_mul(8)),
            Self::Words32(_) => of_width(4),
            Self::Words64(_) => of_width(8),
            Self::Fixed { width, .. } => of_width(*width),
            Self::Strings(strings) => strings.fitting(start, max_count, bytes),
            Self::Codes { codes, entries } => match &*entries.values {
                Self::Strings(strings) => strings.fitting_codes(&codes[start..start + max_count], bytes),
                Self::Fixed { width, .. } => of_width(*width),
                Self::Words32(_) => of_width(4),
                _ => of_width(8),
            },
            Self::Nothing => max_count,
        }
    }

    /// The values of `codes`.
    pub(super) fn expanded_at(&self, codes: &[u32]) -> Result<Self> {
        expand::expand(codes, self)
    }

    /// The values with codes expanded.
    pub(super) fn expanded(self) -> Result<Self> {
        match &self {
            Self::Codes { codes, entries } => expand::expand(codes, &entries.values),
            _ => Ok(self),
        }
    }

    /// Bytes of the values of a BYTE_ARRAY column, without lengths; `None` for other types.
    pub(super) fn byte_array_len(&self) -> Option<usize> {
        match self {
            Self::Strings(strings) => Some(strings.data_len()),
            Self::Codes { codes, entries } => match &*entries.values {
                Self::Strings(strings) => Some(strings.coded_data_len(codes)),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Conversion of slots of one Arrow type to values of one physical type.
#[derive(Debug, Clone)]
pub(super) struct Conversion {
    data_type: DataType,
    step: Step,
}

#[derive(Debug, Clone)]
enum Step {
    Nothing,
    Booleans,
    /// Words of the stored width, unchanged.
    Same32,
    Same64,
    /// Bytes, unchanged.
    SameFixed(usize),
    Strings,
    /// A number with another width, big-endian if the column has bytes.
    Number(Narrow),
    Interval(IntervalUnit),
    Int96(TimeUnit),
    /// Keys, with the conversion of the dictionary's values.
    Dictionary(Box<Conversion>),
}

impl Conversion {
    /// The conversion from `data_type` to the stored type of `column`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a pair that does not occur in schemas converted from Arrow.
    pub(super) fn new(column: &ColumnDescriptor, data_type: &DataType) -> Result<Self> {
        let (physical, length) = (column.physical_type(), usize::try_from(column.type_length()).unwrap_or(0));
        Self::between(physical, length, data_type).map_err(|error| {
            error.locate(|at| {
                at.column.get_or_insert_with(|| column.path().string().into());
            })
        })
    }

    fn between(physical: PhysicalType, length: usize, data_type: &DataType) -> Result<Self> {
        use DataType as D;
        use PhysicalType as P;
        let number = |from| Narrow::new(physical, length, from).map(Step::Number);
        let step = match (data_type, physical) {
            (D::Null, _) => Some(Step::Nothing),
            (D::Boolean, P::BOOLEAN) => Some(Step::Booleans),
            (D::Int8, P::INT32) => number(convert::Source::I8),
            (D::Int16, P::INT32) => number(convert::Source::I16),
            (D::UInt8, P::INT32) => number(convert::Source::U8),
            (D::UInt16, P::INT32) => number(convert::Source::U16),
            (D::Int32 | D::UInt32 | D::Date32 | D::Time32(_), P::INT32) | (D::Float32, P::FLOAT) => Some(Step::Same32),
            (D::Int64 | D::UInt64 | D::Date64 | D::Time64(_) | D::Timestamp(..) | D::Duration(_), P::INT64)
            | (D::Float64, P::DOUBLE) => Some(Step::Same64),
            (D::Timestamp(unit, _), P::INT96) => Some(Step::Int96(*unit)),
            (D::Date64, P::INT32) => number(convert::Source::Millis),
            (decimal, _) if decimal.is_decimal() => {
                match (ExactType::new(decimal).map_or(0, |exact| exact.width), physical) {
                    (4, P::INT32) => Some(Step::Same32),
                    (8, P::INT64) => Some(Step::Same64),
                    (4, _) => number(convert::Source::I32),
                    (8, _) => number(convert::Source::I64),
                    (16, _) => number(convert::Source::I128),
                    (32, _) => number(convert::Source::I256),
                    _ => None,
                }
            }
            (D::Float16, P::FIXED_LEN_BYTE_ARRAY) if length == 2 => Some(Step::SameFixed(2)),
            (D::FixedSizeBinary(width), P::FIXED_LEN_BYTE_ARRAY) if usize::try_from(*width) == Ok(length) => {
                Some(Step::SameFixed(length))
            }
            (D::Interval(unit), P::FIXED_LEN_BYTE_ARRAY) if length == 12 => Some(Step::Interval(*unit)),
            (D::Utf8 | D::LargeUtf8 | D::Utf8View | D::Binary | D::LargeBinary | D::BinaryView, P::BYTE_ARRAY) => {
                Some(Step::Strings)
            }
            (D::Dictionary(_, values), _) => Some(Step::Dictionary(Box::new(Self::between(physical, length, values)?))),
            // Runs are expanded in the slots.
            (D::RunEndEncoded(_, values), _) => return Self::between(physical, length, values.data_type()),
            _ => None,
        };
        match step {
            Some(step) => Ok(Self { data_type: data_type.clone(), step }),
            None => Err(Error::unsupported(format!("writing {data_type} as {physical}"))),
        }
    }

    /// Converts the present slots of `array`, which must have the Arrow type of this conversion.
    pub(super) fn convert(&self, array: &ArrayRef, present: Option<&NullBuffer>) -> Result<Values, ConvertError> {
        if *array.data_type() != self.data_type {
            let what = format!("expected a batch with {}, found {}", self.data_type, array.data_type());
            return Err(Error::invalid(what).into());
        }
        let present = present.filter(|present| present.null_count() > 0);
        Ok(match &self.step {
            Step::Nothing => Values::Nothing,
            Step::Booleans => Values::Booleans(dense::bits(array.as_boolean().values(), present)?),
            Step::Same32 => Values::Words32(dense::words32(&array.to_data(), present)?),
            Step::Same64 => Values::Words64(dense::words64(&array.to_data(), present)?),
            Step::SameFixed(width) => {
                let bytes = dense::bytes(&array.to_data(), *width, present)?;
                let len = present.map_or(array.len(), |present| present.len() - present.null_count());
                Values::Fixed { width: *width, len, bytes }
            }
            Step::Strings => Values::Strings(Strings::new(array, present)?),
            Step::Number(narrow) => {
                let bytes = dense::bytes(&array.to_data(), narrow.source_width(), present)?;
                narrow.apply(&bytes)?
            }
            Step::Interval(unit) => {
                let width = match unit {
                    IntervalUnit::YearMonth => 4,
                    IntervalUnit::DayTime => 8,
                    IntervalUnit::MonthDayNano => 16,
                };
                convert::intervals(*unit, &dense::bytes(&array.to_data(), width, present)?)?
            }
            Step::Int96(unit) => convert::int96(*unit, &dense::bytes(&array.to_data(), 8, present)?)?,
            Step::Dictionary(of_values) => {
                let dictionary = array.as_any_dictionary();
                let codes = dense::keys(dictionary.keys(), present)?;
                // Only entries that a key refers to are used later: others may have any value.
                let entries = dictionary.values();
                let values = of_values.convert(entries, None)?;
                let is_bytes = matches!(values, Values::Strings(_) | Values::Fixed { .. });
                if !is_bytes || of_values.data_type == DataType::Float16 {
                    // Looking up numbers is as fast as looking up keys.
                    return Ok(expand::expand(&codes, &values)?);
                }
                Values::Codes { codes, entries: Entries { array: entries.clone(), values: Box::new(values) } }
            }
        })
    }
}

/// Errors of converting slots.
#[derive(Debug)]
pub(super) enum ConvertError {
    /// A value that the column cannot hold; the index counts present slots.
    Misfit(Misfit),
    Other(Error),
}

impl From<Misfit> for ConvertError {
    fn from(misfit: Misfit) -> Self {
        Self::Misfit(misfit)
    }
}

impl From<Error> for ConvertError {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

impl From<lath_kernels::KernelError> for ConvertError {
    fn from(error: lath_kernels::KernelError) -> Self {
        Self::Other(error.into())
    }
}
