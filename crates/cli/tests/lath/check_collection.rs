//! `check` on the `parquet-testing` collection: all files except these are sound.

use std::collections::BTreeMap;

use crate::files::files_below;
use crate::invocation::lath;

/// Files that are not sound, with the exit code, a part of the output and its number of lines. pyarrow or DuckDB, mostly both, read every
/// other file.
const VERDICTS: [(&str, i32, &str, usize); 13] = [
    // Written to fail the checksums of pages: one page of each column.
    ("data/datapage_v1-corrupt-checksum.parquet", 3, "column a: corrupt data: page has CRC 0f4f6d0a", 2),
    ("data/rle-dict-uncompressed-corrupt-checksum.parquet", 3, "column long_field: corrupt data: page has CRC", 2),
    // Readable data, and a column index that calls every page a null page: readers that trust it find no row.
    ("data/datapage_v1-snappy-compressed-checksum.parquet", 1, "column a, page 0: nulls alone by the column index", 4),
    ("data/datapage_v1-uncompressed-checksum.parquet", 1, "column a, page 0: nulls alone by the column index", 4),
    // `num_rows` of the file is 0.
    ("data/repeated_no_annotation.parquet", 1, "0 rows in the file's metadata, 6 in its row groups together", 1),
    // A list of 16-bit integers in the footer instead of 32-bit ones, which is skipped, and a chunk that ends early.
    (
        "bad_data/ARROW-GH-41317.parquet",
        3,
        "column timestamp_us_no_tz: corrupt data: column chunk ends 3 values before",
        1,
    ),
    // Bytes of pages and page headers were changed. pyarrow fails at a bit width, DuckDB at the file's geospatial metadata.
    ("bad_data/ARROW-GH-41321.parquet", 3, "column int64: corrupt data: input too short", 4),
    ("bad_data/ARROW-GH-45185.parquet", 3, "begins with a repetition level above 0", 1),
    ("bad_data/ARROW-GH-47662.parquet", 3, "column flba_field: corrupt data: the page ends before its values do", 1),
    // A truncated file: its later columns end after the file.
    ("bad_data/ARROW-RS-GH-6229-DICTHEADER.parquet", 3, "column nation_key: corrupt data", 4),
    // Fewer levels than the page header says. pyarrow refuses it, DuckDB reads a row.
    ("bad_data/ARROW-RS-GH-6229-LEVELS.parquet", 3, "levels end before the page's values do", 1),
    // A physical type of -7.
    ("bad_data/PARQUET-1481.parquet", 3, "Lath cannot read physical type -7 of column Handle", 1),
    // In the folder of bad data, and sound: pyarrow and DuckDB read it too.
    ("bad_data/ARROW-GH-43605.parquet", 0, ": ok (21,186 rows, 1 row group, 1 column)", 1),
];

#[test]
fn every_file_gets_the_right_verdict() {
    let Some(root) = lath_testkit::parquet_test_data() else { return };
    let root = root.canonicalize().unwrap();
    let verdicts: BTreeMap<&str, _> =
        VERDICTS.iter().map(|(name, code, text, lines)| (*name, (code, text, lines))).collect();
    let names = files_below(&root, ".parquet");
    assert!(names.len() >= 200, "{} files", names.len());
    for name in &names {
        let run = lath(["check", root.join(name).to_str().unwrap()]);
        let text = String::from_utf8_lossy(&run.stdout);
        let (code, part, lines) = *verdicts.get(name.as_str()).unwrap_or(&(&0, &": ok (", &1));
        let is_right = run.code == *code && text.contains(part) && text.lines().count() == *lines;
        assert!(is_right && run.stderr.is_empty(), "{name}: exit code {}\n{text}{}", run.code, run.stderr);
    }
    for name in files_below(&root, ".parquet.encrypted") {
        let run = lath(["check", root.join(&name).to_str().unwrap()]);
        let text = String::from_utf8_lossy(&run.stdout);
        // Columns without their own key are read if the footer can be read.
        let (part, lines) = match name.contains("plaintext_footer") {
            true => ("is encrypted: give its key with", if name.contains("aes256") { 8 } else { 2 }),
            false => ("the footer is encrypted: give its key with", 1),
        };
        let is_right = run.code == 2 && text.contains(part) && text.lines().count() == lines;
        assert!(is_right && run.stderr.is_empty(), "{name}: exit code {}\n{text}{}", run.code, run.stderr);
    }
    // A removed or renamed file must not keep its verdict.
    for name in verdicts.keys().filter(|name| name.ends_with(".parquet")) {
        assert!(names.iter().any(|other| other == name), "{name} is not there");
    }
}
