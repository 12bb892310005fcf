//! Temporary files that operators spill to.
//!
//! DataFusion's own (55.2) each hold an open file until they are deleted. Here as many files as a query spills may exist: a
//! repartition spills every batch to a separate file, because it never finishes if two of its inputs spill to files that each hold
//! several batches: the reader waits for the older file, and the writers wait for the reader.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use datafusion::common::Result;
use datafusion::execution::{SpillFile, SpillWriter, TempFileFactory};
use futures_util::{Stream, stream};
use lath_writer::{UncommittedFiles, UncommittedWork};
use tempfile::TempPath;

use crate::error::external;

/// The number of bytes that are read at once.
const READ_BYTES: usize = 128 << 10;

/// Creates the files in a folder below the system's folder for temporary files.
#[derive(Default)]
pub(crate) struct SpillFiles {
    folder: Mutex<Option<Arc<SpillFolder>>>,
    count: AtomicU64,
    uncommitted: UncommittedFiles,
}

/// A folder that is deleted when this is dropped, or when the process is ended by a signal that it handles.
struct SpillFolder {
    path: PathBuf,
    _work: UncommittedWork,
}

impl SpillFolder {
    fn new(uncommitted: &UncommittedFiles) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().to_owned();
        // Ends without `finish`, which deletes the folder.
        let work = uncommitted.begin_work(move || {
            let _ = fs::remove_dir_all(&path);
        });
        let work = work.map_err(external)?;
        Ok(Self { path: folder.keep(), _work: work })
    }
}

/// A file that is deleted with its last reader and writer.
struct TempFile {
    content: Arc<Content>,
}

struct Content {
    path: TempPath,
    size: AtomicU64,
    /// Deleted after the last of its files.
    _folder: Arc<SpillFolder>,
}

struct Writer {
    file: File,
    content: Arc<Content>,
}

impl SpillFiles {
    /// Files that are deleted when `uncommitted` is abandoned.
    pub(crate) fn new(uncommitted: &UncommittedFiles) -> Self {
        Self { uncommitted: uncommitted.clone(), ..Self::default() }
    }

    fn folder(&self) -> Result<Arc<SpillFolder>> {
        let mut folder = self.folder.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(folder) = &*folder {
            return Ok(Arc::clone(folder));
        }
        Ok(Arc::clone(folder.insert(Arc::new(SpillFolder::new(&self.uncommitted)?))))
    }
}

impl TempFileFactory for SpillFiles {
    fn create_temp_file(&self, _description: &str) -> Result<Arc<dyn SpillFile>> {
        let folder = self.folder()?;
        let name = self.count.fetch_add(1, Ordering::Relaxed).to_string();
        let path = TempPath::try_from_path(folder.path.join(name))?;
        File::create_new(&path)?;
        Ok(Arc::new(TempFile { content: Arc::new(Content { path, size: AtomicU64::new(0), _folder: folder }) }))
    }
}

impl SpillFile for TempFile {
    fn path(&self) -> Option<&Path> {
        Some(&self.content.path)
    }

    fn size(&self) -> Option<u64> {
        Some(self.content.size.load(Ordering::Relaxed))
    }

    fn read_stream(&self) -> Result<Pin<Box<dyn Stream<Item = Result<Bytes>> + Send>>> {
        let content = Arc::clone(&self.content);
        let mut file = File::open(&content.path)?;
        let chunks = std::iter::from_fn(move || {
            let _kept_until_read = &content;
            let mut chunk = vec![0; READ_BYTES];
            match file.read(&mut chunk) {
                Ok(0) => None,
                Ok(length) => {
                    chunk.truncate(length);
                    Some(Ok(Bytes::from(chunk)))
                }
                Err(error) => Some(Err(error.into())),
            }
        });
        Ok(Box::pin(stream::iter(chunks)))
    }

    fn open_writer(&self) -> Result<Box<dyn SpillWriter>> {
        let file = File::options().append(true).open(&self.content.path)?;
        Ok(Box::new(Writer { file, content: Arc::clone(&self.content) }))
    }
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.content.size.fetch_add(written as u64, Ordering::Relaxed);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl SpillWriter for Writer {
    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use futures_util::TryStreamExt;

    use super::*;

    #[tokio::test]
    async fn files_are_read_while_they_are_written_and_deleted_with_their_last_reader() -> Result<()> {
        let files = SpillFiles::default();
        let file = files.create_temp_file("rows")?;
        let path = file.path().expect("it is a local file").to_owned();
        let mut writer = file.open_writer()?;
        writer.write_all(b"one")?;
        assert_eq!(file.read_stream()?.try_collect::<Vec<_>>().await?.concat(), b"one");
        writer.write_all(&[7; READ_BYTES])?;
        writer.finish()?;
        assert_eq!(file.size(), Some(3 + READ_BYTES as u64));
        let reader = file.read_stream()?;
        drop((writer, file));
        assert_eq!(reader.try_collect::<Vec<_>>().await?.concat().len(), 3 + READ_BYTES);
        assert!(!path.exists());
        let folder = path.parent().expect("a file is in a folder").to_owned();
        drop(files);
        assert!(!folder.exists());
        Ok(())
    }

    #[test]
    fn files_are_deleted_when_the_process_is_told_to_end() -> Result<()> {
        let uncommitted = UncommittedFiles::new();
        let files = SpillFiles::new(&uncommitted);
        let file = files.create_temp_file("rows")?;
        let folder = file.path().and_then(Path::parent).expect("a file is in a folder").to_owned();
        uncommitted.abandon();
        assert!(!folder.exists());
        assert!(files.create_temp_file("more").is_err());
        Ok(())
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn files_that_nobody_reads_or_writes_are_closed() -> Result<()> {
        let files = SpillFiles::default();
        let open = || fs::read_dir("/proc/self/fd").map(Iterator::count);
        let before = open()?;
        let all = (0..5_000).map(|_| files.create_temp_file("rows")).collect::<Result<Vec<_>>>()?;
        // Other tests of this process open files, too.
        assert!(open()? < before + 1_000);
        assert_eq!(all.len(), 5_000);
        Ok(())
    }
}
