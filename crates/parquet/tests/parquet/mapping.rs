//! Files of a table whose columns are found by field id or by stored names, with constants, defaults and deleted rows, give the
//! rows that the table has.
//!
//! The oracle is the list of rows from which the files were made; conditions are tested on it by hand.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{
    Array, ArrayRef, Date32Array, Decimal128Array, Float32Array, Int32Array, Int64Array, ListArray, MapArray,
    RecordBatch, StringViewArray, StructArray, TimestampMicrosecondArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_cast::cast;
use arrow_cast::display::array_value_to_string;
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit};
use lath_parquet::{
    ColumnBounds, ColumnMapping, Dataset, DatasetFile, DatasetOptions, DeleteMask, DeletedRows, Error, FileEvidence,
    FooterCache, MappedColumn, OpenOptions, ParquetFile, PartitionColumn, Precision, Runtime, Scan, ScanPlan, ScanTask,
};
use lath_predicate::Value;
use lath_testkit::Seeded;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

type Number = Option<i64>;

/// A row of the table: columns `a`, `b`, `c`, a partition column, a column with a default, and a struct.
#[derive(Debug, Clone, PartialEq)]
struct Row {
    numbers: [Number; 3],
    partition: Number,
    default: Number,
    nested: Option<[Number; 3]>,
}

const DEFAULT: i64 = 42;
const NESTED_DEFAULT: i64 = 17;

fn field(name: &str, data_type: DataType, id: Option<i32>) -> FieldRef {
    let field = Field::new(name, data_type, true);
    let metadata = id.map(|id| ("PARQUET:field_id".to_owned(), id.to_string()));
    Arc::new(field.with_metadata(metadata.into_iter().collect()))
}

fn write(path: &Path, columns: Vec<(FieldRef, ArrayRef)>, row_group_rows: usize) {
    let (fields, arrays): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(Arc::clone(&schema), arrays).unwrap();
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(row_group_rows))
        .set_data_page_row_count_limit(3)
        .set_write_batch_size(1)
        .set_bloom_filter_enabled(true)
        .build();
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), schema, Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

/// The table's schema; the partition column is not the last.
fn table_schema() -> SchemaRef {
    let nested = ["x", "y", "z"].map(|name| Field::new(name, DataType::Int64, true));
    Arc::new(Schema::new(vec![
        Field::new("a", DataType::Int64, true),
        Field::new("p", DataType::Int64, true),
        Field::new("b", DataType::Int64, true),
        Field::new("s", DataType::Struct(nested.to_vec().into()), true),
        Field::new("c", DataType::Int64, true),
        Field::new("d", DataType::Int64, true),
    ]))
}

/// How columns are found in files.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Ids,
    Names,
    /// Ids, and names for files without ids.
    Both,
}

fn mapping(kind: Kind) -> ColumnMapping {
    let column = |name: &str, id: i32| {
        let column = MappedColumn::new(name);
        let column = if kind == Kind::Names { column } else { column.id(id) };
        if kind == Kind::Ids { column } else { column.stored_name(format!("col-{id}")) }
    };
    let number = |value: i64| Arc::new(Int64Array::from(vec![value])) as ArrayRef;
    let z = column("z", 13).default_value(number(NESTED_DEFAULT));
    ColumnMapping::new([
        column("c", 3),
        column("s", 10).fields([column("x", 11), column("y", 12), z]),
        column("a", 1),
        column("b", 2),
        column("p", 7),
        column("d", 8).default_value(number(DEFAULT)),
    ])
}

struct Table {
    dataset: Dataset,
    /// The rows of each file that are not deleted, with their numbers.
    files: Vec<Vec<(u64, Row)>>,
    _folder: tempfile::TempDir,
}

impl Table {
    fn rows(&self) -> Vec<Row> {
        self.files.iter().flatten().map(|(_, row)| row.clone()).collect()
    }
}

fn random_number(random: &mut fastrand::Rng) -> Number {
    (random.u8(..5) > 0).then(|| random.i64(-20..60))
}

fn numbers(random: &mut fastrand::Rng, values: impl Iterator<Item = Number>) -> ArrayRef {
    let wide = Int64Array::from_iter(values);
    if random.bool() { cast(&wide, &DataType::Int32).unwrap() } else { Arc::new(wide) }
}

fn random_table(random: &mut fastrand::Rng, kind: Kind) -> Table {
    let folder = tempfile::tempdir().unwrap();
    let options = DatasetOptions::new().footer_cache(FooterCache::new(1 << 20)).columns(Arc::new(mapping(kind)));
    let options = Arc::new(options);
    let partition_values: Vec<Number> = vec![Some(5), None, Some(6)];
    let (mut files, mut rows_of_files) = (Vec::new(), Vec::new());
    for at in 0..random.usize(1..5) {
        let path = folder.path().join(format!("{at}*.parquet"));
        let count = random.usize(1..40);
        let has_id = kind == Kind::Ids || kind == Kind::Both && random.bool();
        let partition_row = random.usize(..4);
        let mut rows: Vec<Row> = (0..count)
            .map(|_| Row {
                numbers: [(); 3].map(|()| random_number(random)),
                partition: random_number(random),
                default: random_number(random),
                nested: (random.u8(..4) > 0).then(|| [(); 3].map(|()| random_number(random))),
            })
            .collect();
        // Names that belong to other columns of the table, where names do not count.
        let mut names: Vec<&str> = vec!["a", "b", "c", "d", "p", "s"];
        random.shuffle(&mut names);
        let stored = |random: &mut fastrand::Rng, id: i32, name: &str, data_type: &DataType| match kind {
            _ if has_id => field(name, data_type.clone(), Some(id)),
            // Ids that belong to other columns, where ids do not count.
            Kind::Names if random.bool() => field(&format!("col-{id}"), data_type.clone(), Some(id % 3 + 1)),
            _ => field(&format!("col-{id}"), data_type.clone(), None),
        };
        let mut columns: Vec<(FieldRef, ArrayRef)> = Vec::new();
        for (number, name) in names.iter().enumerate().take(3) {
            if random.u8(..4) > 0 {
                let values = numbers(random, rows.iter().map(|row| row.numbers[number]));
                columns.push((stored(random, number as i32 + 1, name, values.data_type()), values));
            } else {
                rows.iter_mut().for_each(|row| row.numbers[number] = None);
            }
        }
        if random.bool() {
            let values = numbers(random, rows.iter().map(|row| row.default));
            columns.push((stored(random, 8, names[3], values.data_type()), values));
        } else {
            rows.iter_mut().for_each(|row| row.default = Some(DEFAULT));
        }
        // A constant wins over a column of the file.
        let partition = partition_values.get(partition_row).copied();
        if partition.is_none() || random.bool() {
            let values = numbers(random, rows.iter().map(|row| row.partition));
            columns.push((stored(random, 7, names[4], values.data_type()), values));
        }
        if let Some(partition) = partition {
            rows.iter_mut().for_each(|row| row.partition = partition);
        }
        if random.u8(..4) > 0 {
            let mut fields: Vec<(FieldRef, ArrayRef)> = Vec::new();
            for number in 0..3 {
                if random.bool() {
                    let values = numbers(random, rows.iter().map(|row| row.nested.and_then(|nested| nested[number])));
                    fields.push((
                        stored(random, number as i32 + 11, "xyz".split_at(number).1, values.data_type()),
                        values,
                    ));
                } else {
                    let absent = (number == 2).then_some(NESTED_DEFAULT);
                    rows.iter_mut().filter_map(|row| row.nested.as_mut()).for_each(|nested| nested[number] = absent);
                }
            }
            // A field that was dropped; also so that a struct has a field.
            if fields.is_empty() || random.bool() {
                fields.push((field("x", DataType::Int64, has_id.then_some(98)), number_column(count)));
            }
            random.shuffle(&mut fields);
            let (fields, arrays): (Vec<_>, Vec<_>) = fields.into_iter().unzip();
            let nulls = NullBuffer::from_iter(rows.iter().map(|row| row.nested.is_some()));
            let nested = StructArray::new(Fields::from(fields), arrays, Some(nulls));
            columns.push((stored(random, 10, names[5], nested.data_type()), Arc::new(nested)));
        } else {
            rows.iter_mut().for_each(|row| row.nested = None);
        }
        // A column that was dropped, and later added again under the same name.
        if columns.is_empty() || random.bool() {
            columns.push((field("a", DataType::Int64, has_id.then_some(99)), number_column(count)));
        }
        random.shuffle(&mut columns);
        write(&path, columns, random.usize(1..20));
        let row = partition.map_or(DatasetFile::NO_CONSTANT, |_| partition_row as u32);
        let mut file = DatasetFile::at(path.to_str().unwrap(), None, [row], &options).unwrap();
        let mut kept: Vec<(u64, Row)> = rows.into_iter().enumerate().map(|(at, row)| (at as u64, row)).collect();
        if random.bool() {
            let share = random.u8(1..=4);
            let mask: DeleteMask = (0..count as u64).filter(|_| random.u8(..4) < share).collect();
            kept.retain(|(at, _)| !mask.contains(*at));
            let known = random.bool().then_some(mask.len());
            file = file.with_deleted(match random.bool() {
                true => mask.into(),
                false => DeletedRows::new(known, move || Ok(mask.clone())),
            });
        }
        files.push(file);
        rows_of_files.push(kept);
    }
    let values: ArrayRef = Arc::new(Int64Array::from(partition_values));
    let partition = PartitionColumn::new(Arc::new(Field::new("p", DataType::Int64, true)), values);
    let dataset = Dataset::with_schema(table_schema(), vec![partition], files).unwrap();
    Table { dataset, files: rows_of_files, _folder: folder }
}

fn number_column(count: usize) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values((0..count as i64).map(|at| at + 1000)))
}

fn number(array: &dyn Array, row: usize) -> Number {
    let array = array.as_primitive::<Int64Type>();
    array.is_valid(row).then(|| array.value(row))
}

fn rows(batches: &[RecordBatch]) -> Vec<Row> {
    let mut rows = Vec::new();
    for batch in batches {
        let column = |name: &str| batch.column_by_name(name).unwrap();
        let nested = column("s").as_struct();
        for at in 0..batch.num_rows() {
            rows.push(Row {
                numbers: ["a", "b", "c"].map(|name| number(column(name), at)),
                partition: number(column("p"), at),
                default: number(column("d"), at),
                nested: nested.is_valid(at).then(|| [0, 1, 2].map(|field| number(nested.column(field), at))),
            });
        }
    }
    rows
}

fn collect(scan: Scan) -> Vec<RecordBatch> {
    scan.build().unwrap().collect::<Result<_, _>>().unwrap()
}

/// A condition, and whether it is true for a row.
type Condition = (String, Box<dyn Fn(&Row) -> bool>);

fn random_condition(random: &mut fastrand::Rng) -> Condition {
    let literal = random.i64(-25..65);
    let pick: Box<dyn Fn(&Row) -> Number> = match random.usize(..8) {
        at @ 0..3 => Box::new(move |row: &Row| row.numbers[at]),
        3 => Box::new(|row: &Row| row.partition),
        4 => Box::new(|row: &Row| row.default),
        5 => Box::new(|row: &Row| row.nested.and_then(|nested| nested[0])),
        6 => Box::new(|row: &Row| row.nested.and_then(|nested| nested[1])),
        _ => Box::new(|row: &Row| row.nested.and_then(|nested| nested[2])),
    };
    // The same choice again, by a row that tells the columns apart.
    let marks = Row {
        numbers: [Some(0), Some(1), Some(2)],
        partition: Some(3),
        default: Some(4),
        nested: Some([Some(5), Some(6), Some(7)]),
    };
    let names = ["a", "b", "c", "p", "d", "s.x", "s.y", "s.z"];
    let name = names[pick(&marks).unwrap() as usize];
    match random.u8(..7) {
        0 => (format!("{name} IS NULL"), Box::new(move |row| pick(row).is_none())),
        1 => (format!("{name} = {literal}"), Box::new(move |row| pick(row) == Some(literal))),
        2 => (format!("{name} < {literal}"), Box::new(move |row| pick(row).is_some_and(|value| value < literal))),
        3 => (
            format!("{name} NOT IN (5, {literal}, 42)"),
            Box::new(move |row| pick(row).is_some_and(|value| ![5, literal, 42].contains(&value))),
        ),
        4 => (format!("{name} IS NOT DISTINCT FROM 17"), Box::new(move |row| pick(row) == Some(17))),
        5 => (
            format!("NOT CAST({name} AS VARCHAR) LIKE '1%'"),
            Box::new(move |row| pick(row).is_some_and(|value| !value.to_string().starts_with('1'))),
        ),
        _ => {
            (format!("NOT ({name} >= {literal})"), Box::new(move |row| pick(row).is_some_and(|value| value < literal)))
        }
    }
}

#[test]
fn every_way_of_reading_gives_the_rows_of_the_table() {
    let mut random = Seeded::new("every way of reading gives the rows of the table");
    let cases = std::env::var("LATH_CASES").map_or(120, |cases| cases.parse().unwrap());
    for case in 0..cases {
        let kind = [Kind::Ids, Kind::Names, Kind::Both][case % 3];
        let table = random_table(&mut random, kind);
        let (dataset, expected) = (&table.dataset, table.rows());
        let context = format!("case {case}, {kind:?}");
        let scan = || dataset.scan();
        assert_eq!(rows(&collect(scan())), expected, "{context}");
        assert_eq!(rows(&collect(scan().by_column(true).threads(3))), expected, "{context}");
        assert_eq!(rows(&collect(scan().threads(3).batch_size(5))), expected, "{context}");
        assert_eq!(scan().count().unwrap(), expected.len() as u64, "{context}");
        let projected = collect(scan().select(["s.y", "p", "d"]));
        let got: Vec<(Number, Number, Number)> = projected
            .iter()
            .flat_map(|batch| {
                let nested = batch.column(0).as_struct();
                (0..batch.num_rows()).map(|at| {
                    let y = if nested.is_valid(at) { number(nested.column(0), at) } else { None };
                    (y, number(batch.column(1), at), number(batch.column(2), at))
                })
            })
            .collect();
        let wanted = |row: &Row| (row.nested.and_then(|nested| nested[1]), row.partition, row.default);
        assert_eq!(got, expected.iter().map(wanted).collect::<Vec<_>>(), "{context}");

        let numbered = collect(scan().row_number_column("#"));
        let numbers: Vec<Number> = numbered
            .iter()
            .flat_map(|batch| (0..batch.num_rows()).map(|at| number(batch.column_by_name("#").unwrap(), at)))
            .collect();
        let wanted: Vec<Number> = table.files.iter().flatten().map(|(at, _)| Some(*at as i64)).collect();
        assert_eq!(numbers, wanted, "{context}");
        let (first, end) = (random.u64(..10), random.u64(10..30));
        let in_range = |(at, _): &&(u64, Row)| (first..end).contains(at);
        let wanted: Vec<Row> = table.files.iter().flatten().filter(in_range).map(|(_, row)| row.clone()).collect();
        if table.dataset.files().iter().all(|file| file.open().unwrap().row_count() >= end) {
            assert_eq!(rows(&collect(scan().rows(first..end))), wanted, "{context}, rows {first}..{end}");
        }

        let statistics = dataset.statistics().unwrap();
        assert_eq!(statistics.row_count, Precision::Exact(expected.len() as u64), "{context}");
        check_bounds(&statistics, &expected, &context);

        for _ in 0..6 {
            let (text, is_true) = random_condition(&mut random);
            let context = format!("{context}, {text}");
            let wanted: Vec<Row> = expected.iter().filter(|row| is_true(row)).cloned().collect();
            let filtered = || scan().filter(&text).unwrap();
            assert_eq!(rows(&collect(filtered())), wanted, "{context}");
            assert_eq!(filtered().count().unwrap(), wanted.len() as u64, "{context}");
            let plan = filtered().plan().unwrap();
            assert!(plan.row_count() >= wanted.len() as u64, "{context}");
            if plan.tasks().is_empty() {
                continue;
            }
            let plan: ScanPlan = serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap();
            assert_eq!(rows(&collect(Scan::from_tasks(plan.tasks().to_vec()).unwrap())), wanted, "{context}");
            let mut alone = Vec::new();
            for task in plan.tasks() {
                let task: ScanTask = serde_json::from_str(&serde_json::to_string(task).unwrap()).unwrap();
                alone.extend(task.execute(&Runtime::global()).unwrap().collect::<Result<Vec<_>, _>>().unwrap());
            }
            assert_eq!(rows(&alone), wanted, "{context}");
        }
    }
}

fn check_bounds(statistics: &lath_parquet::Statistics, expected: &[Row], context: &str) {
    type Pick = fn(&Row) -> Number;
    let picks: [(&str, Pick); 5] = [
        ("a", |row| row.numbers[0]),
        ("b", |row| row.numbers[1]),
        ("c", |row| row.numbers[2]),
        ("p", |row| row.partition),
        ("d", |row| row.default),
    ];
    for (name, pick) in picks {
        let column = statistics.columns.iter().find(|column| column.field.name() == name).unwrap();
        let values: Vec<i64> = expected.iter().filter_map(pick).collect();
        let nulls = (expected.len() - values.len()) as u64;
        match column.null_count {
            Precision::Exact(count) => assert_eq!(count, nulls, "{context}, {name}"),
            Precision::Inexact(count) => assert!(count >= nulls, "{context}, {name}"),
            Precision::Absent => {}
        }
        let value = |bound: &Precision<ArrayRef>| bound.value().map(|array| number(array, 0));
        for (bound, real, is_min) in
            [(&column.min, values.iter().min(), true), (&column.max, values.iter().max(), false)]
        {
            match (bound.is_exact(), value(bound), real) {
                (true, Some(bound), real) => assert_eq!(bound.as_ref(), real, "{context}, {name}"),
                (false, Some(Some(bound)), Some(&real)) if is_min => assert!(bound <= real, "{context}, {name}"),
                (false, Some(Some(bound)), Some(&real)) => assert!(bound >= real, "{context}, {name}"),
                (false, Some(None), Some(_)) => panic!("{context}, {name}: no values"),
                _ => {}
            }
        }
    }
}

fn one_file(
    columns: Vec<(FieldRef, ArrayRef)>,
    mapping: ColumnMapping,
    schema: Schema,
) -> (tempfile::TempDir, Dataset) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    write(&path, columns, 100);
    let options = Arc::new(DatasetOptions::new().footer_cache(FooterCache::new(1 << 20)).columns(Arc::new(mapping)));
    let file = DatasetFile::at(path.to_str().unwrap(), None, [], &options).unwrap();
    (folder, Dataset::with_schema(Arc::new(schema), Vec::new(), vec![file]).unwrap())
}

#[test]
fn fields_within_lists_and_maps_are_mapped() {
    // list<struct<old: int, gone: int>> and map<string, struct<old: int>>; the table has list<struct<new, added>> and so on.
    let numbers = |values: Vec<i32>| Arc::new(Int32Array::from(values)) as ArrayRef;
    let element = StructArray::new(
        vec![field("old", DataType::Int32, Some(3)), field("gone", DataType::Int32, Some(4))].into(),
        vec![numbers(vec![1, 2, 3]), numbers(vec![7, 8, 9])],
        Some(NullBuffer::from(vec![true, false, true])),
    );
    let list = ListArray::new(
        field("array", element.data_type().clone(), Some(2)),
        OffsetBuffer::from_lengths([2, 0, 1]),
        Arc::new(element),
        Some(NullBuffer::from(vec![true, false, true])),
    );
    let value = StructArray::new(vec![field("old", DataType::Int32, Some(13))].into(), vec![numbers(vec![4, 5])], None);
    let key = Arc::new(field("k", DataType::Utf8View, Some(11)).as_ref().clone().with_nullable(false));
    let entries = StructArray::new(
        vec![key, field("v", value.data_type().clone(), Some(12))].into(),
        vec![Arc::new(StringViewArray::from(vec!["one", "two"])), Arc::new(value)],
        None,
    );
    let entry = Arc::new(Field::new("pairs", entries.data_type().clone(), false));
    let map = MapArray::new(entry, OffsetBuffer::from_lengths([1, 1, 0]), entries, None, false);
    let columns: Vec<(FieldRef, ArrayRef)> = vec![
        (field("l", list.data_type().clone(), Some(1)), Arc::new(list)),
        (field("m", map.data_type().clone(), Some(10)), Arc::new(map)),
    ];

    let structure = |names: [&str; 2]| {
        DataType::Struct(names.iter().map(|name| Field::new(*name, DataType::Int64, true)).collect())
    };
    let pair: Fields =
        vec![Field::new("key", DataType::Utf8View, false), Field::new("value", structure(["new", "added"]), true)]
            .into();
    let schema = Schema::new(vec![
        Field::new("map", DataType::Map(Arc::new(Field::new("entries", DataType::Struct(pair), false)), false), true),
        Field::new("list", DataType::new_list(structure(["added", "new"]), true), true),
    ]);
    let added = || MappedColumn::new("added").id(90).default_value(Arc::new(Int64Array::from(vec![-1])));
    let mapping = ColumnMapping::new([
        MappedColumn::new("list")
            .id(1)
            .fields([MappedColumn::new("item").id(2).fields([MappedColumn::new("new").id(3), added()])]),
        MappedColumn::new("map").id(10).fields([
            MappedColumn::new("key").id(11),
            MappedColumn::new("value").id(12).fields([MappedColumn::new("new").id(13), added()]),
        ]),
    ]);
    let (_folder, dataset) = one_file(columns, mapping, schema);
    let [batch] = collect(dataset.scan()).try_into().unwrap();
    let shown = |row| [0, 1].map(|column| array_value_to_string(batch.column(column), row).unwrap());
    assert_eq!(shown(0), ["{one: {new: 4, added: -1}}", "[{added: -1, new: 1}, ]"]);
    assert_eq!(shown(1), ["{two: {new: 5, added: -1}}", ""]);
    assert_eq!(shown(2), ["{}", "[{added: -1, new: 3}]"]);
    let [batch] = collect(dataset.scan().select(["list.item.new"])).try_into().unwrap();
    let list = batch.column(0).as_list::<i32>();
    assert_eq!(number(list.values().as_struct().column(0), 2), Some(3));
    // The file's own names select nothing.
    assert!(matches!(dataset.scan().select(["l"]).build(), Err(Error::Invalid { .. })));
}

#[test]
fn conditions_are_tested_in_the_types_of_the_table() {
    let days = Date32Array::from(vec![Some(0), Some(1), Some(2), None]);
    let decimals =
        Decimal128Array::from(vec![Some(100), Some(250), None, Some(-100)]).with_precision_and_scale(9, 2).unwrap();
    let columns: Vec<(FieldRef, ArrayRef)> = vec![
        (field("day", DataType::Date32, Some(1)), Arc::new(days)),
        (
            field("float", DataType::Float32, Some(2)),
            Arc::new(Float32Array::from(vec![Some(0.1), Some(0.5), None, Some(3.0)])),
        ),
        (field("decimal", DataType::Decimal128(9, 2), Some(3)), Arc::new(decimals)),
        (field("int", DataType::Int32, Some(4)), Arc::new(Int32Array::from(vec![Some(1), Some(2), None, Some(3)]))),
        (field("whole", DataType::Int32, Some(5)), Arc::new(Int32Array::from(vec![Some(1), Some(2), None, Some(3)]))),
    ];
    let micros = DataType::Timestamp(TimeUnit::Microsecond, None);
    let types = [
        ("moment", micros, 1),
        ("double", DataType::Float64, 2),
        ("decimal", DataType::Decimal128(30, 4), 3),
        ("number", DataType::Float64, 4),
        ("exact", DataType::Decimal128(20, 2), 5),
    ];
    let schema = Schema::new(
        types.iter().map(|(name, data_type, _)| Field::new(*name, data_type.clone(), true)).collect::<Vec<_>>(),
    );
    let mapping = ColumnMapping::new(types.iter().map(|(name, _, id)| MappedColumn::new(*name).id(*id)));
    let (_folder, dataset) = one_file(columns, mapping, schema);
    let day = 86_400_000_000;
    let [batch] = collect(dataset.scan()).try_into().unwrap();
    let expected: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![Some(0), Some(day), Some(2 * day), None]));
    assert_eq!(batch.column(0), &expected);
    for (condition, count) in [
        ("moment > '1970-01-01 00:00:00'", 2),
        ("moment > '1970-01-01 12:00:00'", 2),
        ("moment = '1970-01-02 00:00:00'", 1),
        ("moment = '1970-01-02 00:00:01'", 0),
        ("moment <= '1970-01-02 23:00:00'", 2),
        ("double = 0.1", 0),
        ("double > 0.1", 3),
        ("double = 0.5", 1),
        ("decimal = 2.5", 1),
        ("decimal = 2.5001", 0),
        ("decimal < 0.9999", 1),
        ("number > 1.5", 2),
        ("number = 2", 1),
        ("exact = 2", 1),
        ("exact < 2.01", 2),
    ] {
        assert_eq!(dataset.scan().filter(condition).unwrap().count().unwrap(), count, "{condition}");
    }
}

#[test]
fn a_footer_that_is_cached_without_a_mapping_is_not_used_with_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let values = |first: i64| Arc::new(Int64Array::from(vec![first])) as ArrayRef;
    let columns =
        vec![(field("a", DataType::Int64, Some(1)), values(1)), (field("b", DataType::Int64, Some(2)), values(2))];
    write(&path, columns, 10);
    let cache = FooterCache::new(1 << 20);
    let options = || DatasetOptions::new().footer_cache(cache.clone());
    let swapped = ColumnMapping::new([MappedColumn::new("a").id(2)]);
    let other = ColumnMapping::new([MappedColumn::new("a").id(1)]);
    let mapped = |mapping: &ColumnMapping| {
        let options = Arc::new(options().columns(Arc::new(mapping.clone())));
        let file = DatasetFile::at(path.to_str().unwrap(), None, [], &options).unwrap();
        let schema = Schema::new(vec![Field::new("a", DataType::Int64, true)]);
        Dataset::with_schema(Arc::new(schema), Vec::new(), vec![file]).unwrap()
    };
    let plain = || Dataset::open([&path], options()).unwrap();
    let a = |dataset: &Dataset| number(collect(dataset.scan().select(["a"]))[0].column(0), 0);
    for _ in 0..2 {
        assert_eq!(a(&plain()), Some(1));
        assert_eq!(a(&mapped(&swapped)), Some(2));
        assert_eq!(a(&mapped(&other)), Some(1));
        assert_eq!(plain().schema().fields().len(), 2);
    }
    // Files of one scan with the same schema and other leaves.
    let both =
        [&swapped, &other].map(|mapping| OpenOptions::new().columns(Arc::new(mapping.clone())).open(&path).unwrap());
    let both = collect(Dataset::of(both).unwrap().scan());
    assert_eq!(both.iter().map(|batch| number(batch.column(0), 0)).collect::<Vec<_>>(), [Some(2), Some(1)]);
}

#[test]
fn files_that_do_not_fit_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let values = || Arc::new(Int64Array::from(vec![1])) as ArrayRef;
    let columns = vec![
        (field("a", DataType::Int64, Some(1)), values()),
        (field("b", DataType::Int64, Some(1)), values()),
        (field("c", DataType::Int64, None), values()),
    ];
    write(&path, columns, 10);
    let open =
        |columns: Vec<MappedColumn>| OpenOptions::new().columns(Arc::new(ColumnMapping::new(columns))).open(&path);
    let message = |opened: Result<ParquetFile, Error>| opened.unwrap_err().to_string();
    assert!(message(open(vec![MappedColumn::new("x").id(1)])).contains("stored twice"));
    let with_fields = MappedColumn::new("x").stored_name("c").fields([MappedColumn::new("y").id(9)]);
    assert!(message(open(vec![with_fields])).contains("has 1 fields in the table"));
    assert_eq!(open(vec![MappedColumn::new("x").id(7)]).unwrap().schema().fields().len(), 0);

    let options = Arc::new(DatasetOptions::new());
    let file = |rows: &[u32]| DatasetFile::at(path.to_str().unwrap(), None, rows, &options).unwrap();
    let schema = |name: &str| Arc::new(Schema::new(vec![Field::new(name, DataType::Int64, true)]));
    let partition = || PartitionColumn::new(Arc::new(Field::new("p", DataType::Int64, true)), values());
    let dataset = |schema: SchemaRef, file: DatasetFile| Dataset::with_schema(schema, vec![partition()], vec![file]);
    assert!(dataset(schema("p"), file(&[0])).is_ok());
    assert!(dataset(schema("p"), file(&[DatasetFile::NO_CONSTANT])).is_ok());
    assert!(dataset(schema("p"), file(&[1])).is_err());
    assert!(dataset(schema("p"), file(&[])).is_err());
    assert!(dataset(schema("q"), file(&[0])).is_err());
    let missing = DatasetFile::at(folder.path().join("b.parquet").to_str().unwrap(), Some(100), [0], &options).unwrap();
    let dataset = dataset(schema("p"), missing).unwrap();
    assert!(matches!(dataset.scan().count(), Err(Error::Io { .. })));
}

#[test]
fn deleted_rows_that_cannot_be_read_are_an_error_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    write(&path, vec![(field("a", DataType::Int64, None), number_column(10))], 10);
    let options = Arc::new(DatasetOptions::new());
    let file = DatasetFile::at(path.to_str().unwrap(), None, [], &options).unwrap();
    let unreadable = || DeletedRows::new(None, || Err(DeleteMask::from_bytes(&[1]).unwrap_err()));
    let dataset = Dataset::from_files([file.with_deleted(unreadable())], DatasetOptions::new()).unwrap();
    for result in [dataset.scan().count(), dataset.scan().filter("a = 1003").unwrap().count()] {
        assert!(result.unwrap_err().to_string().contains("a.parquet"));
    }
    assert!(dataset.statistics().is_err());
    // Rows that statistics rule out need no deleted rows.
    assert_eq!(dataset.scan().filter("a = 1").unwrap().count().unwrap(), 0);
}

#[test]
fn a_file_without_ids_needs_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    write(&path, vec![(field("a", DataType::Int64, None), number_column(3))], 10);
    let open = |column: MappedColumn| OpenOptions::new().columns(Arc::new(ColumnMapping::new([column]))).open(&path);
    let error = open(MappedColumn::new("a").id(1)).unwrap_err().to_string();
    assert!(error.contains("no field ids"), "{error}");
    assert_eq!(open(MappedColumn::new("x").id(1).stored_name("a")).unwrap().schema().field(0).name(), "x");
}

/// Bounds and values that a table knows of a file.
#[derive(Debug)]
struct KnownFile {
    bounds: ColumnBounds,
    absent: i128,
}

impl FileEvidence for KnownFile {
    fn bounds(&self, path: &[String]) -> ColumnBounds {
        assert_ne!(path, ["p"], "the value of a constant is known");
        if path == ["a"] { self.bounds.clone() } else { ColumnBounds::default() }
    }

    fn may_have(&self, path: &[String], value: &Value) -> bool {
        path != ["a"] || *value != Value::Int(self.absent)
    }
}

#[test]
fn files_that_evidence_rules_out_are_not_opened() {
    let folder = tempfile::tempdir().unwrap();
    let options = Arc::new(DatasetOptions::new().footer_cache(FooterCache::new(1 << 20)));
    let int = |value: i64| Some(Value::Int(value.into()));
    let counts = ColumnBounds { null_count: Some(0), value_count: Some(3), ..ColumnBounds::default() };
    let known = [
        KnownFile { bounds: ColumnBounds { min: int(1000), max: int(1002), ..counts.clone() }, absent: 1001 },
        // Looser than the file's own.
        KnownFile { bounds: ColumnBounds { min: int(0), max: int(5000), ..counts }, absent: 7 },
        KnownFile { bounds: ColumnBounds::default(), absent: 9999 },
    ];
    let files = known.into_iter().enumerate().map(|(at, known)| {
        let path = folder.path().join(format!("{at}.parquet"));
        write(&path, vec![(field("a", DataType::Int64, None), number_column(3))], 10);
        DatasetFile::at(path.to_str().unwrap(), None, [at as u32 % 2], &options).unwrap().with_evidence(Arc::new(known))
    });
    let schema = Schema::new(vec![Field::new("a", DataType::Int64, true), Field::new("p", DataType::Int64, true)]);
    let values: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let partition = PartitionColumn::new(Arc::new(Field::new("p", DataType::Int64, true)), values);
    let dataset = Dataset::with_schema(Arc::new(schema), vec![partition], files.collect()).unwrap();
    for (condition, count, opened) in [
        ("a > 1001", 3, 3),
        ("a = 1002", 3, 3),
        ("a = 1001", 2, 2),
        ("a IN (1001, 7)", 3, 3),
        ("a IN (1001, 1002)", 6, 3),
        ("a < 900", 0, 2),
        ("NOT (a >= 900)", 0, 2),
        ("a IS NULL", 0, 1),
        ("a > 5000 OR p = 2", 3, 2),
        ("a > 5000 AND p = 1", 0, 1),
        ("a > 5000 AND p = 2", 0, 0),
    ] {
        let mut batches = dataset.scan().filter(condition).unwrap().build().unwrap();
        let rows: usize = batches.by_ref().map(|batch| batch.unwrap().num_rows()).sum();
        let report = batches.report();
        assert_eq!((rows, report.files_opened, report.files_pruned), (count, opened, 3 - opened), "{condition}");
    }
}
