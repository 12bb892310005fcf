//! Every type in every kind of query: each succeeds, with results by the order and equality of the values.

use std::sync::Arc;

use arrow_array::builder::{FixedSizeBinaryBuilder, Int32Builder, ListBuilder, MapBuilder, StringBuilder};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Decimal256Array,
    DurationMicrosecondArray, Float64Array, Int32Array, ListArray, RecordBatch, StringArray, StructArray,
    Time32MillisecondArray, TimestampMicrosecondArray, UInt64Array,
};
use arrow_cast::cast;
use arrow_schema::{DataType, Field};
use arrow_select::take::take;
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::datatypes::i256;
use lath_sql::Session;

use crate::{sorted, wait};

/// Maps with one key each.
fn maps(keys: [&str; 2]) -> ArrayRef {
    let mut maps = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    for key in keys {
        maps.keys().append_value(key);
        maps.values().append_value(1);
        maps.append(true).unwrap();
    }
    Arc::new(maps.finish())
}

fn one_field_structs(values: ArrayRef) -> ArrayRef {
    let field = Arc::new(Field::new("f", values.data_type().clone(), true));
    Arc::new(StructArray::from(vec![(field, values)]))
}

/// Lists with one value each.
fn one_value_lists(values: ArrayRef) -> ArrayRef {
    let field = Arc::new(Field::new("element", values.data_type().clone(), true));
    let offsets = OffsetBuffer::from_lengths(vec![1; values.len()]);
    Arc::new(ListArray::new(field, offsets, values, None))
}

/// Columns of two values, the first less than the second.
fn pairs() -> Vec<(&'static str, ArrayRef)> {
    let ints: ArrayRef = Arc::new(Int32Array::from(vec![-2, 1]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
    let times: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![-5_000_000, 7_000_000]));
    let mut fixed = FixedSizeBinaryBuilder::new(2);
    fixed.append_value([0, 255]).unwrap();
    fixed.append_value(*b"bb").unwrap();
    let mut lists = ListBuilder::new(Int32Builder::new());
    lists.append_value([Some(0)]);
    lists.append_value([Some(1), Some(2)]);
    let durations: ArrayRef = Arc::new(DurationMicrosecondArray::from(vec![-1, 3_600_000_000]));
    let decimals = Decimal256Array::from(vec![i256::from(-200), i256::from(150)]);
    let as_type = |values: &ArrayRef, data_type: DataType| cast(values, &data_type).unwrap();
    vec![
        ("truth", Arc::new(BooleanArray::from(vec![false, true]))),
        ("int", Arc::clone(&ints)),
        ("unsigned", Arc::new(UInt64Array::from(vec![1, u64::MAX]))),
        ("half", as_type(&ints, DataType::Float16)),
        ("double", Arc::new(Float64Array::from(vec![-2.0, 1.5]))),
        ("decimal", Arc::new(Decimal128Array::from(vec![-200, 150]).with_precision_and_scale(10, 2).unwrap())),
        ("wide", Arc::new(decimals.with_precision_and_scale(50, 2).unwrap())),
        ("text", Arc::clone(&texts)),
        ("bytes", Arc::new(BinaryArray::from(vec![&b"\x00\xff"[..], &b"b"[..]]))),
        ("fixed", Arc::new(fixed.finish())),
        ("day", Arc::new(Date32Array::from(vec![-10, 20_000]))),
        ("clock", Arc::new(Time32MillisecondArray::from(vec![1, 1000]))),
        ("moment", Arc::clone(&times)),
        ("length", Arc::clone(&durations)),
        ("category", as_type(&texts, DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)))),
        ("list", Arc::new(lists.finish())),
        ("list_of_lists", one_value_lists(one_value_lists(Arc::clone(&ints)))),
        ("list_of_structs", one_value_lists(one_field_structs(Arc::clone(&ints)))),
        ("struct", one_field_structs(Arc::clone(&texts))),
        ("struct_of_structs", one_field_structs(one_field_structs(times))),
        ("struct_of_durations", one_field_structs(durations)),
        ("map", maps(["a", "b"])),
        ("list_of_maps", one_value_lists(maps(["a", "b"]))),
        ("struct_of_maps", one_field_structs(maps(["a", "b"]))),
    ]
}

/// The greater value, the lesser, null, and the greater again, with `id` from 1 to 4.
fn rows() -> RecordBatch {
    let order = UInt64Array::from(vec![Some(1), Some(0), None, Some(1)]);
    let id: ArrayRef = Arc::new(Int32Array::from(vec![1, 2, 3, 4]));
    let columns = pairs().into_iter().map(|(name, pair)| (name, take(&pair, &order, None).unwrap()));
    RecordBatch::try_from_iter_with_nullable(
        std::iter::once(("id", id, false)).chain(columns.map(|(name, values)| (name, values, true))),
    )
    .unwrap()
}

/// Queries of a column C of a table T, and their results.
const QUESTIONS: [(&str, &str); 30] = [
    ("SELECT array_agg(id ORDER BY C NULLS FIRST, id) FROM T", "[3, 2, 1, 4]"),
    ("SELECT array_agg(id) FROM (SELECT id FROM T ORDER BY C DESC NULLS LAST, id LIMIT 2)", "[1, 4]"),
    ("SELECT array_agg(n ORDER BY n) FROM (SELECT count(*) n FROM T GROUP BY C)", "[1, 1, 2]"),
    ("SELECT count(*) FROM (SELECT DISTINCT C FROM T)", "3"),
    ("SELECT count(*) FROM (SELECT DISTINCT ON (C) id FROM T ORDER BY C, id)", "3"),
    ("SELECT count(DISTINCT C) FROM T", "2"),
    ("SELECT array_agg(id ORDER BY id) FROM T WHERE C = (SELECT min(C) FROM T)", "[2]"),
    ("SELECT array_agg(id ORDER BY id) FROM T WHERE C = (SELECT max(C) FROM T)", "[1, 4]"),
    ("SELECT count(DISTINCT m) FROM (SELECT id % 2 k, max(C) m FROM T GROUP BY k)", "1"),
    ("SELECT count(m) FROM (SELECT min(C) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) m FROM T)", "4"),
    ("SELECT count(*) FROM T a JOIN T b ON a.C = b.C", "5"),
    ("SELECT count(*) FROM T a JOIN T b ON a.C < b.C", "2"),
    ("SELECT count(*) FROM T a FULL JOIN T b USING (C)", "7"),
    ("SELECT array_agg(id ORDER BY id) FROM T WHERE C IN (SELECT C FROM T WHERE id = 1)", "[1, 4]"),
    ("SELECT array_agg(id ORDER BY id) FROM T WHERE C NOT IN (SELECT C FROM T WHERE id = 2)", "[1, 4]"),
    ("SELECT count(*) FROM T a WHERE EXISTS (SELECT 1 FROM T b WHERE b.C = a.C AND b.id < a.id)", "1"),
    ("SELECT count(*) FROM T WHERE C IN (C, C)", "3"),
    ("SELECT count(*) FROM T WHERE C BETWEEN C AND C", "3"),
    ("SELECT count(*) FROM T WHERE C IS DISTINCT FROM C", "0"),
    ("SELECT count(CASE WHEN id = 1 THEN C END) FROM T", "1"),
    ("SELECT count(coalesce(C, C)) FROM T", "3"),
    ("SELECT count(*) FROM (SELECT C FROM T UNION SELECT C FROM T)", "3"),
    ("SELECT count(*) FROM (SELECT C FROM T EXCEPT SELECT C FROM T WHERE id = 2)", "2"),
    ("SELECT count(*) FROM (SELECT C FROM T INTERSECT ALL SELECT C FROM T)", "4"),
    ("SELECT array_agg(n ORDER BY id) FROM (SELECT id, count(*) OVER (PARTITION BY C) n FROM T)", "[2, 1, 1, 2]"),
    (
        "SELECT array_agg(n ORDER BY id) FROM (SELECT id, count(*) OVER (ORDER BY C NULLS FIRST) n FROM T)",
        "[4, 2, 1, 4]",
    ),
    (
        "SELECT array_agg(n ORDER BY id) FROM (SELECT id, count(*) OVER (ORDER BY C DESC NULLS LAST RANGE BETWEEN CURRENT ROW \
         AND UNBOUNDED FOLLOWING) n FROM T)",
        "[4, 2, 1, 4]",
    ),
    ("SELECT array_agg(n ORDER BY id) FROM (SELECT id, rank() OVER (ORDER BY C) n FROM T)", "[2, 1, 4, 2]"),
    ("SELECT count(n) FROM (SELECT lag(C) OVER (ORDER BY id) n FROM T)", "2"),
    ("SELECT count(n) FROM (SELECT first_value(C) OVER (ORDER BY id) n FROM T)", "4"),
];

#[test]
fn every_type_answers_every_question() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("types.parquet");
    crate::write(&path, &rows(), 4);
    let session = Session::new();
    let table = format!("'{}'", path.display());
    let wrong = wait(wrong_answers(&session, &table));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

async fn wrong_answers(session: &Session, table: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for (name, _) in pairs() {
        for (question, expected) in QUESTIONS {
            let words = question.split_inclusive([' ', '.', '(', ')', ',']);
            let query: String = words
                .map(|word| match word.trim_end_matches([' ', '.', '(', ')', ',']) {
                    "C" => word.replacen('C', &format!("\"{name}\""), 1),
                    "T" => word.replacen('T', table, 1),
                    _ => word.to_owned(),
                })
                .collect();
            let answered = match session.sql(&query).await {
                Ok(frame) => frame.collect().await,
                Err(error) => Err(error),
            };
            let found = answered.map(|batches| sorted(&batches).join(" "));
            match found {
                Ok(text) if text.contains(&format!("| {expected} ")) => {}
                other => wrong.push(format!("{name}: {question}: {other:?}, not {expected}")),
            }
        }
    }
    wrong
}
