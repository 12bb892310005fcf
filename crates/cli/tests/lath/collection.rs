//! Rewrites every file of the `parquet-testing` collection: types and values stay.

use std::panic::catch_unwind;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;
use lath_parquet::{ParquetFile, Strings};

use crate::files::{files_below, oracle};
use crate::invocation::lath;

/// Files that cannot be read, with a part of the error.
const UNREADABLE: [(&str, &str); 5] = [
    // The year 9999 and, once overflown, 290000: not in nanoseconds.
    ("data/int96_from_spark.parquet", "out of range"),
    // More than 2 GiB of text in a batch, which offsets of 32 bits cannot have.
    ("data/large_string_map.brotli.parquet", "string bytes of a batch"),
    // Its dictionary page has fewer entries than its header says.
    ("data/nation.dict-malformed.parquet", "dictionary"),
    // Checksums are wrong, which is what these files are for.
    ("data/rle-dict-uncompressed-corrupt-checksum.parquet", "page has CRC"),
    ("data/datapage_v1-corrupt-checksum.parquet", "page has CRC"),
];

/// Files whose types change: unknown logical types cannot be written.
const CHANGED: [&str; 1] = ["data/unknown-logical-type.parquet"];

/// A file whose footer counts no rows although its row group has some: the crate trusts the footer.
const MISCOUNTED: &str = "data/repeated_no_annotation.parquet";

/// Ways to rewrite all rows.
const WAYS: [&[&str]; 5] = [
    &[],
    &["--row-group-rows", "1000"],
    &["--profile", "compatible"],
    &["--profile", "compact"],
    &["--profile", "lookup"],
];

/// The files that can be read without keys and are not broken on purpose.
fn files(folder: &Path) -> Vec<String> {
    let mut names = files_below(folder, ".parquet");
    names.retain(|name| !name.starts_with("bad_data/"));
    assert!(names.len() > 150, "only {} files", names.len());
    names
}

/// The Parquet schema as `schema` prints it.
fn parquet_schema(path: &Path) -> String {
    let run = lath([Path::new("schema"), path]);
    let text = run.text(0);
    text.split_once("\nArrow\n").unwrap().0.to_owned()
}

/// All rows as Lath reads them.
fn rows(path: &Path) -> lath_parquet::Result<RecordBatch> {
    let batches = ParquetFile::open(path)?.scan().strings(Strings::Offsets).build()?;
    let schema = batches.schema();
    let batches = batches.collect::<lath_parquet::Result<Vec<_>>>()?;
    Ok(concat_batches(&schema, &batches).unwrap())
}

/// Whether all values are the same, to the last bit.
fn are_same(a: &RecordBatch, b: &RecordBatch) -> bool {
    let (columns, others) = (a.columns().iter(), b.columns());
    a.num_rows() == b.num_rows()
        && a.num_columns() == b.num_columns()
        && columns.zip(others).all(|(column, other)| column.to_data() == other.to_data())
}

#[test]
fn every_file_of_the_collection_keeps_its_types_and_values_when_it_is_rewritten() {
    let Some(folder) = lath_testkit::parquet_test_data() else { return };
    let output = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    for name in files(&folder) {
        let path = folder.join(&name);
        let before = match rows(&path) {
            Ok(before) => before,
            Err(error) => {
                let expected = UNREADABLE.iter().find(|(unreadable, _)| *unreadable == name);
                if !expected.is_some_and(|(_, what)| error.to_string().contains(what)) {
                    wrong.push(format!("{name}: {error}"));
                }
                continue;
            }
        };
        // The crate lacks some encodings and codecs, and panics at some files.
        let oracle_before = catch_unwind(|| oracle(&path)).ok().filter(|_| name != MISCOUNTED);
        let schema = parquet_schema(&path);
        for (index, way) in WAYS.iter().enumerate() {
            let target = output.path().join(format!("{index}.parquet"));
            let mut args =
                vec!["rewrite", path.to_str().unwrap(), "-o", target.to_str().unwrap(), "--quiet", "--force"];
            args.extend(*way);
            let run = lath(&args);
            if run.code != 0 {
                wrong.push(format!("{name} {way:?}: {}", run.stderr));
                continue;
            }
            let rewritten = parquet_schema(&target);
            if (schema != rewritten) != CHANGED.contains(&name.as_str()) {
                wrong.push(format!("{name} {way:?}: {schema}\nbecame {rewritten}"));
            }
            if !rows(&target).is_ok_and(|after| are_same(&before, &after)) {
                wrong.push(format!("{name} {way:?}: other values"));
            }
            if let Some(before) = &oracle_before
                && !catch_unwind(|| oracle(&target)).is_ok_and(|after| are_same(before, &after))
            {
                wrong.push(format!("{name} {way:?}: other values, as the parquet crate reads them"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
