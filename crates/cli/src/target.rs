//! Destinations of bytes: standard output, or a file that appears complete or not at all.

use std::fs;
#[cfg(unix)]
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use lath_parquet::{Error, FileVersion, FolderFormat};
use lath_writer::{AtomicFile, AtomicFiles};

use crate::failure::{Failure, Result};
use crate::interrupt;

/// A buffered destination of bytes.
pub(crate) struct Target {
    writer: BufWriter<Sink>,
    name: String,
}

enum Sink {
    Stream(Box<dyn Write + Send>),
    File(Box<AtomicFile>),
}

impl Target {
    /// Standard output, without line buffering, which would scan every byte.
    pub(crate) fn stdout() -> Result<Self> {
        const NAME: &str = "standard output";
        #[cfg(unix)]
        let writer = {
            use std::os::fd::AsFd;
            File::from(io::stdout().as_fd().try_clone_to_owned().map_err(|error| Failure::writing(NAME, &error))?)
        };
        #[cfg(not(unix))]
        let writer = io::stdout();
        Ok(Self::new(Sink::Stream(Box::new(writer)), NAME.to_owned()))
    }

    /// A stream that is shown on the terminal.
    #[cfg(feature = "sql")]
    pub(crate) fn shown(stream: impl Write + Send + 'static) -> Self {
        Self::new(Sink::Stream(Box::new(stream)), "standard output".to_owned())
    }

    /// The file `path`. A regular file is written under a temporary name next to it, and renamed by
    /// [`finish`](Self::finish); devices and pipes are written directly.
    pub(crate) fn file(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        if fs::metadata(path).is_ok_and(|metadata| metadata.is_dir()) {
            return Err(Failure::Usage(format!("{name} is a directory; give -o the name of a file")));
        }
        check_folder(path, &name)?;
        let file = AtomicFile::create_with(path, interrupt::uncommitted())
            .map_err(|error| Failure::writing_file(&name, error))?;
        Ok(Self::new(Sink::File(Box::new(file)), name))
    }

    /// The object at the URL `path`, which replaces the one with `version` and no other.
    pub(crate) fn replacing(path: &Path, version: &FileVersion) -> Result<Self> {
        let name = path.display().to_string();
        check_folder(path, &name)?;
        let file = AtomicFile::replace_version(path, version, interrupt::uncommitted())
            .map_err(|error| Failure::writing_file(&name, error))?;
        Ok(Self::new(Sink::File(Box::new(file)), name))
    }

    fn new(sink: Sink, name: String) -> Self {
        Self { writer: BufWriter::with_capacity(64 << 10, sink), name }
    }

    /// Its name, for messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Flushes, and gives a file its final name.
    pub(crate) fn finish(self) -> Result<()> {
        let Self { writer, name } = self;
        let sink = writer.into_inner().map_err(|error| Failure::writing(&name, error.error()))?;
        match sink {
            Sink::Stream(mut stream) => stream.flush().map_err(|error| Failure::writing(&name, &error)),
            Sink::File(file) => file.commit().map_err(|error| Failure::writing_file(&name, error)),
        }
    }
}

/// Files in one directory that appear together.
pub(crate) struct OutputFiles {
    files: AtomicFiles,
    folder: PathBuf,
    name: String,
}

/// Refuses to write inside the folder of a table of another format.
fn check_folder(path: &Path, name: &str) -> Result<()> {
    FolderFormat::check_written(path).map_err(|error| match error {
        Error::Invalid { what } => Failure::Usage(what),
        other => Failure::writing_file(name, other),
    })
}

impl OutputFiles {
    /// Starts files in `folder`, which is created if necessary. Temporary files are named after `name`.
    pub(crate) fn create(folder: &Path, name: &str) -> Result<Self> {
        let shown = if folder.as_os_str().is_empty() { ".".to_owned() } else { folder.display().to_string() };
        check_folder(&folder.join(name), &shown)?;
        match AtomicFiles::create_with(folder, name, interrupt::uncommitted()) {
            Ok(files) => Ok(Self { files, folder: folder.to_owned(), name: shown }),
            Err(error) => Err(Failure::writing_file(&shown, error)),
        }
    }

    /// Says that no files have the names of these.
    pub(crate) fn new_names(self) -> Self {
        Self { files: self.files.new_names(), ..self }
    }

    /// Begins the file that will be named `name`.
    pub(crate) fn target(&mut self, name: &str) -> Result<Target> {
        let path = self.folder.join(name).display().to_string();
        match self.files.file(name) {
            Ok(file) => Ok(Target::new(Sink::File(Box::new(file)), path)),
            Err(error) => Err(Failure::writing_file(&path, error)),
        }
    }

    /// The path of the file that will be named `name`, while it is written; the URL of an object.
    pub(crate) fn path(&mut self, name: &str) -> PathBuf {
        self.files.path(name).unwrap_or_else(|_| self.folder.join(name))
    }

    /// Gives all files their final names.
    pub(crate) fn finish(self) -> Result<()> {
        self.files.commit().map_err(|error| Failure::writing_file(&self.name, error))
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.writer.write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stream(stream) => stream.write(bytes),
            Self::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stream(stream) => stream.flush(),
            Self::File(file) => file.flush(),
        }
    }
}
