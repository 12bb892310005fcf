//! Types without an exact Arrow equivalent: INT96 timestamps and INTERVAL.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::data_type::{DataType, FixedLenByteArray, FixedLenByteArrayType, Int32Type, Int96, Int96Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::invocation::lath;

/// Writes required columns `id`, numbered from 0, and `c`, with the type in `column`.
fn write<T: DataType>(path: &Path, column: &str, values: &[T::T]) -> PathBuf {
    let schema = parse_message_type(&format!("message m {{ required int32 id; required {column}; }}")).unwrap();
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(File::create(path).unwrap(), Arc::new(schema), properties).unwrap();
    let mut row_group = writer.next_row_group().unwrap();
    let ids: Vec<i32> = (0..).take(values.len()).collect();
    let mut column = row_group.next_column().unwrap().unwrap();
    column.typed::<Int32Type>().write_batch(&ids, None, None).unwrap();
    column.close().unwrap();
    let mut column = row_group.next_column().unwrap().unwrap();
    column.typed::<T>().write_batch(values, None, None).unwrap();
    column.close().unwrap();
    row_group.close().unwrap();
    writer.close().unwrap();
    path.to_owned()
}

#[test]
fn the_unit_of_int96_timestamps_can_be_chosen() {
    let folder = tempfile::tempdir().unwrap();
    // Half past midnight of 1970-01-02 and of 9999-12-31, by their Julian days.
    let values = [2_440_589, 5_373_484].map(|day| {
        let (mut value, nanos) = (Int96::new(), 1_800_000_000_000_u64);
        value.set_data(nanos as u32, (nanos >> 32) as u32, day);
        value
    });
    let path = write::<Int96Type>(&folder.path().join("a.parquet"), "int96 c", &values);
    let path = path.to_str().unwrap();

    let refused = lath(["cat", path]);
    assert_eq!(refused.code, 3);
    for said in ["9999-12-31 00:30:00", "nanoseconds", "--int96-unit us", "column c", "row 1"] {
        assert!(refused.stderr.contains(said), "{said}: {}", refused.stderr);
    }
    assert_eq!(lath(["head", "-n", "1", path]).json_lines(0)[0]["c"], "1970-01-02T00:30:00");
    for unit in ["us", "ms"] {
        let rows = lath(["cat", path, "--int96-unit", unit]).json_lines(0);
        assert_eq!(rows[1]["c"], "9999-12-31T00:30:00");
        let found = lath(["find", path, "--int96-unit", unit, "--where", "c > TIMESTAMP '9999-01-01'"]).json_lines(0);
        assert_eq!(found[0]["id"], 1);
        let count = lath(["count", path, "--int96-unit", unit, "--where", "c < TIMESTAMP '9999-01-01'"]);
        assert_eq!(count.text(0), "1\n");
    }
    assert!(lath(["schema", path, "--int96-unit", "ms"]).text(0).contains("ms"));
    // A timestamp outside the range of nanoseconds is not a fault of the file.
    assert_eq!(lath(["check", path]).code, 0);

    let copy = folder.path().join("b.parquet");
    let copy = copy.to_str().unwrap();
    assert_eq!(lath(["convert", path, "-o", copy]).code, 3);
    lath(["convert", path, "-o", copy, "--int96-unit", "us"]).text(0);
    assert_eq!(lath(["cat", copy]).json_lines(0)[1]["c"], "9999-12-31T00:30:00");
}

#[test]
fn intervals_show_months_days_and_time_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let interval = |months: u32, days: u32, millis: u32| -> FixedLenByteArray {
        [months.to_le_bytes(), days.to_le_bytes(), millis.to_le_bytes()].concat().into()
    };
    let values = [interval(14, 3, 3_723_004), interval(0, 0, 0)];
    let column = "fixed_len_byte_array(12) c (INTERVAL)";
    let path = write::<FixedLenByteArrayType>(&folder.path().join("a.parquet"), column, &values);
    let path = path.to_str().unwrap();
    let text = "14 mons 3 days 1 hours 2 mins 3.004000000 secs";

    assert_eq!(lath(["cat", path]).json_lines(0)[0]["c"], text);
    for format in ["csv", "table", "json"] {
        let run = lath(["cat", path, "--format", format]);
        let output = run.text(0);
        assert!(output.contains(text) && output.contains("0 secs"), "{output}");
    }
    let copy = folder.path().join("b.parquet");
    let copy = copy.to_str().unwrap();
    lath(["rewrite", path, "-o", copy]).text(0);
    assert_eq!(lath(["cat", copy]).json_lines(0)[0]["c"], text);
    assert_eq!(lath(["check", path]).code, 0);
    assert_eq!(lath(["check", copy]).code, 0);
}
