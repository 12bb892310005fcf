//! Every output format, read back by an independent reader.

use std::fs;
use std::io::Cursor;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_cast::cast;
use arrow_schema::{DataType, Field, Schema};
use arrow_select::concat::concat_batches;
use bytes::Bytes;
use serde_json::{Value, json};

use crate::files::{broken, numbered, oracle, plain, read, write};
use crate::invocation::{lath, sample};

#[test]
fn an_arrow_stream_equals_the_file() {
    for name in ["trips/2025-01.parquet", "trips/2025-02.parquet", "trips/2025-03.parquet"] {
        let path = sample(name);
        let run = lath(["cat", &path, "--format", "arrow"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let reader = arrow_ipc::reader::StreamReader::try_new(Cursor::new(run.stdout), None).unwrap();
        let schema = reader.schema();
        let batches: Vec<RecordBatch> = reader.collect::<Result<_, _>>().unwrap();
        assert_eq!(plain(&concat_batches(&schema, &batches).unwrap()), plain(&oracle(&path)), "{name}");
    }
}

#[test]
fn arrow_and_parquet_files_equal_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = sample("trips/2025-02.parquet");
    let expected = plain(&oracle(&path));
    let arrow = folder.path().join("out.arrow");
    assert_eq!(lath(["cat", &path, "-o", arrow.to_str().unwrap()]).text(0), "");
    let reader = arrow_ipc::reader::FileReader::try_new(fs::File::open(&arrow).unwrap(), None).unwrap();
    let schema = reader.schema();
    let batches: Vec<RecordBatch> = reader.collect::<Result<_, _>>().unwrap();
    assert_eq!(plain(&concat_batches(&schema, &batches).unwrap()), expected);
    let parquet = folder.path().join("out.parquet");
    assert_eq!(lath(["cat", &path, "-o", parquet.to_str().unwrap()]).text(0), "");
    assert_eq!(plain(&oracle(&parquet)), expected);
    let piped = lath(["cat", &path, "--format", "parquet"]);
    assert_eq!(plain(&read(Bytes::from(piped.stdout))), expected);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "no temporary file is left");
}

#[test]
fn csv_keeps_nulls_and_empty_strings_apart() {
    let folder = tempfile::tempdir().unwrap();
    let texts = arrow_array::StringArray::from(vec![Some("a,b"), Some(""), None, Some("say \"hi\"\nthere")]);
    let numbers = arrow_array::Float64Array::from(vec![Some(1.5), None, Some(-0.0), Some(f64::NAN)]);
    let rows = RecordBatch::try_from_iter_with_nullable([
        ("text, quoted", Arc::new(texts) as arrow_array::ArrayRef, true),
        ("number", Arc::new(numbers), true),
    ]);
    let path = write(&folder.path().join("a.parquet"), &rows.unwrap(), 10);
    let run = lath(["cat", path.to_str().unwrap(), "--format", "csv"]);
    assert_eq!(run.text(0), "\"text, quoted\",number\n\"a,b\",1.5\n\"\",\n,-0.0\n\"say \"\"hi\"\"\nthere\",NaN\n");
}

#[test]
fn csv_is_read_back_by_another_reader() {
    let folder = tempfile::tempdir().unwrap();
    let expected = numbered(0..500);
    let path = write(&folder.path().join("a.parquet"), &expected, 100);
    let run = lath(["cat", path.to_str().unwrap(), "--format", "csv"]);
    let schema =
        Arc::new(Schema::new(vec![Field::new("id", DataType::Int64, true), Field::new("name", DataType::Utf8, true)]));
    let reader =
        arrow_csv::ReaderBuilder::new(schema.clone()).with_header(true).build(Cursor::new(run.stdout)).unwrap();
    let batches: Vec<RecordBatch> = reader.collect::<Result<_, _>>().unwrap();
    assert_eq!(concat_batches(&schema, &batches).unwrap().columns(), expected.columns());
}

#[test]
fn json_has_every_row_with_every_column() {
    let trips = sample("trips/2025-02.parquet");
    let lines = lath(["head", "-n", "100", &trips, "--format", "jsonl"]).json_lines(0);
    let array = lath(["head", "-n", "100", &trips, "--format", "json"]);
    let array: Value = serde_json::from_str(array.text(0)).unwrap();
    assert_eq!(array, Value::from(lines.clone()));
    let expected = oracle(&trips);
    assert_eq!(lines.len(), 100);
    for (row, line) in lines.iter().enumerate() {
        assert_eq!(line.as_object().unwrap().len(), expected.num_columns());
        for (field, column) in expected.schema().fields().iter().zip(expected.columns()) {
            let value = &line[field.name()];
            assert_eq!(value.is_null(), column.is_null(row), "{} of row {row}", field.name());
            // Values that are neither nested nor UUIDs print as in Arrow.
            if !column.is_null(row) && !column.data_type().is_nested() && field.name() != "trip" {
                let column = match column.data_type() {
                    DataType::Timestamp(unit, Some(_)) => {
                        &cast(column, &DataType::Timestamp(*unit, Some("+00:00".into()))).unwrap()
                    }
                    _ => column,
                };
                let text = arrow_cast::display::array_value_to_string(column, row).unwrap();
                match value {
                    Value::String(value) => assert_eq!(*value, text),
                    Value::Number(_) => assert_eq!(value.as_f64().unwrap(), text.parse::<f64>().unwrap(), "{text}"),
                    other => panic!("{}: {other}", field.name()),
                }
            }
        }
    }
}

#[test]
fn json_shows_nested_values_uuids_and_maps() {
    let station = &lath(["head", "-n", "1", &sample("stations.parquet")]).json_lines(0)[0];
    assert_eq!(station["name"], json!("Old Mill"));
    assert!(station["location"]["latitude"].is_f64());
    assert!(station["docks"]["standard"].is_u64() && station["docks"]["electric"].is_u64(), "{}", station["docks"]);
    let trip = &lath(["head", "-n", "1", &sample("trips/2025-01.parquet")]).json_lines(0)[0];
    let id = trip["trip"].as_str().unwrap();
    assert_eq!(id.split('-').map(str::len).collect::<Vec<_>>(), [8, 4, 4, 4, 12], "{id}");
    assert!(trip["tags"].is_array());
    assert!(trip["rider"]["plan"].is_string());
}

#[test]
fn an_empty_result_is_still_of_its_format() {
    let trips = sample("trips/2025-01.parquet");
    let find =
        |format: &str| lath(["find", &trips, "--where", "minutes > 1000", "--select", "from,to", "--format", format]);
    assert_eq!(find("json").text(1), "[]\n");
    assert_eq!(find("jsonl").text(1), "");
    assert_eq!(find("csv").text(1), "from,to\n");
    assert_eq!(find("table").text(1), "from  to\n────  ──\n0 rows, 2 columns\n");
    assert_eq!(read(Bytes::from(find("parquet").stdout)).num_rows(), 0);
}

#[test]
fn the_name_of_the_output_file_tells_its_format() {
    let folder = tempfile::tempdir().unwrap();
    let stations = sample("stations.parquet");
    for (name, start) in
        [("a.csv", "name,"), ("a.json", "[{"), ("a.ndjson", "{\"name\""), ("a.txt", "name "), ("a.arrow", "ARROW1")]
    {
        let path = folder.path().join(name);
        lath(["cat", &stations, "-o", path.to_str().unwrap()]).text(0);
        let written = fs::read(&path).unwrap();
        assert!(written.starts_with(start.as_bytes()), "{name}: {}", String::from_utf8_lossy(&written));
    }
    let unknown = lath(["cat", &stations, "-o", folder.path().join("a.xyz").to_str().unwrap()]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.stderr.contains("add --format"), "{}", unknown.stderr);
}

#[test]
fn a_failed_run_leaves_the_old_output_file_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let good = write(&folder.path().join("a.parquet"), &numbered(0..1000), 100);
    let bad = folder.path().join("b.parquet");
    fs::write(&bad, broken(&good)).unwrap();
    let output = folder.path().join("out.csv");
    fs::write(&output, "old").unwrap();
    let run = lath(["cat", bad.to_str().unwrap(), "-o", output.to_str().unwrap()]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert_eq!(fs::read_to_string(&output).unwrap(), "old");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "no temporary file is left");
}
