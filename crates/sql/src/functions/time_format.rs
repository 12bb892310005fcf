//! `strftime(moment, format)`, `strptime(text, format)` and `try_strptime`.

use std::fmt::Write;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMicrosecondType;
use arrow_array::{Array, ArrayRef, StringArray, TimestampMicrosecondArray};
use arrow_schema::{DataType, TimeUnit};
use chrono::format::{Item, Parsed, StrftimeItems, parse};
use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, TimeDelta, Weekday};
use datafusion::common::{Result, exec_datafusion_err, exec_err};

use super::differences::moment;
use super::function::{Definition, is_text, texts};

pub(super) const FUNCTIONS: &[Definition] = &[
    Definition {
        name: "strftime",
        example: "strftime(moment, '%Y-%m-%d')",
        coerce: |types| match types {
            [value, format] if !is_text(value) && is_text(format) => Some(vec![moment(value)?, DataType::Utf8]),
            [format, value] if is_text(format) => Some(vec![DataType::Utf8, moment(value)?]),
            _ => None,
        },
        returns: |_| DataType::Utf8,
        evaluate: format_moments,
    },
    Definition {
        name: "strptime",
        example: "strptime(text, '%Y-%m-%d')",
        coerce: texts::<2>,
        returns: |_| DataType::Timestamp(TimeUnit::Microsecond, None),
        evaluate: |arguments| parse_moments(arguments, false),
    },
    Definition {
        name: "try_strptime",
        example: "try_strptime(text, '%Y-%m-%d')",
        coerce: texts::<2>,
        returns: |_| DataType::Timestamp(TimeUnit::Microsecond, None),
        evaluate: |arguments| parse_moments(arguments, true),
    },
];

/// The items of a format in DuckDB's form. `zone` is the name of the time zone.
fn items(format: &str, is_parsed: bool, zone: &str) -> Result<Vec<Item<'static>>> {
    let mut translated = String::with_capacity(format.len());
    let mut rest = format.chars().peekable();
    while let Some(character) = rest.next() {
        if is_parsed && character == '.' && rest.peek() == Some(&'%') {
            let mut ahead = rest.clone();
            ahead.next();
            if let Some('f' | 'g' | 'n') = ahead.next() {
                translated.push_str("%.f");
                rest = ahead;
                continue;
            }
        }
        if character != '%' {
            translated.push(character);
            continue;
        }
        match rest.next() {
            Some('f' | 'g' | 'n') if is_parsed => {
                return exec_err!("strptime: a fraction of a second follows a point in the format, as in %S.%f");
            }
            Some('z' | 'Z') if is_parsed => {
                return exec_err!("strptime reads no time zones; write CAST(text AS TIMESTAMP WITH TIME ZONE)");
            }
            Some('f') => translated.push_str("%6f"),
            Some('g') => translated.push_str("%3f"),
            Some('n') => translated.push_str("%9f"),
            Some('c') => translated.push_str("%Y-%m-%d %H:%M:%S"),
            Some('x') => translated.push_str("%Y-%m-%d"),
            Some('X') => translated.push_str("%H:%M:%S"),
            Some('z') => translated.push_str("+00"),
            Some('Z') => translated.push_str(zone),
            Some('-') => {
                translated.push_str("%-");
                translated.extend(rest.next());
            }
            Some(known) if "aAbBdHIjmMpSuUVwWyYG%".contains(known) => translated.extend(['%', known]),
            Some(other) => return exec_err!("%{other} is not a part of a format"),
            None => return exec_err!("the format ends with %"),
        }
    }
    StrftimeItems::new(&translated)
        .parse_to_owned()
        .map_err(|_| exec_datafusion_err!("{format} is not a format of dates"))
}

/// The items of the last format.
#[derive(Default)]
struct Formats {
    known: Option<(String, Vec<Item<'static>>)>,
}

impl Formats {
    fn get(&mut self, format: &str, is_parsed: bool, zone: &str) -> Result<&[Item<'static>]> {
        if self.known.as_ref().is_none_or(|(known, _)| known != format) {
            self.known = Some((format.to_owned(), items(format, is_parsed, zone)?));
        }
        Ok(self.known.as_ref().map_or(&[], |(_, items)| items))
    }
}

fn format_moments(arguments: &[ArrayRef]) -> Result<ArrayRef> {
    let is_format_first = arguments[0].data_type() == &DataType::Utf8;
    let (values, formats) =
        if is_format_first { (&arguments[1], &arguments[0]) } else { (&arguments[0], &arguments[1]) };
    // Moments with a zone are in UTC here.
    let zone = if matches!(values.data_type(), DataType::Timestamp(_, Some(_))) { "UTC" } else { "" };
    let (values, texts) = (values.as_primitive::<TimestampMicrosecondType>(), formats.as_string::<i32>());
    let mut formats = Formats::default();
    let rows = (0..values.len()).map(|row| {
        if values.is_null(row) || texts.is_null(row) {
            return Ok(None);
        }
        let moment = DateTime::from_timestamp_micros(values.value(row));
        let moment =
            moment.ok_or_else(|| exec_datafusion_err!("strftime: the year has more than 6 digits"))?.naive_utc();
        let items = formats.get(texts.value(row), false, zone)?;
        let mut text = String::new();
        write!(text, "{}", moment.format_with_items(items.iter()))
            .map_err(|_| exec_datafusion_err!("strftime: {} is not a format of moments", texts.value(row)))?;
        Ok(Some(text))
    });
    Ok(Arc::new(rows.collect::<Result<StringArray>>()?))
}

fn parse_moments(arguments: &[ArrayRef], is_lenient: bool) -> Result<ArrayRef> {
    let (values, texts) = (arguments[0].as_string::<i32>(), arguments[1].as_string::<i32>());
    let mut formats = Formats::default();
    let rows = (0..values.len()).map(|row| {
        if values.is_null(row) || texts.is_null(row) {
            return Ok(None);
        }
        let (value, format) = (values.value(row), texts.value(row));
        match parse_moment(value, formats.get(format, true, "")?) {
            Some(moment) => Ok(Some(moment.and_utc().timestamp_micros())),
            None if is_lenient => Ok(None),
            None => exec_err!("strptime: \"{value}\" does not have the format \"{format}\""),
        }
    });
    Ok(Arc::new(rows.collect::<Result<TimestampMicrosecondArray>>()?))
}

/// Parses a moment. Missing parts are taken from 1 January 1900 at midnight.
fn parse_moment(text: &str, items: &[Item<'static>]) -> Option<NaiveDateTime> {
    let mut parsed = Parsed::new();
    parse(&mut parsed, text, items.iter()).ok()?;
    // POSIX takes the two digits 69 to 99 for the last century; chrono begins with 70.
    if parsed.year_mod_100() == Some(69) && parsed.year().is_none() && parsed.year_div_100().is_none() {
        parsed.set_year_div_100(19).ok()?;
    }
    let week = week_date(&parsed);
    if week.is_none() && parsed.ordinal().is_none() && parsed.isoyear().is_none() {
        if parsed.year().is_none() && parsed.year_mod_100().is_none() {
            parsed.set_year(1900).ok()?;
        }
        if parsed.month().is_none() {
            parsed.set_month(1).ok()?;
        }
        if parsed.day().is_none() {
            parsed.set_day(1).ok()?;
        }
    }
    if parsed.hour_mod_12().is_none() {
        parsed.set_hour(0).ok()?;
    } else if parsed.hour_div_12().is_none() {
        parsed.set_ampm(false).ok()?;
    }
    if parsed.minute().is_none() {
        parsed.set_minute(0).ok()?;
    }
    if parsed.second().is_none() {
        parsed.set_second(0).ok()?;
    }
    let date = match week {
        Some(date) => date,
        None => parsed.to_naive_date().ok()?,
    };
    Some(date.and_time(parsed.to_naive_time().ok()?))
}

/// The date of a week of a year, whose first week begins on its first Sunday (`%U`) or Monday (`%W`). Days before are in week 0.
fn week_date(parsed: &Parsed) -> Option<NaiveDate> {
    let (week, first_day) = match (parsed.week_from_sun(), parsed.week_from_mon()) {
        (Some(week), _) => (week, Weekday::Sun),
        (None, Some(week)) => (week, Weekday::Mon),
        (None, None) => return None,
    };
    let year = parsed.year().or_else(|| {
        let in_century = parsed.year_mod_100()?;
        let century = parsed.year_div_100().unwrap_or(if in_century < 69 { 20 } else { 19 });
        Some(century * 100 + in_century)
    });
    let new_year = NaiveDate::from_ymd_opt(year.unwrap_or(1900), 1, 1)?;
    let until_first = first_day.days_since(new_year.weekday());
    let day = parsed.weekday().unwrap_or(first_day).days_since(first_day);
    let days = i64::from(until_first) + (i64::from(week) - 1) * 7 + i64::from(day);
    new_year.checked_add_signed(TimeDelta::try_days(days)?)
}
