//! `rewrite`, read back by the `parquet` crate, and checked by `check`.

use std::fs;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_ord::sort::{SortColumn, lexsort_to_indices};
use arrow_schema::SortOptions;
use arrow_select::take::take_record_batch;
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding};
use parquet::file::metadata::{
    KeyValue, PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData, SortingColumn,
};
use parquet::file::properties::{WriterProperties, WriterVersion};
use serde_json::json;

use crate::files::{broken, numbered, oracle, plain, write};
use crate::invocation::{lath, sample};

const TRIPS: [&str; 3] = ["trips/2025-01.parquet", "trips/2025-02.parquet", "trips/2025-03.parquet"];

fn path_in(folder: &tempfile::TempDir, name: &str) -> String {
    folder.path().join(name).to_str().unwrap().to_owned()
}

fn metadata(path: &str) -> ParquetMetaData {
    ParquetMetaDataReader::new().parse_and_finish(&Bytes::from(fs::read(path).unwrap())).unwrap()
}

/// Rewrites `inputs` with `options`, and checks the new file.
#[track_caller]
fn rewrite(inputs: &[&str], output: &str, options: &[&str]) -> ParquetMetaData {
    let mut args = vec!["rewrite"];
    args.extend(inputs);
    args.extend(["-o", output]);
    args.extend(options);
    assert_eq!(lath(&args).text(0), "");
    let check = lath(["check", output]);
    assert!(check.text(0).contains(": ok ("), "{}", check.text(0));
    metadata(output)
}

#[track_caller]
fn assert_same_rows(path: impl AsRef<Path>, expected: &RecordBatch) {
    assert_eq!(plain(&oracle(path)), plain(expected));
}

#[test]
fn rows_stay_as_they_are_whatever_the_options() {
    let folder = tempfile::tempdir().unwrap();
    for (index, options) in [
        &["--codec", "zstd:9"][..],
        &["--profile", "compatible"],
        &["--profile", "compact"],
        &["--profile", "lookup", "--bloom", "trip,from", "--bloom-fpp", "0.001"],
        &["--codec", "none", "--page-version", "2", "--page-rows", "100", "--dictionary", "off"],
        &["--codec", "snappy", "--codec", "price=gzip:9", "--row-group-rows", "777", "--threads", "3"],
        &[
            "--encoding",
            "minutes=delta",
            "--dictionary",
            "off",
            "--encoding",
            "kilometres=byte-stream-split",
            "--encoding",
            "note=delta-strings",
        ],
        &["--memory", "1MiB", "--batch-size", "100"],
    ]
    .into_iter()
    .enumerate()
    {
        for name in TRIPS {
            let (input, output) = (sample(name), path_in(&folder, &format!("{index}.parquet")));
            let forced = [options, &["--force"][..]].concat();
            rewrite(&[&input], &output, &forced);
            assert_same_rows(&output, &oracle(&input));
        }
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 8, "no temporary file is left");
}

#[test]
fn options_are_found_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let output = path_in(&folder, "out.parquet");
    let options = [
        "--codec",
        "snappy",
        "--codec",
        "price=zstd:3",
        "--encoding",
        "minutes=delta",
        "--dictionary",
        "minutes=off",
        "--bloom",
        "rider",
        "--row-group-rows",
        "3000",
        "--page-rows",
        "500",
        "--no-inherit",
    ];
    let metadata = rewrite(&[&sample(TRIPS[0])], &output, &options);
    let rows: Vec<i64> = metadata.row_groups().iter().map(RowGroupMetaData::num_rows).collect();
    assert_eq!(rows, [3000, 3000, 3000, 1000]);
    for column in metadata.row_group(0).columns() {
        let path = column.column_path().string();
        let is_price = path == "price";
        assert_eq!(matches!(column.compression(), Compression::ZSTD(_)), is_price, "{path}: {}", column.compression());
        assert_eq!(column.compression() == Compression::SNAPPY, !is_price, "{path}");
        assert_eq!(column.bloom_filter_offset().is_some(), path.starts_with("rider."), "{path}");
        let has_delta = column.encodings().any(|encoding| encoding == Encoding::DELTA_BINARY_PACKED);
        assert_eq!(has_delta, path == "minutes", "{path}");
        assert!(column.offset_index_offset().is_some() && column.column_index_offset().is_some(), "{path}");
    }
    let meta = lath(["meta", &output, "--columns", "minutes", "--json"]);
    let meta: serde_json::Value = serde_json::from_str(meta.text(0)).unwrap();
    assert_eq!(meta["row_groups"][0]["columns"][0]["pages"].as_array().unwrap().len(), 6);
}

/// The columns that have ALP pages, by the first row group.
fn columns_with_alp(path: &str) -> Vec<String> {
    let meta = lath(["meta", path, "--json"]);
    let meta: serde_json::Value = serde_json::from_str(meta.text(0)).unwrap();
    let columns = meta["row_groups"][0]["columns"].as_array().unwrap();
    let has_alp =
        |column: &&serde_json::Value| column["encodings"].as_array().unwrap().contains(&serde_json::Value::from("ALP"));
    columns.iter().filter(has_alp).map(|column| column["path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn alp_is_written_on_request_and_by_samples_that_may_choose_previews() {
    let folder = tempfile::tempdir().unwrap();
    let (csv, input) = (path_in(&folder, "in.csv"), path_in(&folder, "in.parquet"));
    let mut state = 1_u32;
    let prices = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        format!("{}.{:02}\n", state >> 15, (state >> 8) % 100)
    });
    fs::write(&csv, format!("price\n{}", prices.take(20_000).collect::<String>())).unwrap();
    lath(["convert", &csv, "-o", &input]).text(0);
    let compact = &["--profile", "compact"][..];
    for (name, options, has_alp) in [
        ("asked", &["--encoding", "alp"][..], true),
        ("column", &["--encoding", "price=alp"], true),
        ("compact", compact, false),
        ("auto", &["--encoding", "auto"], false),
        ("preview", &["--profile", "compact", "--preview-encodings"], true),
    ] {
        let output = path_in(&folder, name);
        lath([&["rewrite", &input, "-o", &output], options].concat()).text(0);
        assert_eq!(columns_with_alp(&output), if has_alp { vec!["price"] } else { vec![] }, "{name}");
        assert_eq!(lath(["cat", &output]).text(0), lath(["cat", &input]).text(0), "{name}");
        let (kept, removed) = (path_in(&folder, &format!("{name}-kept")), path_in(&folder, &format!("{name}-removed")));
        lath(["rewrite", &output, "-o", &kept, "--codec", "none"]).text(0);
        assert_eq!(columns_with_alp(&kept).len(), usize::from(has_alp), "{name} written again");
        lath([&["rewrite", &output, "-o", &removed], compact].concat()).text(0);
        assert_eq!(columns_with_alp(&removed).len(), 0, "{name} made compact");
    }
    let useless = lath(["rewrite", &input, "-o", &path_in(&folder, "x"), "--preview-encodings"]);
    assert_eq!(useless.code, 2);
    assert!(useless.stderr.contains("--profile compact"), "{}", useless.stderr);
}

#[test]
fn columns_rows_and_row_groups_can_be_chosen() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (sample(TRIPS[0]), path_in(&folder, "out.parquet"));
    let choice =
        ["--columns", "price,rider.age", "--where", "minutes > 30 AND \"from\" = 'Harbour'", "--codec", "zstd"];
    rewrite(&[&input], &output, &choice);
    let found = path_in(&folder, "found.jsonl");
    let expected =
        lath(["find", &input, "--where", "minutes > 30 AND \"from\" = 'Harbour'", "--select", "price,rider.age"]);
    lath(["cat", &output, "-o", &found]).text(0);
    assert_eq!(fs::read_to_string(found).unwrap(), expected.text(0));
    assert!(expected.text(0).lines().count() > 10);
    let metadata = rewrite(&[&input], &output, &["--row-groups", "1", "--codec", "zstd", "--force"]);
    assert_eq!(metadata.file_metadata().num_rows(), metadata_rows(&input, 1));
    let metadata = rewrite(&[&input], &output, &["--where", "minutes > 100000", "--force"]);
    assert_eq!(metadata.file_metadata().num_rows(), 0);
}

fn metadata_rows(path: &str, row_group: usize) -> i64 {
    metadata(path).row_group(row_group).num_rows()
}

#[test]
fn several_inputs_become_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let output = path_in(&folder, "out.parquet");
    let first = write(&folder.path().join("1.parquet"), &numbered(0..700), 300);
    let second = write(&folder.path().join("2.parquet"), &numbered(700..1000), 300);
    rewrite(&[first.to_str().unwrap(), second.to_str().unwrap()], &output, &["--codec", "lz4"]);
    assert_same_rows(&output, &numbered(0..1000));
}

#[test]
fn nothing_is_overwritten_unasked() {
    let folder = tempfile::tempdir().unwrap();
    let input = write(&folder.path().join("a.parquet"), &numbered(0..100), 50);
    let input = input.to_str().unwrap();
    let (output, before) = (path_in(&folder, "out.parquet"), fs::read(input).unwrap());
    fs::write(&output, "old").unwrap();
    for (args, hint) in [
        (vec!["rewrite", input, "-o", &output, "--codec", "zstd"], "--force"),
        (vec!["rewrite", input, "-o", input, "--codec", "zstd", "--force"], "--in-place"),
        (vec!["rewrite", input, "--codec", "zstd"], "--output"),
        (vec!["rewrite", input, "-o", &output, "--in-place"], "cannot be used with"),
        (vec!["rewrite", "-", "--in-place"], "-o OUT"),
        (vec!["rewrite", input, "-o", &path_in(&folder, "new"), "--bloom", "nothing"], "the columns are id, name"),
        (vec!["rewrite", input, "-o", &path_in(&folder, "new"), "--codec", "zip"], "write uncompressed, snappy"),
    ] {
        let run = lath(&args);
        assert_eq!(run.code, 2, "{args:?}");
        assert!(run.stderr.contains(hint), "{args:?}: {}", run.stderr);
    }
    assert_eq!(fs::read(input).unwrap(), before);
    assert_eq!(fs::read_to_string(&output).unwrap(), "old");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn files_are_replaced_in_place_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    let expected: Vec<RecordBatch> = vec![numbered(0..900), numbered(900..1200)];
    let paths = ["a.parquet", "b.parquet"].map(|name| folder.path().join(name));
    for (path, rows) in paths.iter().zip(&expected) {
        write(path, rows, 300);
    }
    let run = lath(["rewrite", folder.path().to_str().unwrap(), "--in-place", "--codec", "zstd:3", "--json"]);
    let summaries = run.json_lines(0);
    assert_eq!(summaries.len(), 2);
    for ((path, rows), summary) in paths.iter().zip(&expected).zip(&summaries) {
        assert_same_rows(path, rows);
        let metadata = metadata(path.to_str().unwrap());
        assert!(matches!(metadata.row_group(0).column(0).compression(), Compression::ZSTD(_)));
        assert_eq!(summary["bytes_after"], json!(fs::metadata(path).unwrap().len()));
        let columns = summary["columns"].as_array().unwrap();
        assert_eq!(columns.iter().map(|column| &column["path"]).collect::<Vec<_>>(), [&json!("id"), &json!("name")]);
        assert_eq!(columns[0]["after"]["codecs"], json!(["ZSTD"]));
        assert_eq!(
            columns[0]["after"]["compressed_bytes"],
            json!(metadata.row_groups().iter().map(|group| group.column(0).compressed_size()).sum::<i64>())
        );
    }
    // Files before a broken one are rewritten; it and the files after it are unchanged.
    fs::write(&paths[1], broken(&write(&folder.path().join("c"), &expected[0], 300))).unwrap();
    fs::remove_file(folder.path().join("c")).unwrap();
    let before = fs::read(&paths[1]).unwrap();
    let run = lath(["rewrite", folder.path().to_str().unwrap(), "--in-place", "--codec", "snappy"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert_eq!(metadata(paths[0].to_str().unwrap()).row_group(0).column(0).compression(), Compression::SNAPPY);
    assert_eq!(fs::read(&paths[1]).unwrap(), before);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "no temporary file is left");
}

#[test]
fn a_broken_input_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let good = write(&folder.path().join("a.parquet"), &numbered(0..900), 300);
    let bad = folder.path().join("b.parquet");
    fs::write(&bad, broken(&good)).unwrap();
    let output = path_in(&folder, "out.parquet");
    let args = ["rewrite", good.to_str().unwrap(), bad.to_str().unwrap(), "-o", &output, "--codec", "zstd"];
    let run = lath(args);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("b.parquet"), "{}", run.stderr);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn a_parquet_file_can_go_to_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    let input = write(&folder.path().join("a.parquet"), &numbered(0..100), 50);
    let run = lath(["rewrite", input.to_str().unwrap(), "-o", "-", "--codec", "zstd"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert_eq!(plain(&crate::files::read(Bytes::from(run.stdout))), plain(&numbered(0..100)));
}

#[test]
fn key_value_metadata_stay() {
    let folder = tempfile::tempdir().unwrap();
    let rows = numbered(0..10);
    let schema = rows.schema().as_ref().clone().with_metadata([("geo".to_owned(), "{}".to_owned())].into());
    let rows = RecordBatch::try_new(schema.into(), rows.columns().to_vec()).unwrap();
    let input = write(&folder.path().join("a.parquet"), &rows, 10);
    let metadata = rewrite(&[input.to_str().unwrap()], &path_in(&folder, "b.parquet"), &["--codec", "zstd"]);
    let pairs = metadata.file_metadata().key_value_metadata().unwrap();
    let values: Vec<_> = pairs.iter().filter(|pair| pair.key == "geo").map(|pair| pair.value.as_deref()).collect();
    assert_eq!(values, [Some("{}")]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_of_output() {
    let run = lath(["rewrite", &sample(TRIPS[0]), "-o", "/dev/full", "--codec", "none"]);
    assert_eq!(run.code, 4, "{}", run.stderr);
    assert!(run.stderr.contains("/dev/full") && run.stderr.contains("No space left"), "{}", run.stderr);
}

#[test]
fn rows_are_sorted_in_memory_and_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (sample(TRIPS[0]), path_in(&folder, "out.parquet"));
    for memory in ["1GiB", "200KiB"] {
        let by = ["--sort-by", "from,price:desc:nulls-first,trip", "--memory", memory, "--force"];
        let metadata = rewrite(&[&input], &output, &by);
        let sorting = metadata.row_group(0).sorting_columns().unwrap();
        assert_eq!(sorting.iter().map(|column| column.descending).collect::<Vec<_>>(), [false, true, false]);
        let rows = oracle(&input);
        let column = |name: &str, descending| SortColumn {
            values: rows.column_by_name(name).unwrap().clone(),
            options: Some(SortOptions { descending, nulls_first: descending }),
        };
        let keys = [column("from", false), column("price", true), column("trip", false)];
        let expected = take_record_batch(&rows, &lexsort_to_indices(&keys, None).unwrap()).unwrap();
        assert_same_rows(&output, &expected);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");
    let missing = lath(["rewrite", &input, "-o", &output, "--force", "--sort-by", "fare"]);
    assert_eq!(missing.code, 2);
    assert!(missing.stderr.contains("--sort-by: there is no column fare; the columns are "), "{}", missing.stderr);
}

/// A file of 4,000 rows in four row groups, each sorted by `id`, with every property that `rewrite` inherits.
fn particular(path: &Path) {
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_column_compression("name".into(), Compression::LZ4_RAW)
        .set_column_dictionary_enabled("id".into(), false)
        .set_column_encoding("id".into(), Encoding::DELTA_BINARY_PACKED)
        .set_column_bloom_filter_enabled("id".into(), true)
        .set_column_bloom_filter_fpp("id".into(), 0.02)
        .set_column_bloom_filter_max_ndv("id".into(), 1000)
        .set_max_row_group_row_count(Some(1000))
        .set_data_page_row_count_limit(250)
        .set_write_batch_size(250)
        .set_writer_version(WriterVersion::PARQUET_2_0)
        .set_sorting_columns(Some(vec![SortingColumn { column_idx: 0, descending: false, nulls_first: false }]))
        .set_key_value_metadata(Some(vec![KeyValue::new("bare".to_owned(), None)]))
        .build();
    let rows = numbered(0..4000);
    let mut writer = ArrowWriter::try_new(fs::File::create(path).unwrap(), rows.schema(), Some(properties)).unwrap();
    writer.write(&rows).unwrap();
    writer.close().unwrap();
}

/// The inherited properties of a file, by row group and column.
fn properties(path: &str) -> Vec<String> {
    let bytes = Bytes::from(fs::read(path).unwrap());
    let metadata = ParquetMetaDataReader::new().with_page_index_policy(PageIndexPolicy::Required);
    let metadata = metadata.parse_and_finish(&bytes).unwrap();
    let mut properties = Vec::new();
    for (row_group, pages) in metadata.row_groups().iter().zip(metadata.offset_index().unwrap()) {
        properties.push(format!("{} rows by {:?}", row_group.num_rows(), row_group.sorting_columns()));
        for (column, pages) in row_group.columns().iter().zip(pages) {
            let starts: Vec<_> = pages.page_locations().iter().map(|page| page.first_row_index).collect();
            let has = |encoding| column.encodings().any(|other| other == encoding);
            let first_page = bytes[column.data_page_offset() as usize..][..2].to_vec();
            properties.push(format!(
                "{} dictionary {} delta {} filter of {:?} pages {first_page:?} from {starts:?}",
                column.compression(),
                has(Encoding::RLE_DICTIONARY),
                has(Encoding::DELTA_BINARY_PACKED),
                column.bloom_filter_length().map(|len| len / 32),
            ));
        }
    }
    properties
}

#[test]
fn what_no_option_changes_is_taken_over() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (path_in(&folder, "in.parquet"), path_in(&folder, "out.parquet"));
    particular(Path::new(&input));
    let before = properties(&input);
    assert!(before[1].starts_with("SNAPPY dictionary false delta true filter of Some("), "{before:?}");
    // All rows pass and are encoded again.
    let metadata = rewrite(&[&input], &output, &["--where", "id >= 0"]);
    assert_eq!(properties(&output), before);
    let pairs = metadata.file_metadata().key_value_metadata().unwrap();
    assert!(pairs.iter().any(|pair| pair.key == "bare" && pair.value.is_none()), "{pairs:?}");

    let fresh = rewrite(&[&input], &output, &["--no-inherit", "--force"]);
    assert_eq!(fresh.num_row_groups(), 1);
    let id = fresh.row_group(0).column(0);
    assert!(matches!(id.compression(), Compression::ZSTD(_)) && id.bloom_filter_offset().is_none());
    assert_eq!(fresh.row_group(0).sorting_columns(), None);
}

#[test]
fn options_come_before_what_the_input_has() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (path_in(&folder, "in.parquet"), path_in(&folder, "out.parquet"));
    particular(Path::new(&input));
    let options =
        ["--codec", "gzip", "--bloom", "name", "--page-version", "1", "--row-group-rows", "2000", "--dictionary", "on"];
    let metadata = rewrite(&[&input], &output, &options);
    let rows: Vec<i64> = metadata.row_groups().iter().map(RowGroupMetaData::num_rows).collect();
    assert_eq!(rows, [2000, 2000]);
    for column in metadata.row_group(0).columns() {
        assert!(matches!(column.compression(), Compression::GZIP(_)) && column.bloom_filter_offset().is_some());
    }
    let sorting = metadata.row_group(0).sorting_columns().unwrap();
    assert_eq!(sorting.len(), 1);
    let metadata = rewrite(&[&input], &output, &["--profile", "compatible", "--force"]);
    let id = metadata.row_group(0).column(0);
    assert_eq!(id.compression(), Compression::SNAPPY);
    assert!(id.bloom_filter_offset().is_some() && id.encodings().all(|other| other != Encoding::DELTA_BINARY_PACKED));
}

#[test]
fn an_order_is_said_of_row_groups_that_have_it() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (path_in(&folder, "in.parquet"), path_in(&folder, "out.parquet"));
    particular(Path::new(&input));
    // The rows of the second copy begin in the middle of the second row group.
    let options = ["--row-group-rows", "3000", "--json"];
    let args = [&["rewrite", &input, &input, "-o", &output][..], &options].concat();
    let summary = lath(&args).json_lines(0).remove(0);
    let metadata = metadata(&output);
    let sorted: Vec<bool> = metadata.row_groups().iter().map(|group| group.sorting_columns().is_some()).collect();
    assert_eq!(sorted, [true, false, true]);
    let changes: Vec<_> = summary["changes"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    assert!(changes.contains(&"sorted by: id → id, nothing"), "{changes:?}");
}

#[test]
fn the_summary_says_what_is_not_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (path_in(&folder, "in.parquet"), path_in(&folder, "out.parquet"));
    particular(Path::new(&input));
    let run = lath(["rewrite", &input, "-o", &output, "--no-inherit", "--json"]);
    let summary = run.json_lines(0).remove(0);
    assert_eq!(
        summary["changes"],
        json!([
            "codec: LZ4_RAW → ZSTD (name)",
            "codec: SNAPPY → ZSTD (id)",
            "Bloom filters left out: id",
            "sorted by: id → nothing",
            "key-value metadata left out: bare"
        ])
    );
    let run = lath(["rewrite", &input, "-o", &output, "--where", "id >= 0", "--json", "--force"]);
    assert_eq!(run.json_lines(0)[0]["changes"], json!([]));
}

#[test]
fn footer_keys_that_are_not_true_of_the_new_file_are_changed_or_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let (source, target) = (path_in(&folder, "source.parquet"), path_in(&folder, "target.parquet"));
    let geo = r#"{"primary_column":"name","columns":{"name":{"encoding":"WKB","bbox":[0,0,1,1]}}}"#;
    let keys = [("geo", geo), ("mine", "stays"), ("iceberg.schema", "{}")];
    let keys = keys.map(|(key, value)| KeyValue::new(key.to_owned(), value.to_owned()));
    let properties = WriterProperties::builder().set_key_value_metadata(Some(keys.to_vec())).build();
    let rows = numbered(0..10);
    let file = fs::File::create(&source).unwrap();
    let mut writer = ArrowWriter::try_new(file, rows.schema(), Some(properties)).unwrap();
    for start in [0, 5] {
        writer.write(&rows.slice(start, 5)).unwrap();
        writer.flush().unwrap();
    }
    writer.close().unwrap();
    let rewritten = |options: &[&str]| {
        let mut args = vec!["rewrite", source.as_str(), "-o", target.as_str(), "--force"];
        args.extend(options);
        let run = lath(&args);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let written = metadata(&target);
        let pairs = written.file_metadata().key_value_metadata().unwrap();
        let value = |key: &str| pairs.iter().find(|pair| pair.key == key).and_then(|pair| pair.value.clone());
        assert_eq!(value("mine").as_deref(), Some("stays"));
        (value("geo"), value("iceberg.schema").is_some(), run.stderr)
    };
    let without_box = geo.replace(r#","bbox":[0,0,1,1]"#, "");
    for recoded in [&[][..], &["--codec", "zstd"]] {
        let with = |options: &[&'static str]| rewritten(&[options, recoded].concat());
        let (kept, has_iceberg, stderr) = with(&[]);
        assert_eq!((kept.as_deref(), has_iceberg), (Some(geo), true));
        assert!(!stderr.contains("note:"), "{stderr}");
        let (kept, has_iceberg, stderr) = with(&["--row-groups", "1"]);
        let same = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!((kept.map(|kept| same(&kept)), has_iceberg), (Some(same(&without_box)), true));
        assert!(stderr.contains("note: the key geo is kept without bbox of name"), "{stderr}");
        let (kept, has_iceberg, stderr) = with(&["--columns", "id"]);
        assert_eq!((kept, has_iceberg), (None, false));
        assert!(
            stderr.contains("note: the key geo is of columns that are not in the file and is left out"),
            "{stderr}"
        );
    }
}
