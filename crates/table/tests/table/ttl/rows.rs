//! Rows with a time, and a clock that tests move.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use lath_table::{Clock, TableOptions};

pub(super) const DAY: u64 = 86_400;

/// Types of the column by which rows expire.
pub(super) fn time_types() -> Vec<DataType> {
    let units = [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond];
    let mut types: Vec<DataType> = units.into_iter().map(|unit| DataType::Timestamp(unit, None)).collect();
    types.push(DataType::Timestamp(TimeUnit::Microsecond, Some("+02:00".into())));
    types.extend([DataType::Date32, DataType::Date64]);
    types
}

/// A clock in seconds since 1970.
#[derive(Clone, Default)]
pub(super) struct MovedClock(Arc<AtomicU64>);

impl MovedClock {
    pub(super) fn at(seconds: u64) -> Self {
        Self(Arc::new(AtomicU64::new(seconds)))
    }

    pub(super) fn now(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    pub(super) fn set(&self, seconds: u64) {
        self.0.store(seconds, Ordering::SeqCst);
    }

    pub(super) fn advance(&self, seconds: u64) {
        self.0.fetch_add(seconds, Ordering::SeqCst);
    }

    pub(super) fn options(&self) -> TableOptions {
        let clock = self.clone();
        let now = move || SystemTime::UNIX_EPOCH + Duration::from_secs(clock.now());
        TableOptions::new().background(false).clock(Clock::new(now))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    /// Seconds since 1970.
    pub(super) ts: Option<u64>,
    pub(super) code: Option<String>,
    pub(super) n: i64,
}

pub(super) type Rows = BTreeMap<i64, Row>;

pub(super) fn schema(time: &DataType) -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("ts", time.clone(), true),
        Field::new("id", DataType::Int64, false),
        Field::new("code", DataType::Utf8, true),
        Field::new("n", DataType::Int64, true),
    ]))
}

/// Times as a column of this type: dates lose the time of day.
pub(super) fn times(time: &DataType, seconds: impl Iterator<Item = Option<u64>>) -> ArrayRef {
    let seconds: ArrayRef = Arc::new(Int64Array::from_iter(seconds.map(|time| time.map(|time| time as i64))));
    let instants = cast(&seconds, &DataType::Timestamp(TimeUnit::Second, None)).unwrap();
    match time {
        DataType::Timestamp(unit, Some(_)) => {
            let numbers = cast(&cast(&instants, &DataType::Timestamp(*unit, None)).unwrap(), &DataType::Int64).unwrap();
            cast(&numbers, time).unwrap()
        }
        DataType::Date64 => cast(&cast(&instants, &DataType::Date32).unwrap(), time).unwrap(),
        _ => cast(&instants, time).unwrap(),
    }
}

pub(super) fn batch(time: &DataType, rows: &[(i64, Row)]) -> RecordBatch {
    let columns: Vec<ArrayRef> = vec![
        times(time, rows.iter().map(|(_, row)| row.ts)),
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|(id, _)| *id))),
        Arc::new(StringArray::from_iter(rows.iter().map(|(_, row)| row.code.clone()))),
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|(_, row)| row.n))),
    ];
    RecordBatch::try_new(schema(time), columns).unwrap()
}

/// The rows of a batch.
pub(super) fn rows(batch: &RecordBatch) -> Vec<(i64, Row)> {
    let column = |name: &str| batch.column_by_name(name).unwrap();
    let seconds = match column("ts").data_type() {
        DataType::Date32 | DataType::Date64 => {
            cast(&cast(column("ts"), &DataType::Date32).unwrap(), &DataType::Timestamp(TimeUnit::Second, None)).unwrap()
        }
        _ => {
            let plain = DataType::Timestamp(TimeUnit::Second, Some("+00:00".into()));
            cast(column("ts"), &plain).unwrap()
        }
    };
    let seconds = cast(&seconds, &DataType::Int64).unwrap();
    let seconds = seconds.as_primitive::<Int64Type>();
    let codes = column("code").as_string::<i32>();
    let row = |at: usize| Row {
        ts: seconds.is_valid(at).then(|| seconds.value(at) as u64),
        code: codes.is_valid(at).then(|| codes.value(at).to_owned()),
        n: column("n").as_primitive::<Int64Type>().value(at),
    };
    (0..batch.num_rows()).map(|at| (column("id").as_primitive::<Int64Type>().value(at), row(at))).collect()
}
