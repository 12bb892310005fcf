//! Converts dates and times between Python and Arrow.

use pyo3::prelude::*;
use pyo3::types::{PyDate, PyDateAccess, PyDelta, PyDeltaAccess, PyTime, PyTimeAccess};

/// Microseconds of a day.
pub(crate) const DAY_MICROS: i64 = 86_400_000_000;

/// Days from 1970-01-01 to the day of the proleptic Gregorian calendar. Years start in March, so that a leap day is the last of one.
pub(crate) fn days_since_1970(date: &Bound<'_, PyDate>) -> i64 {
    let (year, month, day) = (i64::from(date.get_year()), i64::from(date.get_month()), i64::from(date.get_day()));
    let year = if month < 3 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// Microseconds since midnight.
pub(crate) fn micros_of_day(time: &impl PyTimeAccess) -> i64 {
    let seconds = i64::from(time.get_hour()) * 3600 + i64::from(time.get_minute()) * 60 + i64::from(time.get_second());
    seconds * 1_000_000 + i64::from(time.get_microsecond())
}

/// Microseconds of a duration.
pub(crate) fn micros_of_delta(delta: &Bound<'_, PyDelta>) -> i64 {
    let seconds = i64::from(delta.get_days()) * 86_400 + i64::from(delta.get_seconds());
    seconds * 1_000_000 + i64::from(delta.get_microseconds())
}

/// A duration; `None` if it is out of Python's range.
pub(crate) fn delta(py: Python<'_>, micros: i64) -> Option<Bound<'_, PyDelta>> {
    let (days, rest) = (micros.div_euclid(DAY_MICROS), micros.rem_euclid(DAY_MICROS));
    let (seconds, micros) = (rest / 1_000_000, rest % 1_000_000);
    PyDelta::new(py, i32::try_from(days).ok()?, seconds as i32, micros as i32, false).ok()
}

/// The time of day.
pub(crate) fn time(py: Python<'_>, micros: i64) -> PyResult<Bound<'_, PyTime>> {
    let (seconds, micros) = (micros / 1_000_000, micros % 1_000_000);
    PyTime::new(py, (seconds / 3600) as u8, (seconds / 60 % 60) as u8, (seconds % 60) as u8, micros as u32, None)
}
