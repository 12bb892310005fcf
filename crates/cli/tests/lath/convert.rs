//! `convert`, between every pair of formats.

use std::fs;
use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{DataType, TimeUnit};
use arrow_select::concat::concat_batches;
use serde_json::json;

use crate::files::{broken, numbered, oracle, plain, write};
use crate::invocation::{lath, lath_with_input, sample};

fn ipc(bytes: Vec<u8>) -> RecordBatch {
    let (schema, batches) = if bytes.starts_with(b"ARROW1") {
        let reader = FileReader::try_new(Cursor::new(bytes), None).unwrap();
        (reader.schema(), reader.collect::<Result<Vec<_>, _>>().unwrap())
    } else {
        let reader = StreamReader::try_new(Cursor::new(bytes), None).unwrap();
        (reader.schema(), reader.collect::<Result<Vec<_>, _>>().unwrap())
    };
    concat_batches(&schema, &batches).unwrap()
}

fn path_in(folder: &tempfile::TempDir, name: &str) -> String {
    folder.path().join(name).to_str().unwrap().to_owned()
}

#[test]
fn every_format_comes_back_from_every_other() {
    let folder = tempfile::tempdir().unwrap();
    let expected = numbered(0..5000);
    let start = write(&folder.path().join("start.parquet"), &expected, 1000);
    let mut previous = start.to_str().unwrap().to_owned();
    let formats = [
        "csv", "arrow", "jsonl", "csv", "arrows", "csv", "jsonl", "arrows", "jsonl", "parquet", "jsonl", "parquet",
        "csv", "parquet", "arrows", "parquet", "arrow",
    ];
    for (step, extension) in formats.into_iter().enumerate() {
        let next = path_in(&folder, &format!("{step}.{extension}"));
        let run = lath(["convert", &previous, "-o", &next]);
        assert_eq!(run.text(0), "", "{extension}");
        assert!(run.stderr.contains("5,000 rows, ") && run.stderr.contains(" after ("), "{}", run.stderr);
        previous = next;
    }
    assert_eq!(ipc(fs::read(previous).unwrap()).columns(), expected.columns());
}

#[test]
fn types_of_csv_are_inferred() {
    let csv = "id,price,when,day,paid,note\n1,1.5,2025-01-31 08:30:00,2025-01-31,true,a\n2,2,2025-01-31 08:30:00.25,2025-02-01,false,\n,,,,,\n";
    let run = lath_with_input(&["convert", "-", "--from", "csv", "--format", "arrow"], csv.as_bytes());
    assert_eq!(run.stderr, "");
    let rows = ipc(run.stdout);
    let types: Vec<_> = rows.schema().fields().iter().map(|field| field.data_type().clone()).collect();
    assert_eq!(
        types,
        [
            DataType::Int64,
            DataType::Float64,
            DataType::Timestamp(TimeUnit::Microsecond, None),
            DataType::Date32,
            DataType::Boolean,
            DataType::Utf8
        ]
    );
    assert_eq!(rows.num_rows(), 3);
    for column in rows.columns() {
        assert!(column.is_null(2), "{column:?}");
    }
}

#[test]
fn a_value_that_does_not_fit_its_inferred_type_is_an_error_that_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (path_in(&folder, "a.csv"), path_in(&folder, "out.jsonl"));
    fs::write(&input, "zip,name\n100,a\n200,b\nN1 7AA,c\n").unwrap();
    let run = lath(["convert", &input, "-o", &output, "--infer-rows", "2"]);
    assert_eq!(run.code, 3);
    for part in ["a.csv: line 4, column zip", "N1 7AA", "--type zip=string", "first 2 rows", "--infer-rows all"] {
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left of the output");
    for fixed in [vec!["--type", "zip=string", "--infer-rows", "2"], vec!["--infer-rows", "all"]] {
        let mut args = vec!["convert", &input, "--format", "jsonl"];
        args.extend(fixed);
        assert_eq!(lath(&args).json_lines(0)[2], json!({"zip": "N1 7AA", "name": "c"}));
    }
}

#[test]
fn a_field_of_json_that_the_first_rows_lack_is_an_error_not_lost() {
    let lines = "{\"a\":1}\n{\"a\":2,\"b\":3}\n";
    let run = lath_with_input(&["convert", "-", "--infer-rows", "1", "--format", "csv"], lines.as_bytes());
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("line 2") && run.stderr.contains("--infer-rows"), "{}", run.stderr);
    let run = lath_with_input(&["convert", "-", "--format", "csv"], lines.as_bytes());
    assert_eq!(run.text(0), "a,b\n1,\n2,3\n");
}

#[test]
fn a_column_without_values_is_text() {
    let csv = "a,b\n1,\n2,x\n";
    let args = ["convert", "-", "--from", "csv", "--infer-rows", "1", "--format", "csv"];
    assert_eq!(lath_with_input(&args, csv.as_bytes()).text(0), csv);
}

#[test]
fn types_are_taken_from_another_file() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["trips/2025-01.parquet", "trips/2025-02.parquet"] {
        let (original, lines, back) = (sample(name), path_in(&folder, "a.jsonl"), path_in(&folder, "b.arrow"));
        lath(["convert", &original, "-o", &lines, "--force"]).text(0);
        lath(["convert", &lines, "-o", &back, "--schema-of", &original, "--force"]).text(0);
        assert_eq!(plain(&ipc(fs::read(&back).unwrap())), plain(&oracle(&original)), "{name}");
    }
}

#[test]
fn several_files_of_text_become_one_table() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(path_in(&folder, "1.csv"), "id,price\n1,1.5\n").unwrap();
    fs::write(path_in(&folder, "2.csv"), "price,id\n2,2\n").unwrap();
    fs::write(path_in(&folder, "3.jsonl"), "{\"id\":3,\"price\":3.25}\n").unwrap();
    let run = lath(["convert", &path_in(&folder, "[123].*"), "--format", "csv"]);
    assert_eq!(run.text(0), "id,price\n1,1.5\n2,2.0\n3,3.25\n");
}

#[test]
fn delimiters_and_headers_can_be_chosen() {
    let run = lath_with_input(
        &["convert", "-", "--from", "csv", "--delimiter", ";", "--no-header", "--format", "jsonl"],
        b"1;a\n2;b\n",
    );
    assert_eq!(run.json_lines(0)[1], json!({"column_1": 2, "column_2": "b"}));
}

#[test]
fn formats_are_told_by_content_where_names_say_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let lines = path_in(&folder, "lines");
    fs::write(&lines, " {\"a\":1}\n").unwrap();
    assert_eq!(lath(["convert", &lines, "--format", "csv"]).text(0), "a\n1\n");
    let arrow = path_in(&folder, "arrow");
    lath(["convert", &lines, "--format", "arrow", "-o", &arrow]).text(0);
    assert_eq!(lath(["convert", &arrow, "--format", "csv"]).text(0), "a\n1\n");
    let stream = lath(["convert", &lines, "--format", "arrow"]);
    assert_eq!(lath_with_input(&["convert", "-", "--format", "csv"], &stream.stdout).text(0), "a\n1\n");
    let file = fs::read(&arrow).unwrap();
    assert_eq!(lath_with_input(&["convert", "-", "--format", "csv"], &file).text(0), "a\n1\n");
    let unknown = path_in(&folder, "unknown");
    fs::write(&unknown, "a\n1\n").unwrap();
    let run = lath(["convert", &unknown, "--format", "csv"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("--from"), "{}", run.stderr);
}

#[test]
fn outputs_that_exist_and_inputs_are_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (path_in(&folder, "a.csv"), path_in(&folder, "out.jsonl"));
    fs::write(&input, "a\n1\n").unwrap();
    fs::write(&output, "old").unwrap();
    let run = lath(["convert", &input, "-o", &output]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("--force"), "{}", run.stderr);
    assert_eq!(fs::read_to_string(&output).unwrap(), "old");
    lath(["convert", &input, "-o", &output, "--force"]).text(0);
    assert_eq!(fs::read_to_string(&output).unwrap(), "{\"a\":1}\n");
    let run = lath(["convert", &input, "-o", &input, "--force"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("input"), "{}", run.stderr);
    assert_eq!(fs::read_to_string(&input).unwrap(), "a\n1\n");
}

#[test]
fn broken_inputs_leave_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let whole = write(&folder.path().join("whole.parquet"), &numbered(0..900), 300);
    let output = path_in(&folder, "out.csv");
    let cut = |name: &str, bytes: Vec<u8>| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let arrow = lath(["convert", whole.to_str().unwrap(), "--format", "arrow"]).stdout;
    let inputs = [
        cut("broken.parquet", broken(&whole)),
        cut("cut.arrows", arrow[..arrow.len() / 2].to_vec()),
        cut("cut.jsonl", b"{\"a\":1}\n{\"a\":".to_vec()),
        cut("array.json", b"[{\"a\":1}]".to_vec()),
        cut("ragged.csv", b"a,b\n1,2\n3\n".to_vec()),
    ];
    let files = fs::read_dir(folder.path()).unwrap().count();
    for input in &inputs {
        let run = lath(["convert", input.to_str().unwrap(), "-o", &output]);
        assert_eq!(run.code, 3, "{}: {}", input.display(), run.stderr);
        assert!(run.stderr.contains(input.file_name().unwrap().to_str().unwrap()), "{}", run.stderr);
        assert!(!Path::new(&output).exists());
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), files, "no temporary file is left");
}

#[test]
fn the_summary_can_be_read_by_programs() {
    let folder = tempfile::tempdir().unwrap();
    let output = path_in(&folder, "out.csv");
    let input = sample("stations.parquet");
    let summary = &lath(["convert", &input, "-o", &output, "--json"]).json_lines(0)[0];
    assert_eq!(summary["output"], json!(output));
    assert_eq!(summary["rows"].as_u64().unwrap(), oracle(&input).num_rows() as u64);
    assert_eq!(summary["bytes_before"].as_u64().unwrap(), fs::metadata(&input).unwrap().len());
    assert_eq!(summary["bytes_after"].as_u64().unwrap(), fs::metadata(&output).unwrap().len());
    assert_eq!(lath(["convert", &input, "--json", "--format", "csv"]).code, 2);
    let quiet = lath(["convert", &input, "-o", &output, "--force", "--quiet"]);
    assert_eq!((quiet.code, quiet.stderr.as_str()), (0, ""));
}

#[test]
fn integers_keep_their_width_through_arrow() {
    let rows = numbered(0..10);
    let folder = tempfile::tempdir().unwrap();
    let input = write(&folder.path().join("a.parquet"), &rows, 10);
    let converted = ipc(lath(["convert", input.to_str().unwrap(), "--format", "arrow"]).stdout);
    assert_eq!(converted.column(0).as_primitive::<Int64Type>().values(), &(0..10).collect::<Vec<i64>>()[..]);
    assert_eq!(Arc::clone(rows.column(1)).as_string::<i32>(), converted.column(1).as_string::<i32>());
}
