//! Short ranges, which read cached blocks of files, compared with scans.

use std::fs;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, UInt64Array};
use arrow_cast::cast;
use arrow_row::{RowConverter, SortField};
use arrow_schema::{DataType, Field};
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;
use lath_table::{Durability, Key, Snapshot, Table, TableOptions};
use lath_testkit::Seeded;
use lath_writer::WriteOptions;

use crate::rows::{SHAPES, Shape, Values, random_values};

const SPACE: u64 = 12_000;

fn options(cache_bytes: u64) -> TableOptions {
    let write = WriteOptions::default().row_group_rows(3000);
    let options = TableOptions::new().background(false).durability(Durability::Off).write_options(write);
    options.cache_bytes(cache_bytes).flush_bytes(1 << 28)
}

/// Adapts a batch of the shape to the columns of the table.
fn adapted(batch: &RecordBatch, table: &Table) -> RecordBatch {
    let schema = table.schema().unwrap();
    let column = |field: &Arc<Field>| match field.name().as_str() {
        "score" => Arc::new(Int64Array::from_iter_values((0..batch.num_rows() as i64).map(|row| row % 7))) as ArrayRef,
        "renamed" => cast(batch.column_by_name("s").unwrap(), field.data_type()).unwrap(),
        name => cast(batch.column_by_name(name).unwrap(), field.data_type()).unwrap(),
    };
    RecordBatch::try_from_iter(schema.fields().iter().map(|field| (field.name().clone(), column(field)))).unwrap()
}

fn upsert(table: &Table, shape: Shape, numbers: impl Iterator<Item = u64>, random: &mut Seeded) {
    let rows: Vec<(_, Values)> = numbers.map(|number| (shape.key(number), random_values(random))).collect();
    table.upsert(&adapted(&shape.batch(&rows), table)).unwrap();
}

fn delete(table: &Table, shape: Shape, numbers: impl Iterator<Item = u64>) {
    let keys: Vec<_> = numbers.map(|number| shape.key(number)).collect();
    table.delete(shape.key_batch(&keys.iter().collect::<Vec<_>>())).unwrap();
}

/// All rows of a snapshot in key order, from a scan.
fn scanned(snapshot: &Snapshot, keys: &[&str]) -> RecordBatch {
    let batches: Vec<RecordBatch> = snapshot.scan().build().unwrap().map(|batch| batch.unwrap()).collect();
    let all = concat_batches(snapshot.schema(), &batches).unwrap();
    let columns: Vec<ArrayRef> = keys.iter().map(|name| Arc::clone(all.column_by_name(name).unwrap())).collect();
    let fields = columns.iter().map(|column| SortField::new(column.data_type().clone())).collect();
    let encoded = RowConverter::new(fields).unwrap().convert_columns(&columns).unwrap();
    let mut order: Vec<u64> = (0..all.num_rows() as u64).collect();
    order.sort_by(|&a, &b| encoded.row(a as usize).cmp(&encoded.row(b as usize)));
    take_record_batch(&all, &UInt64Array::from(order)).unwrap()
}

fn key_at(all: &RecordBatch, keys: &[&str], row: usize) -> Key {
    Key::new(keys.iter().map(|name| all.column_by_name(name).unwrap().slice(row, 1).into()))
}

/// Compares random ranges with the rows of a scan.
fn compare(snapshot: &Snapshot, keys: &[&str], random: &mut Seeded, what: &str) {
    let all = scanned(snapshot, keys);
    let row_count = all.num_rows();
    let schema = snapshot.schema();
    for _ in 0..25 {
        let low = random.usize(..row_count);
        let high = if random.bool() { row_count } else { (low + random.usize(..5000)).min(row_count - 1) };
        let limit = [1, 100, random.usize(1..3000), usize::MAX][random.usize(..4)];
        let mut columns: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        random.shuffle(&mut columns);
        columns.truncate(random.usize(..=columns.len()));
        let from = key_at(&all, keys, low);
        let range = match high == row_count {
            true => snapshot.range(from..),
            false => snapshot.range(from..key_at(&all, keys, high)),
        };
        let found = range.unwrap().select(columns.clone()).limit(limit as u64).build().unwrap();
        let found_schema = found.schema();
        let batches: Vec<RecordBatch> = found.map(|batch| batch.unwrap()).collect();
        let rows: Range<usize> = low..high.min(low.saturating_add(limit));
        assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), rows.len(), "{rows:?}, {what}");
        let places: Vec<usize> = columns.iter().map(|name| schema.index_of(name).unwrap()).collect();
        let expected = all.slice(rows.start, rows.len()).project(&places).unwrap();
        if !columns.is_empty() {
            let found = concat_batches(&found_schema, &batches).unwrap();
            assert_eq!(found.columns(), expected.columns(), "{rows:?} of {columns:?}, {what}");
        }
    }
}

/// Files whose keys overlap, with rows that were replaced and deleted, of several schemas; hot rows; and a snapshot from before a merge.
#[test]
fn short_ranges_return_what_a_scan_returns() {
    let mut seeds = Seeded::new("short ranges return what a scan returns");
    for (case, shape) in SHAPES.into_iter().enumerate() {
        for cluster in [&[][..], &["n"]] {
            let mut random = Seeded::with_seed(format!("{shape:?} by {cluster:?}"), seeds.u64(..));
            let folder = tempfile::tempdir().unwrap();
            let (keys, options) = (shape.key_columns(), options([0, 200_000, 1 << 28][case]));
            let table =
                Table::create_clustered(folder.path(), &shape.schema(), &keys, cluster, options.clone()).unwrap();
            upsert(&table, shape, 0..SPACE, &mut random);
            table.flush().unwrap();
            // Two of three rows in some places, and no row in others.
            delete(&table, shape, (2000..4000).filter(|number| number % 3 > 0).chain(5000..7500));
            table.flush().unwrap();
            compare(&table.snapshot().unwrap(), &keys, &mut random, "after deletions");
            table.add_column(&Field::new("score", DataType::Int64, false), Some(5.into())).unwrap();
            table.rename_column("s", "renamed").unwrap();
            table.widen_column("n", &DataType::Int64).unwrap();
            upsert(&table, shape, (0..SPACE).filter(|number| number % 5 == 0), &mut random);
            table.flush().unwrap();
            table.drop_column("tags").unwrap();
            upsert(&table, shape, (3000..6000).filter(|number| number % 7 == 0), &mut random);
            delete(&table, shape, (7000..9000).filter(|number| number % 4 == 0));
            let before = table.snapshot().unwrap();
            compare(&before, &keys, &mut random, "of hot rows and files");
            table.keep_snapshot("before").unwrap();
            table.compact().unwrap();
            upsert(&table, shape, 100..150, &mut random);
            compare(&table.snapshot().unwrap(), &keys, &mut random, "after a merge");
            compare(&before, &keys, &mut random, "before a merge");
            drop((before, table));
            let table = Table::open(folder.path(), options).unwrap();
            compare(&table.snapshot_named("before").unwrap(), &keys, &mut random, "of a named snapshot");
        }
    }
}

fn texts(ids: Range<i64>, text: impl Fn(i64) -> String) -> RecordBatch {
    let columns: [(&str, ArrayRef); 2] = [
        ("id", Arc::new(Int64Array::from_iter_values(ids.clone()))),
        ("text", Arc::new(StringArray::from_iter_values(ids.map(text)))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn count_pairs(table: &Table, range: Range<i64>) -> lath_table::Result<usize> {
    let mut count = 0;
    for batch in table.range(range.clone())?.build()? {
        let batch = batch?;
        let found = cast(batch.column(1), &DataType::Utf8).unwrap();
        let expected =
            texts(range.start + count..range.start + count + batch.num_rows() as i64, |id| format!("text {id}"));
        assert_eq!((batch.column(0), &found), (expected.column(0), expected.column(1)), "{range:?}");
        count += batch.num_rows() as i64;
    }
    Ok(count as usize)
}

/// Flips one bit at many places of a file: a range has its rows, or there is an error, the first time and from the cache.
#[test]
fn short_ranges_of_a_damaged_file_are_right_or_errors() {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole");
    let table = Table::create(&whole, &texts(0..0, |_| String::new()).schema(), &["id"], options(1 << 28)).unwrap();
    table.upsert(&texts(0..3000, |id| format!("text {id}"))).unwrap();
    table.flush().unwrap();
    drop(table);
    let mut names = fs::read_dir(whole.join("_data")).unwrap().map(|entry| entry.unwrap().file_name());
    let name = names.find(|name| name.to_str().unwrap().ends_with(".pq")).unwrap();
    let bytes = fs::read(whole.join("_data").join(&name)).unwrap();
    let mut errors = 0;
    for at in (4..bytes.len()).step_by(bytes.len() / 50) {
        let damaged = folder.path().join(format!("damaged {at}"));
        crate::damage::copy_folder(&whole, &damaged);
        let mut bytes = bytes.clone();
        bytes[at] ^= 0x10;
        fs::write(damaged.join("_data").join(&name), &bytes).unwrap();
        let table = Table::open_read_only(&damaged, options(1 << 28)).unwrap();
        for range in [5..60, 5..60, 1000..1100, 2950..3000] {
            match count_pairs(&table, range.clone()) {
                Ok(count) => assert_eq!(count as i64, range.end - range.start, "byte {at}"),
                Err(_) => errors += 1,
            }
        }
    }
    assert!(errors > 0, "no damage was found");
}

/// Rows that are larger than a page: a range reads its own pages, and not all pages of a block.
#[test]
fn short_ranges_of_large_rows_read_their_own_pages() {
    let folder = tempfile::tempdir().unwrap();
    let text = |id: i64| format!("{id} {}", "x".repeat(40_000));
    let table = Table::create(folder.path(), &texts(0..0, text).schema(), &["id"], options(1 << 28)).unwrap();
    table.upsert(&texts(0..400, text)).unwrap();
    table.flush().unwrap();
    let all: Vec<RecordBatch> = table.range(100..103).unwrap().build().unwrap().map(|batch| batch.unwrap()).collect();
    let found = cast(all[0].column(1), &DataType::Utf8).unwrap();
    assert_eq!((all.len(), &found), (1, texts(100..103, text).column(1)));
    assert!(all[0].get_array_memory_size() < 4 << 20, "{}", all[0].get_array_memory_size());
}
