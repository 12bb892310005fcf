//! Partition columns in every command. The expected results come from pyarrow's dataset and DuckDB with `hive_partitioning` for the same
//! files.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray};
use serde_json::json;

use crate::files::{broken, numbered, oracle, plain, write};
use crate::invocation::{lath, lath_with_input, sample};

/// Four rows in three files. The values need decoding, and one of them is null.
fn cities(root: &Path) -> String {
    for (folder, ids) in [
        ("year=2025/city=Bergen", 1..3),
        ("year=2025/city=Oslo%20S", 3..4),
        ("year=2026/city=__HIVE_DEFAULT_PARTITION__", 4..5),
    ] {
        let folder = root.join(folder);
        fs::create_dir_all(&folder).unwrap();
        write(&folder.join("a.parquet"), &numbered(ids).project(&[0]).unwrap(), 10);
    }
    root.to_str().unwrap().to_owned()
}

/// The table of [`cities`], as pyarrow reads it: `dataset(root, partitioning="hive").to_table()`.
fn cities_table() -> RecordBatch {
    let id: ArrayRef = Arc::new(Int64Array::from_iter_values(1..5));
    let year: ArrayRef = Arc::new(Int64Array::from(vec![2025, 2025, 2025, 2026]));
    let city: ArrayRef = Arc::new(StringArray::from(vec![Some("Bergen"), Some("Bergen"), Some("Oslo S"), None]));
    RecordBatch::try_from_iter_with_nullable([("id", id, true), ("year", year, true), ("city", city, true)]).unwrap()
}

fn path_in(folder: &tempfile::TempDir, name: &str) -> String {
    folder.path().join(name).to_str().unwrap().to_owned()
}

fn columns(names: &[(&str, ArrayRef)]) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(names.iter().map(|(name, column)| (*name, column.clone(), true))).unwrap()
}

#[test]
fn commands_that_print_rows_have_the_columns_of_directories() {
    let folder = tempfile::tempdir().unwrap();
    let root = cities(folder.path());
    let all = "id,year,city\n1,2025,Bergen\n2,2025,Bergen\n3,2025,Oslo S\n4,2026,\n";
    for command in
        [&["cat"][..], &["cat", "--threads", "3"], &["head"], &["tail"], &["sample"], &["sample", "--threads", "2"]]
    {
        let run = lath([command, &[&root, "--format", "csv"]].concat());
        assert_eq!(run.text(0), all, "{command:?}");
    }
    assert_eq!(lath(["find", &root, "--where", "id > 0", "--format", "csv"]).text(0), all);
    let some = |args: &[&str]| lath([args, &[&root, "--format", "csv"]].concat()).text(0).to_owned();
    assert_eq!(some(&["head", "-n", "1"]), "id,year,city\n1,2025,Bergen\n");
    assert_eq!(some(&["tail", "-n", "2"]), "id,year,city\n3,2025,Oslo S\n4,2026,\n");
    assert_eq!(some(&["cat", "--columns", "city,id"]), "city,id\nBergen,1\nBergen,2\nOslo S,3\n,4\n");
    assert_eq!(some(&["cat", "--columns", "year", "--threads", "2"]), "year\n2025\n2025\n2025\n2026\n");
    assert_eq!(some(&["tail", "-n", "1", "--columns", "year"]), "year\n2026\n");
    assert_eq!(some(&["cat", "--no-partitions"]), "id\n1\n2\n3\n4\n");
    let none = lath(["find", &root, "--where", "year = 2025", "--no-partitions"]);
    assert_eq!(none.code, 2, "{}", none.stderr);
}

#[test]
fn values_come_from_the_path_as_it_was_given() {
    let folder = tempfile::tempdir().unwrap();
    let root = cities(folder.path());
    let file = format!("{root}/year=2025/city=Bergen/a.parquet");
    let named = "id,year,city\n1,2025,Bergen\n2,2025,Bergen\n";
    assert_eq!(lath(["cat", &file, "--format", "csv"]).text(0), named);
    assert_eq!(lath(["cat", &format!("{root}/year=*/city=B*/a.parquet"), "--format", "csv"]).text(0), named);
    let mut inside = crate::invocation::command(["cat", "a.parquet", "--format", "csv"]);
    let inside = inside.current_dir(format!("{root}/year=2025/city=Bergen")).output().unwrap();
    assert_eq!(String::from_utf8(inside.stdout).unwrap(), "id\n1\n2\n");
    let piped = lath_with_input(&["cat", &file, "-", "--format", "csv"], &fs::read(&file).unwrap());
    assert_eq!(piped.text(0), format!("{named}1,,\n2,,\n"), "standard input has no directories");
}

#[test]
fn commands_that_write_store_the_columns_of_directories_and_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let root = cities(&folder.path().join("in"));
    let (output, expected) = (path_in(&folder, "out.parquet"), plain(&cities_table()));
    for command in [
        &["rewrite"][..],
        &["rewrite", "--codec", "zstd"],
        &["rewrite", "--where", "id > 0"],
        &["rewrite", "--sort-by", "year,id"],
        &["merge"],
        &["merge", "--sort-by", "id"],
        &["convert"],
    ] {
        let run = lath([command, &[&root, "-o", &output, "--force"]].concat());
        assert_eq!(run.text(0), "", "{command:?}");
        assert_eq!(plain(&oracle(&output)), expected, "{command:?}");
        for line in
            ["partition column year: stored as a column of type Int64\n", "city: stored as a column of type Utf8\n"]
        {
            assert!(run.stderr.contains(line), "{command:?}: {}", run.stderr);
        }
        assert!(lath(["check", &output]).text(0).contains(": ok ("), "{command:?}");
    }
    lath(["cat", &root, "-o", &output]).text(0);
    assert_eq!(plain(&oracle(&output)), expected);
    let run = lath(["convert", &root, "-o", &path_in(&folder, "out.csv")]);
    assert!(run.stderr.contains("partition column year: stored"), "{}", run.stderr);
    assert_eq!(
        fs::read_to_string(path_in(&folder, "out.csv")).unwrap(),
        "id,year,city\n1,2025,Bergen\n2,2025,Bergen\n3,2025,Oslo S\n4,2026,\n"
    );
    let summary = lath(["rewrite", &root, "-o", &output, "--force", "--json", "--columns", "id,year"]).json_lines(0);
    assert_eq!(
        summary[0]["partition_columns"],
        json!([{ "name": "year", "stored_as": "Int64" }, { "name": "city", "stored_as": null }])
    );
}

#[test]
fn parts_of_a_split_have_the_columns_of_directories() {
    let folder = tempfile::tempdir().unwrap();
    let root = cities(&folder.path().join("in"));
    for (size, lengths) in
        [(["--rows", "3"], &[3, 1][..]), (["--row-groups", "1"], &[2, 1, 1]), (["--bytes", "1GiB"], &[4])]
    {
        let output = folder.path().join(size[0].trim_matches('-')).join("part.parquet");
        fs::create_dir(output.parent().unwrap()).unwrap();
        let run = lath([&["split", &root, "-o", output.to_str().unwrap()][..], &size].concat());
        assert!(run.stderr.contains("partition column year: stored as a column of type Int64"), "{}", run.stderr);
        let mut first = 0;
        for (number, &length) in lengths.iter().enumerate() {
            let part = oracle(output.with_file_name(format!("part-{number:05}.parquet")));
            assert_eq!(plain(&part), plain(&cities_table().slice(first, length)), "{size:?} {number}");
            first += length;
        }
    }
}

#[test]
fn row_groups_are_copied_where_there_is_no_column_to_store() {
    let folder = tempfile::tempdir().unwrap();
    let root = cities(&folder.path().join("in"));
    let file = format!("{root}/year=2025/city=Bergen/a.parquet");
    let output = path_in(&folder, "out.parquet");
    let is_copied = |args: &[&str]| {
        let run = lath([args, &["-o", &output, "--force"]].concat());
        run.text(0);
        run.stderr.lines().any(|line| line.starts_with("id ") && line.ends_with("copied"))
    };
    assert!(is_copied(&["rewrite", &root, "--no-partitions"]));
    assert!(is_copied(&["merge", &root, "--no-partitions"]));
    assert!(is_copied(&["rewrite", &root, "--columns", "id"]));
    assert!(is_copied(&["rewrite", &file, "--no-partitions"]));
    assert!(!is_copied(&["rewrite", &root]));
    assert!(!is_copied(&["rewrite", &file]));
    assert_eq!(oracle(&output).num_columns(), 3);
}

#[test]
fn a_file_that_is_rewritten_in_place_keeps_its_own_columns() {
    let folder = tempfile::tempdir().unwrap();
    let id: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let own: ArrayRef = Arc::new(StringArray::from(vec!["own", "values"]));
    let rows = columns(&[("id", id), ("year", own)]);
    fs::create_dir(folder.path().join("year=2025")).unwrap();
    let path = write(&folder.path().join("year=2025/a.parquet"), &rows, 10);
    for (input, options) in [(folder.path(), &["--codec", "zstd"][..]), (&path, &["--where", "id = 1"]), (&path, &[])] {
        let run = lath([&["rewrite", input.to_str().unwrap(), "--in-place"][..], options].concat());
        assert_eq!(run.text(0), "");
        assert!(!run.stderr.contains("partition column"), "{}", run.stderr);
        let expected = if options.contains(&"zstd") { rows.clone() } else { rows.slice(0, 1) };
        assert_eq!(plain(&oracle(&path)), plain(&expected));
    }
}

#[test]
fn a_directory_wins_over_a_column_of_the_files() {
    let folder = tempfile::tempdir().unwrap();
    for (name, id, own) in [("x=50", 1, 7), ("x=60", 2, 8)] {
        let id: ArrayRef = Arc::new(Int64Array::from(vec![id]));
        let own: ArrayRef = Arc::new(Int64Array::from(vec![own]));
        fs::create_dir(folder.path().join(name)).unwrap();
        // The column comes before another one, so that indices in the file and in the table differ.
        write(&folder.path().join(name).join("a.parquet"), &columns(&[("x", own), ("id", id)]), 10);
    }
    let (root, output) = (folder.path().to_str().unwrap(), path_in(&folder, "out.csv"));
    // DuckDB's result; pyarrow refuses different types.
    let expected = "id,x\n1,50\n2,60\n";
    for command in [&["cat"][..], &["cat", "--threads", "2"], &["head"], &["cat", "--schema", "union"]] {
        assert_eq!(lath([command, &[root, "--format", "csv"]].concat()).text(0), expected, "{command:?}");
    }
    assert_eq!(lath(["convert", root, "-o", &output]).text(0), "");
    assert_eq!(fs::read_to_string(&output).unwrap(), expected);
    assert_eq!(lath(["cat", root, "--format", "csv", "--no-partitions"]).text(0), "x,id\n7,1\n8,2\n");
}

/// Two files; the second has an additional column, and one with another type.
fn days(root: &Path) -> String {
    let a: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
    let names: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
    let b: ArrayRef = Arc::new(Int64Array::from(vec![1 << 40]));
    let other: ArrayRef = Arc::new(StringArray::from(vec!["c"]));
    let price: ArrayRef = Arc::new(arrow_array::Float64Array::from(vec![1.5]));
    for (folder, rows) in [
        ("day=2026-01-31", columns(&[("id", a), ("name", names)])),
        ("day=2026-02-01", columns(&[("name", other), ("id", b), ("price", price)])),
    ] {
        fs::create_dir_all(root.join(folder)).unwrap();
        write(&root.join(folder).join("a.parquet"), &rows, 10);
    }
    root.to_str().unwrap().to_owned()
}

#[test]
fn files_of_other_types_and_columns_are_refused_or_united() {
    let folder = tempfile::tempdir().unwrap();
    let root = days(&folder.path().join("in"));
    let output = path_in(&folder, "out.csv");
    let parquet = path_in(&folder, "out.parquet");
    for command in [
        &["cat", &root][..],
        &["tail", "-n", "3", &root],
        &["sample", &root],
        &["rewrite", &root, "-o", &parquet],
        &["merge", &root, "-o", &parquet],
        &["merge", &root, "-o", &parquet, "--sort-by", "name"],
        &["convert", &root, "-o", &output],
    ] {
        let refused = lath(command);
        assert_eq!(refused.code, 2, "{command:?}");
        assert!(
            refused.stderr.contains("day=2026-02-01/a.parquet") && refused.stderr.contains("\"price\""),
            "{command:?}: {}",
            refused.stderr
        );
    }
    let refused = lath(["cat", &root, "--columns", "name,id"]);
    assert_eq!(refused.code, 2);
    let message = "column \"id\" is Int64 here and Int32 there";
    assert!(
        refused.stderr.contains("day=2026-02-01/a.parquet: ") && refused.stderr.contains(message),
        "{}",
        refused.stderr
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left of what failed");
    // DuckDB's result with union_by_name.
    let united = "id,name,price,day\n1,a,,2026-01-31\n2,b,,2026-01-31\n1099511627776,c,1.5,2026-02-01\n";
    for command in [&["cat"][..], &["cat", "--threads", "2"], &["head"], &["tail"], &["sample"]] {
        let args = [command, &[&root, "--schema", "union", "--format", "csv"]].concat();
        assert_eq!(lath(&args).text(0), united, "{command:?}");
    }
    for command in
        [&["rewrite"][..], &["rewrite", "--where", "id > 0"], &["merge"], &["merge", "--sort-by", "name"], &["convert"]]
    {
        lath([command, &[&root, "--schema", "union", "-o", &parquet, "--force"]].concat()).text(0);
        assert_eq!(lath(["cat", &parquet, "--format", "csv"]).text(0), united, "{command:?}");
    }
    let shared = lath(["cat", &root, "--columns", "day,name", "--format", "csv"]);
    assert_eq!(shared.text(0), "day,name\n2026-01-31,a\n2026-01-31,b\n2026-02-01,c\n");
}

#[test]
fn inputs_of_several_formats_have_the_columns_of_directories() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["k=1", "k=2", "k=b"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    fs::write(folder.path().join("k=1/a.csv"), "id,name\n1,a\n").unwrap();
    fs::write(folder.path().join("k=2/b.csv"), "name,id\nb,2\n").unwrap();
    let glob = path_in(&folder, "k=*/*.csv");
    let output = path_in(&folder, "out.parquet");
    let run = lath(["convert", &glob, "-o", &output]);
    assert!(run.stderr.contains("partition column k: stored as a column of type Int64"), "{}", run.stderr);
    let expected = columns(&[
        ("id", Arc::new(Int64Array::from(vec![1, 2]))),
        ("name", Arc::new(StringArray::from(vec!["a", "b"]))),
        ("k", Arc::new(Int64Array::from(vec![1, 2]))),
    ]);
    assert_eq!(plain(&oracle(&output)), plain(&expected));
    write(&folder.path().join("k=b/c.parquet"), &numbered(0..1), 10);
    let run = lath(["convert", &glob, &path_in(&folder, "k=b/c.parquet"), "--format", "csv"]);
    assert_eq!(run.text(0), "id,name,k\n1,a,1\n2,b,2\n0,name 0,b\n");
    let run = lath(["convert", &glob, &path_in(&folder, "k=b/c.parquet"), "--format", "csv", "--no-partitions"]);
    assert_eq!(run.text(0), "id,name\n1,a\n2,b\n0,name 0\n");
    let union = lath(["convert", &glob, "--format", "csv", "--schema", "union"]);
    assert_eq!(union.code, 2, "{}", union.stderr);
}

#[test]
fn files_are_opened_only_as_far_as_their_rows_are_wanted() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("a.parquet"), &numbered(0..100), 10);
    fs::write(folder.path().join("b.parquet"), "this is not Parquet").unwrap();
    let root = folder.path().to_str().unwrap();
    assert_eq!(lath(["head", "-n", "100", root]).json_lines(0).len(), 100);
    for command in ["cat", "tail", "sample"] {
        let run = lath([command, root]);
        assert_eq!(run.code, 3, "{command}");
        assert!(
            run.stderr.contains("b.parquet") && run.stderr.contains("not a Parquet file"),
            "{command}: {}",
            run.stderr
        );
    }
    // A broken row group is not read if only other rows are needed.
    fs::remove_file(folder.path().join("b.parquet")).unwrap();
    let path = folder.path().join("a.parquet");
    fs::write(&path, broken(&path)).unwrap();
    assert_eq!(lath(["head", "-n", "10", root]).json_lines(0).len(), 10);
    assert_eq!(lath(["tail", "-n", "80", root]).json_lines(0).len(), 80);
    assert_eq!(lath(["head", "-n", "11", root]).code, 3);
}

#[test]
fn a_row_group_that_a_later_file_lacks_is_named_with_the_file() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("a.parquet"), &numbered(0..100), 10);
    write(&folder.path().join("b.parquet"), &numbered(0..100), 50);
    let root = folder.path().to_str().unwrap();
    for command in
        [&["cat"][..], &["cat", "--threads", "2"], &["head", "-n", "50"], &["tail"], &["find", "--where", "id > 0"]]
    {
        let run = lath([command, &[root, "--row-groups", "1-2"]].concat());
        assert_eq!(run.code, 2, "{command:?}");
        let message = "b.parquet: there is no row group 2; the file has 2, counted from 0";
        assert!(run.stderr.contains(message), "{command:?}: {}", run.stderr);
    }
    let rows = lath(["cat", root, "--row-groups", "1", "--format", "csv", "--columns", "id", "--threads", "4"]);
    let expected: String = (10..20).chain(50..100).map(|id| format!("{id}\n")).collect();
    assert_eq!(rows.text(0), format!("id\n{expected}"));
}

#[test]
fn threads_change_nothing_about_the_rows() {
    let trips = sample("trips");
    let one = lath(["cat", &trips, "--threads", "1"]);
    for options in [&["--threads", "2"][..], &["--threads", "7", "--batch-size", "100"]] {
        let several = lath([&["cat", &trips][..], options].concat());
        assert!(one.text(0) == several.text(0), "{options:?}");
    }
}
