//! Single values in JSON, as defaults have them.

use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta};
use serde_json::Value;

use super::{Literal, PrimitiveType};
use crate::error::{Error, Result};

const DATE: &str = "%Y-%m-%d";
const TIME: &str = "%H:%M:%S%.f";
const TIMESTAMP: &str = "%Y-%m-%dT%H:%M:%S%.f";

impl Literal {
    /// Reads the JSON form of a default.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if it is not a value of the type, [`Error::Unsupported`] for types without a JSON form.
    pub fn from_json(primitive: &PrimitiveType, value: &Value) -> Result<Self> {
        use PrimitiveType as P;
        let parsed = match primitive {
            P::Boolean => value.as_bool().map(Self::Boolean),
            P::Int => value.as_i64().and_then(|value| i32::try_from(value).ok()).map(Self::Int),
            P::Long => value.as_i64().map(Self::Long),
            P::Float => value.as_f64().map(|value| Self::Float(value as f32)),
            P::Double => value.as_f64().map(Self::Double),
            P::Decimal { scale, .. } => value.as_str().and_then(|text| parse_decimal(text, *scale)).map(Self::Decimal),
            P::Date => value.as_str().and_then(parse_date).map(Self::Int),
            P::Time => value.as_str().and_then(parse_time).map(Self::Long),
            P::Timestamp => value.as_str().and_then(|text| parse_timestamp(text, 1_000_000)).map(Self::Long),
            P::TimestampNs => value.as_str().and_then(|text| parse_timestamp(text, 1_000_000_000)).map(Self::Long),
            P::Timestamptz => value.as_str().and_then(|text| parse_timestamptz(text, 1_000_000)).map(Self::Long),
            P::TimestamptzNs => value.as_str().and_then(|text| parse_timestamptz(text, 1_000_000_000)).map(Self::Long),
            P::String => value.as_str().map(|text| Self::String(text.to_owned())),
            P::Uuid => value.as_str().and_then(|text| parse_hex(&text.replace('-', ""))).and_then(|bytes| {
                let bytes: [u8; 16] = bytes.try_into().ok()?;
                Some(Self::Uuid(bytes))
            }),
            P::Fixed(length) => {
                value.as_str().and_then(parse_hex).filter(|bytes| bytes.len() == *length as usize).map(Self::Fixed)
            }
            P::Binary => value.as_str().and_then(parse_hex).map(Self::Binary),
            P::Unknown | P::Geometry(_) | P::Geography(_) => {
                return Err(Error::unsupported(format!("a default of type {primitive}")));
            }
        };
        parsed.ok_or_else(|| {
            let shown: String = value.to_string().chars().take(60).collect();
            Error::corrupt("default", format!("{shown} is not a value of type {primitive}"))
        })
    }

    /// The JSON form of a default. Floats without one (infinities and NaN) become null.
    pub fn to_json(&self, primitive: &PrimitiveType) -> Value {
        use PrimitiveType as P;
        match (self, primitive) {
            (Self::Int(days), P::Date) => {
                let date = NaiveDate::default().checked_add_signed(TimeDelta::days((*days).into()));
                date.map(|date| date.format(DATE).to_string()).into()
            }
            (Self::Long(micros), P::Time) => {
                let seconds = u32::try_from(micros.div_euclid(1_000_000)).unwrap_or(u32::MAX);
                let nanos = micros.rem_euclid(1_000_000) as u32 * 1000;
                let time = NaiveTime::from_num_seconds_from_midnight_opt(seconds, nanos);
                time.map(|time| time.format("%H:%M:%S%.6f").to_string()).into()
            }
            (Self::Long(value), P::Timestamp) => format_timestamp(*value, 1_000_000, "%Y-%m-%dT%H:%M:%S%.6f"),
            (Self::Long(value), P::Timestamptz) => format_timestamp(*value, 1_000_000, "%Y-%m-%dT%H:%M:%S%.6f+00:00"),
            (Self::Long(value), P::TimestampNs) => format_timestamp(*value, 1_000_000_000, "%Y-%m-%dT%H:%M:%S%.9f"),
            (Self::Long(value), P::TimestamptzNs) => {
                format_timestamp(*value, 1_000_000_000, "%Y-%m-%dT%H:%M:%S%.9f+00:00")
            }
            (Self::Decimal(value), P::Decimal { scale, .. }) => format_decimal(*value, *scale).into(),
            (Self::Boolean(value), _) => (*value).into(),
            (Self::Int(value), _) => (*value).into(),
            (Self::Long(value), _) => (*value).into(),
            (Self::Float(value), _) => f64::from(*value).into(),
            (Self::Double(value), _) => (*value).into(),
            (Self::Decimal(value), _) => value.to_string().into(),
            (Self::String(value), _) => value.as_str().into(),
            (Self::Uuid(bytes), _) => {
                let hex = format_hex(bytes);
                format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]).into()
            }
            (Self::Fixed(bytes) | Self::Binary(bytes), _) => format_hex(bytes).into(),
        }
    }
}

fn parse_date(text: &str) -> Option<i32> {
    let date = NaiveDate::parse_from_str(text, DATE).ok()?;
    i32::try_from(date.signed_duration_since(NaiveDate::default()).num_days()).ok()
}

fn parse_time(text: &str) -> Option<i64> {
    NaiveTime::parse_from_str(text, TIME).ok()?.signed_duration_since(NaiveTime::MIN).num_microseconds()
}

/// The value with this text, counted in parts of a second from 1970 on.
fn parse_timestamp(text: &str, parts: i64) -> Option<i64> {
    count(NaiveDateTime::parse_from_str(text, TIMESTAMP).ok()?, parts)
}

fn parse_timestamptz(text: &str, parts: i64) -> Option<i64> {
    count(DateTime::parse_from_rfc3339(text).ok()?.naive_utc(), parts)
}

fn count(moment: NaiveDateTime, parts: i64) -> Option<i64> {
    let moment = moment.and_utc();
    let fraction = i64::from(moment.timestamp_subsec_nanos()) / (1_000_000_000 / parts);
    moment.timestamp().checked_mul(parts)?.checked_add(fraction)
}

fn format_timestamp(value: i64, parts: i64, format: &str) -> Value {
    let nanos = value.rem_euclid(parts) * (1_000_000_000 / parts);
    let moment = DateTime::from_timestamp(value.div_euclid(parts), nanos as u32);
    moment.map(|moment| moment.naive_utc().format(format).to_string()).into()
}

fn parse_decimal(text: &str, scale: u8) -> Option<i128> {
    // Decimals of negative scale have an exponent in Java's text.
    let (digits, exponent) = text
        .split_once(['e', 'E'])
        .map_or(Some((text, 0)), |(digits, exponent)| Some((digits, exponent.parse::<i32>().ok()?)))?;
    let (negative, digits) = match digits.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, digits.strip_prefix('+').unwrap_or(digits)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() + fraction.len() == 0 || !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let value: i128 = format!("{whole}{fraction}").parse().ok()?;
    let shift = i32::from(scale).checked_add(exponent)?.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let power = 10_i128.checked_pow(shift.unsigned_abs())?;
    let value = match shift {
        0.. => value.checked_mul(power)?,
        _ if value % power == 0 => value / power,
        _ => return None,
    };
    Some(if negative { -value } else { value })
}

fn format_decimal(value: i128, scale: u8) -> String {
    let scale = usize::from(scale);
    let digits = format!("{:0>width$}", value.unsigned_abs(), width = scale + 1);
    let sign = if value < 0 { "-" } else { "" };
    match scale {
        0 => format!("{sign}{digits}"),
        _ => format!("{sign}{}.{}", &digits[..digits.len() - scale], &digits[digits.len() - scale..]),
    }
}

fn parse_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let digit = |byte: u8| (byte as char).to_digit(16).unwrap_or(0) as u8;
    Some(digits.chunks_exact(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect())
}

fn format_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the specification, "JSON single-value serialization".
    #[test]
    fn values_have_the_text_of_the_specification() {
        use PrimitiveType as P;
        let uuid = *b"\xf7\x9c\x3e\x09\x67\x7c\x4b\xbd\xa4\x79\x3f\x34\x9c\xb7\x85\xe7";
        for (primitive, value, json) in [
            (P::Boolean, Literal::Boolean(true), "true"),
            (P::Int, Literal::Int(34), "34"),
            (P::Long, Literal::Long(34), "34"),
            (P::Float, Literal::Float(1.0), "1.0"),
            (P::Double, Literal::Double(1.0), "1.0"),
            (P::Decimal { precision: 9, scale: 2 }, Literal::Decimal(1420), "\"14.20\""),
            (P::Decimal { precision: 9, scale: 2 }, Literal::Decimal(-5), "\"-0.05\""),
            (P::Date, Literal::Int(17_486), "\"2017-11-16\""),
            (P::Time, Literal::Long(81_068_000_123), "\"22:31:08.000123\""),
            (P::Timestamp, Literal::Long(1_510_871_468_000_123), "\"2017-11-16T22:31:08.000123\""),
            (P::Timestamptz, Literal::Long(1_510_871_468_000_123), "\"2017-11-16T22:31:08.000123+00:00\""),
            (P::TimestampNs, Literal::Long(1_510_871_468_000_123_456), "\"2017-11-16T22:31:08.000123456\""),
            (P::TimestamptzNs, Literal::Long(1_510_871_468_000_123_456), "\"2017-11-16T22:31:08.000123456+00:00\""),
            (P::Timestamp, Literal::Long(-1), "\"1969-12-31T23:59:59.999999\""),
            (P::String, Literal::String("iceberg".to_owned()), "\"iceberg\""),
            (P::Uuid, Literal::Uuid(uuid), "\"f79c3e09-677c-4bbd-a479-3f349cb785e7\""),
            (P::Fixed(4), Literal::Fixed(vec![0, 1, 2, 0xff]), "\"000102ff\""),
            (P::Binary, Literal::Binary(vec![0, 1, 2, 0xff]), "\"000102ff\""),
        ] {
            let parsed: Value = serde_json::from_str(json).unwrap();
            assert_eq!(Literal::from_json(&primitive, &parsed), Ok(value.clone()), "{primitive}");
            assert_eq!(value.to_json(&primitive), parsed, "{primitive}");
        }
        assert_eq!(parse_decimal("1E+3", 2), Some(100_000));
        for (primitive, json) in [
            (P::Int, "2147483648"),
            (P::Date, "\"2017-13-16\""),
            (P::Decimal { precision: 9, scale: 2 }, "\"1.005\""),
            (P::Fixed(4), "\"0001\""),
            (P::Uuid, "\"f79c\""),
            (P::Binary, "\"é\""),
        ] {
            assert!(Literal::from_json(&primitive, &serde_json::from_str(json).unwrap()).is_err(), "{json}");
        }
    }
}
