//! `gen`: generated data.

use std::fs;
use std::io::Cursor;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Int64Type};
use arrow_ipc::reader::StreamReader;
use arrow_select::concat::concat_batches;

use crate::files::oracle;
use crate::invocation::lath;

fn stream(args: &[&str]) -> RecordBatch {
    let run = lath(args);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let reader = StreamReader::try_new(Cursor::new(run.stdout), None).unwrap();
    let schema = reader.schema();
    concat_batches(&schema, &reader.collect::<Result<Vec<_>, _>>().unwrap()).unwrap()
}

#[test]
fn events_are_those_of_their_seed() {
    let events = |seed| stream(&["gen", "events", "--rows", "20000", "--seed", seed, "--format", "arrow"]);
    let (one, again, other) = (events("1"), events("1"), events("2"));
    assert_eq!(one, again);
    assert_ne!(one, other);
    assert_eq!((one.num_rows(), one.num_columns()), (20_000, 11));
    // The generator must not change, because users rely on its files.
    let first = &lath(["gen", "events", "--rows", "1", "--seed", "1", "--format", "jsonl"]).json_lines(0)[0];
    assert_eq!(first["timestamp"].as_str().unwrap(), FIRST_TIMESTAMP);
    assert_eq!(first["trace_id"].as_str().unwrap(), FIRST_TRACE);
}

const FIRST_TIMESTAMP: &str = "2025-01-01T00:00:00.001781Z";
const FIRST_TRACE: &str = "a851a9de2d57c9c73ec8f0747e0b5b63";

#[test]
fn tables_of_tpch_have_the_rows_of_the_specification() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("tpch");
    let run = lath(["gen", "tpch", "--sf", "0.01", "-o", output.to_str().unwrap(), "--format", "jsonl"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    for (table, rows) in [
        ("customer", 1_500),
        ("lineitem", 60_175),
        ("nation", 25),
        ("orders", 15_000),
        ("part", 2_000),
        ("partsupp", 8_000),
        ("region", 5),
        ("supplier", 100),
    ] {
        let text = fs::read_to_string(output.join(format!("{table}.jsonl"))).unwrap();
        assert_eq!(text.lines().count(), rows, "{table}");
    }
    let again = lath(["gen", "tpch", "--sf", "0.01", "-o", output.to_str().unwrap(), "--format", "jsonl"]);
    assert_eq!(again.code, 2);
    assert!(again.stderr.contains("--force"), "{}", again.stderr);
}

#[test]
fn parquet_files_hold_what_other_formats_hold() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.parquet");
    let path = path.to_str().unwrap();
    let run = lath(["gen", "events", "--rows", "20000", "--seed", "1", "-o", path, "--bloom", "trace_id,span_id"]);
    assert_eq!(run.text(0), "");
    assert!(run.stderr.contains("attributes.entries.value"), "{}", run.stderr);
    assert!(lath(["check", path]).text(0).contains("ok (20,000 rows, 1 row group, 12 columns)"));
    let expected = stream(&["gen", "events", "--rows", "20000", "--seed", "1", "--format", "arrow"]);
    assert_eq!(oracle(path).columns(), expected.columns());
}

#[test]
fn the_first_line_item_is_the_one_of_dbgen() {
    let rows = stream(&["gen", "tpch", "--sf", "0.001", "--table", "lineitem", "--format", "arrow"]);
    let column = |name: &str| rows.column_by_name(name).unwrap();
    assert_eq!(column("l_orderkey").as_primitive::<Int64Type>().value(0), 1);
    assert_eq!(column("l_quantity").as_primitive::<Decimal128Type>().value(0), 1700);
    assert_eq!(column("l_shipmode").as_string_view().value(0), "TRUCK");
}

#[test]
fn what_cannot_be_made_is_wrong_usage() {
    for args in [
        vec!["gen"],
        vec!["gen", "events"],
        vec!["gen", "tpch"],
        vec!["gen", "tpch", "--sf", "0"],
        vec!["gen", "tpch", "--sf", "1"],
        vec!["gen", "tpch", "--sf", "1", "--table", "customers"],
        vec!["gen", "events", "--rows", "-1"],
    ] {
        let run = lath(&args);
        assert_eq!(run.code, 2, "{args:?}: {}", run.stderr);
        assert!(run.stdout.is_empty() && !run.stderr.is_empty(), "{args:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_of_output() {
    for format in ["csv", "jsonl", "arrow", "parquet"] {
        let run = lath(["gen", "events", "--rows", "5000", "-o", "/dev/full", "--format", format]);
        assert_eq!(run.code, 4, "{format}: {}", run.stderr);
        assert!(run.stderr.contains("/dev/full") && run.stderr.contains("No space left"), "{}", run.stderr);
    }
}
