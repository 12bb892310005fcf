//! Partition values in folder names are read back as they were written.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Int8Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray, TimestampNanosecondArray, UInt64Array,
};
use arrow_cast::cast;
use arrow_schema::DataType;
use lath_sql::Session;
use lath_testkit::Seeded;

use super::{answer, in_memory, sorted, wait};

/// Texts that folders, readers or file systems may misinterpret.
const HOSTILE: [&str; 34] = [
    "__HIVE_DEFAULT_PARTITION__",
    "%5F_HIVE_DEFAULT_PARTITION__",
    "",
    " ",
    " a",
    "a ",
    ".",
    "..",
    "a/b",
    "a\\b",
    "k=v",
    "=",
    "%",
    "%41",
    "100%",
    "%zz",
    "é",
    "e\u{301}",
    "\u{1}\n\t\u{7f}",
    "*?[x]",
    "NULL",
    "null",
    "0",
    "01",
    "-5",
    "1e3",
    "0.1",
    "NaN",
    "true",
    "2020-01-01",
    "2020-02-30",
    "2020-01-01 00:00:00",
    "18446744073709551615",
    "_x",
];

/// Columns with a null, the extreme values of their type, and random ones; and whether the files alone determine the type.
fn columns(random: &mut Seeded) -> Vec<(&'static str, ArrayRef, bool)> {
    let integers: Vec<Option<i64>> = [None, Some(0), Some(i64::MAX), Some(i64::MIN)]
        .into_iter()
        .chain((0..20).map(|_| Some(random.i64(i64::MIN..i64::MAX))))
        .collect();
    let text: Vec<Option<String>> = HOSTILE
        .iter()
        .map(|text| Some((*text).to_owned()))
        .chain([None, Some("long ".repeat(40))])
        .chain((0..40).map(|_| {
            let letters = (0..random.usize(1..6)).map(|_| HOSTILE[random.usize(..HOSTILE.len())]);
            Some(letters.flat_map(|text| text.chars().take(2)).collect())
        }))
        .collect();
    let days = integers.iter().map(|day| day.map(|day| (day % 2_000_000).clamp(-700_000, 2_000_000) as i32));
    let small = integers.iter().map(|value| value.map(|value| value as i8));
    // Years with four digits.
    let moments = |ticks: i64| {
        integers.iter().map(move |value| value.map(|value| value % (7_000_000_000 * ticks))).collect::<Vec<_>>()
    };
    let decimals = integers.iter().map(|value| value.map(|value| i128::from(value) * 7));
    let decimals = Decimal128Array::from_iter(decimals).with_precision_and_scale(38, 4).unwrap();
    let strings: ArrayRef = Arc::new(StringArray::from(text));
    let categories =
        cast(&strings, &DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))).unwrap();
    vec![
        ("VARCHAR", Arc::clone(&strings), true),
        ("VARCHAR", categories, true),
        ("BIGINT", Arc::new(Int64Array::from(integers.clone())), true),
        ("TINYINT", Arc::new(small.collect::<Int8Array>()), true),
        (
            "BIGINT UNSIGNED",
            Arc::new(integers.iter().map(|value| value.map(|value| value as u64)).collect::<UInt64Array>()),
            true,
        ),
        ("DATE", Arc::new(days.collect::<Date32Array>()), true),
        ("TIMESTAMP(6)", Arc::new(TimestampMicrosecondArray::from(moments(1_000_000))), true),
        ("TIMESTAMP(9)", Arc::new(TimestampNanosecondArray::from(moments(1_000_000_000))), true),
        (
            "BOOLEAN",
            Arc::new(integers.iter().map(|value| value.map(|value| value > 0)).collect::<BooleanArray>()),
            false,
        ),
        ("DECIMAL(38, 4)", Arc::new(decimals), false),
    ]
}

async fn check(random: &mut Seeded, folder: &Path) {
    for (number, (sql_type, values, is_told)) in columns(random).into_iter().enumerate() {
        let session = Session::new();
        let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..values.len() as i64));
        let rows = RecordBatch::try_from_iter_with_nullable([("id", ids, false), ("_p=", values, true)]).unwrap();
        in_memory(&session, "t", vec![rows]);
        let all = |from: &str| format!("SELECT id, CAST(\"_p=\" AS VARCHAR) AS p FROM {from}");
        let written = sorted(&answer(&session, &all("t")).await);

        let copied = folder.join(format!("copied{number}"));
        answer(&session, &format!("COPY t TO '{}' PARTITIONED BY (\"_p=\")", copied.display())).await;
        assert_eq!(sorted(&answer(&session, &all(&format!("'{}'", copied.display()))).await), written, "{sql_type}");
        let of_type = format!("SELECT DISTINCT arrow_typeof(\"_p=\") FROM '{}'", copied.display());
        let is_text = sorted(&answer(&session, &of_type).await)[1].contains("Utf8");
        assert_eq!(is_text, sql_type == "VARCHAR" || !is_told, "{sql_type}");

        let added = folder.join(format!("added{number}/"));
        let create = format!(
            "CREATE EXTERNAL TABLE e (id BIGINT, \"_p=\" {sql_type}) STORED AS PARQUET PARTITIONED BY (\"_p=\") LOCATION '{}/'",
            added.display()
        );
        answer(&session, &create).await;
        answer(&session, "INSERT INTO e SELECT id, \"_p=\" FROM t").await;
        assert_eq!(sorted(&answer(&session, &all("e")).await), written, "{sql_type}");
        let typed =
            sorted(&answer(&session, "SELECT t.id FROM t JOIN e ON t.id = e.id AND t.\"_p=\" = e.\"_p=\"").await);
        let with_value = sorted(&answer(&session, "SELECT id FROM t WHERE \"_p=\" IS NOT NULL").await);
        assert_eq!(typed, with_value, "{sql_type}");
    }
}

#[test]
fn every_value_is_read_back_from_the_name_of_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    wait(check(&mut Seeded::new("partitions"), folder.path()));
}

#[test]
fn null_and_the_text_that_spells_it_are_two_partitions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    let path = path.display();
    wait(async {
        let session = Session::new();
        let rows = "SELECT * FROM (VALUES (1, '__HIVE_DEFAULT_PARTITION__'), (2, 'zzz'), (3, NULL)) AS t(id, p)";
        answer(&session, &format!("COPY ({rows}) TO '{path}' PARTITIONED BY (p)")).await;
        let read = answer(&session, &format!("SELECT id, p FROM '{path}'")).await;
        assert_eq!(sorted(&read), sorted(&answer(&session, rows).await));
        let nulls = answer(&session, &format!("SELECT id FROM '{path}' WHERE p IS NULL")).await;
        assert_eq!(sorted(&nulls)[1], "| 3  |");
    });
}

#[test]
fn a_value_that_no_folder_can_be_named_after_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    wait(async {
        let session = Session::new();
        let copy = format!("COPY (SELECT 1 AS id, repeat('ø', 130) AS p) TO '{}' PARTITIONED BY (p)", path.display());
        let error = session.sql(&copy).await.unwrap().collect().await.unwrap_err().to_string();
        assert!(error.contains("column p") && error.contains("262 bytes"), "{error}");
        assert!(!path.exists());
    });
}
