//! Spans of traces, as a tracing system stores them.
//!
//! | column | type | values |
//! | --- | --- | --- |
//! | `timestamp` | timestamp, µs, UTC | from 2025-01-01 on, a millisecond apart on average, with up to 5 ms of jitter: ascending, but not sorted |
//! | `trace_id` | 16 bytes | random; 64 traces are open at a time, each of 8 spans on average |
//! | `span_id` | 8 bytes | random |
//! | `parent_span_id` | 8 bytes or null | an earlier span of the trace; null for its first |
//! | `service` | string | 40 names by Zipf's law |
//! | `operation` | string | 25 names a service by Zipf's law |
//! | `kind` | string | server for first spans, else client, internal, producer or consumer |
//! | `duration_us` | 64-bit integer | log-normal about a median of the operation's own |
//! | `status_code` | 32-bit integer | mostly 200, some 201, 204, 304, 400, 404, 429, 500, 503 |
//! | `attributes` | map of strings to strings, or null | three in ten are null, the others have one to five entries |
//! | `tags` | list of strings | mostly empty, up to three |

use std::sync::Arc;

use arrow_array::builder::{
    FixedSizeBinaryBuilder, Int32Builder, Int64Builder, ListBuilder, MapBuilder, MapFieldNames, StringBuilder,
    TimestampMicrosecondBuilder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};

use super::distribution::{Zipf, log_normal};
use crate::random::Random;

const OPEN_TRACES: usize = 64;
const SPANS_PER_TRACE: u64 = 8;
const SERVICES: usize = 40;
const OPERATIONS: usize = 25;
const STEP_US: u64 = 1_000;
const JITTER_US: u64 = 5_000;
/// 2025-01-01T00:00:00Z.
const START_US: i64 = 1_735_689_600_000_000;

const SERVICE_KINDS: [&str; 10] = [
    "gateway",
    "checkout",
    "catalog",
    "search",
    "payment",
    "inventory",
    "session",
    "mail",
    "billing",
    "recommendation",
];
const VERBS: [&str; 5] = ["GET", "POST", "PUT", "DELETE", "SELECT"];
const NOUNS: [&str; 5] = ["items", "orders", "users", "carts", "prices"];
const STATUS_CODES: [i32; 9] = [200, 201, 204, 304, 404, 400, 500, 503, 429];
const CHILD_KINDS: [&str; 4] = ["client", "internal", "producer", "consumer"];
const REGIONS: [&str; 6] = ["eu-north-1", "eu-west-1", "us-east-1", "us-west-2", "ap-south-1", "sa-east-1"];
const TAGS: [&str; 8] = ["cached", "retried", "sampled", "slow", "canary", "batch", "internal", "mobile"];

/// The spans of a seed, in batches.
#[derive(Debug)]
pub(crate) struct Events {
    random: Random,
    left: u64,
    batch_rows: u64,
    clock_us: i64,
    traces: Vec<Trace>,
    services: Zipf,
    operations: Zipf,
    statuses: Zipf,
}

/// A trace that may get more spans.
#[derive(Debug, Clone, Copy)]
struct Trace {
    id: [u8; 16],
    /// The span that later ones may have as their parent.
    parent: Option<[u8; 8]>,
}

impl Trace {
    fn new(random: &mut Random) -> Self {
        let mut id = [0; 16];
        id[..8].copy_from_slice(&random.next().to_le_bytes());
        id[8..].copy_from_slice(&random.next().to_le_bytes());
        Self { id, parent: None }
    }
}

impl Events {
    /// `rows` spans in batches of at most `batch_rows`. The spans of a seed depend neither on their number nor on the batch size.
    pub(crate) fn new(seed: u64, rows: u64, batch_rows: u64) -> Self {
        let mut random = Random::new(seed);
        let traces = (0..OPEN_TRACES).map(|_| Trace::new(&mut random)).collect();
        Self {
            random,
            left: rows,
            batch_rows: batch_rows.max(1),
            clock_us: START_US,
            traces,
            services: Zipf::new(SERVICES),
            operations: Zipf::new(OPERATIONS),
            statuses: Zipf::new(STATUS_CODES.len()),
        }
    }

    /// The columns of all batches.
    pub(crate) fn schema() -> SchemaRef {
        let text = |name: &str| Field::new(name, DataType::Utf8, false);
        let entries = vec![text("key"), Field::new("value", DataType::Utf8, true)];
        let entries = Arc::new(Field::new("entries", DataType::Struct(entries.into()), false));
        Arc::new(Schema::new(vec![
            Field::new("timestamp", DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())), false),
            Field::new("trace_id", DataType::FixedSizeBinary(16), false),
            Field::new("span_id", DataType::FixedSizeBinary(8), false),
            Field::new("parent_span_id", DataType::FixedSizeBinary(8), true),
            text("service"),
            text("operation"),
            text("kind"),
            Field::new("duration_us", DataType::Int64, false),
            Field::new("status_code", DataType::Int32, false),
            Field::new("attributes", DataType::Map(entries, false), true),
            Field::new("tags", DataType::List(Arc::new(Field::new("element", DataType::Utf8, false))), false),
        ]))
    }

    fn batch(&mut self, rows: u64) -> Result<RecordBatch, ArrowError> {
        let mut columns = Columns::new();
        for _ in 0..rows {
            self.span(&mut columns)?;
        }
        columns.finish()
    }

    fn span(&mut self, columns: &mut Columns) -> Result<(), ArrowError> {
        let random = &mut self.random;
        self.clock_us += random.below(2 * STEP_US) as i64;
        columns.timestamp.append_value(self.clock_us + random.below(JITTER_US) as i64);
        let slot = random.below(OPEN_TRACES as u64) as usize;
        let trace = self.traces[slot];
        let span_id = random.next().to_le_bytes();
        columns.trace_id.append_value(trace.id)?;
        columns.span_id.append_value(span_id)?;
        match trace.parent {
            Some(parent) => columns.parent_span_id.append_value(parent)?,
            None => columns.parent_span_id.append_null(),
        }
        let is_last = random.below(SPANS_PER_TRACE) == 0;
        self.traces[slot] = match trace.parent {
            _ if is_last => Trace::new(random),
            // Some spans become the parent of later ones, others do not.
            Some(_) if random.below(2) == 0 => trace,
            _ => Trace { parent: Some(span_id), ..trace },
        };
        let service = self.services.draw(random);
        let operation = self.operations.draw(random);
        columns.service(service);
        columns.operation(operation, service);
        columns.kind.append_value(match trace.parent {
            None => "server",
            Some(_) => CHILD_KINDS[random.below(CHILD_KINDS.len() as u64) as usize],
        });
        // Medians from 0.2 ms to about 50 ms.
        let median_us = 200.0 * (1 + (service * 7 + operation * 13) % 250) as f64;
        columns.duration_us.append_value(log_normal(median_us, 1.2, random) as i64 + 1);
        let status = if random.below(10) < 8 { 0 } else { self.statuses.draw(random) };
        columns.status_code.append_value(STATUS_CODES[status]);
        columns.attributes(operation, status, random)?;
        let tags = random.below(8).saturating_sub(4);
        for _ in 0..tags {
            columns.tags.values().append_value(TAGS[random.below(TAGS.len() as u64) as usize]);
        }
        columns.tags.append(true);
        Ok(())
    }
}

impl Iterator for Events {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let rows = self.left.min(self.batch_rows);
        self.left -= rows;
        (rows > 0).then(|| self.batch(rows))
    }
}

/// The builders of a batch's columns.
struct Columns {
    timestamp: TimestampMicrosecondBuilder,
    trace_id: FixedSizeBinaryBuilder,
    span_id: FixedSizeBinaryBuilder,
    parent_span_id: FixedSizeBinaryBuilder,
    service: StringBuilder,
    operation: StringBuilder,
    kind: StringBuilder,
    duration_us: Int64Builder,
    status_code: Int32Builder,
    attributes: MapBuilder<StringBuilder, StringBuilder>,
    tags: ListBuilder<StringBuilder>,
}

impl Columns {
    fn new() -> Self {
        let names = MapFieldNames { entry: "entries".to_owned(), key: "key".to_owned(), value: "value".to_owned() };
        let element = Arc::new(Field::new("element", DataType::Utf8, false));
        Self {
            timestamp: TimestampMicrosecondBuilder::new().with_timezone("UTC"),
            trace_id: FixedSizeBinaryBuilder::new(16),
            span_id: FixedSizeBinaryBuilder::new(8),
            parent_span_id: FixedSizeBinaryBuilder::new(8),
            service: StringBuilder::new(),
            operation: StringBuilder::new(),
            kind: StringBuilder::new(),
            duration_us: Int64Builder::new(),
            status_code: Int32Builder::new(),
            attributes: MapBuilder::new(Some(names), StringBuilder::new(), StringBuilder::new()),
            tags: ListBuilder::new(StringBuilder::new()).with_field(element),
        }
    }

    fn service(&mut self, service: usize) {
        let kind = SERVICE_KINDS[service % SERVICE_KINDS.len()];
        write_all(&mut self.service, format_args!("{kind}-{}", service / SERVICE_KINDS.len() + 1));
    }

    fn operation(&mut self, operation: usize, service: usize) {
        let verb = VERBS[operation / NOUNS.len() % VERBS.len()];
        let noun = NOUNS[operation % NOUNS.len()];
        write_all(&mut self.operation, format_args!("{verb} /v{}/{noun}", service % 3 + 1));
    }

    fn attributes(&mut self, operation: usize, status: usize, random: &mut Random) -> Result<(), ArrowError> {
        if random.below(10) < 3 {
            return self.attributes.append(false);
        }
        let count = 1 + random.below(5);
        for (index, key) in
            ["http.method", "cloud.region", "host.name", "user.id", "error.message"].into_iter().enumerate()
        {
            if index as u64 >= count {
                break;
            }
            if index == 4 && status < 4 {
                continue;
            }
            self.attributes.keys().append_value(key);
            let value = self.attributes.values();
            match index {
                0 => value.append_value(VERBS[operation / NOUNS.len() % VERBS.len()]),
                1 => value.append_value(REGIONS[random.below(REGIONS.len() as u64) as usize]),
                2 => write_all(value, format_args!("node-{:03}", random.below(200))),
                3 => write_all(value, format_args!("u{}", random.below(1_000_000))),
                _ => write_all(value, format_args!("request failed with status {}", STATUS_CODES[status])),
            }
        }
        self.attributes.append(true)
    }

    fn finish(mut self) -> Result<RecordBatch, ArrowError> {
        let columns: Vec<ArrayRef> = vec![
            Arc::new(self.timestamp.finish()),
            Arc::new(self.trace_id.finish()),
            Arc::new(self.span_id.finish()),
            Arc::new(self.parent_span_id.finish()),
            Arc::new(self.service.finish()),
            Arc::new(self.operation.finish()),
            Arc::new(self.kind.finish()),
            Arc::new(self.duration_us.finish()),
            Arc::new(self.status_code.finish()),
            Arc::new(self.attributes.finish()),
            Arc::new(self.tags.finish()),
        ];
        RecordBatch::try_new(Events::schema(), columns)
    }
}

/// Appends a formatted value without a temporary string.
fn write_all(builder: &mut StringBuilder, text: std::fmt::Arguments<'_>) {
    // Writing to a builder in memory does not fail.
    let _ = std::fmt::Write::write_fmt(builder, text);
    builder.append_value("");
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use arrow_array::Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::TimestampMicrosecondType;
    use arrow_select::concat::concat_batches;

    use super::*;

    fn events(seed: u64, rows: u64, batch_rows: u64) -> RecordBatch {
        let batches: Vec<_> = Events::new(seed, rows, batch_rows).collect::<Result<_, _>>().unwrap();
        concat_batches(&Events::schema(), &batches).unwrap()
    }

    #[test]
    fn a_seed_gives_the_same_rows_whatever_their_number_and_batches() {
        let all = events(3, 1000, 1000);
        assert_eq!(all, events(3, 1000, 77));
        assert_eq!(all.slice(0, 400), events(3, 400, 128));
        assert_ne!(all, events(4, 1000, 1000));
        assert_eq!(events(3, 0, 10).num_rows(), 0);
    }

    #[test]
    fn timestamps_ascend_but_are_not_sorted() {
        let rows = events(1, 20_000, 8192);
        let times = rows.column(0).as_primitive::<TimestampMicrosecondType>().values().to_vec();
        assert!(!times.is_sorted());
        let late = times.windows(2).map(|pair| pair[0] - pair[1]).max().unwrap();
        assert!(late < JITTER_US as i64, "{late}");
        let seconds = (times[19_999] - times[0]) as f64 / 1e6;
        assert!((19.0..21.0).contains(&seconds), "{seconds}");
    }

    #[test]
    fn parents_are_earlier_spans_of_the_same_trace() {
        let rows = events(2, 20_000, 8192);
        let ids = |column: usize| rows.column(column).as_fixed_size_binary();
        let mut trace_of = HashMap::new();
        for row in 0..rows.num_rows() {
            if ids(3).is_valid(row) {
                assert_eq!(trace_of.get(ids(3).value(row)), Some(&ids(1).value(row)), "row {row}");
            }
            trace_of.insert(ids(2).value(row), ids(1).value(row));
        }
        let traces: std::collections::HashSet<_> = trace_of.values().collect();
        assert!((2_000..3_200).contains(&traces.len()), "{} traces of 20,000 spans", traces.len());
    }

    #[test]
    fn nested_columns_have_nulls_empty_and_full_values() {
        let rows = events(2, 5_000, 8192);
        let attributes = rows.column(9).as_map();
        assert!((1_300..1_700).contains(&attributes.null_count()), "{}", attributes.null_count());
        let lengths: Vec<i32> =
            rows.column(10).as_list::<i32>().offsets().lengths().map(|length| length as i32).collect();
        for length in 0..=3 {
            assert!(lengths.contains(&length), "no list of {length}");
        }
    }
}
