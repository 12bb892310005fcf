//! Compares random expressions over random rows of every type with an evaluator that works row by row on plain values.

use std::cmp::Ordering;
use std::fmt::Write;
use std::sync::Arc;

use arrow_array::builder::{Int64Builder, ListBuilder, MapBuilder, StringBuilder};
use arrow_array::types::{ArrowPrimitiveType, Decimal128Type, Decimal256Type, Int32Type};
use arrow_array::{
    ArrayRef, BinaryViewArray, BooleanArray, Date32Array, Date64Array, Decimal32Array, Decimal64Array, Decimal128Array,
    Decimal256Array, FixedSizeBinaryArray, Float16Array, Float32Array, Float64Array, Int8Array, Int16Array, Int32Array,
    Int64Array, LargeStringArray, PrimitiveArray, RecordBatch, StringArray, StringViewArray, StructArray,
    Time32MillisecondArray, Time64NanosecondArray, TimestampMicrosecondArray, TimestampMillisecondArray,
    TimestampNanosecondArray, TimestampSecondArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use arrow_buffer::{NullBuffer, i256};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, Schema};
use fastrand::Rng;
use half::f16;

use crate::Predicate;
use crate::value::moment;

/// A number in thousandths, or a value outside their range, in the order of the variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Number {
    NegativeInfinity,
    Thousandths(i128),
    Infinity,
    Nan,
}

/// A value that is not null.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Plain {
    Boolean(bool),
    Number(Number),
    /// Nanoseconds since 1970.
    Moment(i128),
    /// Nanoseconds since midnight.
    Time(i64),
    Bytes(Vec<u8>),
    List(Vec<Option<Plain>>),
}

type Cell = Option<Plain>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    Boolean,
    Exact,
    Float,
    Moment,
    Time,
    Text,
    Bytes(Option<usize>),
    ListOfNumbers,
    ListOfTexts,
}

struct TestColumn {
    /// As expressions call it.
    name: String,
    family: Family,
    cells: Vec<Cell>,
}

struct Table {
    batch: RecordBatch,
    columns: Vec<TestColumn>,
}

const ROWS: usize = 90;

fn whole(value: impl Into<i128>) -> Plain {
    Plain::Number(Number::Thousandths(value.into() * 1000))
}

fn float(value: f64) -> Plain {
    Plain::Number(match value {
        _ if value.is_nan() => Number::Nan,
        f64::INFINITY => Number::Infinity,
        f64::NEG_INFINITY => Number::NegativeInfinity,
        // All floats of these tests are multiples of an eighth.
        _ => Number::Thousandths((value * 8.0) as i128 * 125),
    })
}

/// One of `values`, or null.
fn choose<T: Clone>(random: &mut Rng, values: &[T]) -> Option<T> {
    (random.u8(..5) > 0).then(|| values[random.usize(..values.len())].clone())
}

struct Build<'a> {
    random: &'a mut Rng,
    fields: Vec<Field>,
    arrays: Vec<ArrayRef>,
    columns: Vec<TestColumn>,
}

impl Build<'_> {
    fn add<T: Clone>(
        &mut self,
        name: &str,
        family: Family,
        pool: &[T],
        array: impl Fn(Vec<Option<T>>) -> ArrayRef,
        plain: impl Fn(T) -> Plain,
    ) {
        let values: Vec<Option<T>> = (0..ROWS).map(|_| choose(self.random, pool)).collect();
        let cells: Vec<Cell> = values.iter().cloned().map(|value| value.map(&plain)).collect();
        self.push(name, array(values));
        self.columns.push(TestColumn { name: name.to_owned(), family, cells });
    }

    fn push(&mut self, name: &str, array: ArrayRef) {
        self.fields.push(Field::new(name, array.data_type().clone(), true));
        self.arrays.push(array);
    }
}

fn primitive<T: ArrowPrimitiveType>(data_type: DataType) -> impl Fn(Vec<Option<T::Native>>) -> ArrayRef {
    move |values| Arc::new(PrimitiveArray::<T>::from_iter(values).with_data_type(data_type.clone()))
}

macro_rules! integers {
    ($build:expr, $($name:literal $array:ty, $native:ty;)*) => {$(
        let near: Vec<$native> = vec![<$native>::MIN, <$native>::MAX, 0, 1, 2, 3, 7, 100, <$native>::MAX - 1, <$native>::MIN + 1];
        $build.add($name, Family::Exact, &near, |values| Arc::new(<$array>::from(values)), whole);
    )*};
}

fn table(random: &mut Rng) -> Table {
    let mut build = Build { random, fields: Vec::new(), arrays: Vec::new(), columns: Vec::new() };
    integers!(build,
        "i8" Int8Array, i8; "i16" Int16Array, i16; "i32" Int32Array, i32; "i64" Int64Array, i64;
        "u8" UInt8Array, u8; "u16" UInt16Array, u16; "u32" UInt32Array, u32; "u64" UInt64Array, u64;
    );
    let floats = [0.0, -0.0, f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.0, 2.0, 0.125, -1.5, 100.0, 7.0];
    let large = [(1u64 << 53) as f64, 9_007_199_254_740_994.0, 1e30, -1e30, 18_446_744_073_709_551_616.0, 16_777_216.0];
    let halves: Vec<f16> = floats.iter().map(|&value| f16::from_f64(value)).collect();
    build.add(
        "f16",
        Family::Float,
        &halves,
        |values| Arc::new(Float16Array::from_iter(values)),
        |value| float(value.into()),
    );
    let singles: Vec<f32> = floats.iter().chain(&large).map(|&value| value as f32).collect();
    build.add(
        "f32",
        Family::Float,
        &singles,
        |values| Arc::new(Float32Array::from(values)),
        |value| float(value.into()),
    );
    let doubles: Vec<f64> = floats.iter().chain(&large).copied().collect();
    build.add("f64", Family::Float, &doubles, |values| Arc::new(Float64Array::from(values)), float);
    let cents = [0, 1, -1, 100, 200, 250, 99_999, -99_999];
    build.add(
        "d32",
        Family::Exact,
        &cents,
        |values| Arc::new(Decimal32Array::from(values).with_precision_and_scale(9, 2).unwrap()),
        |value| Plain::Number(Number::Thousandths(i128::from(value) * 10)),
    );
    let tenths = [0i64, 1, -1, 10, 20, 25, 999_999_999_999, -999_999_999_999];
    build.add(
        "d64",
        Family::Exact,
        &tenths,
        |values| Arc::new(Decimal64Array::from(values).with_precision_and_scale(18, 1).unwrap()),
        |value| Plain::Number(Number::Thousandths(i128::from(value) * 100)),
    );
    let thousandths =
        [0i128, 1, -1, 1000, 2000, 2500, 10i128.pow(33), -10i128.pow(33), 7000, 18_446_744_073_709_551_615_000];
    build.add(
        "d128",
        Family::Exact,
        &thousandths,
        |values| Arc::new(Decimal128Array::from(values).with_precision_and_scale(38, 3).unwrap()),
        |value| Plain::Number(Number::Thousandths(value)),
    );
    build.add(
        "hundreds",
        Family::Exact,
        &[0i128, 1, -1, 10_000],
        primitive::<Decimal128Type>(DataType::Decimal128(10, -2)),
        |value| whole(value * 100),
    );
    build.add(
        "d256",
        Family::Exact,
        &thousandths,
        |values| {
            let wide = values.into_iter().map(|value| value.map(i256::from_i128));
            let array: Decimal256Array = PrimitiveArray::<Decimal256Type>::from_iter(wide);
            Arc::new(array.with_precision_and_scale(60, 3).unwrap())
        },
        |value| Plain::Number(Number::Thousandths(value)),
    );
    let truths = [true, false];
    build.add("b", Family::Boolean, &truths, |values| Arc::new(BooleanArray::from(values)), Plain::Boolean);
    moments(&mut build);
    texts(&mut build);
    nested(&mut build);
    let Build { fields, arrays, columns, .. } = build;
    Table { batch: RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap(), columns }
}

const SECOND: i128 = 1_000_000_000;

fn moments(build: &mut Build<'_>) {
    let days = [0, 1, -1, 19_000, 20_000, i32::MAX, i32::MIN];
    let moment = |nanos: i128| Plain::Moment(nanos);
    build.add(
        "day",
        Family::Moment,
        &days,
        |values| Arc::new(Date32Array::from(values)),
        |value| moment(i128::from(value) * 86_400 * SECOND),
    );
    let millis = [0, 86_400_000, -86_400_000, 1_641_600_000_000, 1];
    build.add(
        "day64",
        Family::Moment,
        &millis,
        |values| Arc::new(Date64Array::from(values)),
        |value| moment(i128::from(value) * 1_000_000),
    );
    let seconds = [0, 1, -1, 86_400, -86_400, 1_641_600_000, i64::MAX / 1000, i64::MIN / 1000];
    build.add(
        "ts_s",
        Family::Moment,
        &seconds,
        |values| Arc::new(TimestampSecondArray::from(values)),
        |value| moment(i128::from(value) * SECOND),
    );
    let millis = [0, 1, -1, 86_400_000, 1_641_600_000_000, i64::MAX, i64::MIN];
    build.add(
        "ts_ms",
        Family::Moment,
        &millis,
        |values| Arc::new(TimestampMillisecondArray::from(values)),
        |value| moment(i128::from(value) * 1_000_000),
    );
    build.add(
        "ts_us",
        Family::Moment,
        &[0, 1, -1, 86_400_000_000, 1_641_600_000_000_000],
        |values| Arc::new(TimestampMicrosecondArray::from(values).with_timezone("+02:00")),
        |value| moment(i128::from(value) * 1000),
    );
    build.add(
        "ts_ns",
        Family::Moment,
        &[0, 1, -1, 86_400_000_000_000, i64::MAX, i64::MIN],
        |values| Arc::new(TimestampNanosecondArray::from(values).with_timezone("UTC")),
        |value| moment(value.into()),
    );
    let millis = [0, 1, 86_399_999, 3_600_000];
    build.add(
        "t_ms",
        Family::Time,
        &millis,
        |values| Arc::new(Time32MillisecondArray::from(values)),
        |value| Plain::Time(i64::from(value) * 1_000_000),
    );
    let nanos = [0, 1, 86_399_999_999_999, 3_600_000_000_000, 1_000_000];
    build.add("t_ns", Family::Time, &nanos, |values| Arc::new(Time64NanosecondArray::from(values)), Plain::Time);
}

const TEXTS: [&str; 10] =
    ["", "a", "ab", "abc", "Abc", "öl", "zebra", "a much longer string", "a much longer strinG", "100%_x"];

fn texts(build: &mut Build<'_>) {
    let text = |value: &str| Plain::Bytes(value.as_bytes().to_vec());
    build.add("s", Family::Text, &TEXTS, |values| Arc::new(StringArray::from(values)), text);
    build.add("ls", Family::Text, &TEXTS, |values| Arc::new(LargeStringArray::from(values)), text);
    build.add("sv", Family::Text, &TEXTS, |values| Arc::new(StringViewArray::from(values)), text);
    build.add(
        "dict",
        Family::Text,
        &TEXTS,
        |values| {
            let to = DataType::Dictionary(Box::new(DataType::Int16), Box::new(DataType::Utf8));
            cast(&StringArray::from(values), &to).unwrap()
        },
        text,
    );
    build.add(
        "dict_i",
        Family::Exact,
        &[1, 2, 3, 100],
        |values| {
            let to = DataType::Dictionary(Box::new(DataType::UInt32), Box::new(DataType::Int32));
            cast(&Int32Array::from(values), &to).unwrap()
        },
        |value: i32| whole(value),
    );
    let bytes: [&[u8]; 6] = [b"", b"\0", b"ab", b"\xff\xfe", b"a\x80c", b"abcdefghijklmnop"];
    build.add(
        "bin",
        Family::Bytes(None),
        &bytes,
        |values| Arc::new(BinaryViewArray::from_iter(values)),
        |value| Plain::Bytes(value.to_vec()),
    );
    build.add(
        "fixed",
        Family::Bytes(Some(2)),
        &[[0u8, 0], [0, 255], [255, 0], *b"ab"],
        |values| Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(values.into_iter(), 2).unwrap()),
        |value| Plain::Bytes(value.to_vec()),
    );
}

fn nested(build: &mut Build<'_>) {
    let values: Vec<Option<i32>> = (0..ROWS).map(|_| choose(build.random, &[1, 2, 3])).collect();
    let valid: Vec<bool> = (0..ROWS).map(|_| build.random.u8(..4) > 0).collect();
    let cells = values.iter().zip(&valid).map(|(value, &valid)| value.filter(|_| valid).map(whole)).collect();
    let child = Field::new("x", DataType::Int32, true);
    let array = Arc::new(PrimitiveArray::<Int32Type>::from_iter(values));
    let array = StructArray::new(vec![child].into(), vec![array], Some(NullBuffer::from(valid)));
    build.push("st", Arc::new(array));
    build.columns.push(TestColumn { name: "st.x".to_owned(), family: Family::Exact, cells });

    let mut map = MapBuilder::new(None, StringBuilder::new(), Int64Builder::new());
    let mut cells = Vec::new();
    for _ in 0..ROWS {
        let mut found = None;
        for _ in 0..build.random.usize(..4) {
            let key = ["a", "b", "c"][build.random.usize(..3)];
            let value = choose(build.random, &[1, 2, 3]);
            map.keys().append_value(key);
            map.values().append_option(value);
            if key == "b" {
                found = Some(value);
            }
        }
        let is_valid = build.random.u8(..5) > 0;
        map.append(is_valid).unwrap();
        cells.push(found.flatten().filter(|_| is_valid).map(whole));
    }
    build.push("m", Arc::new(map.finish()));
    build.columns.push(TestColumn { name: "m['b']".to_owned(), family: Family::Exact, cells });

    let (mut numbers, mut texts) = (ListBuilder::new(Int64Builder::new()), ListBuilder::new(StringBuilder::new()));
    let (mut number_cells, mut text_cells) = (Vec::new(), Vec::new());
    for _ in 0..ROWS {
        let list: Vec<Option<i64>> = (0..build.random.usize(..4)).map(|_| choose(build.random, &[1, 2, 3])).collect();
        let list = (build.random.u8(..5) > 0).then_some(list);
        numbers.append_option(list.clone());
        number_cells.push(list.map(|list| Plain::List(list.into_iter().map(|value| value.map(whole)).collect())));
        let list: Vec<Option<&str>> = (0..build.random.usize(..4)).map(|_| choose(build.random, &TEXTS)).collect();
        let list = (build.random.u8(..5) > 0).then_some(list);
        texts.append_option(list.clone());
        let plain = |value: Option<&str>| value.map(|value| Plain::Bytes(value.as_bytes().to_vec()));
        text_cells.push(list.map(|list| Plain::List(list.into_iter().map(plain).collect())));
    }
    build.push("ln", Arc::new(numbers.finish()));
    build.columns.push(TestColumn { name: "ln".to_owned(), family: Family::ListOfNumbers, cells: number_cells });
    build.push("lt", Arc::new(texts.finish()));
    build.columns.push(TestColumn { name: "lt".to_owned(), family: Family::ListOfTexts, cells: text_cells });
}

/// A literal for a column of a family: its text, and what it means.
fn literal(random: &mut Rng, family: Family) -> (String, Plain) {
    match family {
        Family::Boolean => {
            let truth = random.bool();
            (if truth { "TRUE" } else { "false" }.to_owned(), Plain::Boolean(truth))
        }
        Family::Exact | Family::ListOfNumbers => {
            let thousandths = match random.u8(..4) {
                0 => random.i128(-1_100_000..1_100_000),
                1 => [1, 2, 3, 7, 100][random.usize(..5)] * 1000,
                2 => [250, 2500, 10, 1, -1, 10i128.pow(33), -10i128.pow(33)][random.usize(..7)],
                _ => (edge(random) + random.i128(-1..=1)) * 1000 + random.i128(0..2) * 500,
            };
            (number_text(thousandths), Plain::Number(Number::Thousandths(thousandths)))
        }
        Family::Float => match random.u8(..6) {
            0 => ("'NaN'".to_owned(), Plain::Number(Number::Nan)),
            1 => ("DOUBLE '-Infinity'".to_owned(), Plain::Number(Number::NegativeInfinity)),
            2 => ("'inf'".to_owned(), Plain::Number(Number::Infinity)),
            3 => {
                // Written without a point, whole numbers are exact, whether there is such a float or not.
                let value = edge(random) + random.i128(-2..=2);
                (value.to_string(), whole(value))
            }
            _ => {
                let eighths = random.i32(-800..800);
                (format!("{:?}", f64::from(eighths) / 8.0), float(f64::from(eighths) / 8.0))
            }
        },
        Family::Moment => moment_literal(random),
        Family::Time => {
            let nanos = [0, 1, 1_000_000, 3_600_000_000_000, 500_000, 86_399_999_999_999][random.usize(..6)];
            (format!("TIME '{}'", moment::Time(nanos)), Plain::Time(nanos))
        }
        Family::Text | Family::ListOfTexts => {
            let text = TEXTS[random.usize(..TEXTS.len())];
            (format!("'{text}'"), Plain::Bytes(text.as_bytes().to_vec()))
        }
        Family::Bytes(width) => {
            let len = width.unwrap_or_else(|| random.usize(..4));
            let bytes: Vec<u8> = (0..len).map(|_| [0, b'a', b'b', 0x80, 0xff][random.usize(..5)]).collect();
            let hex = bytes.iter().fold(String::new(), |mut hex, byte| {
                write!(hex, "{byte:02x}").unwrap();
                hex
            });
            (format!("x'{hex}'"), Plain::Bytes(bytes))
        }
    }
}

fn moment_literal(random: &mut Rng) -> (String, Plain) {
    let days = [0, 1, -1, 19_000, 20_000][random.usize(..5)];
    if random.bool() {
        let text = moment::Date(days).to_string();
        let quoted = if random.bool() { format!("DATE '{text}'") } else { format!("'{text}'") };
        return (quoted, Plain::Moment(i128::from(days) * 86_400 * SECOND));
    }
    let extra = [0, 1, -1, 999, 1_000_000, -1_000_000_000][random.usize(..6)];
    let nanos = i128::from(days) * 86_400 * SECOND + extra;
    // Half of them are written with an offset of two hours and a half.
    let text = match random.bool() {
        true => moment::Timestamp(nanos).to_string(),
        false => format!("{}+02:30", moment::Timestamp(nanos + 9000 * SECOND)),
    };
    (if random.bool() { format!("TIMESTAMP '{text}'") } else { format!("'{text}'") }, Plain::Moment(nanos))
}

/// The ends of types, and of the whole numbers that floats hold exactly.
fn edge(random: &mut Rng) -> i128 {
    let edges = [
        i8::MAX.into(),
        i8::MIN.into(),
        u8::MAX.into(),
        i16::MIN.into(),
        u16::MAX.into(),
        i32::MIN.into(),
        u32::MAX.into(),
        i64::MIN.into(),
        i64::MAX.into(),
        u64::MAX.into(),
        1 << 53,
        1 << 24,
        0,
    ];
    edges[random.usize(..edges.len())]
}

fn number_text(thousandths: i128) -> String {
    let sign = if thousandths < 0 { "-" } else { "" };
    let (whole, part) = (thousandths.unsigned_abs() / 1000, thousandths.unsigned_abs() % 1000);
    if part == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{part:03}") }
}

/// A condition: its text, and the truth of each row.
struct Said {
    text: String,
    truths: Vec<Option<bool>>,
}

/// The sign of a comparison, and the orders that it holds for.
type Op = (&'static str, fn(Ordering) -> bool);

const OPS: [Op; 6] = [
    ("=", Ordering::is_eq),
    ("<>", Ordering::is_ne),
    ("<", Ordering::is_lt),
    ("<=", Ordering::is_le),
    (">", Ordering::is_gt),
    (">=", Ordering::is_ge),
];

fn kleene(truths: [Option<bool>; 2], settling: bool) -> Option<bool> {
    if truths.contains(&Some(settling)) {
        Some(settling)
    } else if truths.contains(&None) {
        None
    } else {
        Some(!settling)
    }
}

fn condition(random: &mut Rng, table: &Table, depth: u32) -> Said {
    if depth > 0 && random.u8(..3) > 0 {
        return compound(random, table, depth);
    }
    let column = &table.columns[random.usize(..table.columns.len())];
    let each = |holds: &dyn Fn(&Plain) -> Option<bool>| -> Vec<Option<bool>> {
        column.cells.iter().map(|cell| cell.as_ref().and_then(holds)).collect()
    };
    let name = &column.name;
    if random.u8(..10) == 0 {
        let truths = column.cells.iter().map(|cell| Some(cell.is_none())).collect();
        return Said { text: format!("{name} IS NULL"), truths };
    }
    if matches!(column.family, Family::ListOfNumbers | Family::ListOfTexts) {
        let (text, element) = literal(random, column.family);
        let holds = |cell: &Plain| match cell {
            Plain::List(list) => Some(list.contains(&Some(element.clone()))),
            _ => None,
        };
        let text =
            if random.bool() { format!("list_contains({name}, {text})") } else { format!("{text} = ANY({name})") };
        return Said { text, truths: each(&holds) };
    }
    match random.u8(..6) {
        0 => between(random, column),
        1 => in_list(random, column),
        2 => {
            let alike: Vec<&TestColumn> =
                table.columns.iter().filter(|other| compares(column.family, other.family)).collect();
            let other = alike[random.usize(..alike.len())];
            let (op, holds) = OPS[random.usize(..OPS.len())];
            let pairs = column.cells.iter().zip(&other.cells);
            let truths = pairs.map(|(left, right)| Some(holds(left.as_ref()?.cmp(right.as_ref()?)))).collect();
            Said { text: format!("{name} {op} {}", other.name), truths }
        }
        3 if column.family == Family::Text => like(random, column),
        4 => {
            let (text, value) = literal(random, column.family);
            let truths = column.cells.iter().map(|cell| Some(cell.as_ref() != Some(&value))).collect();
            Said { text: format!("{name} IS DISTINCT FROM {text}"), truths }
        }
        5 if column.family == Family::Boolean => {
            let truths = each(&|cell| Some(*cell == Plain::Boolean(true)));
            Said { text: name.clone(), truths }
        }
        _ => {
            let (text, value) = literal(random, column.family);
            let (op, holds) = OPS[random.usize(..OPS.len())];
            match random.bool() {
                true => {
                    Said { text: format!("{name} {op} {text}"), truths: each(&|cell| Some(holds(cell.cmp(&value)))) }
                }
                false => {
                    Said { text: format!("{text} {op} {name}"), truths: each(&|cell| Some(holds(value.cmp(cell)))) }
                }
            }
        }
    }
}

fn compound(random: &mut Rng, table: &Table, depth: u32) -> Said {
    let first = condition(random, table, depth - 1);
    match random.u8(..6) {
        0 => {
            let truths = first.truths.iter().map(|truth| truth.map(|truth| !truth)).collect();
            Said { text: format!("NOT ({})", first.text), truths }
        }
        1 => {
            let (word, wanted) = [("TRUE", Some(true)), ("FALSE", Some(false)), ("UNKNOWN", None)][random.usize(..3)];
            let not = random.bool();
            let truths = first.truths.iter().map(|truth| Some((*truth == wanted) != not)).collect();
            Said { text: format!("({}) IS {}{word}", first.text, if not { "NOT " } else { "" }), truths }
        }
        kind => {
            let second = condition(random, table, depth - 1);
            let (word, settling) = if kind % 2 == 0 { ("AND", false) } else { ("or", true) };
            let pairs = first.truths.iter().zip(&second.truths);
            let truths = pairs.map(|(a, b)| kleene([*a, *b], settling)).collect();
            Said { text: format!("({}) {word} ({})", first.text, second.text), truths }
        }
    }
}

fn compares(left: Family, right: Family) -> bool {
    let is_number = |family| matches!(family, Family::Exact | Family::Float);
    let is_bytes = |family| matches!(family, Family::Bytes(_));
    left == right || (is_number(left) && is_number(right)) || (is_bytes(left) && is_bytes(right))
}

fn between(random: &mut Rng, column: &TestColumn) -> Said {
    let ((low_text, low), (high_text, high)) = (literal(random, column.family), literal(random, column.family));
    let not = random.bool();
    let truth = |cell: &Cell| cell.as_ref().map(|cell| (low <= *cell && *cell <= high) != not);
    let word = if not { "NOT BETWEEN" } else { "BETWEEN" };
    Said {
        text: format!("{} {word} {low_text} AND {high_text}", column.name),
        truths: column.cells.iter().map(truth).collect(),
    }
}

fn in_list(random: &mut Rng, column: &TestColumn) -> Said {
    let len = if random.u8(..8) == 0 { 60 } else { random.usize(1..6) };
    let mut list: Vec<(String, Cell)> = Vec::new();
    for _ in 0..len {
        let (text, value) = literal(random, column.family);
        list.push((text, Some(value)));
    }
    if random.u8(..4) == 0 {
        list.push(("NULL".to_owned(), None));
    }
    let not = random.bool();
    let truth = |cell: &Cell| {
        let cell = cell.as_ref()?;
        // IN is a chain of = with OR between.
        let equal = list.iter().map(|(_, value)| value.as_ref().map(|value| value == cell));
        let mut all = Some(false);
        for one in equal {
            all = kleene([all, one], true);
        }
        all.map(|found| found != not)
    };
    let texts: Vec<&str> = list.iter().map(|(text, _)| text.as_str()).collect();
    let text = format!("{} {}IN ({})", column.name, if not { "NOT " } else { "" }, texts.join(", "));
    Said { text, truths: column.cells.iter().map(truth).collect() }
}

fn like(random: &mut Rng, column: &TestColumn) -> Said {
    let pattern: String =
        (0..random.usize(..5)).map(|_| ["a", "b", "c", "%", "_", "%", "ö", "A"][random.usize(..8)]).collect();
    let ignore_case = random.bool();
    let chars = |text: &str| -> Vec<char> {
        if ignore_case { text.replace('İ', "i").to_lowercase().chars().collect() } else { text.chars().collect() }
    };
    let wanted = chars(&pattern);
    let truth = |cell: &Cell| match cell {
        Some(Plain::Bytes(bytes)) => Some(matches(&wanted, &chars(str::from_utf8(bytes).unwrap()))),
        _ => None,
    };
    let word = if ignore_case { "ILIKE" } else { "LIKE" };
    Said { text: format!("{} {word} '{pattern}'", column.name), truths: column.cells.iter().map(truth).collect() }
}

fn matches(pattern: &[char], value: &[char]) -> bool {
    match pattern.split_first() {
        None => value.is_empty(),
        Some(('%', rest)) => (0..=value.len()).any(|len| matches(rest, &value[len..])),
        Some(('_', rest)) => !value.is_empty() && matches(rest, &value[1..]),
        Some((c, rest)) => value.first() == Some(c) && matches(rest, &value[1..]),
    }
}

#[test]
fn random_expressions_say_of_each_row_what_plain_values_say() {
    let mut counts = [0usize; 3];
    for seed in 0..60 {
        let mut random = Rng::with_seed(seed);
        let table = table(&mut random);
        for _ in 0..60 {
            let said = condition(&mut random, &table, 3);
            let context = format!("seed {seed}: {}", said.text);
            let predicate = Predicate::parse(&said.text).unwrap_or_else(|error| panic!("{context}: {error}"));
            let again = Predicate::parse(&predicate.to_string()).unwrap_or_else(|error| panic!("{context}: {error}"));
            assert_eq!(again, predicate, "{context} prints as {predicate}");
            let filter = predicate.filter(&table.batch.schema()).unwrap_or_else(|error| panic!("{context}: {error}"));
            let (start, len) = if random.bool() { (0, ROWS) } else { (random.usize(..ROWS), random.usize(..ROWS)) };
            let batch = table.batch.slice(start, len.min(ROWS - start));
            let truths = filter.evaluate(&batch).unwrap_or_else(|error| panic!("{context}: {error}"));
            for (row, truth) in truths.iter().enumerate() {
                let expected = said.truths[start + row];
                assert_eq!(truth, expected, "{context}, row {}", start + row);
                counts[expected.map_or(2, usize::from)] += 1;
            }
        }
    }
    assert!(counts.iter().all(|&count| count > 10_000), "{counts:?}");
}
