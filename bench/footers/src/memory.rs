//! The memory of the metadata of many row groups, in a separate process for each reader.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use bytes::Bytes;
use lath_bench_record::record::Record;
use lath_format::FileMetaData;
use parquet::file::metadata::ParquetMetaDataReader;

use crate::data::{Shape, footer};
use crate::facts;

const FILES: usize = 40;

/// Opens the footer in `path` once for each file, reads a column of all of them, and keeps them.
pub fn child(reader: &str, path: &Path) {
    let start = Instant::now();
    let mut sum = 0u64;
    // Each file has separate bytes.
    let footers = (0..FILES).map(|_| Bytes::from(fs::read(path).expect("the footer can be read")));
    let (bytes, peak) = match reader {
        "lath" => {
            let open = footers.map(|footer| FileMetaData::from_bytes(footer).expect("a footer"));
            let files: Vec<_> = open.inspect(|file| sum = sum.wrapping_add(facts::by_lath(file, 1..2))).collect();
            (files.iter().map(FileMetaData::memory_bytes).sum::<usize>(), peak_kib())
        }
        _ => {
            let open = footers.map(|footer| ParquetMetaDataReader::decode_metadata(&footer).expect("a footer"));
            let files: Vec<_> = open.inspect(|file| sum = sum.wrapping_add(facts::by_crate(file, 1..2))).collect();
            (files.iter().map(|file| file.memory_size()).sum::<usize>(), peak_kib())
        }
    };
    println!("{} {bytes} {peak} {sum}", start.elapsed().as_secs_f64());
}

/// The peak memory of this process.
fn peak_kib() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.and_then(|peak| peak.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

pub fn run(record: &mut Record, quick: bool) {
    let shape = Shape { columns: 2, row_groups: if quick { 2_500 } else { 25_000 } };
    let footer = footer(shape);
    let path = std::env::temp_dir().join(format!("lath-bench-footers-{}", std::process::id()));
    fs::write(&path, &footer).expect("the folder for temporary files is writable");
    record.heading(&format!(
        "{FILES} files of {}: {:.0} MiB of footers, all open, the second column asked",
        shape.name(),
        mib(footer.len() * FILES)
    ));
    let mut rows = Vec::new();
    let mut sums = Vec::new();
    for (reader, name) in [("lath", "Lath"), ("parquet", "`parquet` crate")] {
        let program = std::env::current_exe().expect("this program has a path");
        let output = Command::new(program).args(["memory", reader]).arg(&path).output().expect("a process");
        let output = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut answer = output.split_whitespace();
        let seconds: f64 = answer.next().and_then(|seconds| seconds.parse().ok()).expect("seconds");
        let mut whole = || answer.next().and_then(|number| number.parse::<u64>().ok()).expect("a number");
        let (bytes, peak, sum) = (whole() as usize, whole() as usize, whole());
        sums.push(sum);
        let cells = [format!("{:.1}", mib(bytes)), format!("{:.1}", peak as f64 / 1024.0), format!("{seconds:.2}")];
        rows.push([vec![name.to_owned()], cells.to_vec()].concat());
    }
    let _ = fs::remove_file(&path);
    assert!(sums.windows(2).all(|sums| sums[0] == sums[1]), "the readers do not agree: {sums:?}");
    let head = ["", "MiB, as the reader says it", "MiB, peak of the process", "seconds"];
    record.table(&head.map(str::to_owned), &rows);
}

fn mib(bytes: usize) -> f64 {
    bytes as f64 / (1 << 20) as f64
}
