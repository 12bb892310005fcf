//! Rules files out by the metrics of manifests and by values of partitions, before they are opened.

use std::sync::Arc;

use chrono::{Datelike, NaiveDate};
use lath_iceberg::{DataFile, Literal, PartitionField, PartitionSpec, PrimitiveType, Transform};
use lath_parquet::{ColumnBounds, FileEvidence};
use lath_predicate::Value;

use super::columns::TableColumns;
use super::values::{literal, predicate_value};

/// Metrics of a data file's columns, and its partition.
#[derive(Debug)]
pub(super) struct FileMetrics {
    columns: Arc<TableColumns>,
    spec: Arc<PartitionSpec>,
    partition: Box<[(i32, Option<Literal>)]>,
    row_count: u64,
    /// Counts and bounds, one after another: a table has many files.
    metrics: Box<[u8]>,
}

/// A kind of a column's metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    NullCount,
    NanCount,
    LowerBound,
    UpperBound,
}

impl FileMetrics {
    /// The metrics of `file`, which has a partition of `spec`.
    pub(super) fn new(file: &DataFile, columns: &Arc<TableColumns>, spec: &Arc<PartitionSpec>) -> Self {
        let mut metrics = Vec::new();
        for (kind, counts) in [(Kind::NullCount, &file.null_value_counts), (Kind::NanCount, &file.nan_value_counts)] {
            for (id, count) in counts {
                if let Ok(count) = u64::try_from(*count) {
                    put_head(*id, kind, &mut metrics);
                    put(count, &mut metrics);
                }
            }
        }
        for (kind, bounds) in [(Kind::LowerBound, &file.lower_bounds), (Kind::UpperBound, &file.upper_bounds)] {
            for (id, bound) in bounds {
                put_head(*id, kind, &mut metrics);
                put(bound.len() as u64, &mut metrics);
                metrics.extend(bound);
            }
        }
        Self {
            columns: Arc::clone(columns),
            spec: Arc::clone(spec),
            partition: file.partition.clone().into(),
            row_count: file.record_count,
            metrics: metrics.into(),
        }
    }

    /// The metrics of a column: a count, or the bytes of a bound.
    fn metrics_for(&self, id: i32) -> impl Iterator<Item = (Kind, u64, &[u8])> {
        let mut rest = &self.metrics[..];
        let next = move || {
            let head = take(&mut rest)?;
            let value = take(&mut rest)?;
            let kind = [Kind::NullCount, Kind::NanCount, Kind::LowerBound, Kind::UpperBound][(head & 3) as usize];
            let is_bound = matches!(kind, Kind::LowerBound | Kind::UpperBound);
            let (bound, after) = rest.split_at_checked(if is_bound { usize::try_from(value).ok()? } else { 0 })?;
            rest = after;
            Some((head >> 2, kind, value, bound))
        };
        let all = std::iter::from_fn(next);
        all.filter(move |(of, ..)| *of == u64::from(id.cast_unsigned()))
            .map(|(_, kind, value, bound)| (kind, value, bound))
    }

    /// The fields of the partition that are made of a column, and their values.
    fn partition_values(&self, id: i32) -> impl Iterator<Item = (&PartitionField, Option<&Literal>)> {
        let fields = self.spec.fields.iter().filter(move |field| field.source_ids == [id]);
        fields.filter_map(|field| {
            let (_, value) = self.partition.iter().find(|(id, _)| *id == field.field_id)?;
            Some((field, value.as_ref()))
        })
    }
}

impl FileEvidence for FileMetrics {
    fn bounds(&self, path: &[String]) -> ColumnBounds {
        let Some((id, primitive)) = self.columns.at(path) else { return ColumnBounds::default() };
        let bound = |bytes: &[u8]| {
            // Writers have compared the halves of UUIDs as signed numbers.
            let is_comparable = *primitive != PrimitiveType::Uuid;
            let literal = is_comparable.then(|| Literal::from_bytes(primitive, bytes))?;
            predicate_value(literal.ok()?)
        };
        let mut known = ColumnBounds { value_count: Some(self.row_count), ..ColumnBounds::default() };
        for (kind, value, bytes) in self.metrics_for(*id) {
            match kind {
                Kind::NullCount => known.null_count = Some(value),
                Kind::NanCount => known.nan_count = Some(value),
                Kind::LowerBound => known.min = bound(bytes),
                Kind::UpperBound => known.max = bound(bytes),
            }
        }
        for (field, value) in self.partition_values(*id) {
            match value {
                // A transform is null for nulls alone, but for these.
                None if matches!(field.transform, Transform::Void | Transform::Unknown(_)) => {}
                None => {
                    (known.min, known.max) = (None, None);
                    known.null_count = Some(self.row_count);
                }
                Some(value) => {
                    let (min, max) = source_range(&field.transform, primitive, value);
                    known.min = known.min.or(min);
                    known.max = known.max.or(max);
                }
            }
        }
        known
    }

    fn may_have(&self, path: &[String], value: &Value) -> bool {
        let Some((id, primitive)) = self.columns.at(path) else { return true };
        let mut buckets = self.partition_values(*id).filter(|(field, _)| is_hashed(&field.transform, primitive));
        buckets.all(|(field, bucket)| {
            // A null is no value.
            let Some(bucket) = bucket else { return false };
            let hashed = literal(value, primitive).map(|value| field.transform.apply(primitive, &value));
            !matches!(hashed, Some(Ok(Some(hashed))) if hashed != *bucket)
        })
    }
}

/// Whether a partition has the hash of the values of a column. Dates that became timestamps have another.
fn is_hashed(transform: &Transform, primitive: &PrimitiveType) -> bool {
    use PrimitiveType as P;
    matches!(transform, Transform::Bucket(_))
        && matches!(primitive, P::Int | P::Long | P::Date | P::String | P::Uuid | P::Binary | P::Fixed(_))
}

/// The smallest and the largest value of a column that the transform can make `value` of; `None` if it is not known.
fn source_range(transform: &Transform, primitive: &PrimitiveType, value: &Literal) -> (Option<Value>, Option<Value>) {
    let int = |value: i128| Some(Value::Int(value));
    match (transform, value) {
        (Transform::Identity, value) if *primitive != PrimitiveType::Uuid => {
            let value = predicate_value(value.clone());
            (value.clone(), value)
        }
        (Transform::Truncate(width), Literal::Int(_) | Literal::Long(_) | Literal::Decimal(_)) => {
            let Some(Value::Int(start)) = predicate_value(value.clone()) else { return (None, None) };
            let end = start + i128::from(*width) - 1;
            let largest = match value {
                Literal::Int(_) => i128::from(i32::MAX),
                Literal::Long(_) => i128::from(i64::MAX),
                _ => i128::MAX,
            };
            // The smallest integers, cut further down, are the largest ones.
            if end > largest { (None, None) } else { (int(start), int(end)) }
        }
        (Transform::Truncate(width), Literal::String(prefix)) => {
            let start = Some(Value::Bytes(prefix.clone().into_bytes().into()));
            // Text that is shorter than the width is whole; no byte of text is as large as 255.
            let is_whole = prefix.chars().count() < *width as usize;
            let end = [prefix.as_bytes(), &[u8::MAX]].concat();
            (start.clone(), if is_whole { start } else { Some(Value::Bytes(end.into())) })
        }
        (Transform::Year | Transform::Month | Transform::Day | Transform::Hour, Literal::Int(part)) => {
            // Some writers have rounded times before 1970 up.
            let first = if *part <= 0 { *part - 1 } else { *part };
            let start = |part: i32| time_start(transform, primitive, part);
            (start(first).and_then(int), start(part.saturating_add(1)).and_then(|next| int(next - 1)))
        }
        _ => (None, None),
    }
}

/// The first value of the type in a year, month, day or hour, counted from 1970.
fn time_start(transform: &Transform, primitive: &PrimitiveType, part: i32) -> Option<i128> {
    use PrimitiveType as P;
    let hour: i128 = match primitive {
        P::Timestamp | P::Timestamptz => 3_600_000_000,
        P::TimestampNs | P::TimestamptzNs => 3_600_000_000_000,
        P::Date => 0,
        _ => return None,
    };
    let days = match transform {
        Transform::Hour => return (hour > 0).then(|| i128::from(part) * hour),
        Transform::Day => i64::from(part),
        Transform::Month => {
            let date = NaiveDate::from_ymd_opt(1970 + part.div_euclid(12), part.rem_euclid(12).cast_unsigned() + 1, 1)?;
            days_since_1970(date)
        }
        _ => days_since_1970(NaiveDate::from_ymd_opt(part.checked_add(1970)?, 1, 1)?),
    };
    Some(if hour > 0 { i128::from(days) * 24 * hour } else { days.into() })
}

fn days_since_1970(date: NaiveDate) -> i64 {
    i64::from(date.num_days_from_ce() - NaiveDate::default().num_days_from_ce())
}

/// Adds the number and the kind of a metric.
fn put_head(id: i32, kind: Kind, metrics: &mut Vec<u8>) {
    put(u64::from(id.cast_unsigned()) << 2 | kind as u64, metrics);
}

/// Adds a number, seven bits a byte.
fn put(mut value: u64, metrics: &mut Vec<u8>) {
    while value >= 0x80 {
        metrics.push(value as u8 | 0x80);
        value >>= 7;
    }
    metrics.push(value as u8);
}

/// Takes a number.
fn take(metrics: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = metrics.split_first()?;
        *metrics = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_that_were_cut_below_the_smallest_one_are_within_the_range() {
        let range = |value: Literal| source_range(&Transform::Truncate(10_000), &PrimitiveType::Long, &value);
        let int = |value: i128| Some(Value::Int(value));
        assert_eq!(range(Literal::Int(-20_000)), (int(-20_000), int(-10_001)));
        assert_eq!(range(Literal::Long(2_147_480_000)), (int(2_147_480_000), int(2_147_489_999)));
        // As Java cuts -2147483648 (also in a column that was widened since), and the smallest integer of 64 bits.
        assert_eq!(range(Literal::Int(2_147_477_296)), (None, None));
        assert_eq!(range(Literal::Long(i64::MAX - 4193)), (None, None));
    }
}
