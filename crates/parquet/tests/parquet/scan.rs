//! A scan returns the same rows as reading everything and evaluating the predicate for each row, whatever the files,
//! columns, threads, batch sizes and limits.
//!
//! `LATH_CASES` sets the number of files, `LATH_SEED` repeats a run.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake};
use std::thread;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, FixedSizeBinaryArray, Float64Array, Int32Array, Int64Array, RecordBatch,
    StringArray, StringViewArray,
};
use arrow_cast::display::array_value_to_string;
use arrow_schema::{DataType, Field, Schema};
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use bytes::Bytes;
use futures_core::Stream;
use lath_parquet::{
    Cancel, Dataset, Error, ParquetFile, Predicate, Pruning, RowSelection, Scan, ScanBatches, Strings, column,
};
use lath_testkit::Seeded;
use lath_testkit::random::{FileShape, RandomFile};
use parquet::arrow::ArrowWriter;
use parquet::basic::Encoding;
use parquet::file::properties::WriterProperties;

const DEFAULT_CASES: usize = 120;

pub(crate) fn cases() -> usize {
    std::env::var("LATH_CASES").map_or(DEFAULT_CASES, |text| text.parse().expect("LATH_CASES is a number"))
}

pub(crate) fn collect(batches: ScanBatches) -> Result<RecordBatch, Error> {
    let schema = batches.schema();
    let batches = batches.collect::<Result<Vec<_>, _>>()?;
    Ok(concat_batches(&schema, &batches).unwrap())
}

/// Conditions on the columns of `batch` that some of its rows may satisfy.
pub(crate) fn conditions(random: &mut fastrand::Rng, batch: &RecordBatch) -> Vec<String> {
    let mut conditions = Vec::new();
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        conditions_on(random, &format!("\"{}\"", field.name()), field, column, &mut conditions);
    }
    conditions
}

fn conditions_on(random: &mut fastrand::Rng, path: &str, field: &Field, column: &ArrayRef, out: &mut Vec<String>) {
    out.push(format!("{path} IS NULL"));
    out.push(format!("{path} IS NOT NULL"));
    if let DataType::Struct(fields) = field.data_type() {
        for (child, column) in fields.iter().zip(column.as_struct().columns()) {
            conditions_on(random, &format!("{path}.\"{}\"", child.name()), child, column, out);
        }
        return;
    }
    if column.is_empty() {
        return;
    }
    for _ in 0..2 {
        let (one, other) = (random.usize(..column.len()), random.usize(..column.len()));
        let (Some(one), Some(other)) = (literal(column, one), literal(column, other)) else { continue };
        let op = ["=", "<>", "<", "<=", ">", ">="][random.usize(..6)];
        out.push(format!("{path} {op} {one}"));
        out.push(format!("{path} BETWEEN {one} AND {other}"));
        out.push(format!("{path} IN ({one}, {other})"));
    }
}

/// A value of a column as a SQL literal; `None` if it has none.
fn literal(column: &ArrayRef, row: usize) -> Option<String> {
    if column.is_null(row) {
        return None;
    }
    let text = || array_value_to_string(column, row).ok();
    match column.data_type() {
        DataType::Boolean => text(),
        data_type if data_type.is_integer() => text(),
        DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..) => text(),
        data_type if data_type.is_floating() => text().filter(|text| text.parse::<f64>().is_ok_and(f64::is_finite)),
        data_type if data_type.is_string() => text().map(|text| format!("'{}'", text.replace('\'', "''"))),
        data_type if data_type.is_binary() => text().map(|text| format!("X'{text}'")),
        DataType::Date32 | DataType::Timestamp(_, None) => text().map(|text| format!("'{text}'")),
        _ => None,
    }
}

/// The rows of `batch` that satisfy `predicate`.
pub(crate) fn expected(batch: &RecordBatch, predicate: &Predicate) -> Result<RecordBatch, Error> {
    let truth = predicate.filter(&batch.schema())?.evaluate(batch)?;
    let truth: BooleanArray = truth.iter().map(|truth| Some(truth == Some(true))).collect();
    Ok(filter_record_batch(batch, &truth).unwrap())
}

/// Whether the type contains a dictionary with keys of fewer than 32 bits.
pub(crate) fn has_narrow_keys(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(keys, _) => keys.primitive_width().is_none_or(|width| width < 4),
        DataType::Struct(fields) => fields.iter().any(|field| has_narrow_keys(field.data_type())),
        DataType::List(element) | DataType::LargeList(element) | DataType::FixedSizeList(element, _) => {
            has_narrow_keys(element.data_type())
        }
        DataType::Map(entries, _) => has_narrow_keys(entries.data_type()),
        _ => false,
    }
}

/// Paths of some columns and fields of structs.
pub(crate) fn paths(random: &mut fastrand::Rng, schema: &Schema) -> Vec<String> {
    let mut all = Vec::new();
    for field in schema.fields() {
        all.push(field.name().clone());
        if let DataType::Struct(children) = field.data_type() {
            all.extend(children.iter().map(|child| format!("{}.{}", field.name(), child.name())));
        }
    }
    let count = random.usize(..=all.len());
    random.choose_multiple(all, count)
}

#[test]
fn a_scan_gives_the_rows_that_reading_all_and_testing_each_gives() {
    let mut random = Seeded::new("a_scan_gives_the_rows_that_reading_all_and_testing_each_gives");
    let mut tested = 0;
    for case in 0..cases() {
        let seed = random.u64(..);
        let mut random = fastrand::Rng::with_seed(seed);
        let written = RandomFile::new(&mut random, FileShape::default());
        let file = ParquetFile::from_bytes(written.bytes.clone()).unwrap();
        let strings = if random.bool() { Strings::Views } else { Strings::Offsets };
        let all = file.scan().strings(strings).build().unwrap();
        let schema = all.schema();
        if schema.fields().iter().any(|field| has_narrow_keys(field.data_type())) {
            // Arrow cannot concatenate their batches.
            continue;
        }
        let all = concat_batches(&schema, &all.map(Result::unwrap).collect::<Vec<_>>()).unwrap();
        let conditions = conditions(&mut random, &all);
        for _ in 0..8 {
            let count = random.usize(1..4).min(conditions.len());
            let joint = if random.u8(..4) > 0 { " AND " } else { " OR " };
            let text = random.choose_multiple(&conditions, count).into_iter().cloned().collect::<Vec<_>>().join(joint);
            let predicate = Predicate::parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
            let Ok(expected) = expected(&all, &predicate) else { continue };
            tested += 1;
            let chosen = (random.u8(..3) > 0).then(|| paths(&mut random, &schema));
            let threads = random.usize(1..4);
            let batch_size = [1, 7, 100, 8192][random.usize(..4)];
            let limit = [u64::MAX, 0, 1, 10, 1000][random.usize(..5)];
            let pruning = if random.bool() { Pruning::default() } else { Pruning::none() };
            let scan = file
                .scan()
                .predicate(predicate)
                .pruning(pruning)
                .strings(strings)
                .threads(threads)
                .batch_size(batch_size);
            let context = || {
                format!(
                    "{text}\n{chosen:?}, {threads} threads, batches of {batch_size}, limit {limit}, {strings:?}\n\
                     in case {case} with seed {seed:#x}: {written:?}"
                )
            };
            let count = scan.clone().limit(limit).count().unwrap_or_else(|error| panic!("{error}\n{}", context()));
            assert_eq!(count, (expected.num_rows() as u64).min(limit), "{}", context());

            let mut scan = scan.limit(limit);
            if let Some(paths) = &chosen {
                scan = scan.select(paths.clone());
            }
            let found = collect(scan.build().unwrap()).unwrap_or_else(|error| panic!("{error}\n{}", context()));
            let expected = expected.slice(0, expected.num_rows().min(usize::try_from(limit).unwrap_or(usize::MAX)));
            assert_eq!(found.num_rows(), expected.num_rows(), "{}", context());
            let read = match &chosen {
                // The selected columns and fields of the rows.
                Some(paths) => {
                    let read = file.scan().strings(strings).select(paths.clone()).build().unwrap();
                    let schema = read.schema();
                    let read = concat_batches(&schema, &read.map(Result::unwrap).collect::<Vec<_>>()).unwrap();
                    expected_rows(&all, &read, &text, limit)
                }
                None => expected,
            };
            assert_eq!(found.num_columns(), read.num_columns(), "{}", context());
            for (index, field) in found.schema().fields().iter().enumerate() {
                let position = if chosen.is_some() { read.schema().index_of(field.name()).unwrap() } else { index };
                assert!(found.column(index) == read.column(position), "column {}: {}", field.name(), context());
            }
        }
    }
    assert!(tested > cases(), "{tested} predicates");
}

/// The rows of `read` at the positions where the condition holds in `all`.
fn expected_rows(all: &RecordBatch, read: &RecordBatch, text: &str, limit: u64) -> RecordBatch {
    let truth = Predicate::parse(text).unwrap().filter(&all.schema()).unwrap().evaluate(all).unwrap();
    let mut left = limit;
    let truth: BooleanArray = truth
        .iter()
        .map(|truth| {
            let is_kept = truth == Some(true) && left > 0;
            left -= u64::from(is_kept);
            Some(is_kept)
        })
        .collect();
    filter_record_batch(read, &truth).unwrap()
}

/// A column that controls how many rows pass, and columns of every width, with and without nulls.
fn sparse_table(random: &mut fastrand::Rng, rows: usize) -> RecordBatch {
    let letters = "Franz jagt im komplett verwahrlosten Taxi quer durch Bayern. ".repeat(3);
    let text = |random: &mut fastrand::Rng| letters[letters.len() - random.usize(..60)..].to_owned();
    let mut columns: Vec<(String, ArrayRef)> = vec![
        ("share".into(), Arc::new(Int64Array::from_iter_values((0..rows).map(|_| random.i64(..1000))))),
        ("number".into(), Arc::new(Int64Array::from_iter_values((0..rows as i64).map(|row| row * row)))),
    ];
    for of_8 in [0, 1, 7] {
        let own = |random: &mut fastrand::Rng| random.u8(..8) >= of_8;
        let integers: Int32Array = (0..rows).map(|_| own(random).then(|| random.i32(..))).collect();
        let doubles: Float64Array = (0..rows).map(|_| own(random).then(|| random.f64())).collect();
        let strings: StringViewArray = (0..rows).map(|_| own(random).then(|| text(random))).collect();
        let few: StringViewArray = (0..rows).map(|_| own(random).then(|| &letters[..random.usize(..20)])).collect();
        let fixed = (0..rows).map(|_| own(random).then(|| random.u128(..).to_le_bytes()[..3].to_vec()));
        let fixed = FixedSizeBinaryArray::try_from_sparse_iter_with_size(fixed, 3).unwrap();
        let all: [ArrayRef; 5] =
            [Arc::new(integers), Arc::new(doubles), Arc::new(strings), Arc::new(few), Arc::new(fixed)];
        columns.extend(all.into_iter().enumerate().map(|(at, column)| (format!("nulls{of_8}_{at}"), column)));
    }
    RecordBatch::try_from_iter(columns).unwrap()
}

#[test]
fn rows_at_random_are_those_of_filtering_afterwards() {
    let mut random = Seeded::new("rows_at_random_are_those_of_filtering_afterwards");
    for _ in 0..cases().div_ceil(8) {
        let rows = random.usize(1..20_000);
        let table = sparse_table(&mut random, rows);
        let mut properties = WriterProperties::builder()
            .set_dictionary_enabled(random.bool())
            .set_dictionary_page_size_limit([100, 5_000, 1 << 20][random.usize(..3)])
            .set_data_page_row_count_limit([100, 3_000, 20_000][random.usize(..3)])
            .set_write_batch_size(100)
            .set_max_row_group_row_count(Some([4_000, 20_000][random.usize(..2)]));
        for field in table.schema().fields() {
            let encoding = match field.data_type() {
                DataType::Utf8View => {
                    [Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY][random.usize(..2)]
                }
                DataType::Int32 | DataType::Int64 => Encoding::DELTA_BINARY_PACKED,
                _ => Encoding::BYTE_STREAM_SPLIT,
            };
            if random.u8(..4) > 0 {
                properties = properties.set_column_encoding(field.name().as_str().into(), encoding);
            }
        }
        let mut bytes = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut bytes, table.schema(), Some(properties.build())).unwrap();
        writer.write(&table).unwrap();
        writer.close().unwrap();
        let file = ParquetFile::from_bytes(Bytes::from(bytes)).unwrap();
        for share in [1, 5, 10, 50, 100, 500, 900, 1000] {
            let mask: BooleanArray =
                table.column(0).as_primitive::<Int64Type>().iter().map(|own| own.map(|own| own < share)).collect();
            // The second condition is evaluated on the rows that the first one leaves.
            let (and, mask) = match random.bool() {
                true => ("", mask),
                false => {
                    let valid = arrow_arith::boolean::is_not_null(table.column(9)).unwrap();
                    (" AND nulls1_2 IS NOT NULL", arrow_arith::boolean::and(&mask, &valid).unwrap())
                }
            };
            let expected = filter_record_batch(&table, &mask).unwrap();
            let batch_size = [100, 1_000, 8_192, 30_000][random.usize(..4)];
            let scan = file.scan().filter(format!("share < {share}{and}").as_str()).unwrap().batch_size(batch_size);
            let batches: Vec<RecordBatch> =
                scan.threads(random.usize(1..3)).build().unwrap().map(|batch| batch.unwrap()).collect();
            assert!(batches.iter().all(|batch| (1..=batch_size).contains(&batch.num_rows())));
            let found = concat_batches(&expected.schema(), &batches).unwrap();
            assert_eq!(found, expected, "{share}{and}, batches of {batch_size}");
        }
    }
}

/// A file with row groups of 1,000 rows: an ascending number, a key with few values, and a text.
fn numbered(rows: i64) -> ParquetFile {
    ParquetFile::from_bytes(numbered_bytes(rows)).unwrap()
}

pub(crate) fn numbered_bytes(rows: i64) -> Bytes {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
    let keys: ArrayRef = Arc::new(Int64Array::from_iter((0..rows).map(|row| (row % 5 > 0).then_some(row % 7))));
    let texts: ArrayRef =
        Arc::new(StringArray::from_iter_values((0..rows).map(|row| format!("a text for row {row:09}"))));
    let batch = RecordBatch::try_from_iter([("number", numbers), ("key", keys), ("text", texts)]).unwrap();
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(1000))
        .set_data_page_row_count_limit(100)
        .set_write_batch_size(50)
        .set_dictionary_page_size_limit(3000)
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes.into()
}

#[test]
fn rows_come_in_the_order_of_files_and_row_groups_whatever_the_threads() {
    let files = vec![numbered(4500), numbered(0), numbered(10), numbered(20_000)];
    let scan = Dataset::of(files)
        .unwrap()
        .scan()
        .filter("key = 3 OR key IS NULL AND number > 100")
        .unwrap()
        .select(["number"]);
    let expected = collect(scan.clone().build().unwrap()).unwrap();
    let numbers: Vec<i64> = expected.column(0).as_primitive::<Int64Type>().values().to_vec();
    let by_hand = |rows: i64| (0..rows).filter(|row| if row % 5 > 0 { row % 7 == 3 } else { *row > 100 });
    assert_eq!(numbers, by_hand(4500).chain(by_hand(10)).chain(by_hand(20_000)).collect::<Vec<_>>());
    for threads in [2, 3, 8] {
        for batch_size in [1, 100, 8192] {
            let scan = scan.clone().threads(threads).batch_size(batch_size);
            assert_eq!(collect(scan.clone().build().unwrap()).unwrap(), expected);
            let unordered = collect(scan.unordered(true).build().unwrap()).unwrap();
            let mut found: Vec<i64> = unordered.column(0).as_primitive::<Int64Type>().values().to_vec();
            let mut sorted = numbers.clone();
            found.sort_unstable();
            sorted.sort_unstable();
            assert_eq!(found, sorted);
        }
    }
}

#[test]
fn virtual_columns_say_where_rows_are_from() {
    let name = |name: &str| {
        let bytes = numbered_bytes(2500);
        lath_parquet::OpenOptions::new().name(name).from_bytes(bytes).unwrap()
    };
    for strings in [Strings::Views, Strings::Offsets] {
        let scan = Dataset::of([name("one"), name("a name that is longer than twelve bytes")]).unwrap().scan();
        let scan = scan.filter("number >= 1234 AND key = 2").unwrap().strings(strings);
        let scan = scan.file_name_column("file").row_number_column("row");
        let found = collect(scan.clone().select(["row", "number", "file"]).build().unwrap()).unwrap();
        let names: Vec<String> = found.schema().fields().iter().map(|field| field.name().clone()).collect();
        assert_eq!(names, ["row", "number", "file"]);
        assert_eq!(found.column(0), found.column(1));
        let files = arrow_cast::cast(found.column(2), &DataType::Utf8).unwrap();
        let files = files.as_string::<i32>();
        assert_eq!((files.value(0), files.value(files.len() - 1)), ("one", "a name that is longer than twelve bytes"));
        let last = collect(scan.threads(2).build().unwrap()).unwrap();
        assert_eq!(last.schema().field(4).name(), "row");
        assert!(name("one").scan().row_number_column("key").build().is_err());
    }
}

#[test]
fn chosen_row_groups_and_ranges_are_the_only_ones_looked_at() {
    let file = numbered(5000);
    let numbers = |scan: Scan| {
        let found = collect(scan.select(["number"]).build().unwrap()).unwrap();
        found.column(0).as_primitive::<Int64Type>().values().to_vec()
    };
    assert_eq!(numbers(file.scan().row_groups([3, 1])), (3000..4000).chain(1000..2000).collect::<Vec<_>>());
    let ranges = [5..7, 999..1001, 4999..9999];
    assert_eq!(numbers(file.scan().rows(ranges.clone())), [5, 6, 999, 1000, 4999]);
    assert_eq!(numbers(file.scan().rows(ranges.clone()).filter("key = 6").unwrap()), [6]);
    assert_eq!(file.scan().rows(ranges).filter("number > 6").unwrap().count().unwrap(), 3);
    assert!(matches!(file.scan().row_groups([5]).count(), Err(Error::Invalid { .. })));
}

/// The numbers of rows, and the values of the column `number`.
fn rows_and_numbers(batches: ScanBatches) -> (Vec<i64>, Vec<i64>) {
    let rows = collect(batches).unwrap();
    let values = |name: &str| rows.column_by_name(name).unwrap().as_primitive::<Int64Type>().values().to_vec();
    (values("row"), values("number"))
}

#[test]
fn rows_of_single_files_are_the_only_ones_looked_at() {
    let dataset = Dataset::of([numbered(4500), numbered(0), numbered(3000), numbered(2000)]).unwrap();
    let ranges = [(2, vec![5..7, 999..1001, 2990..9999]), (0, std::iter::once(4400..u64::MAX).collect()), (1, vec![])];
    let expected: Vec<i64> = (4400..4500).chain([5, 6, 999, 1000]).chain(2990..3000).collect();
    for threads in [1, 2] {
        for by_column in [false, true] {
            let scan =
                dataset.scan().rows(RowSelection::in_files(ranges.clone())).threads(threads).by_column(by_column);
            let mut batches = scan.clone().row_number_column("row").build().unwrap();
            let found = rows_and_numbers(batches);
            assert_eq!(found, (expected.clone(), expected.clone()), "{threads} threads, by column: {by_column}");
            batches = scan.clone().build().unwrap();
            batches.by_ref().for_each(drop);
            let report = batches.report();
            assert_eq!((report.files_opened, report.rows, report.rows_tested), (3, 114, 114));
            assert_eq!(scan.count().unwrap(), 114);
        }
    }
    let found = dataset.scan().rows(RowSelection::in_files(ranges)).filter("number > 999 AND number < 4410").unwrap();
    let found = rows_and_numbers(found.row_number_column("row").build().unwrap());
    assert_eq!(found.0, (4400..4410).chain([1000]).chain(2990..3000).collect::<Vec<_>>());
    assert!(
        dataset
            .scan()
            .rows(RowSelection::in_files([(4, vec![])]))
            .build()
            .unwrap_err()
            .to_string()
            .contains("no file 4")
    );
    let unsorted = dataset.scan().rows(RowSelection::in_files([(0, vec![5..6, 3..4])])).build().unwrap_err();
    assert!(unsorted.to_string().contains("sorted"), "{unsorted}");
}

#[test]
fn threads_that_share_columns_give_the_same_rows() {
    let dataset = Dataset::of([numbered(4500), numbered(0), numbered(10)]).unwrap();
    let all: Vec<i64> = (0..4500).chain(0..10).collect();
    for (threads, batch_size, limit) in [(2, 100, u64::MAX), (3, 8192, 4505), (16, 999, 7)] {
        let scan = dataset.scan().row_number_column("row").batch_size(batch_size).limit(limit);
        let scan = scan.threads(threads).by_column(true);
        let expected = &all[..all.len().min(usize::try_from(limit).unwrap_or(usize::MAX))];
        assert_eq!(rows_and_numbers(scan.build().unwrap()), (expected.to_vec(), expected.to_vec()));
    }
    let scan = numbered(4500).scan().row_groups([3, 1]).rows([1500..1502, 3000..3002]);
    let scan = scan.select(["row", "number"]).row_number_column("row").threads(2).by_column(true);
    assert_eq!(rows_and_numbers(scan.build().unwrap()).0, [3000, 3001, 1500, 1501]);
    let none = dataset.scan().select(Vec::<String>::new()).threads(2).by_column(true);
    assert_eq!(collect(none.build().unwrap()).unwrap().num_rows(), 4510);
    let cancel = Cancel::new();
    let mut cancelled = dataset.scan().threads(2).by_column(true).cancel(&cancel).build().unwrap();
    assert!(cancelled.next().unwrap().is_ok());
    cancel.cancel();
    assert!(matches!(cancelled.next(), Some(Err(Error::Cancelled))) && cancelled.next().is_none());
}

#[test]
fn mistakes_are_reported_before_anything_is_read() {
    let file = numbered(10);
    assert!(matches!(file.scan().filter("number >"), Err(Error::Invalid { .. })));
    for scan in [file.scan().filter("nothing = 3").unwrap(), file.scan().select(["nothing"]), file.scan().batch_size(0)]
    {
        assert!(matches!(scan.build(), Err(Error::Invalid { .. })));
    }
}

#[test]
fn keys_are_looked_up_and_rows_sought() {
    let file = numbered(5000);
    let numbers = |scan: Scan| {
        let found = collect(scan.select(["number"]).build().unwrap()).unwrap();
        found.column(0).as_primitive::<Int64Type>().values().to_vec()
    };
    assert_eq!(numbers(file.scan().predicate(column("number").is_in([4999, 7, 12_345]))), [7, 4999]);
    assert_eq!(numbers(file.scan().predicate(column("text").is_in(["a text for row 000002500"]))), [2500]);
    assert_eq!(numbers(file.scan().rows(4990..).predicate(column("key").is_in([0]))), [4991, 4998]);
    assert_eq!(numbers(file.scan().rows(4997..)), [4997, 4998, 4999]);
    assert_eq!(file.scan().rows(5000..).count().unwrap(), 0);
}

#[test]
fn a_stream_gives_what_the_iterator_gives() {
    struct Unpark(thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(thread::current())).into();
    for threads in [1, 3] {
        let scan = numbered(20_000).scan().filter("key IN (1, 4)").unwrap().threads(threads).batch_size(300);
        let expected: Vec<RecordBatch> = scan.clone().build().unwrap().map(Result::unwrap).collect();
        let mut stream = pin!(scan.into_stream().unwrap());
        let mut streamed = Vec::new();
        loop {
            match stream.as_mut().poll_next(&mut Context::from_waker(&waker)) {
                Poll::Ready(Some(batch)) => streamed.push(batch.unwrap()),
                Poll::Ready(None) => break,
                Poll::Pending => thread::park(),
            }
        }
        assert_eq!(streamed, expected);
    }
}

#[test]
fn what_is_decoded_ahead_is_bounded() {
    let file = numbered(200_000);
    let scan = file.scan().threads(4).batch_size(1000);
    let batch_bytes = scan.clone().build().unwrap().next().unwrap().unwrap().get_array_memory_size();
    let ahead = |memory_budget_bytes: usize| {
        let mut batches = scan.clone().memory_budget_bytes(memory_budget_bytes).build().unwrap();
        assert!(batches.next().unwrap().is_ok());
        // Until nothing more is decoded.
        let mut before = 0;
        loop {
            thread::sleep(Duration::from_millis(50));
            let tested = batches.report().rows_tested;
            if tested == before {
                break;
            }
            before = tested;
        }
        assert_eq!(batches.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 199_000);
        before
    };
    assert_eq!(ahead(usize::MAX), 200_000);
    // Every thread has one batch in progress, one more is always taken, and the limit holds ten.
    let tested = ahead(10 * batch_bytes);
    assert!(tested <= 1000 * (1 + 10 + 1 + 4 + 5), "{tested} rows ahead");
    assert!(ahead(0) <= 1000 * (1 + 1 + 4 + 1));
}

#[test]
fn a_limit_stops_the_work() {
    let file = numbered(200_000);
    for threads in [1, 3] {
        let scan = file.scan().filter("key = 3").unwrap().threads(threads).limit(5).memory_budget_bytes(0);
        let mut batches = scan.clone().build().unwrap();
        assert_eq!(batches.by_ref().map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 5);
        assert!(batches.report().rows_tested < 20_000, "{:?}", batches.report());
        assert_eq!(scan.count().unwrap(), 5);
    }
}

#[test]
fn a_report_says_what_was_ruled_out_and_read() {
    let file = numbered(50_000);
    let mut batches = file.scan().filter("number BETWEEN 17250 AND 17310").unwrap().select(["key"]).build().unwrap();
    let progress = batches.progress();
    assert_eq!(batches.by_ref().map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 61);
    drop(batches);
    let report = progress.report();
    assert_eq!((report.files, report.files_opened, report.row_groups), (1, 1, 1));
    assert_eq!((report.pruned.row_groups, report.pruned.statistics.row_groups), (50, 49));
    assert_eq!((report.rows, report.rows_tested, report.rows_found), (200, 200, 61));
    assert!(report.requests > 0 && report.bytes_read > 0 && report.bytes_read < 60_000, "{report:?}");
    let all = file.scan().filter("number BETWEEN 17250 AND 17310").unwrap().pruning(Pruning::none());
    let mut batches = all.build().unwrap();
    assert_eq!(batches.by_ref().map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 61);
    assert_eq!(batches.report().rows_tested, 50_000);
}

#[test]
fn a_cancelled_scan_says_so_and_ends() {
    for threads in [1, 3] {
        let cancel = Cancel::new();
        let scan = numbered(50_000).scan().filter("number >= 0").unwrap().threads(threads).cancel(&cancel);
        let mut batches = scan.clone().batch_size(100).build().unwrap();
        assert!(batches.next().unwrap().is_ok());
        cancel.cancel();
        // Batches that are already decoded may still come.
        assert!(matches!(batches.by_ref().find_map(Result::err), Some(Error::Cancelled)));
        assert!(batches.next().is_none());
        assert!(matches!(scan.count(), Err(Error::Cancelled)));
    }
}

#[test]
fn a_damaged_page_is_an_error_that_says_where() {
    let bytes = numbered_bytes(5000).to_vec();
    let metadata = ParquetFile::from_bytes(bytes.clone().into()).unwrap();
    let start = crate::reading::library_metadata(&metadata).row_group(2).column(2).byte_range().0 as usize;
    let mut damaged = bytes;
    damaged[start..start + 40].fill(0xff);
    for threads in [1, 2] {
        let file = lath_parquet::OpenOptions::new().name("damaged").from_bytes(damaged.clone().into()).unwrap();
        let scan = file.scan().filter("key = 1").unwrap().threads(threads);
        let mut rows = 0;
        let mut error = None;
        for batch in scan.build().unwrap() {
            match batch {
                Ok(batch) => rows += batch.num_rows(),
                Err(failure) => error = Some(failure),
            }
        }
        let error = error.expect("an error");
        let at = error.location().unwrap();
        assert_eq!((at.file.as_deref(), at.column.as_deref(), at.row_group), (Some("damaged"), Some("text"), Some(2)));
        assert_eq!(rows, (0..2000).filter(|row| row % 5 > 0 && row % 7 == 1).count());
        // Columns that are not read cannot fail.
        assert!(file.scan().filter("key = 1").unwrap().select(["number"]).count().is_ok());
    }
}

#[test]
fn damaged_bytes_are_an_error_or_other_rows_but_no_panic() {
    let mut random = Seeded::new("damaged_bytes_are_an_error_or_other_rows_but_no_panic");
    let whole = numbered_bytes(2500).to_vec();
    let (mut failed, mut passed) = (0, 0);
    for _ in 0..cases() * 4 {
        let mut damaged = whole.clone();
        for _ in 0..random.usize(1..4) {
            // Every other byte is in the indexes or the footer.
            let from = if random.bool() { 0 } else { damaged.len() / 8 * 7 };
            let at = random.usize(from..damaged.len());
            damaged[at] = random.u8(..);
        }
        let Ok(file) = ParquetFile::from_source(crate::slow_source::source(&mut random, damaged.into())) else {
            continue;
        };
        let start = random.u64(1..2000);
        if let Ok(batches) = file.scan().rows(vec![0..1, start..start + 20]).build() {
            let _ = batches.collect::<Result<Vec<_>, _>>();
        }
        let text =
            ["key = 3", "number > 700 AND key < 4", "text LIKE '%9' OR key IS NULL", "number = 7"][random.usize(..4)];
        let Ok(scan) = file.scan().filter(text) else { continue };
        for scan in [scan.clone().select(["text"]), scan.threads(2)] {
            let Ok(batches) = scan.build() else { continue };
            match batches.collect::<Result<Vec<_>, _>>() {
                Ok(_) => passed += 1,
                Err(error) => {
                    failed += 1;
                    assert!(!error.to_string().contains("panicked"), "{error}");
                }
            }
        }
    }
    assert!(failed > 0 && passed > 0, "{failed} errors, {passed} without");
}
