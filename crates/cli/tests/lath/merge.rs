//! `merge` and `split`.

use std::fs;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_ord::sort::sort_to_indices;
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;
use bytes::Bytes;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData};
use serde_json::json;

use crate::files::{broken, numbered, oracle, plain, write};
use crate::invocation::{lath, sample};

fn path_in(folder: &tempfile::TempDir, name: &str) -> String {
    folder.path().join(name).to_str().unwrap().to_owned()
}

fn metadata(path: impl AsRef<Path>) -> ParquetMetaData {
    ParquetMetaDataReader::new().parse_and_finish(&Bytes::from(fs::read(path).unwrap())).unwrap()
}

/// The pages of a file, byte for byte.
fn page_bytes(path: impl AsRef<Path>) -> Vec<Vec<u8>> {
    let bytes = fs::read(&path).unwrap();
    let of_column = |range: (u64, u64)| bytes[range.0 as usize..(range.0 + range.1) as usize].to_vec();
    let metadata = metadata(&path);
    metadata
        .row_groups()
        .iter()
        .flat_map(RowGroupMetaData::columns)
        .map(|column| of_column(column.byte_range()))
        .collect()
}

fn assert_sound(path: &str) {
    let check = lath(["check", path]);
    assert!(check.text(0).contains(": ok ("), "{}", check.text(0));
}

#[test]
fn sorted_inputs_become_one_sorted_output() {
    let folder = tempfile::tempdir().unwrap();
    let all = numbered(0..3000);
    let mut inputs = Vec::new();
    for part in 0..3 {
        let rows = arrow_array::UInt32Array::from_iter_values((0..3000).filter(|row| row * 7 % 13 % 3 == part));
        let path = folder.path().join(format!("{part}.parquet"));
        inputs.push(write(&path, &take_record_batch(&all, &rows).unwrap(), 300).to_str().unwrap().to_owned());
    }
    let output = path_in(&folder, "out.parquet");
    let mut args = vec!["merge", "-o", &output, "--sort-by", "id", "--codec", "zstd", "--row-group-rows", "1000"];
    args.extend(inputs.iter().map(String::as_str));
    assert_eq!(lath(&args).text(0), "");
    assert_sound(&output);
    assert_eq!(plain(&oracle(&output)), plain(&all));
    let sorting = metadata(&output).row_group(2).sorting_columns().unwrap().clone();
    assert_eq!((sorting.len(), sorting[0].column_idx, sorting[0].descending), (1, 0, false));
}

#[test]
fn inputs_that_are_not_sorted_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let sorted = write(&folder.path().join("sorted.parquet"), &numbered(0..100), 50);
    let unsorted = sample("trips/2025-01.parquet");
    let output = path_in(&folder, "out.parquet");
    let run = lath(["merge", &unsorted, "-o", &output, "--sort-by", "price"]);
    assert_eq!(run.code, 2);
    for part in ["2025-01.parquet is not sorted", "lath rewrite --sort-by"] {
        assert!(run.stderr.contains(part), "{}", run.stderr);
    }
    let other = lath(["merge", sorted.to_str().unwrap(), &unsorted, "-o", &output, "--sort-by", "id"]);
    assert_eq!(other.code, 2);
    assert!(other.stderr.contains("unlike in"), "{}", other.stderr);
    assert!(!Path::new(&output).exists());
}

#[test]
fn files_that_follow_one_another_are_copied_byte_for_byte() {
    let folder = tempfile::tempdir().unwrap();
    let names = ["trips/2025-01.parquet", "trips/2025-02.parquet"].map(sample);
    let output = path_in(&folder, "out.parquet");
    for command in ["merge", "rewrite"] {
        let run = lath([command, &names[0], &names[1], "-o", &output, "--force"]);
        assert_eq!(run.text(0), "");
        assert!(run.stderr.contains("copied"), "{}", run.stderr);
        assert_sound(&output);
        let expected: Vec<Vec<u8>> = names.iter().flat_map(page_bytes).collect();
        assert!(page_bytes(&output) == expected, "{command}: pages differ");
        let rows = names.each_ref().map(|name| plain(&oracle(name)));
        assert_eq!(plain(&oracle(&output)), concat_batches(&rows[0].schema(), &rows).unwrap());
    }
}

#[test]
fn columns_and_row_groups_are_copied_too() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (sample("trips/2025-01.parquet"), path_in(&folder, "out.parquet"));
    let chosen = ["--columns", "rider.age,price", "--row-groups", "1"];
    lath([&["rewrite", &input, "-o", &output][..], &chosen[..]].concat()).text(0);
    assert_sound(&output);
    let (from, to) = (metadata(&input), metadata(&output));
    assert_eq!((to.num_row_groups(), to.row_group(0).num_columns()), (1, 2));
    let source = fs::read(&input).unwrap();
    let copies: Vec<Vec<u8>> = page_bytes(&output);
    for (column, copy) in to.row_group(0).columns().iter().zip(&copies) {
        let original =
            from.row_group(1).columns().iter().find(|original| original.column_path() == column.column_path());
        let (start, length) = original.unwrap().byte_range();
        assert!(source[start as usize..(start + length) as usize] == copy[..], "{}", column.column_path());
    }
    let expected = lath([&["cat", &input, "--format", "jsonl"][..], &chosen[..]].concat());
    assert_eq!(lath(["cat", &output, "--format", "jsonl"]).text(0), expected.text(0));
    // Row groups are copied only in the file's order of columns; for another order, rows are encoded again.
    let reversed = ["--columns", "price,rider.age", "--row-groups", "1", "--force"];
    lath([&["rewrite", &input, "-o", &output][..], &reversed[..]].concat()).text(0);
    assert_eq!(metadata(&output).file_metadata().schema_descr().column(0).path().string(), "price");
}

/// Splits, checks every file, and returns their rows.
fn split(input: &str, folder: &tempfile::TempDir, options: &[&str]) -> Vec<RecordBatch> {
    let target = folder.path().join("parts/");
    let target = format!("{}/", target.to_str().unwrap());
    let run = lath([&["split", input, "-o", &target, "--json"][..], options].concat());
    let summary = &run.json_lines(0)[0];
    let mut names: Vec<_> = fs::read_dir(&target).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    assert_eq!(summary["outputs"], json!(names), "{options:?}");
    let rows = names
        .iter()
        .map(|path| {
            assert_sound(path.to_str().unwrap());
            plain(&oracle(path))
        })
        .collect();
    fs::remove_dir_all(&target).unwrap();
    rows
}

#[test]
fn parts_together_are_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["trips/2025-01.parquet", "trips/2025-03.parquet", "stations.parquet"] {
        let input = sample(name);
        let whole = plain(&oracle(&input));
        let largest = metadata(&input).row_groups().iter().map(RowGroupMetaData::compressed_size).max().unwrap();
        for options in [
            &["--rows", "777"][..],
            &["--rows", "777", "--codec", "lz4"],
            &["--row-groups", "1"],
            &["--row-groups", "2"],
            &["--bytes", &largest.to_string()],
            &["--bytes", &(largest / 3).to_string()],
            &["--bytes", "1GiB"],
        ] {
            let parts = split(&input, &folder, options);
            assert_eq!(concat_batches(&whole.schema(), &parts).unwrap(), whole, "{name} {options:?}");
            if options[0] == "--rows" {
                assert!(parts.iter().rev().skip(1).all(|part| part.num_rows() == 777), "{name}");
            }
        }
    }
}

#[test]
fn whole_row_groups_are_split_off_byte_for_byte() {
    let folder = tempfile::tempdir().unwrap();
    let input = sample("trips/2025-01.parquet");
    let first = path_in(&folder, "part.parquet");
    lath(["split", &input, "--row-groups", "1", "-o", &first]).text(0);
    let parts: Vec<Vec<u8>> =
        (0..3).flat_map(|number| page_bytes(path_in(&folder, &format!("part-0000{number}.parquet")))).collect();
    assert!(parts == page_bytes(&input), "pages differ");
    let again = lath(["split", &input, "--row-groups", "3", "-o", &first]);
    assert_eq!(again.code, 2);
    assert!(again.stderr.contains("part-00000.parquet exists; add --force"), "{}", again.stderr);
}

#[test]
fn a_broken_input_leaves_no_part_behind() {
    let folder = tempfile::tempdir().unwrap();
    let input = write(&folder.path().join("a.parquet"), &numbered(0..900), 300);
    fs::write(&input, broken(&input)).unwrap();
    let input = input.to_str().unwrap();
    let run = lath(["split", input, "--rows", "100", "-o", &path_in(&folder, "part.parquet")]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("a.parquet"), "{}", run.stderr);
    let run = lath(["merge", input, "--sort-by", "id", "-o", &path_in(&folder, "merged.parquet")]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("a.parquet"), "{}", run.stderr);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn ties_keep_the_order_of_the_inputs() {
    let folder = tempfile::tempdir().unwrap();
    let mut inputs = Vec::new();
    for part in 0..4 {
        let rows = numbered(part * 50..part * 50 + 50);
        let order = sort_to_indices(rows.column(1), None, None).unwrap();
        let path = folder.path().join(format!("{part}.parquet"));
        inputs.push(write(&path, &take_record_batch(&rows, &order).unwrap(), 20).to_str().unwrap().to_owned());
    }
    let (merged, sorted) = (path_in(&folder, "merged.parquet"), path_in(&folder, "sorted.parquet"));
    let names: Vec<&str> = inputs.iter().map(String::as_str).collect();
    let by = ["--sort-by", "name:nulls-first"];
    lath([&["merge", "-o", &merged][..], &by, &names].concat()).text(0);
    lath([&["rewrite", "-o", &sorted][..], &by, &names].concat()).text(0);
    assert_eq!(plain(&oracle(&merged)), plain(&oracle(&sorted)));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_of_output() {
    let input = sample("trips/2025-01.parquet");
    for command in ["merge", "rewrite"] {
        let run = lath([command, &input, "-o", "/dev/full"]);
        assert_eq!(run.code, 4, "{command}: {}", run.stderr);
        assert!(run.stderr.contains("/dev/full") && run.stderr.contains("No space left"), "{}", run.stderr);
    }
}
