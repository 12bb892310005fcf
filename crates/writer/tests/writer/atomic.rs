//! A file appears complete or not at all: processes die at every point of writing, disks fill up, and the target has
//! either its old contents or the new ones.
#![cfg(unix)]

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use lath_parquet::{Error, ParquetFile};
use lath_testkit::Seeded;
use lath_writer::{Codec, ParquetWriter, WriteOptions};

/// The variable that tells a process of this suite what to write: the path, and how often.
const TARGET: &str = "LATH_TEST_TARGET";
const REPEATS: &str = "LATH_TEST_REPEATS";

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("generation", DataType::Int64, false),
        Field::new("n", DataType::Int64, false),
    ]))
}

/// A file whose number of rows identifies it: its generation, plus a thousand.
fn write(path: &Path, generation: i64) -> lath_parquet::Result<()> {
    let row_count = 1_000 + generation;
    let options = WriteOptions::default().codec(Codec::Uncompressed).dictionary(false).row_group_rows(400);
    let mut writer = ParquetWriter::create(path, &schema(), options)?;
    let generations: ArrayRef = Arc::new(Int64Array::from_iter_values((0..row_count).map(|_| generation)));
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..row_count));
    writer.write(&RecordBatch::try_new(schema(), vec![generations, numbers]).unwrap())?;
    writer.finish().map(drop)
}

/// The generation of a file, which is read completely.
fn generation(path: &Path) -> i64 {
    let batches = ParquetFile::open(path).unwrap().scan().build().unwrap();
    let (mut generation, mut row_count) = (None, 0);
    for batch in batches {
        let batch = batch.unwrap();
        for &value in batch.column(0).as_primitive::<Int64Type>().values() {
            assert_eq!(*generation.get_or_insert(value), value);
        }
        for &value in batch.column(1).as_primitive::<Int64Type>().values() {
            assert_eq!(value, row_count);
            row_count += 1;
        }
    }
    let generation = generation.unwrap();
    assert_eq!(row_count, 1_000 + generation);
    generation
}

fn names(folder: &Path) -> Vec<OsString> {
    let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    names
}

/// Not a test by itself: the program of the processes that the tests start.
#[test]
fn child() {
    let Some(target) = std::env::var_os(TARGET) else { return };
    let repeats: i64 = std::env::var(REPEATS).unwrap().parse().unwrap();
    for generation in 1..=repeats {
        write(Path::new(&target), generation).unwrap_or_else(|error| panic!("{error}"));
    }
}

/// Writes once in a process that cannot make files longer than `blocks` times 512 bytes.
fn write_limited(path: &Path, setup: &str, blocks: u64) -> Output {
    let script = format!("ulimit -c 0; {setup} ulimit -f {blocks}; exec \"$0\" --exact atomic::child --nocapture");
    Command::new("sh")
        .arg("-c")
        .arg(script)
        .arg(std::env::current_exe().unwrap())
        .env(TARGET, path)
        .env(REPEATS, "1")
        .output()
        .unwrap()
}

fn old_file(folder: &Path) -> (PathBuf, Vec<u8>) {
    let path = folder.join("f.parquet");
    write(&path, 0).unwrap();
    let bytes = fs::read(&path).unwrap();
    (path, bytes)
}

#[test]
fn a_process_that_dies_after_any_byte_leaves_the_old_file() {
    use std::os::unix::process::ExitStatusExt;

    let folder = tempfile::tempdir().unwrap();
    let (path, old) = old_file(folder.path());
    let last_block = old.len() as u64 / 512 + 2;
    let mut killed = 0;
    for blocks in 0..=last_block {
        let output = write_limited(&path, "", blocks);
        if output.status.success() {
            assert_eq!(generation(&path), 1);
            fs::write(&path, &old).unwrap();
        } else {
            assert!(output.status.signal().is_some(), "{output:?}");
            assert!(fs::read(&path).unwrap() == old, "killed after {blocks} blocks");
            killed += 1;
        }
    }
    assert!(killed >= last_block - 3 && killed < last_block, "{killed} of {last_block}");
}

#[test]
fn a_process_that_is_killed_at_any_time_leaves_one_file_or_the_other() {
    let mut random = Seeded::new("a_process_that_is_killed_at_any_time_leaves_one_file_or_the_other");
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = old_file(folder.path());
    let mut latest = 0;
    for _ in 0..40 {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "atomic::child"])
            .env(TARGET, &path)
            .env(REPEATS, "1000000")
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        sleep(Duration::from_micros(random.u64(1_000..60_000)));
        process.kill().unwrap();
        process.wait().unwrap();
        latest = latest.max(generation(&path));
    }
    assert!(latest > 0, "no process came to write anything");
}

#[test]
fn a_file_that_becomes_too_long_is_an_error_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let (path, old) = old_file(folder.path());
    for blocks in [0, 1, 7, old.len() as u64 / 512 - 1] {
        // The signal is ignored, so that writing fails instead.
        let output = write_limited(&path, "trap '' XFSZ;", blocks);
        let text = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
        assert!(!output.status.success());
        assert!(text.contains("cannot write") && text.contains("f.parquet"), "{text}");
        assert!(fs::read(&path).unwrap() == old);
        assert_eq!(names(folder.path()), ["f.parquet"]);
    }
}

/// A file system of 64 KiB; mounting it takes a privilege.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn new() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"]).arg(folder.path()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success()).then(|| Self(folder))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_disk_is_an_error_and_leaves_the_old_file() {
    let Some(disk) = SmallDisk::new() else {
        eprintln!("SKIPPED a_full_disk_is_an_error_and_leaves_the_old_file: a file system cannot be mounted here");
        return;
    };
    let (path, old) = old_file(disk.0.path());
    let error = write(&path, 10_000).unwrap_err();
    let Error::Io { op: "write", source, .. } = &error else { panic!("{error:?}") };
    assert_eq!(source.kind(), io::ErrorKind::StorageFull);
    assert!(error.to_string().contains("f.parquet"), "{error}");
    assert!(fs::read(&path).unwrap() == old);
    assert_eq!(names(disk.0.path()), ["f.parquet"]);
    // There is room again.
    write(&path, 1).unwrap();
    assert_eq!(generation(&path), 1);
}

#[test]
fn a_writer_that_is_dropped_leaves_the_old_file() {
    let folder = tempfile::tempdir().unwrap();
    let (path, old) = old_file(folder.path());
    let mut writer = ParquetWriter::create(&path, &schema(), WriteOptions::default()).unwrap();
    let column: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    writer.write(&RecordBatch::try_new(schema(), vec![column.clone(), column]).unwrap()).unwrap();
    writer.flush_row_group().unwrap();
    assert_eq!(names(folder.path()).len(), 2);
    drop(writer);
    assert_eq!(names(folder.path()), ["f.parquet"]);
    assert!(fs::read(&path).unwrap() == old);
}
