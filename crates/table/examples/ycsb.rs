//! The workloads A to F of the Yahoo! Cloud Serving Benchmark on a table, with every answer checked.
//!
//! `cargo run --release -p lath-table --example ycsb -- [RECORDS [OPERATIONS [WORKLOADS [DURABILITY]]]]`, as in `100000 50000 ace sync`
//!
//! As in YCSB, a record has ten fields of 100 bytes, keys are hashes, records are chosen by a Zipfian distribution of exponent 0.99, and a
//! scan is of up to 100 records. An update writes all fields (`writeallfields=true`). The content of a field follows from its key and the
//! version of the record, so that every record that is read can be compared with the one that was written last.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a program for people, which stops at the first error")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use fastrand::Rng;
use lath_table::{Durability, Table, TableOptions};

const FIELDS: usize = 10;
const FIELD_BYTES: usize = 100;
const LOAD_ROWS: u64 = 10_000;
const MAX_SCAN: u64 = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Read,
    Update,
    Insert,
    Scan,
    ReadModifyWrite,
}

/// The shares of operations in percent, and whether those inserted last are chosen most often.
fn workload(name: char) -> (&'static [(Kind, u8)], bool) {
    match name {
        'a' => (&[(Kind::Read, 50), (Kind::Update, 50)], false),
        'b' => (&[(Kind::Read, 95), (Kind::Update, 5)], false),
        'c' => (&[(Kind::Read, 100)], false),
        'd' => (&[(Kind::Read, 95), (Kind::Insert, 5)], true),
        'e' => (&[(Kind::Scan, 95), (Kind::Insert, 5)], false),
        'f' => (&[(Kind::Read, 50), (Kind::ReadModifyWrite, 50)], false),
        other => panic!("there is no workload {other}"),
    }
}

fn hash(number: u64) -> u64 {
    number
        .to_le_bytes()
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

fn key(number: u64) -> String {
    format!("user{:020}", hash(number))
}

fn field(key: &str, version: i64, field: usize) -> String {
    let seed = key.bytes().fold(version as u64 * 31 + field as u64, |seed, byte| hash(seed ^ u64::from(byte)));
    let mut random = Rng::with_seed(seed);
    (0..FIELD_BYTES).map(|_| random.alphanumeric()).collect()
}

fn batch(rows: &[(String, i64)]) -> RecordBatch {
    let mut columns: Vec<(String, ArrayRef)> = vec![
        ("key".to_owned(), Arc::new(StringArray::from_iter_values(rows.iter().map(|row| &row.0)))),
        ("version".to_owned(), Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.1)))),
    ];
    for at in 0..FIELDS {
        let values = rows.iter().map(|(key, version)| field(key, *version, at));
        columns.push((format!("field{at}"), Arc::new(StringArray::from_iter_values(values))));
    }
    RecordBatch::try_from_iter(columns).unwrap()
}

/// Panics unless a row has the key and the version, and what follows from them.
fn check_row(batch: &RecordBatch, row: usize, key: &str, version: i64) {
    let text = |column: usize| {
        batch
            .column(column)
            .as_string_view_opt()
            .map_or_else(|| batch.column(column).as_string::<i32>().value(row), |texts| texts.value(row))
    };
    assert_eq!((text(0), batch.column(1).as_primitive::<Int64Type>().value(row)), (key, version));
    for at in 0..FIELDS {
        assert_eq!(text(at + 2), field(key, version, at), "field {at} of {key}, version {version}");
    }
}

/// Numbers from 0 on, the lower the likelier, as in YCSB (Gray et al., "Quickly generating billion-record synthetic databases").
struct Zipfian {
    items: u64,
    zeta: f64,
}

impl Zipfian {
    const THETA: f64 = 0.99;

    fn new(items: u64) -> Self {
        let mut new = Self { items: 0, zeta: 0.0 };
        new.grow(items);
        new
    }

    fn grow(&mut self, items: u64) {
        self.zeta += (self.items + 1..=items).map(|item| (item as f64).powf(-Self::THETA)).sum::<f64>();
        self.items = items;
    }

    fn next(&self, random: &mut Rng) -> u64 {
        let of_two = 1.0 + 0.5_f64.powf(Self::THETA);
        let eta = (1.0 - (2.0 / self.items as f64).powf(1.0 - Self::THETA)) / (1.0 - of_two / self.zeta);
        let u = random.f64();
        if u * self.zeta < 1.0 {
            return 0;
        }
        if u * self.zeta < of_two {
            return 1;
        }
        let number = self.items as f64 * (eta * u - eta + 1.0).powf(1.0 / (1.0 - Self::THETA));
        (number as u64).min(self.items - 1)
    }
}

struct Client {
    table: Table,
    random: Rng,
    zipfian: Zipfian,
    records: u64,
    /// The version of each record, by its key.
    versions: BTreeMap<String, i64>,
}

impl Client {
    fn load(table: Table, records: u64, seed: u64) -> Self {
        let mut versions = BTreeMap::new();
        for first in (0..records).step_by(LOAD_ROWS as usize) {
            let rows: Vec<(String, i64)> =
                (first..records.min(first + LOAD_ROWS)).map(|number| (key(number), 0)).collect();
            table.upsert(&batch(&rows)).unwrap();
            versions.extend(rows);
        }
        assert_eq!(versions.len() as u64, records, "two records have one key");
        Self { table, random: Rng::with_seed(seed), zipfian: Zipfian::new(records), records, versions }
    }

    fn choose(&mut self, latest: bool) -> String {
        let number = self.zipfian.next(&mut self.random);
        // Scrambled, so that what is chosen often is not close together.
        key(if latest { self.records - 1 - number } else { hash(number) % self.records })
    }

    /// Makes an operation, and checks what it finds; how long the table took.
    fn operate(&mut self, kind: Kind, latest: bool) -> Duration {
        let key = if kind == Kind::Insert { key(self.records) } else { self.choose(latest) };
        let version = self.versions.get(&key).copied();
        let timed = |begin: Instant| begin.elapsed();
        match kind {
            Kind::Read => {
                let begin = Instant::now();
                let row = self.table.get(key.as_str()).unwrap().unwrap();
                let time = timed(begin);
                check_row(&row, 0, &key, version.unwrap());
                time
            }
            Kind::Update | Kind::Insert => {
                let next = version.map_or(0, |version| version + 1);
                let rows = batch(&[(key.clone(), next)]);
                let begin = Instant::now();
                self.table.upsert(&rows).unwrap();
                let time = timed(begin);
                if self.versions.insert(key, next).is_none() {
                    self.records += 1;
                    self.zipfian.grow(self.records);
                }
                time
            }
            Kind::Scan => {
                let len = self.random.u64(1..=MAX_SCAN);
                let begin = Instant::now();
                let range = self.table.range(key.as_str()..).unwrap().limit(len);
                let batches: Vec<RecordBatch> = range.build().unwrap().map(Result::unwrap).collect();
                let time = timed(begin);
                let mut expected = self.versions.range(key..).take(len as usize);
                for batch in &batches {
                    for row in 0..batch.num_rows() {
                        let (key, version) = expected.next().unwrap();
                        check_row(batch, row, key, *version);
                    }
                }
                assert!(expected.next().is_none(), "a scan is too short");
                time
            }
            Kind::ReadModifyWrite => {
                let next = version.unwrap() + 1;
                let rows = batch(&[(key.clone(), next)]);
                let begin = Instant::now();
                let mut transaction = self.table.begin().unwrap();
                let row = transaction.get(key.as_str()).unwrap().unwrap();
                transaction.upsert(&rows).unwrap();
                transaction.commit().unwrap();
                let time = timed(begin);
                check_row(&row, 0, &key, next - 1);
                self.versions.insert(key, next);
                time
            }
        }
    }

    fn run(&mut self, name: char, operations: u64) {
        let (shares, latest) = workload(name);
        let mut times: BTreeMap<Kind, Vec<Duration>> = BTreeMap::new();
        for _ in 0..operations {
            let mut percent = self.random.u8(..100);
            let kind = shares.iter().find(|(_, share)| {
                let is_it = percent < *share;
                percent = percent.saturating_sub(*share);
                is_it
            });
            let kind = kind.unwrap().0;
            let time = self.operate(kind, latest);
            times.entry(kind).or_default().push(time);
        }
        assert_eq!(self.table.count().unwrap(), self.records);
        let total: Duration = times.values().flatten().sum();
        println!("{}: {:.0} operations a second", name.to_ascii_uppercase(), operations as f64 / total.as_secs_f64());
        for (kind, mut times) in times {
            times.sort_unstable();
            let micros = |part: usize| times[(times.len() - 1) * part / 100].as_secs_f64() * 1e6;
            println!("   {kind:?}: {}, p50 {:.0} µs, p99 {:.0} µs", times.len(), micros(50), micros(99));
        }
    }
}

fn main() {
    let mut args = std::env::args().skip(1);
    let records: u64 = args.next().map_or(100_000, |text| text.parse().unwrap());
    let operations: u64 = args.next().map_or(20_000, |text| text.parse().unwrap());
    let workloads = args.next().unwrap_or_else(|| "abcdef".to_owned()).to_ascii_lowercase();
    let durability = match args.next().as_deref() {
        None | Some("sync") => Durability::Sync,
        Some("deferred") => Durability::Deferred,
        Some("off") => Durability::Off,
        Some(other) => panic!("there is no durability {other}"),
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table");
    let options = TableOptions::new().durability(durability);
    let table = Table::create(&path, &batch(&[]).schema(), &["key"], options.clone()).unwrap();
    let begin = Instant::now();
    let mut client = Client::load(table.clone(), records, 1);
    table.flush().unwrap();
    println!(
        "load: {records} records, {:.0} a second, flushed; {durability:?}",
        records as f64 / begin.elapsed().as_secs_f64()
    );
    workloads.chars().for_each(|name| client.run(name, operations));
    let Client { table: of_client, versions, .. } = client;
    assert!(table.background_error().is_none());
    drop((table, of_client));
    let table = Table::open(&path, options).unwrap();
    assert_eq!(table.count().unwrap(), versions.len() as u64);
    let mut expected = versions.iter();
    for batch in table.range::<&str>(..).unwrap().build().unwrap() {
        let batch = batch.unwrap();
        for row in 0..batch.num_rows() {
            let (key, version) = expected.next().unwrap();
            check_row(&batch, row, key, *version);
        }
    }
    assert!(expected.next().is_none());
    println!("all {} records are as they were written last, when the table is opened again", versions.len());
}
