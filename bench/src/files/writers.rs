//! The writers: Lath and the `parquet` crate inside this program, the others by `peers/python/encode.py`.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use arrow_array::{Array, RecordBatch};
use lath_writer::{Codec as LathCodec, ParquetWriter, Profile, WriteOptions};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::properties::WriterProperties;
use serde_json::json;

use super::race::{Contestant, has_python, python};
use crate::data::{Codec, ROW_GROUP_ROWS};
use crate::machine;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Writer {
    Lath,
    /// Lath, with encodings chosen by the data.
    LathCompact,
    Parquet,
    /// `peers/python/encode.py`, with its name for the writer.
    Python(&'static str),
}

impl Writer {
    pub const PEERS: [Writer; 4] =
        [Writer::Parquet, Writer::Python("pyarrow"), Writer::Python("duckdb"), Writer::Python("polars")];

    pub fn parse(text: &str) -> Option<Writer> {
        [Writer::Lath, Writer::LathCompact, Writer::Parquet].into_iter().find(|writer| writer.name() == text)
    }

    fn name(self) -> &'static str {
        match self {
            Writer::Lath => "lath",
            Writer::LathCompact => "lath-compact",
            Writer::Parquet => "parquet",
            Writer::Python(name) => name,
        }
    }
}

/// A writer and its codec.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    pub writer: Writer,
    pub codec: Codec,
}

impl Entry {
    /// The output path: in memory if the system has a file system there, so that no disk is measured.
    pub fn out(self) -> PathBuf {
        let shared = Path::new("/dev/shm");
        let folder = if shared.is_dir() { shared.to_owned() } else { std::env::temp_dir() };
        folder.join(format!("lath-bench-{}-{}.parquet", self.writer.name(), self.codec.name()))
    }
}

impl Contestant for Entry {
    fn label(&self) -> String {
        match self.writer {
            Writer::Lath => "Lath",
            Writer::LathCompact => "Lath, compact",
            Writer::Parquet => "parquet (Rust)",
            Writer::Python(name) => name,
        }
        .to_owned()
    }

    fn is_lath(&self) -> bool {
        matches!(self.writer, Writer::Lath | Writer::LathCompact)
    }

    fn command(&self, path: &Path, threads: usize, repetitions: usize) -> Command {
        let mut command = match self.writer {
            Writer::Python(_) => python("encode.py"),
            _ => {
                let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
                command.arg("encode");
                command
            }
        };
        command.args([self.writer.name(), self.codec.name()]).arg(path).arg(self.out());
        command.arg(threads.to_string()).arg(repetitions.to_string()).stdout(Stdio::piped());
        command
    }

    fn is_there(&self) -> bool {
        !matches!(self.writer, Writer::Python(_)) || has_python()
    }
}

/// The table in `path`, in batches like the results of a query.
pub fn load(path: &Path) -> Vec<RecordBatch> {
    let file = File::open(path).expect("file exists");
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).expect("footer is readable");
    let batches = reader.with_batch_size(1 << 16).build().expect("reader can be built");
    batches.map(|batch| batch.expect("batch decodes")).collect()
}

/// The size of the values in memory, on which the rates of all writers are based.
pub fn arrow_bytes(batches: &[RecordBatch]) -> usize {
    let columns = batches.iter().flat_map(RecordBatch::columns);
    columns.map(|column| column.to_data().get_slice_memory_size().expect("sizes are known")).sum()
}

/// The process of one writer: writes the table of `source` to `out` repeatedly, and prints one line of JSON.
pub fn encode(writer: Writer, codec: Codec, source: &Path, out: &Path, threads: usize, repetitions: usize) {
    let batches = load(source);
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    let (mut seconds, mut cpu_seconds) = (Vec::new(), Vec::new());
    for _ in 0..repetitions {
        let (start, cpu_start) = (Instant::now(), machine::cpu_seconds());
        match writer {
            Writer::Lath => {
                let codec = match codec {
                    Codec::None => LathCodec::Uncompressed,
                    Codec::Snappy => LathCodec::Snappy,
                    Codec::Zstd => LathCodec::Zstd { level: 1 },
                };
                write_with_lath(&batches, WriteOptions::default().codec(codec), out, threads);
            }
            // The profile has its own codec.
            Writer::LathCompact => write_with_lath(&batches, WriteOptions::profile(Profile::Compact), out, threads),
            Writer::Parquet => write_with_parquet(&batches, codec, out),
            Writer::Python(name) => unreachable!("{name} has a process of its own"),
        }
        seconds.push(start.elapsed().as_secs_f64());
        cpu_seconds.push(machine::cpu_seconds() - cpu_start);
    }
    let version = match writer {
        Writer::Parquet => machine::parquet_version(),
        _ => machine::locked_version("lath-parquet"),
    };
    println!("{}", json!({ "version": version, "rows": rows, "seconds": seconds, "cpu_seconds": cpu_seconds }));
}

fn write_with_lath(batches: &[RecordBatch], options: WriteOptions, out: &Path, threads: usize) {
    let options = options.threads(threads);
    let mut writer = ParquetWriter::create(out, &batches[0].schema(), options).expect("schema is writable");
    for batch in batches {
        writer.write(batch).expect("batch is writable");
    }
    writer.finish().expect("file can be finished");
}

fn write_with_parquet(batches: &[RecordBatch], codec: Codec, out: &Path) {
    let properties = WriterProperties::builder()
        .set_compression(codec.compression())
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .build();
    let file = File::create(out).expect("folder is writable");
    let mut writer = ArrowWriter::try_new(file, batches[0].schema(), Some(properties)).expect("schema is writable");
    for batch in batches {
        writer.write(batch).expect("batch is writable");
    }
    writer.close().expect("file can be finished");
}
