//! Where bytes go: standard output, or a file that appears whole or not at all.

#[cfg(unix)]
use std::fs::File;
use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Result};

/// A buffered destination of bytes.
pub(crate) struct Target {
    writer: BufWriter<Box<dyn Write + Send>>,
    name: String,
    pending: Option<Pending>,
}

/// A file that still has its temporary name.
#[derive(Debug)]
struct Pending {
    temporary: PathBuf,
    path: PathBuf,
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
        Ok(Self::new(writer, NAME.to_owned(), None))
    }

    /// The file `path`. A regular file is written under a temporary name beside it, and takes its place in
    /// [`finish`](Self::finish); anything else (a device, a pipe) is written directly.
    pub(crate) fn file(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let failed = |error: io::Error| Failure::Io(format!("{name}: cannot create: {error}"));
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => {
                return Err(Failure::Usage(format!("{name} is a directory; give -o the name of a file")));
            }
            Ok(metadata) if !metadata.is_file() => {
                let file = OpenOptions::new().write(true).open(path).map_err(failed)?;
                return Ok(Self::new(file, name, None));
            }
            _ => {}
        }
        // Through a symbolic link the file that it names is replaced, not the link.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let mut file_name = std::ffi::OsString::from(".");
        file_name.push(path.file_name().unwrap_or_default());
        file_name.push(format!(".{}.partial", std::process::id()));
        let temporary = path.with_file_name(file_name);
        let file = OpenOptions::new().write(true).create_new(true).open(&temporary).map_err(failed)?;
        Ok(Self::new(file, name, Some(Pending { temporary, path })))
    }

    fn new(writer: impl Write + Send + 'static, name: String, pending: Option<Pending>) -> Self {
        Self { writer: BufWriter::with_capacity(64 << 10, Box::new(writer)), name, pending }
    }

    /// What to call it in messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Writes what is buffered and gives a file its final name.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.flush().map_err(|error| Failure::writing(&self.name, &error))?;
        if let Some(pending) = &self.pending {
            fs::rename(&pending.temporary, &pending.path).map_err(|error| Failure::writing(&self.name, &error))?;
            self.pending = None;
        }
        Ok(())
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

impl Drop for Target {
    fn drop(&mut self) {
        if let Some(pending) = &self.pending {
            // The command has failed already; a leftover that cannot be removed is all that could be added.
            let _ = fs::remove_file(&pending.temporary);
        }
    }
}
