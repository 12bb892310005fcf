//! `describe`, `count --by` and `find --order-by`, against figures computed in Rust.

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, UInt8Type, UInt16Type};
use arrow_array::{Array, RecordBatch};
use serde_json::{Value, json};

use crate::files::{numbered, oracle, write};
use crate::invocation::{lath, sample};

fn months() -> Vec<RecordBatch> {
    ["trips/2025-01.parquet", "trips/2025-02.parquet", "trips/2025-03.parquet"]
        .map(|name| oracle(sample(name)))
        .to_vec()
}

/// The description of each column by its name.
fn described(args: &[&str]) -> BTreeMap<String, Value> {
    let rows = lath([&["describe"], args].concat()).json_lines(0);
    rows.into_iter().map(|row| (row["column"].as_str().unwrap().to_owned(), row)).collect()
}

#[track_caller]
fn assert_near(value: &Value, expected: f64, within: f64) {
    let value = value.as_f64().unwrap();
    assert!((value - expected).abs() <= within, "{value}, not {expected}");
}

#[test]
fn numbers_are_described_by_bounds_mean_and_quantiles() {
    let mut minutes: Vec<u16> =
        months().iter().flat_map(|rows| rows["minutes"].as_primitive::<UInt16Type>().values().to_vec()).collect();
    minutes.sort_unstable();
    let columns = described(&[&sample("trips")]);
    let column = &columns["minutes"];
    assert_eq!(column["count"], json!(minutes.len()));
    assert_eq!(column["nulls"], json!(0));
    assert_eq!(
        (&column["min"], &column["max"]),
        (&json!(minutes[0].to_string()), &json!(minutes.last().unwrap().to_string()))
    );
    let mean = minutes.iter().map(|&minutes| f64::from(minutes)).sum::<f64>() / minutes.len() as f64;
    assert_near(&column["mean"], mean, 1e-9);
    for (name, part) in [("approx_q25", 4), ("approx_q50", 2)] {
        assert_near(&column[name], f64::from(minutes[minutes.len() / part]), 1.0);
    }
    let distinct = minutes.iter().collect::<BTreeSet<_>>().len() as f64;
    assert_near(&column["approx_distinct"], distinct, distinct * 0.05);
}

#[test]
fn text_lists_and_fields_of_structs_have_the_figures_that_fit() {
    let months = months();
    let columns = described(&[&sample("trips")]);
    let lengths: Vec<usize> = months
        .iter()
        .flat_map(|rows| rows["note"].as_string::<i32>().iter().flatten().map(|note| note.chars().count()))
        .collect();
    let note = &columns["note"];
    assert_eq!(note["count"], json!(lengths.len()));
    assert_eq!((&note["shortest"], &note["longest"]), (&json!(lengths.iter().min()), &json!(lengths.iter().max())));
    assert_eq!(note["mean"], Value::Null);

    let items: Vec<usize> =
        months.iter().flat_map(|rows| rows["tags"].as_list::<i32>().iter().flatten().map(|tags| tags.len())).collect();
    let tags = &columns["tags"];
    assert_eq!((&tags["shortest"], &tags["longest"]), (&json!(items.iter().min()), &json!(items.iter().max())));
    assert_eq!((&tags["min"], &tags["approx_distinct"]), (&Value::Null, &Value::Null));

    let ages: usize = months
        .iter()
        .map(|rows| rows["rider"].as_struct()["age"].as_primitive::<UInt8Type>().iter().flatten().count())
        .sum();
    assert_eq!(columns["rider.age"]["count"], json!(ages));
    assert!(!columns.contains_key("rider"), "its fields are described instead");
}

#[test]
fn columns_and_rows_can_be_chosen() {
    let prices = months()
        .iter()
        .flat_map(|rows| rows["price"].as_primitive::<Decimal128Type>().values().to_vec())
        .filter(|price| *price > 1250)
        .collect::<Vec<_>>();
    let trips = sample("trips");
    let columns = described(&[&trips, "--where", "price > 12.5", "--columns", "price,rider.plan"]);
    assert_eq!(columns.keys().collect::<Vec<_>>(), ["price", "rider.plan"]);
    assert_eq!(columns["price"]["count"], json!(prices.len()));
    let least = *prices.iter().min().unwrap();
    assert_eq!(columns["price"]["min"], json!(format!("{}.{:02}", least / 100, least % 100)));
    let none = described(&[&trips, "--where", "minutes > 60000", "--columns", "minutes"]);
    assert_eq!((&none["minutes"]["count"], &none["minutes"]["max"]), (&json!(0), &Value::Null));
    assert!(lath(["describe", &trips, "--columns", "prize"]).stderr.contains("there is no column \"prize\""));
    assert!(lath(["describe", &trips, "--where", "prize > 1"]).stderr.contains("there is no column \"prize\""));
}

#[test]
fn every_type_that_can_be_generated_is_described() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.parquet");
    let path = path.to_str().unwrap();
    assert_eq!(lath(["gen", "events", "--rows", "1000", "-o", path, "--quiet"]).code, 0);
    for column in described(&[path]).values() {
        assert_eq!(column["count"].as_u64().unwrap() + column["nulls"].as_u64().unwrap(), 1000, "{column}");
    }
}

#[test]
fn groups_are_counted_with_the_largest_first() {
    let mut expected: BTreeMap<(String, Option<u8>), u64> = BTreeMap::new();
    for rows in months() {
        let rider = rows["rider"].as_struct();
        let (plans, ages) = (rider["plan"].as_string::<i32>(), rider["age"].as_primitive::<UInt8Type>());
        for (plan, age) in plans.iter().zip(ages) {
            *expected.entry((plan.unwrap().to_owned(), age)).or_default() += 1;
        }
    }
    let trips = sample("trips");
    let found = lath(["count", &trips, "--by", "rider.plan,rider.age"]).json_lines(0);
    let counts: Vec<u64> = found.iter().map(|row| row["count"].as_u64().unwrap()).collect();
    assert!(counts.is_sorted_by(|a, b| a >= b), "{counts:?}");
    let groups = found.iter().map(|row| {
        let age = row["rider.age"].as_u64().map(|age| u8::try_from(age).unwrap());
        ((row["rider.plan"].as_str().unwrap().to_owned(), age), row["count"].as_u64().unwrap())
    });
    assert_eq!(groups.collect::<BTreeMap<_, _>>(), expected);

    let run =
        lath(["count", &trips, "--by", "rider.plan", "--limit", "1", "--where", "price > 12.5", "--format", "csv"]);
    assert_eq!(run.text(0).lines().count(), 2);
    assert!(lath(["count", &trips, "--format", "csv"]).stderr.contains("--by"));
}

#[test]
fn rows_are_found_in_the_order_that_was_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("a.parquet"), &numbered(0..1000), 100);
    write(&folder.path().join("b.parquet"), &numbered(1000..2000), 100);
    let path = folder.path().to_str().unwrap();
    let ids = |order: &str, limit: &str| -> Vec<i64> {
        let found =
            lath(["find", path, "--where", "id >= 10", "--order-by", order, "--limit", limit, "--select", "id"]);
        found.json_lines(0).iter().map(|line| line["id"].as_i64().unwrap()).collect()
    };
    assert_eq!(ids("id DESC", "5"), [1999, 1998, 1997, 1996, 1995]);
    assert_eq!(ids("ID", "3"), [10, 11, 12]);
    // Names are null if the number modulo 7 is 3. Nulls are last in both directions.
    assert_eq!(ids("name nulls first, id desc", "2"), [1998, 1991]);
    let last = ids("name desc, id", "100000");
    assert_eq!(last.len(), 1990);
    assert_eq!(last.last().unwrap() % 7, 3);

    let trips = sample("trips");
    let both = lath([
        "find",
        &trips,
        "--where",
        "price > 13",
        "--order-by",
        "rider.age desc, trip",
        "--select",
        "rider.age,price",
    ]);
    let found = both.json_lines(0);
    for trip in &found {
        assert_eq!(trip.as_object().unwrap().keys().collect::<Vec<_>>(), ["price", "rider"]);
        assert_eq!(trip["rider"].as_object().unwrap().keys().collect::<Vec<_>>(), ["age"]);
    }
    let ages: Vec<_> = found.iter().filter_map(|trip| trip["rider"]["age"].as_u64()).collect();
    assert!(ages.is_sorted_by(|a, b| a >= b) && ages.len() > 1, "{ages:?}");
    lath(["find", &trips, "--where", "minutes > 60000", "--order-by", "price"]).text(1);
    for wrong in ["prize", "price down", "", "price nulls"] {
        assert_eq!(lath(["find", &trips, "--where", "TRUE", "--order-by", wrong]).code, 2, "{wrong}");
    }
}

#[test]
fn every_type_is_described() {
    use std::sync::Arc;

    use arrow_array::types::Int32Type;
    use arrow_array::{ArrayRef, BinaryArray, DictionaryArray, Int64Array, StringArray, StructArray};
    use arrow_cast::cast;
    use arrow_schema::{DataType, Field, TimeUnit};

    let bytes = BinaryArray::from_opt_vec(vec![Some(b"ab"), None, Some(b"abcd"), Some(b"")]);
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(86_400_000), None, Some(0), Some(172_800_000)]));
    let of = |data_type: DataType| cast(&numbers, &data_type).unwrap();
    let dictionary: DictionaryArray<Int32Type> =
        StringArray::from(vec![Some("é"), None, Some("é"), Some("ab")]).iter().collect();
    let field = Arc::new(Field::new("bytes", DataType::Binary, true));
    let structure = StructArray::from(vec![(field, Arc::new(bytes.clone()) as ArrayRef)]);
    let rows = RecordBatch::try_from_iter_with_nullable([
        ("bytes", Arc::new(bytes.clone()) as ArrayRef, true),
        ("large", cast(&bytes, &DataType::LargeBinary).unwrap(), true),
        (
            "coded",
            cast(&bytes, &DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Binary))).unwrap(),
            true,
        ),
        ("text", Arc::new(dictionary), true),
        ("struct", Arc::new(structure), true),
        ("date64", of(DataType::Date64), true),
        ("seconds", of(DataType::Timestamp(TimeUnit::Second, None)), true),
        ("duration", of(DataType::Duration(TimeUnit::Millisecond)), true),
        ("decimal", of(DataType::Decimal256(50, 2)), true),
        ("half", of(DataType::Float16), true),
        ("nothing", arrow_array::new_null_array(&DataType::Null, 4), true),
    ]);
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder.path().join("a.parquet"), &rows.unwrap(), 3);
    let columns = described(&[path.to_str().unwrap()]);
    assert_eq!(columns.len(), 11);
    for name in ["bytes", "large", "coded", "struct.bytes"] {
        let column = &columns[name];
        assert_eq!((&column["shortest"], &column["longest"]), (&json!(0), &json!(4)), "{name}");
        assert_eq!(
            (&column["min"], &column["max"], &column["nulls"]),
            (&json!(""), &json!("61626364"), &json!(1)),
            "{name}"
        );
    }
    assert_eq!(columns["text"]["longest"], json!(2));
    assert_eq!(columns["decimal"]["max"], json!("172800000.00"));
    assert_eq!(columns["nothing"]["nulls"], json!(4));
}

#[test]
fn many_columns_have_the_figures_that_few_have() {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array};

    let column = |at: i64| Arc::new(Int64Array::from_iter_values((0..50).map(|row| row * at % 97))) as ArrayRef;
    let names: Vec<String> = (0..75).map(|at| format!("c{at}")).collect();
    let rows =
        RecordBatch::try_from_iter(names.iter().enumerate().map(|(at, name)| (name, column(at as i64)))).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder.path().join("a.parquet"), &rows, 20);
    let path = path.to_str().unwrap();
    for threads in ["1", "2"] {
        let all = lath(["describe", path, "--threads", threads, "--format", "jsonl"]).json_lines(0);
        assert_eq!(all.iter().map(|row| row["column"].as_str().unwrap()).collect::<Vec<_>>(), names);
        let few = lath(["describe", path, "--columns", "c3,c40,c74", "--threads", threads, "--format", "jsonl"])
            .json_lines(0);
        assert_eq!(few, [all[3].clone(), all[40].clone(), all[74].clone()]);
    }
}
