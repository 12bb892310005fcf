//! The input files: deterministic, written by the `parquet` crate with its default page sizes (1 MiB or 20,000 rows,
//! whichever is less), in row groups of 1,048,576 rows.

pub mod columns;
pub mod lineitem;
pub mod needles;
pub mod row_groups;
pub mod selective;

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

pub const ROW_GROUP_ROWS: usize = 1 << 20;

/// The folder of the files: `bench/data`, which git ignores.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data")
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Codec {
    None,
    Snappy,
    Zstd,
}

impl Codec {
    pub const ALL: [Codec; 3] = [Codec::None, Codec::Snappy, Codec::Zstd];

    pub fn name(self) -> &'static str {
        match self {
            Codec::None => "none",
            Codec::Snappy => "snappy",
            Codec::Zstd => "zstd",
        }
    }

    pub fn parse(text: &str) -> Option<Codec> {
        Codec::ALL.into_iter().find(|codec| codec.name() == text)
    }

    pub fn compression(self) -> Compression {
        match self {
            Codec::None => Compression::UNCOMPRESSED,
            Codec::Snappy => Compression::SNAPPY,
            Codec::Zstd => Compression::ZSTD(ZstdLevel::try_new(1).expect("level 1 exists")),
        }
    }
}

/// Writes `batches` to `path`, through a temporary name, so that an interrupted run leaves no partial file.
fn write(path: &Path, properties: WriterProperties, batches: impl Iterator<Item = RecordBatch>) {
    fs::create_dir_all(path.parent().expect("a file lies in a folder")).expect("data folder can be made");
    let partial = path.with_extension("partial");
    let file = File::create(&partial).expect("data folder is writable");
    let mut batches = batches.peekable();
    let schema = Arc::clone(batches.peek().expect("at least one batch").schema_ref());
    let mut writer = ArrowWriter::try_new(file, schema, Some(properties)).expect("schema is writable");
    for batch in batches {
        writer.write(&batch).expect("batch is writable");
    }
    writer.close().expect("file can be finished");
    read_back(&partial);
    fs::rename(&partial, path).expect("file can be renamed");
}

/// Evicts the file from the page cache and reads it again, so that it is cached in large folios, like a file that was
/// read from the disk. In the single pages that a writer leaves, every reader spends twice as long in the kernel.
fn read_back(path: &Path) {
    let mut file = File::open(path).expect("file was just written");
    file.sync_all().expect("file can be synced");
    // SAFETY: the call takes no pointers, and the descriptor is open for as long as `file` lives.
    let refused = unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    assert_eq!(refused, 0, "the advice is one that exists");
    io::copy(&mut file, &mut io::sink()).expect("file can be read");
}

/// SplitMix64: small, seeded, the same on all machines.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }
}
