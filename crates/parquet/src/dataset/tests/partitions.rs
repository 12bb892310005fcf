use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_schema::{DataType, TimeUnit};

use super::{directory, int64, options, read, table, write};
use crate::Strings;
use crate::dataset::{Dataset, DatasetFile, DatasetOptions};
use crate::error::Result;

/// A dataset of a file of one row for each path.
fn of(paths: &[&str], options: DatasetOptions) -> Result<(tempfile::TempDir, Dataset)> {
    let (guard, directory) = directory();
    for (row, path) in paths.iter().enumerate() {
        write(&directory.join(path), vec![("x", int64([row as i64]))]);
    }
    Dataset::open([directory], options).map(|dataset| (guard, dataset))
}

fn types(dataset: &Dataset) -> Vec<(&str, &DataType)> {
    dataset.partitions().iter().map(|column| (column.field().name().as_str(), column.field().data_type())).collect()
}

#[test]
fn directories_give_columns_to_every_row() {
    let paths = ["year=2025/month=12/a.parquet", "year=2025/month=12/b.parquet", "year=2026/month=01/a.parquet"];
    let (_guard, dataset) = of(&paths, options()).unwrap();
    assert_eq!(types(&dataset), [("year", &DataType::Int64), ("month", &DataType::Int64)]);
    assert_eq!(dataset.partitions()[0].values().as_primitive::<Int64Type>().values(), &[2025, 2026]);
    let rows: Vec<&[u32]> = dataset.files().iter().map(DatasetFile::partition).collect();
    assert_eq!(rows, [[0, 0], [0, 0], [1, 1]]);
    let expected = ["x|year|month", "0|2025|12", "1|2025|12", "2|2026|1"];
    assert_eq!(table(&read(&dataset, None, Strings::Views).unwrap()), expected);
    let expected = ["month|x", "12|0", "12|1", "1|2"];
    assert_eq!(table(&read(&dataset, Some(&["month", "x"]), Strings::Views).unwrap()), expected);
    let only = read(&dataset, Some(&["year"]), Strings::Offsets).unwrap();
    assert_eq!(only.iter().map(RecordBatch::num_rows).sum::<usize>(), 3);
}

#[test]
fn the_type_is_the_narrowest_that_fits_all_values() {
    let timestamp = DataType::Timestamp(TimeUnit::Microsecond, None);
    for (values, expected) in [
        (vec!["1", "-20", "007"], DataType::Int64),
        (vec!["1", "9223372036854775808"], DataType::UInt64),
        (vec!["-1", "9223372036854775808"], DataType::Utf8View),
        (vec!["1", "18446744073709551616"], DataType::Utf8View),
        (vec!["%31", "2"], DataType::Utf8View),
        (vec!["2026%2D11-21"], DataType::Utf8View),
        (vec!["2026-11-21T08%3A30%3A00.000000001"], DataType::Timestamp(TimeUnit::Nanosecond, None)),
        (vec!["1", "+2"], DataType::Utf8View),
        (vec!["2026-11-21", "1969-01-01"], DataType::Date32),
        (vec!["2026-11-21", "1"], DataType::Utf8View),
        (vec!["2026-02-30"], DataType::Utf8View),
        (vec!["2026-11-21 08%3A30%3A00", "2026-11-21T08%3A30%3A00.25"], timestamp),
        (vec!["2026-11-21 08%3A30%3A00Z"], DataType::Utf8View),
        (vec!["true", "false"], DataType::Utf8View),
        (vec!["1", "__HIVE_DEFAULT_PARTITION__"], DataType::Int64),
        (vec!["__HIVE_DEFAULT_PARTITION__"], DataType::Utf8View),
        (vec!["", "1"], DataType::Utf8View),
    ] {
        let paths: Vec<String> = values.iter().map(|value| format!("k={value}/a.parquet")).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let (_guard, dataset) = of(&paths, options()).unwrap();
        assert_eq!(types(&dataset), [("k", &expected)], "{values:?}");
    }
}

#[test]
fn names_are_url_decoded_and_missing_ones_null() {
    let paths =
        ["a b%3D=x%2Fy%20z/1.parquet", "a b%3D=__HIVE_DEFAULT_PARTITION__/2.parquet", "plain.parquet", "=x/3.parquet"];
    let (_guard, dataset) = of(&paths, options()).unwrap();
    let batches = read(&dataset, Some(&["a b=", "x"]), Strings::Offsets).unwrap();
    let expected = ["a b=|x", "|3", "|1", "x/y z|0", "|2"];
    assert_eq!(table(&batches), expected);
}

#[test]
fn a_column_of_the_files_gives_way_to_the_directory() {
    let (_guard, dataset) = of(&["x=50/a.parquet", "x=60/b.parquet"], options()).unwrap();
    let expected = ["x", "50", "60"];
    assert_eq!(table(&read(&dataset, None, Strings::Views).unwrap()), expected);
    assert_eq!(dataset.schema().fields().len(), 1);
}

#[test]
fn types_can_be_chosen_and_the_whole_left_out() {
    let paths = ["zip=01234/a.parquet", "zip=99/b.parquet"];
    let (_guard, dataset) = of(&paths, options().partition_type("zip", DataType::Utf8)).unwrap();
    assert_eq!(dataset.partitions()[0].values().as_string::<i32>().value(0), "01234");
    let (_guard, dataset) = of(&paths, options().partitions(false)).unwrap();
    assert!(dataset.partitions().is_empty() && dataset.schema().column_with_name("zip").is_none());
    let refused = of(&["k=a/1.parquet"], options().partition_type("k", DataType::Int32)).unwrap_err();
    assert!(refused.to_string().contains("\"k\" cannot be read as Int32"), "{refused}");
    assert!(of(&["k=a/1.parquet"], options().partition_type("l", DataType::Int32)).is_err());
}

#[test]
fn files_that_were_found_or_opened_before_have_partitions_as_well() {
    let (_guard, directory) = directory();
    for year in [2025, 2026] {
        write(&directory.join(format!("year={year}/a.parquet")), vec![("x", int64([year]))]);
    }
    let mut files = DatasetFile::find(directory.join("year=2026"), &options()).unwrap();
    files.push(crate::ParquetFile::open(directory.join("year=2025/a.parquet")).unwrap().into());
    let bytes = std::fs::read(directory.join("year=2025/a.parquet")).unwrap();
    files.push(crate::ParquetFile::from_bytes(bytes.into()).unwrap().into());
    let dataset = Dataset::from_files(files, options()).unwrap();
    assert_eq!(table(&read(&dataset, None, Strings::Views).unwrap()), ["x|year", "2026|2026", "2025|2025", "2025|"]);
}

#[test]
fn directories_are_read_as_they_were_named() {
    use crate::partition_directory;
    let values: Vec<String> = ["", "..", "a b", "é", "100%", "a/b\\c", "k=v", "*?[x]", "\u{1}\u{7f}", "%41", "NULL"]
        .map(str::to_owned)
        .into_iter()
        .chain((0..128).map(|byte| format!("x{}", char::from(byte))))
        .collect();
    let paths: Vec<String> =
        values.iter().map(|value| format!("{}/a.parquet", partition_directory("a=b", Some(value)))).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let (_guard, dataset) = of(&paths, options()).unwrap();
    let column = &dataset.partitions()[0];
    assert_eq!(column.field().name(), "a=b");
    let mut read: Vec<&str> = column.values().as_string_view().iter().flatten().collect();
    let mut written: Vec<&str> = values.iter().map(String::as_str).collect();
    read.sort_unstable();
    written.sort_unstable();
    assert_eq!(read, written);
    // Beside null, the text that spells it.
    let names = [partition_directory("_k", None), partition_directory("_k", Some("__HIVE_DEFAULT_PARTITION__"))];
    let names = names.map(|name| format!("{name}/a.parquet"));
    let (_guard, dataset) = of(&[&names[0], &names[1]], options()).unwrap();
    assert_eq!(dataset.partitions()[0].field().name(), "_k");
    let values = dataset.partitions()[0].values().as_string_view();
    let mut values: Vec<Option<&str>> = values.iter().collect();
    values.sort_unstable();
    assert_eq!(values, [None, Some("__HIVE_DEFAULT_PARTITION__")]);
}

#[test]
fn text_is_read_as_text_whatever_it_looks_like() {
    use crate::text_partition_directory;
    let moments = ["2026-11-21 08:30:00", "2026-11-21T08:30:00.123456789"];
    for value in ["0", "01", "-5", "-0", "18446744073709551615", "2026-11-21", "2026-02-30", "1e3", "true", ""]
        .iter()
        .chain(&moments)
    {
        let path = format!("{}/a.parquet", text_partition_directory("k", value));
        let (_guard, dataset) = of(&[&path], options()).unwrap();
        assert_eq!(dataset.partitions()[0].values().as_string_view().value(0), *value);
    }
}

#[test]
fn directories_of_columns_that_begin_with_an_underscore_are_found() {
    let (_guard, dataset) = of(&["_k=1/a.parquet", "_temporary/b.parquet"], options()).unwrap();
    assert_eq!(table(&read(&dataset, None, Strings::Views).unwrap()), ["x|_k", "0|1"]);
}
