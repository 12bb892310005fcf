//! The readers that run inside this program: Lath and the `parquet` crate.

use std::fmt;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema};
use lath_parquet::{OpenOptions, Strings};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Library {
    Lath,
    Parquet,
}

/// A library, and how it gives strings and batches. Written `parquet-views@8192`, `lath-offsets-mapped@65536`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reader {
    pub library: Library,
    pub views: bool,
    pub batch_rows: usize,
    /// Whether the file is mapped into memory; Lath only.
    pub mapped: bool,
}

impl Reader {
    pub fn parse(text: &str) -> Option<Reader> {
        let (name, batch_rows) = text.split_once('@')?;
        let (name, mapped) = name.strip_suffix("-mapped").map_or((name, false), |name| (name, true));
        let (library, strings) = name.split_once('-')?;
        let library = match library {
            "lath" => Library::Lath,
            "parquet" => Library::Parquet,
            _ => return None,
        };
        let views = match strings {
            "views" => true,
            "offsets" => false,
            _ => return None,
        };
        Some(Reader { library, views, batch_rows: batch_rows.parse().ok()?, mapped })
    }

    /// Reads all of a file, every batch given to `take`, on any of the threads; returns the rows.
    pub fn read(self, path: &Path, threads: usize, take: impl Fn(RecordBatch) + Sync) -> u64 {
        match self.library {
            Library::Lath => self.read_lath(path, threads, take),
            Library::Parquet => self.read_parquet(path, threads, take),
        }
    }

    fn read_lath(self, path: &Path, threads: usize, take: impl Fn(RecordBatch) + Sync) -> u64 {
        let file = OpenOptions::new().memory_map(self.mapped).open(path).expect("file is readable");
        let strings = if self.views { Strings::Views } else { Strings::Offsets };
        let batches = file.read().batch_size(self.batch_rows).strings(strings).threads(threads).build();
        let mut rows = 0;
        for batch in batches.expect("file can be read") {
            let batch = batch.expect("batch decodes");
            rows += batch.num_rows() as u64;
            take(batch);
        }
        rows
    }

    /// One thread reads the file through; several take row groups from a common counter.
    fn read_parquet(self, path: &Path, threads: usize, take: impl Fn(RecordBatch) + Sync) -> u64 {
        let file = File::open(path).expect("file exists");
        let metadata = self.metadata(&file);
        let rows = AtomicU64::new(0);
        let count = |batch: RecordBatch| {
            rows.fetch_add(batch.num_rows() as u64, Ordering::Relaxed);
            take(batch);
        };
        let open = |groups: Option<usize>| {
            // Opened anew: clones of a handle share its position, which threads would move under one another.
            let file = File::open(path).expect("file exists");
            let mut builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata.clone());
            if let Some(group) = groups {
                builder = builder.with_row_groups(vec![group]);
            }
            builder.with_batch_size(self.batch_rows).build().expect("reader can be built")
        };
        if threads == 1 {
            for batch in open(None) {
                count(batch.expect("batch decodes"));
            }
            return rows.into_inner();
        }
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    loop {
                        let group = next.fetch_add(1, Ordering::Relaxed);
                        if group >= metadata.metadata().num_row_groups() {
                            break;
                        }
                        for batch in open(Some(group)) {
                            count(batch.expect("batch decodes"));
                        }
                    }
                });
            }
        });
        rows.into_inner()
    }

    fn metadata(self, file: &File) -> ArrowReaderMetadata {
        let plain = ArrowReaderMetadata::load(file, ArrowReaderOptions::new()).expect("footer is readable");
        if !self.views {
            return plain;
        }
        let schema = Schema::new(plain.schema().fields().iter().map(|field| viewed(field)).collect::<Vec<_>>());
        let options = ArrowReaderOptions::new().with_schema(Arc::new(schema));
        ArrowReaderMetadata::try_new(Arc::clone(plain.metadata()), options).expect("strings can be views")
    }
}

fn viewed(field: &Field) -> Field {
    match field.data_type() {
        DataType::Utf8 => field.clone().with_data_type(DataType::Utf8View),
        _ => field.clone(),
    }
}

impl fmt::Display for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let library = match self.library {
            Library::Lath => "lath",
            Library::Parquet => "parquet",
        };
        let strings = if self.views { "views" } else { "offsets" };
        let mapped = if self.mapped { "-mapped" } else { "" };
        write!(f, "{library}-{strings}{mapped}@{}", self.batch_rows)
    }
}
