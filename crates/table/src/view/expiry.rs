//! The rows of a view that have expired, by the time at which the view was taken.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, BooleanArray};
use arrow_schema::{DataType, TimeUnit};
use lath_parquet::Predicate;
use lath_predicate::{Literal, column_named};

use crate::row::TableSchema;

const MICROS_PER_DAY: i64 = 86_400_000_000;

/// The times in a file by which its rows expire.
#[derive(Debug, Clone)]
pub(crate) struct TimeBounds {
    /// The number of the column.
    pub(crate) column: u32,
    /// No time is before the first or after the second, in microseconds since 1970; `None` if the file does not say, or has no time.
    pub(crate) min_max: Option<(i64, i64)>,
    /// Whether a row may have no time.
    pub(crate) has_nulls: bool,
    /// Whether no row has a time.
    pub(crate) is_null: bool,
    /// Rows that had expired up to this time were removed.
    pub(crate) removed_micros: i64,
}

/// Tells expired rows from live ones: a row has expired if its time is not later than the latest expired one.
#[derive(Debug, Clone)]
pub(crate) struct Expiry {
    /// The place of the column with times.
    column: usize,
    name: String,
    /// The latest time that has expired, in microseconds since 1970.
    latest_micros: i64,
}

impl Expiry {
    /// The rows that have expired at `clock`, in microseconds since 1970; `None` if rows of the table do not expire.
    pub(crate) fn new(schema: &TableSchema, clock: i64) -> Option<Self> {
        let ttl = schema.ttl()?;
        let column = schema.place_of_id(ttl.column)?;
        let lifetime = i64::try_from(ttl.lifetime_micros).unwrap_or(i64::MAX);
        let name = schema.arrow().field(column).name().clone();
        Some(Self { column, name, latest_micros: clock.saturating_sub(lifetime) })
    }

    /// The place of the column with times.
    pub(crate) fn column(&self) -> usize {
        self.column
    }

    /// The latest time that has expired, in microseconds since 1970.
    pub(crate) fn latest_micros(&self) -> i64 {
        self.latest_micros
    }

    /// The condition that live rows satisfy.
    pub(crate) fn live(&self) -> Predicate {
        let later = column_named(&self.name).gt(Literal::timestamp_micros(self.latest_micros));
        later.or(column_named(&self.name).is_null())
    }

    /// The condition that expired rows satisfy.
    pub(crate) fn expired(&self) -> Predicate {
        column_named(&self.name).le(Literal::timestamp_micros(self.latest_micros))
    }

    /// `predicate` for live rows alone.
    pub(crate) fn and_live(expiry: Option<&Self>, predicate: Option<Predicate>) -> Option<Predicate> {
        match (predicate, expiry) {
            (Some(predicate), Some(expiry)) => Some(predicate.and(expiry.live())),
            (None, Some(expiry)) => Some(expiry.live()),
            (predicate, None) => predicate,
        }
    }

    /// The time in an array of one, in microseconds since 1970, rounded down and up; `None` if it is null.
    pub(crate) fn micros(time: &dyn Array) -> Option<(i64, i64)> {
        let nanos = match time.data_type() {
            _ if time.is_empty() || time.is_null(0) => return None,
            DataType::Date32 => {
                i128::from(time.as_primitive::<Date32Type>().value(0)) * i128::from(MICROS_PER_DAY) * 1000
            }
            DataType::Date64 => i128::from(time.as_primitive::<Date64Type>().value(0)) * 1_000_000,
            DataType::Timestamp(TimeUnit::Second, _) => {
                i128::from(time.as_primitive::<TimestampSecondType>().value(0)) * 1_000_000_000
            }
            DataType::Timestamp(TimeUnit::Millisecond, _) => {
                i128::from(time.as_primitive::<TimestampMillisecondType>().value(0)) * 1_000_000
            }
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                i128::from(time.as_primitive::<TimestampMicrosecondType>().value(0)) * 1000
            }
            DataType::Timestamp(TimeUnit::Nanosecond, _) => {
                i128::from(time.as_primitive::<TimestampNanosecondType>().value(0))
            }
            _ => return None,
        };
        let clamped = |micros: i128| micros.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        Some((clamped(nanos.div_euclid(1000)), clamped(-(-nanos).div_euclid(1000))))
    }

    /// Whether each row with these times is live.
    pub(crate) fn are_live(&self, times: &dyn Array) -> BooleanArray {
        let latest = i128::from(self.latest_micros);
        let micros = |value: i64, unit: i128| i128::from(value) * unit > latest;
        match times.data_type() {
            DataType::Date32 => map::<Date32Type>(times, |days| micros(days.into(), MICROS_PER_DAY.into())),
            DataType::Date64 => map::<Date64Type>(times, |millis| micros(millis, 1000)),
            DataType::Timestamp(TimeUnit::Second, _) => {
                map::<TimestampSecondType>(times, |seconds| micros(seconds, 1_000_000))
            }
            DataType::Timestamp(TimeUnit::Millisecond, _) => {
                map::<TimestampMillisecondType>(times, |millis| micros(millis, 1000))
            }
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                map::<TimestampMicrosecondType>(times, |value| micros(value, 1))
            }
            DataType::Timestamp(TimeUnit::Nanosecond, _) => {
                map::<TimestampNanosecondType>(times, |nanos| i128::from(nanos) > latest * 1000)
            }
            // No other type has a TTL.
            _ => BooleanArray::from(vec![true; times.len()]),
        }
    }
}

fn map<T: ArrowPrimitiveType>(times: &dyn Array, is_live: impl Fn(T::Native) -> bool) -> BooleanArray {
    times.as_primitive::<T>().iter().map(|time| Some(time.is_none_or(&is_live))).collect()
}
