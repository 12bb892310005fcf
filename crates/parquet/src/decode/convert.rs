//! Converts stored values of fixed width to Arrow values.
//!
//! Arrow's types hold every stored value, except INT96 timestamps in fine units and parts of intervals.

use arrow_schema::{DataType, IntervalUnit, TimeUnit};
use lath_format::schema::PhysicalType;
use lath_predicate::{ExactType, Timestamp};

use super::big_endian::{ints_from_big_endian, sign_extended};
use crate::error::Error;

/// Converts consecutive stored values of `width` bytes each to consecutive Arrow values that fill `out`. The error is the index
/// of the first value that the Arrow type cannot hold.
pub(crate) type Convert = fn(src: &[u8], width: usize, out: &mut [u8]) -> Result<(), usize>;

/// Stored and Arrow layout of a leaf of fixed width.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FixedLayout {
    /// Bytes of a stored value.
    pub(crate) stored_width: usize,
    /// Bytes of an Arrow value.
    pub(crate) width: usize,
    /// `None` if the bytes do not change.
    pub(crate) convert: Option<Convert>,
    /// Describes a stored value that the Arrow type cannot hold; `None` if it holds all of them.
    misfit: Option<fn(stored: &[u8]) -> String>,
}

impl FixedLayout {
    fn same(width: usize) -> Option<Self> {
        Some(Self { stored_width: width, width, convert: None, misfit: None })
    }

    fn converted(stored_width: usize, width: usize, convert: Convert) -> Option<Self> {
        Some(Self { stored_width, width, convert: Some(convert), misfit: None })
    }

    fn checked(stored_width: usize, width: usize, convert: Convert, misfit: fn(&[u8]) -> String) -> Option<Self> {
        Some(Self { stored_width, width, convert: Some(convert), misfit: Some(misfit) })
    }

    /// Whether there are stored values that the Arrow type cannot hold.
    pub(crate) fn can_fail(&self) -> bool {
        self.misfit.is_some()
    }

    /// The error for the value at `index` of `stored`, at which `convert` stopped; its row is `index`.
    pub(crate) fn misfit(&self, stored: &[u8], index: usize) -> Error {
        let value = stored.get(index * self.stored_width..).and_then(|rest| rest.get(..self.stored_width));
        let what = match (self.misfit, value) {
            (Some(describe), Some(value)) => describe(value),
            _ => "a value that its Arrow type cannot hold".to_owned(),
        };
        Error::out_of_range(what).locate(|at| at.row = Some(index as u64))
    }

    /// The layout for reading `physical_type` as `data_type`; `None` for a pair that does not occur.
    pub(crate) fn new(physical_type: PhysicalType, type_length: usize, data_type: &DataType) -> Option<Self> {
        use DataType as D;
        match (physical_type, data_type) {
            (PhysicalType::INT32, D::Int32 | D::UInt32 | D::Date32 | D::Time32(_)) => Self::same(4),
            (PhysicalType::INT32, D::Int8 | D::UInt8) => Self::converted(4, 1, keep_low_bytes::<4, 1>),
            (PhysicalType::INT32, D::Int16 | D::UInt16) => Self::converted(4, 2, keep_low_bytes::<4, 2>),
            (PhysicalType::INT32, D::Date64) => Self::converted(4, 8, days_to_millis),
            (PhysicalType::INT32, D::Int64 | D::Timestamp(..)) => Self::converted(4, 8, widen_i32_i64),
            (
                PhysicalType::INT64,
                D::Int64 | D::UInt64 | D::Timestamp(..) | D::Time64(_) | D::Duration(_) | D::Date64,
            ) => Self::same(8),
            (PhysicalType::INT96, D::Timestamp(unit, _)) => Self::checked(
                12,
                8,
                match unit {
                    TimeUnit::Second => int96_to_timestamp::<1>,
                    TimeUnit::Millisecond => int96_to_timestamp::<1_000>,
                    TimeUnit::Microsecond => int96_to_timestamp::<1_000_000>,
                    TimeUnit::Nanosecond => int96_to_timestamp::<1_000_000_000>,
                },
                match unit {
                    TimeUnit::Nanosecond => {
                        |stored| int96_misfit(stored, "nanoseconds, which are for the years 1677 to 2262", "us")
                    }
                    _ => |stored| int96_misfit(stored, "microseconds", "ms"),
                },
            ),
            (PhysicalType::FLOAT, D::Float32) => Self::same(4),
            (PhysicalType::DOUBLE, D::Float64) => Self::same(8),
            (PhysicalType::FIXED_LEN_BYTE_ARRAY, D::FixedSizeBinary(_)) => Self::same(type_length),
            (PhysicalType::FIXED_LEN_BYTE_ARRAY, D::Float16) if type_length == 2 => Self::same(2),
            (PhysicalType::FIXED_LEN_BYTE_ARRAY, D::Interval(unit)) if type_length == 12 => match unit {
                IntervalUnit::YearMonth => {
                    Self::checked(12, 4, interval_months, |stored| interval_misfit(stored, "months"))
                }
                IntervalUnit::DayTime => {
                    Self::checked(12, 8, interval_day_time, |stored| interval_misfit(stored, "days and milliseconds"))
                }
                IntervalUnit::MonthDayNano => Self::checked(12, 16, interval_month_day_nano, interval_overflow),
            },
            _ => Self::decimals(physical_type, type_length, ExactType::decimal(data_type)?.width),
        }
    }

    /// The layout for reading decimals with integers of `width` bytes.
    fn decimals(physical_type: PhysicalType, type_length: usize, width: usize) -> Option<Self> {
        match (physical_type, width) {
            (PhysicalType::INT32, 4) => Self::same(4),
            (PhysicalType::INT32, 8) => Self::converted(4, 8, widen_i32_i64),
            (PhysicalType::INT32, 16) => Self::converted(4, 16, widen_i32_i128),
            (PhysicalType::INT32, 32) => Self::converted(4, 32, widen_i32_i256),
            (PhysicalType::INT64, 4) => Self::converted(8, 4, keep_low_bytes::<8, 4>),
            (PhysicalType::INT64, 8) => Self::same(8),
            (PhysicalType::INT64, 16) => Self::converted(8, 16, widen_i64_i128),
            (PhysicalType::INT64, 32) => Self::converted(8, 32, widen_i64_i256),
            (PhysicalType::FIXED_LEN_BYTE_ARRAY, 4) => Self::converted(type_length, 4, ints_from_big_endian::<4>),
            (PhysicalType::FIXED_LEN_BYTE_ARRAY, 8) => Self::converted(type_length, 8, ints_from_big_endian::<8>),
            (PhysicalType::FIXED_LEN_BYTE_ARRAY, 16) => Self::converted(type_length, 16, ints_from_big_endian::<16>),
            (PhysicalType::FIXED_LEN_BYTE_ARRAY, 32) => Self::converted(type_length, 32, ints_from_big_endian::<32>),
            _ => None,
        }
    }
}

/// Applies `f` to each stored value of `N` bytes, in a form that compilers vectorise.
fn map<const N: usize, const M: usize>(
    src: &[u8],
    out: &mut [u8],
    f: impl Fn([u8; N]) -> [u8; M],
) -> Result<(), usize> {
    let (values, _) = src.as_chunks::<N>();
    let (slots, _) = out.as_chunks_mut::<M>();
    for (slot, value) in slots.iter_mut().zip(values) {
        *slot = f(*value);
    }
    Ok(())
}

/// As [`map`], where `f` returns `None` for a value that does not fit.
fn try_map<const N: usize, const M: usize>(
    src: &[u8],
    out: &mut [u8],
    f: impl Fn([u8; N]) -> Option<[u8; M]>,
) -> Result<(), usize> {
    let (values, _) = src.as_chunks::<N>();
    let (slots, _) = out.as_chunks_mut::<M>();
    for (index, (slot, value)) in slots.iter_mut().zip(values).enumerate() {
        *slot = f(*value).ok_or(index)?;
    }
    Ok(())
}

fn keep_low_bytes<const N: usize, const M: usize>(src: &[u8], _: usize, out: &mut [u8]) -> Result<(), usize> {
    map::<N, M>(src, out, |value| std::array::from_fn(|i| value[i]))
}

fn widen_i32_i64(src: &[u8], _: usize, out: &mut [u8]) -> Result<(), usize> {
    map(src, out, |value| i64::from(i32::from_le_bytes(value)).to_le_bytes())
}

fn days_to_millis(src: &[u8], _: usize, out: &mut [u8]) -> Result<(), usize> {
    map(src, out, |value| (i64::from(i32::from_le_bytes(value)) * 86_400_000).to_le_bytes())
}

fn widen_i32_i128(src: &[u8], _: usize, out: &mut [u8]) -> Result<(), usize> {
    map(src, out, |value| i128::from(i32::from_le_bytes(value)).to_le_bytes())
}

fn widen_i64_i128(src: &[u8], _: usize, out: &mut [u8]) -> Result<(), usize> {
    map(src, out, |value| i128::from(i64::from_le_bytes(value)).to_le_bytes())
}

fn widen_i32_i256(src: &[u8], _: usize, out: &mut [u8]) -> Result<(), usize> {
    map(src, out, |value| sign_extended::<32>(i128::from(i32::from_le_bytes(value))))
}

fn widen_i64_i256(src: &[u8], _: usize, out: &mut [u8]) -> Result<(), usize> {
    map(src, out, |value| sign_extended::<32>(i128::from(i64::from_le_bytes(value))))
}

/// Converts INT96, the Julian day and nanoseconds from its midnight on, to nanoseconds since 1970.
fn int96_nanos(value: [u8; 12]) -> i128 {
    const JULIAN_DAY_OF_EPOCH: i64 = 2_440_588;
    let nanos = i64::from_le_bytes(std::array::from_fn(|i| value[i]));
    let day = i32::from_le_bytes(std::array::from_fn(|i| value[8 + i]));
    i128::from(i64::from(day) - JULIAN_DAY_OF_EPOCH) * 86_400_000_000_000 + i128::from(nanos)
}

fn int96_to_timestamp<const UNITS_PER_SECOND: i64>(src: &[u8], _: usize, out: &mut [u8]) -> Result<(), usize> {
    let nanos_per_unit = i128::from(1_000_000_000 / UNITS_PER_SECOND);
    try_map(src, out, |value| {
        let units = int96_nanos(value).div_euclid(nanos_per_unit);
        i64::try_from(units).ok().map(i64::to_le_bytes)
    })
}

fn int96_misfit(stored: &[u8], unit: &str, other: &str) -> String {
    let nanos = stored.first_chunk().map_or(0, |value| int96_nanos(*value));
    let instant = Timestamp(nanos);
    format!(
        "the INT96 timestamp {instant} in 64 bits of {unit}; choose another unit (int96_unit, on the command --int96-unit {other})"
    )
}

// INTERVAL: months, days and milliseconds, three little-endian unsigned integers of 32 bits. Two of Arrow's interval types lack
// some of these parts; only a file's own Arrow schema uses them, and its writer stores their signed parts bit by bit.

fn interval_parts(value: [u8; 12]) -> [u32; 3] {
    std::array::from_fn(|part| u32::from_le_bytes(std::array::from_fn(|i| value[4 * part + i])))
}

fn interval_months(src: &[u8], _: usize, out: &mut [u8]) -> Result<(), usize> {
    try_map(src, out, |value| match interval_parts(value) {
        [months, 0, 0] => Some(months.to_le_bytes()),
        _ => None,
    })
}

fn interval_day_time(src: &[u8], _: usize, out: &mut [u8]) -> Result<(), usize> {
    try_map(src, out, |value| match interval_parts(value) {
        [0, ..] => Some(std::array::from_fn::<u8, 8, _>(|i| value[4 + i])),
        _ => None,
    })
}

fn interval_month_day_nano(src: &[u8], _: usize, out: &mut [u8]) -> Result<(), usize> {
    try_map(src, out, |value| {
        let [months, days, millis] = interval_parts(value);
        let nanos = (i64::from(millis) * 1_000_000).to_le_bytes();
        let fits = i32::try_from(months).is_ok() && i32::try_from(days).is_ok();
        fits.then(|| std::array::from_fn::<u8, 16, _>(|i| if i < 8 { value[i] } else { nanos[i - 8] }))
    })
}

fn interval_text(stored: &[u8]) -> String {
    let [months, days, millis] = stored.first_chunk().map_or([0; 3], |value| interval_parts(*value));
    format!("the interval of {months} months, {days} days and {millis} milliseconds")
}

fn interval_misfit(stored: &[u8], parts: &str) -> String {
    format!(
        "{} in {parts} alone, as the file's Arrow schema has it; read the file without that schema (arrow_schema_hint)",
        interval_text(stored)
    )
}

fn interval_overflow(stored: &[u8]) -> String {
    format!("{}, where Arrow has 31 bits for months and for days", interval_text(stored))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int96(day: i32, nanos: i64) -> [u8; 12] {
        let mut value = [0u8; 12];
        value[..8].copy_from_slice(&nanos.to_le_bytes());
        value[8..].copy_from_slice(&day.to_le_bytes());
        value
    }

    fn timestamp<const UNITS_PER_SECOND: i64>(value: [u8; 12]) -> Option<i64> {
        let mut out = [0u8; 8];
        int96_to_timestamp::<UNITS_PER_SECOND>(&value, 12, &mut out).ok().map(|()| i64::from_le_bytes(out))
    }

    #[test]
    fn int96_counts_from_the_unix_epoch() {
        assert_eq!(timestamp::<1_000>(int96(2_440_589, 1_500_000_000)), Some(86_400_000 + 1_500));
        assert_eq!(timestamp::<1_000_000>(int96(2_440_587, 999)), Some(-86_400_000_000));
        // Times outside of the day, which Impala refuses and Spark relies on.
        assert_eq!(timestamp::<1_000>(int96(2_440_588, -1)), Some(-1));
        assert_eq!(timestamp::<1_000>(int96(2_440_588, 86_400_000_000_000)), Some(86_400_000));
    }

    #[test]
    fn int96_is_converted_exactly_as_far_as_64_bits_of_the_unit_go() {
        // The first and the last nanosecond: 1677-09-21 00:12:43.145224192 and 2262-04-11 23:47:16.854775807.
        assert_eq!(timestamp::<1_000_000_000>(int96(2_333_836, 763_145_224_192)), Some(i64::MIN));
        assert_eq!(timestamp::<1_000_000_000>(int96(2_333_836, 763_145_224_191)), None);
        assert_eq!(timestamp::<1_000_000_000>(int96(2_547_339, 85_636_854_775_807)), Some(i64::MAX));
        assert_eq!(timestamp::<1_000_000_000>(int96(2_547_339, 85_636_854_775_808)), None);
        assert_eq!(timestamp::<1_000_000>(int96(i32::MAX, 0)), None);
        assert_eq!(timestamp::<1_000_000>(int96(i32::MIN, 0)), None);
        assert_eq!(
            timestamp::<1_000>(int96(i32::MAX, i64::MAX)),
            Some((2_147_483_647 - 2_440_588) * 86_400_000 + 9_223_372_036_854)
        );
        assert!(timestamp::<1_000>(int96(i32::MIN, i64::MIN)).is_some());
    }

    #[test]
    fn the_first_value_that_does_not_fit_is_told() {
        let stored = [int96(2_440_588, 0), int96(5_373_484, 0), int96(0, 0)].concat();
        let layout =
            FixedLayout::new(PhysicalType::INT96, 0, &DataType::Timestamp(TimeUnit::Nanosecond, None)).unwrap();
        let index = layout.convert.unwrap()(&stored, 12, &mut [0; 24]).unwrap_err();
        assert_eq!(index, 1);
        let error = layout.misfit(&stored, index);
        assert_eq!(error.location().unwrap().row, Some(1));
        assert!(
            error.to_string().contains("the INT96 timestamp 9999-12-31 00:00:00 in 64 bits of nanoseconds"),
            "{error}"
        );
    }

    #[test]
    fn intervals_keep_every_part_or_are_an_error() {
        let interval = |parts: [u32; 3]| parts.map(u32::to_le_bytes).concat();
        let read = |unit: IntervalUnit, parts| {
            let layout = FixedLayout::new(PhysicalType::FIXED_LEN_BYTE_ARRAY, 12, &DataType::Interval(unit)).unwrap();
            let mut out = vec![0; layout.width];
            layout.convert.unwrap()(&interval(parts), 12, &mut out).map(|()| out)
        };
        let max = i32::MAX as u32;
        for [months, days, millis] in [[1, 2, 3], [max, max, u32::MAX], [0, 0, 0]] {
            let nanos = u64::from(millis) * 1_000_000;
            let expected = [&months.to_le_bytes()[..], &days.to_le_bytes(), &nanos.to_le_bytes()].concat();
            assert_eq!(read(IntervalUnit::MonthDayNano, [months, days, millis]), Ok(expected));
        }
        for parts in [[max + 1, 0, 0], [0, max + 1, 0], [u32::MAX, u32::MAX, 0]] {
            assert_eq!(read(IntervalUnit::MonthDayNano, parts), Err(0), "{parts:?}");
        }
        assert_eq!(read(IntervalUnit::DayTime, [0, 2, 3]), Ok([2, 0, 0, 0, 3, 0, 0, 0].to_vec()));
        assert_eq!(read(IntervalUnit::DayTime, [1, 2, 3]), Err(0));
        assert_eq!(read(IntervalUnit::YearMonth, [1, 0, 0]), Ok([1, 0, 0, 0].to_vec()));
        assert_eq!(read(IntervalUnit::YearMonth, [1, 2, 0]), Err(0));
        assert_eq!(read(IntervalUnit::YearMonth, [1, 0, 3]), Err(0));
    }
}
