//! Conditions on files whose columns have different types find the same rows as in the table's types.
//!
//! The oracle casts the columns of all files to the types of the table by `arrow-cast` and evaluates the condition on every row.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, Float64Array, Int64Array, ListArray, NullArray, RecordBatch, StringArray,
    StructArray, TimestampNanosecondArray, new_null_array,
};
use arrow_buffer::OffsetBuffer;
use arrow_cast::cast;
use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit};
use arrow_select::concat::concat;
use lath_parquet::{Dataset, DatasetOptions, FooterCache, Predicate, Pruning};
use lath_testkit::Seeded;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

const ROWS: usize = 60;

/// Types that can be united, with an array from which their values are made by casts, and literals for them.
struct Family {
    types: Vec<DataType>,
    values: ArrayRef,
    literals: Vec<&'static str>,
}

fn numbers() -> Family {
    let values = vec![
        0.1,
        0.25,
        0.5,
        -1.5,
        2.5,
        0.0,
        -0.0,
        1.0,
        2.0,
        -1.0,
        100.0,
        127.0,
        128.0,
        255.0,
        256.0,
        65535.0,
        16_777_216.0,
        16_777_217.0,
        16_777_218.0,
        2_147_483_647.0,
        1e10,
        0.100_000_001_490_116_12,
        1e300,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
    ];
    use DataType::{Decimal128, Float16, Float32, Float64, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64};
    Family {
        types: vec![
            Int8,
            Int16,
            Int32,
            Int64,
            UInt8,
            UInt16,
            UInt32,
            UInt64,
            Float16,
            Float32,
            Float64,
            Float32,
            Float64,
            Decimal128(9, 2),
            Decimal128(18, 4),
            DataType::Decimal256(40, 1),
            DataType::Null,
        ],
        values: Arc::new(Float64Array::from(values)),
        literals: vec![
            "0.1",
            "0.25",
            "2.5",
            "1",
            "2.0",
            "127",
            "128",
            "255",
            "300",
            "16777216",
            "16777217",
            "0.10000000149011612",
            "-0.0",
            "-1.5",
            "1e10",
            "1e300",
            "1e400",
            "'NaN'",
            "'inf'",
            "9007199254740993",
            "NULL",
            "12345678901234567890123",
        ],
    }
}

fn moments() -> Family {
    let second = 1_000_000_000i64;
    let day = 86_400 * second;
    let values = vec![
        0,
        1,
        1_000,
        1_500,
        1_000_000,
        1_500_000,
        second,
        second / 2,
        -1,
        -second,
        day,
        day + 1,
        -day,
        20_000 * day,
    ];
    let timestamp = |unit| DataType::Timestamp(unit, None);
    Family {
        types: vec![
            DataType::Date32,
            timestamp(TimeUnit::Second),
            timestamp(TimeUnit::Millisecond),
            timestamp(TimeUnit::Microsecond),
            timestamp(TimeUnit::Nanosecond),
            DataType::Null,
        ],
        values: Arc::new(TimestampNanosecondArray::from(values)),
        literals: vec![
            "'1970-01-01'",
            "DATE '1970-01-02'",
            "TIMESTAMP '1970-01-01 00:00:00.5'",
            "'1970-01-01 00:00:01'",
            "TIMESTAMP '1970-01-01 00:00:00.000000001'",
            "'1969-12-31 23:59:59.999999999'",
            "'2024-10-04'",
            "NULL",
            "'9999-12-31'",
        ],
    }
}

fn texts() -> Family {
    let values = vec!["", "a", "b", "abc", "abd", "ab\u{0}", "abcde", "é", "zzz", "0"];
    use DataType::{Binary, BinaryView, FixedSizeBinary, LargeBinary, LargeUtf8, Utf8, Utf8View};
    Family {
        types: vec![
            Utf8,
            LargeUtf8,
            Utf8View,
            Binary,
            LargeBinary,
            BinaryView,
            FixedSizeBinary(3),
            FixedSizeBinary(1),
            DataType::Dictionary(Box::new(DataType::Int32), Box::new(Utf8)),
            DataType::Null,
        ],
        values: Arc::new(StringArray::from(values)),
        literals: vec!["'abc'", "''", "'b'", "X'62'", "X'616263'", "X'00'", "'ab'", "'abcde'", "X'FF'", "NULL"],
    }
}

/// Random values of a type, with nulls; a column of the type `Null` has only nulls.
fn column(random: &mut fastrand::Rng, family: &Family, data_type: &DataType) -> ArrayRef {
    let picked: Vec<ArrayRef> =
        (0..ROWS).map(|_| family.values.slice(random.usize(..family.values.len()), 1)).collect();
    let all = concat(&picked.iter().map(|array| &**array).collect::<Vec<_>>()).unwrap();
    match data_type {
        DataType::Null => Arc::new(NullArray::new(ROWS)),
        DataType::FixedSizeBinary(len) => {
            let bytes = all.as_string::<i32>().iter().map(|text| text.filter(|text| text.len() == *len as usize));
            let fixed = arrow_array::FixedSizeBinaryArray::try_from_sparse_iter_with_size(bytes, *len).unwrap();
            Arc::new(fixed)
        }
        other => cast(&all, other).unwrap(),
    }
}

fn write(path: &Path, random: &mut fastrand::Rng, columns: &RecordBatch) {
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some([7, 25, ROWS][random.usize(..3)]))
        .set_data_page_row_count_limit([3, 10, 100][random.usize(..3)])
        .set_write_batch_size(3)
        .set_bloom_filter_enabled(random.bool())
        .set_dictionary_enabled(random.bool())
        .build();
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), columns.schema(), Some(properties)).unwrap();
    writer.write(columns).unwrap();
    writer.close().unwrap();
}

fn condition(random: &mut fastrand::Rng, family: &Family, name: &str) -> String {
    let mut literal = || family.literals[random.usize(..family.literals.len())];
    let (one, other) = (literal(), literal());
    match random.usize(..12) {
        0 => format!("{name} = {one}"),
        1 => format!("{name} <> {one}"),
        2 => format!("{name} < {one}"),
        3 => format!("{name} <= {one}"),
        4 => format!("{name} > {one}"),
        5 => format!("{name} >= {one}"),
        6 => format!("{name} BETWEEN {one} AND {other}"),
        7 => format!("{name} IN ({one}, {other})"),
        8 => format!("NOT ({name} < {one} OR {name} = {other})"),
        9 => format!("{name} IS NOT DISTINCT FROM {one}"),
        10 => format!("{name} IS NULL OR {name} = {one}"),
        _ => format!("CAST({name} AS VARCHAR) <= CAST({one} AS VARCHAR)"),
    }
}

/// The ids that a scan finds.
fn found(dataset: &Dataset, predicate: &Predicate, pruning: Pruning) -> Result<Vec<i64>, lath_parquet::Error> {
    let scan = dataset.scan().select(["id"]).predicate(predicate.clone()).pruning(pruning).build()?;
    let mut ids = Vec::new();
    for batch in scan {
        ids.extend_from_slice(batch?.column(0).as_primitive::<Int64Type>().values());
    }
    ids.sort_unstable();
    Ok(ids)
}

/// The ids of the rows that satisfy a condition in the table's types.
fn expected(whole: &RecordBatch, predicate: &Predicate) -> Result<Vec<i64>, lath_predicate::Error> {
    let truths = predicate.filter(&whole.schema())?.evaluate(whole)?;
    let ids = whole.column_by_name("id").unwrap().as_primitive::<Int64Type>();
    Ok((0..whole.num_rows())
        .filter(|&row| truths.is_valid(row) && truths.value(row))
        .map(|row| ids.value(row))
        .collect())
}

/// The columns of all files in the types of the table.
fn united(files: &[RecordBatch], schema: &Schema) -> RecordBatch {
    let columns = schema.fields().iter().map(|field| {
        let each: Vec<ArrayRef> = files
            .iter()
            .map(|file| match file.column_by_name(field.name()) {
                Some(column) if column.data_type() != &DataType::Null => cast(column, field.data_type()).unwrap(),
                _ => new_null_array(field.data_type(), file.num_rows()),
            })
            .collect();
        concat(&each.iter().map(|array| &**array).collect::<Vec<_>>()).unwrap()
    });
    let fields: Vec<Field> = schema.fields().iter().map(|field| Field::clone(field).with_nullable(true)).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns.collect()).unwrap()
}

fn open(folder: &Path) -> Option<Dataset> {
    let options = DatasetOptions::new().footer_cache(FooterCache::new(1 << 20)).union_schemas(true);
    Dataset::open([folder], options).ok()
}

#[test]
fn conditions_are_those_of_the_tables_types_whatever_the_files_have() {
    let mut random = Seeded::new("conditions_are_those_of_the_tables_types_whatever_the_files_have");
    let (mut compared, mut with_rows) = (0, 0);
    for family in [numbers(), moments(), texts()] {
        for _ in 0..60 {
            let folder = tempfile::tempdir().unwrap();
            let mut files = Vec::new();
            for at in 0..2 + random.usize(..2) {
                let mut pick = || family.types[random.usize(..family.types.len())].clone();
                let (x, y) = (pick(), pick());
                let id: ArrayRef =
                    Arc::new(Int64Array::from_iter_values((0..ROWS).map(|row| (at * ROWS + row) as i64)));
                let mut columns = vec![("id", id, false), ("x", column(&mut random, &family, &x), true)];
                if random.u8(..4) > 0 {
                    columns.push(("y", column(&mut random, &family, &y), true));
                }
                let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
                write(&folder.path().join(format!("{at}.parquet")), &mut random, &batch);
                files.push(batch);
            }
            let Some(dataset) = open(folder.path()) else { continue };
            let whole = united(&files, dataset.schema());
            for _ in 0..25 {
                let text = match random.u8(..8) {
                    0 => "x < y OR x = y".to_owned(),
                    1 => {
                        format!("{} AND {}", condition(&mut random, &family, "x"), condition(&mut random, &family, "y"))
                    }
                    _ => condition(&mut random, &family, "x"),
                };
                let Ok(predicate) = Predicate::parse(&text) else { continue };
                let types: Vec<_> = files.iter().map(|file| file.schema().field(1).data_type().clone()).collect();
                let what = format!("{text} on {types:?} as {:?}", dataset.schema());
                match expected(&whole, &predicate) {
                    Ok(ids) => {
                        compared += 1;
                        with_rows += usize::from(!ids.is_empty());
                        for pruning in [Pruning::default(), Pruning::none()] {
                            let found = found(&dataset, &predicate, pruning);
                            assert_eq!(found.unwrap_or_else(|error| panic!("{what}: {error}")), ids, "{what}");
                        }
                    }
                    Err(error) => {
                        let found = found(&dataset, &predicate, Pruning::none());
                        // A failing cast of a row may be irrelevant because another part excludes the row.
                        let is_cast = matches!(error, lath_predicate::Error::Cast { .. });
                        assert!(is_cast || found.is_err(), "{what}: {error}");
                    }
                }
            }
        }
    }
    assert!(compared > 1_500 && with_rows > compared / 4, "{compared} {with_rows}");
}

#[test]
fn a_double_is_not_a_float_that_was_cut_from_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = fastrand::Rng::with_seed(1);
    for (at, data_type) in [DataType::Float32, DataType::Float64].iter().enumerate() {
        let id: ArrayRef = Arc::new(Int64Array::from(vec![at as i64]));
        let x = cast(&Float64Array::from(vec![0.1]), data_type).unwrap();
        let batch = RecordBatch::try_from_iter([("id", id), ("x", x)]).unwrap();
        write(&folder.path().join(format!("{at}.parquet")), &mut random, &batch);
    }
    let dataset = open(folder.path()).unwrap();
    let ids = |text: &str| found(&dataset, &Predicate::parse(text).unwrap(), Pruning::default()).unwrap();
    assert_eq!(ids("x = 0.1"), [1]);
    assert_eq!(ids("x > 0.1"), [0]);
    assert_eq!(ids("x IN (0.1, 0.10000000149011612)"), [0, 1]);
    assert_eq!(ids("CAST(x AS VARCHAR) = '0.1'"), [1]);
}

/// A struct column `s`, and a list column `l`.
fn nested(names: &[&str], columns: Vec<ArrayRef>, list: Option<ArrayRef>) -> RecordBatch {
    let fields: Fields =
        names.iter().zip(&columns).map(|(name, column)| Field::new(*name, column.data_type().clone(), true)).collect();
    let rows = columns[0].len();
    let mut all: Vec<(&str, ArrayRef)> = vec![("s", Arc::new(StructArray::new(fields, columns, None)))];
    if let Some(list) = list {
        let field = Arc::new(Field::new_list_field(list.data_type().clone(), true));
        all.push(("l", Arc::new(ListArray::new(field, OffsetBuffer::from_lengths(vec![1; rows]), list, None))));
    }
    RecordBatch::try_from_iter(all).unwrap()
}

#[test]
fn fields_that_a_file_lacks_or_has_no_values_of_are_null() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = fastrand::Rng::with_seed(2);
    let double = |value: f64| Arc::new(Float64Array::from(vec![value])) as ArrayRef;
    let text = |value: &str| Arc::new(StringArray::from(vec![value])) as ArrayRef;
    let files = [
        nested(&["a", "b"], vec![double(1.5), text("x")], Some(double(0.1))),
        nested(&["a"], vec![Arc::new(NullArray::new(1))], None),
        nested(
            &["a", "b"],
            vec![cast(&double(0.1), &DataType::Float32).unwrap(), Arc::new(BinaryArray::from_vec(vec![b"y"]))],
            Some(cast(&double(0.1), &DataType::Float32).unwrap()),
        ),
        RecordBatch::try_from_iter([("other", double(0.0))]).unwrap(),
    ];
    for (at, file) in files.iter().enumerate() {
        write(&folder.path().join(format!("{at}.parquet")), &mut random, file);
    }
    let dataset = open(folder.path()).unwrap();
    let count = |text: &str| {
        let predicate = Predicate::parse(text).unwrap();
        let scan = dataset.scan().select(["s"]).predicate(predicate).build().unwrap();
        scan.map(|batch| batch.unwrap_or_else(|error| panic!("{text}: {error}")).num_rows()).sum::<usize>()
    };
    assert_eq!(count("s.a = 0.1"), 0);
    assert_eq!(count("s.a < 1.5"), 1);
    assert_eq!(count("s.a IS NULL"), 2);
    assert_eq!(count("s.b = 'x'"), 1);
    assert_eq!(count("s.b = X'79' OR s.b = 'x'"), 2);
    assert_eq!(count("s.b IS NULL AND s.a IS NULL"), 2);
    assert_eq!(count("s.a = 'NaN'"), 0);
    assert_eq!(count("s.a <> 'NaN'"), 2);
    assert_eq!(count("list_contains(l, 0.1)"), 1);
    assert_eq!(count("other = 0"), 1);
}
