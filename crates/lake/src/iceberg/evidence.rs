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
    null_counts: Box<[(i32, i64)]>,
    nan_counts: Box<[(i32, i64)]>,
    lower_bounds: Box<[(i32, Vec<u8>)]>,
    upper_bounds: Box<[(i32, Vec<u8>)]>,
}

impl FileMetrics {
    /// Takes the metrics of `file`, which has a partition of `spec`.
    pub(super) fn take(file: &mut DataFile, columns: &Arc<TableColumns>, spec: &Arc<PartitionSpec>) -> Self {
        Self {
            columns: Arc::clone(columns),
            spec: Arc::clone(spec),
            partition: file.partition.clone().into(),
            row_count: file.record_count,
            null_counts: std::mem::take(&mut file.null_value_counts).into(),
            nan_counts: std::mem::take(&mut file.nan_value_counts).into(),
            lower_bounds: std::mem::take(&mut file.lower_bounds).into(),
            upper_bounds: std::mem::take(&mut file.upper_bounds).into(),
        }
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
        let count = |counts: &[(i32, i64)]| {
            let (_, count) = counts.iter().find(|(of, _)| of == id)?;
            u64::try_from(*count).ok()
        };
        let bound = |bounds: &[(i32, Vec<u8>)]| {
            // Writers have compared the halves of UUIDs as signed numbers.
            if *primitive == PrimitiveType::Uuid {
                return None;
            }
            let (_, bytes) = bounds.iter().find(|(of, _)| of == id)?;
            predicate_value(Literal::from_bytes(primitive, bytes).ok()?)
        };
        let mut known = ColumnBounds {
            min: bound(&self.lower_bounds),
            max: bound(&self.upper_bounds),
            null_count: count(&self.null_counts),
            nan_count: count(&self.nan_counts),
            value_count: Some(self.row_count),
        };
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
            (int(start), int(start + i128::from(*width) - 1))
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
