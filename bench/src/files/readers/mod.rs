//! The readers that run inside this program: Lath and the `parquet` crate.

mod lath;
mod parquet;
mod way;

use std::fmt;
use std::path::Path;

use arrow_array::RecordBatch;

pub use way::Way;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Library {
    Lath,
    Parquet,
}

impl Library {
    /// The name of readers and of the programs of `src/bin`.
    pub fn name(self) -> &'static str {
        match self {
            Library::Lath => "lath",
            Library::Parquet => "parquet",
        }
    }
}

/// A library and one of its ways. Written `parquet-views@8192`, `lath-offsets-mapped@65536`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reader {
    pub library: Library,
    pub way: Way,
}

impl Reader {
    pub fn parse(text: &str) -> Option<Reader> {
        let (library, way) = text.split_once('-')?;
        let library = [Library::Lath, Library::Parquet].into_iter().find(|known| known.name() == library)?;
        Some(Reader { library, way: Way::parse(way)? })
    }

    /// Reads all of a file, passes every batch to `take`, on any of the threads, and returns the number of rows.
    pub fn read(self, path: &Path, threads: usize, take: impl Fn(RecordBatch) + Sync) -> u64 {
        match self.library {
            Library::Lath => lath::read(self.way, path, threads, take),
            Library::Parquet => parquet::read(self.way, path, threads, take),
        }
    }
}

impl fmt::Display for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.library.name(), self.way)
    }
}
