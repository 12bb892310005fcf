//! Where bytes go: standard output, or a file that appears whole or not at all.

use std::fs;
#[cfg(unix)]
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use lath_parquet::AtomicFile;

use crate::failure::{Failure, Result};

/// A buffered destination of bytes.
pub(crate) struct Target {
    writer: BufWriter<Sink>,
    name: String,
}

enum Sink {
    Stream(Box<dyn Write + Send>),
    File(AtomicFile),
}

impl Target {
    /// Standard output, without the line buffering that costs a scan of every byte.
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

    /// The file `path`. A regular file is written under a temporary name beside it, and takes its place in
    /// [`finish`](Self::finish); anything else (a device, a pipe) is written directly.
    pub(crate) fn file(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        if fs::metadata(path).is_ok_and(|metadata| metadata.is_dir()) {
            return Err(Failure::Usage(format!("{name} is a directory; give -o the name of a file")));
        }
        let file = AtomicFile::create(path).map_err(|error| Failure::writing_file(&name, error))?;
        Ok(Self::new(Sink::File(file), name))
    }

    fn new(sink: Sink, name: String) -> Self {
        Self { writer: BufWriter::with_capacity(64 << 10, sink), name }
    }

    /// What to call it in messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Writes what is buffered and gives a file its final name.
    pub(crate) fn finish(self) -> Result<()> {
        let Self { writer, name } = self;
        let sink = writer.into_inner().map_err(|error| Failure::writing(&name, error.error()))?;
        match sink {
            Sink::Stream(mut stream) => stream.flush().map_err(|error| Failure::writing(&name, &error)),
            Sink::File(file) => file.commit().map_err(|error| Failure::writing_file(&name, error)),
        }
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
