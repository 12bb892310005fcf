//! Rewrites expressions of dates, timestamps and intervals.

mod age;
mod at_time_zone;
mod date_arithmetic;
mod intervals;
mod wide_dates;

pub(crate) use self::age::age_function;
pub(crate) use self::at_time_zone::{AT_TIME_ZONE, at_time_zone_function};
pub(crate) use self::date_arithmetic::DateArithmetic;
#[cfg(feature = "remote")]
pub(crate) use self::intervals::interval_length_function;
pub(crate) use self::intervals::{ComparedIntervals, IntervalWindows};
pub(crate) use self::wide_dates::WideDates;
