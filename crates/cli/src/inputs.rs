//! From the names on the command line to open Parquet files.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use bytes::Bytes;
use lath_parquet::{DecryptionKeys, OpenOptions, ParquetFile};

use crate::args::InputArgs;
use crate::check::FileBytes;
use crate::failure::{Failure, Result};

/// The files that a command works on, in order.
#[derive(Debug)]
pub(crate) struct Inputs {
    files: Vec<Input>,
    decryption: Option<DecryptionKeys>,
    stdin: Option<Bytes>,
}

/// One file, not yet open.
#[derive(Debug, Clone)]
enum Input {
    Path(PathBuf),
    Stdin,
}

impl Inputs {
    /// Finds the files that `args` name. Directories and globs are expanded in the order of their names.
    pub(crate) fn find(args: &InputArgs) -> Result<Self> {
        let mut files = Vec::new();
        for name in &args.files {
            expand(name, &mut files)?;
        }
        let stdin_count = files.iter().filter(|file| matches!(file, Input::Stdin)).count();
        if stdin_count > 1 {
            return Err(Failure::Usage("- (standard input) can be read only once; name it once".to_owned()));
        }
        Ok(Self { files, decryption: decryption(args)?, stdin: None })
    }

    /// Number of files.
    pub(crate) fn len(&self) -> usize {
        self.files.len()
    }

    /// The name of the file at `index`, as messages show it.
    pub(crate) fn name(&self, index: usize) -> String {
        match &self.files[index] {
            Input::Path(path) => path.display().to_string(),
            Input::Stdin => "standard input".to_owned(),
        }
    }

    /// The path of the file at `index`; `None` for standard input.
    pub(crate) fn path(&self, index: usize) -> Option<&Path> {
        match &self.files[index] {
            Input::Path(path) => Some(path),
            Input::Stdin => None,
        }
    }

    /// The paths of all files.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        (0..self.len()).filter_map(|index| self.path(index))
    }

    /// Size in bytes of the file at `index`, where it is known.
    pub(crate) fn byte_len(&self, index: usize) -> Option<u64> {
        match &self.files[index] {
            Input::Path(path) => fs::metadata(path).map(|metadata| metadata.len()).ok(),
            Input::Stdin => self.stdin.as_ref().map(|bytes| bytes.len() as u64),
        }
    }

    /// Whether keys were given.
    pub(crate) fn are_decrypted(&self) -> bool {
        self.decryption.is_some()
    }

    /// The bytes of the file at `index`, which has been opened; `None` if they are encrypted.
    pub(crate) fn bytes(&self, index: usize) -> Result<Option<FileBytes>> {
        Ok(match &self.files[index] {
            _ if self.decryption.is_some() => None,
            Input::Path(path) => {
                let file = fs::File::open(path).map_err(|error| Failure::reaching(path, &error))?;
                Some(FileBytes::File(Mutex::new(file)))
            }
            Input::Stdin => self.stdin.clone().map(FileBytes::Memory),
        })
    }

    /// Opens the file at `index`: reads its footer.
    pub(crate) fn open(&mut self, index: usize) -> Result<ParquetFile> {
        self.open_with(index, OpenOptions::new())
    }

    /// Opens the file at `index` with `options`, to which name and keys are added.
    pub(crate) fn open_with(&mut self, index: usize, options: OpenOptions) -> Result<ParquetFile> {
        let name = self.name(index);
        let mut options = options.name(name.clone());
        if let Some(keys) = &self.decryption {
            options = options.decryption(keys.clone());
        }
        match &self.files[index] {
            Input::Path(path) => {
                let opened = options.open(path);
                opened.map_err(|error| explain_open(Failure::reading(&name, error), fs::File::open(path).ok()))
            }
            Input::Stdin => {
                let bytes = match &self.stdin {
                    Some(bytes) => bytes.clone(),
                    None => self.stdin.insert(read_stdin()?).clone(),
                };
                let head = io::Cursor::new(bytes.clone());
                options.from_bytes(bytes).map_err(|error| explain_open(Failure::reading(&name, error), Some(head)))
            }
        }
    }
}

fn read_stdin() -> Result<Bytes> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes).map_err(|error| Failure::Io(format!("standard input: {error}")))?;
    Ok(bytes.into())
}

/// Adds what a look at the file's first bytes tells about why it could not be opened.
pub(crate) fn explain_open(failure: Failure, head: Option<impl Read>) -> Failure {
    let Failure::Corrupt(message) = failure else { return failure };
    let mut magic = Vec::new();
    if let Some(head) = head {
        // What cannot be read cannot be explained; the failure itself has been found already.
        let _ = head.take(8).read_to_end(&mut magic);
    }
    let hint = match magic.as_slice() {
        [] => "the file is empty",
        [b'P', b'A', b'R', b'E', ..] => "the file is encrypted: give the keys with --footer-key and --column-key",
        [b'P', b'A', b'R', b'1', ..] => {
            "it starts like a Parquet file, so it may be cut short; compare its size with the original's"
        }
        [b'P', b'K', 3, 4, ..] => "it is a ZIP archive; extract it first",
        [0x1f, 0x8b, ..] => "it is a gzip file; decompress it first",
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "it is a Zstandard file; decompress it first",
        [b'A', b'R', b'R', b'O', b'W', b'1', ..] => "it is an Arrow IPC file, not Parquet",
        [b'O', b'R', b'C', ..] => "it is an ORC file, not Parquet",
        [b'O', b'b', b'j', 1, ..] => "it is an Avro file, not Parquet",
        _ => "it does not start with PAR1, so it is not a Parquet file",
    };
    Failure::Corrupt(format!("{message}; {hint}"))
}

fn expand(name: &Path, files: &mut Vec<Input>) -> Result<()> {
    if name == Path::new("-") {
        files.push(Input::Stdin);
        return Ok(());
    }
    match fs::metadata(name) {
        Ok(metadata) if metadata.is_dir() => {
            let before = files.len();
            walk(name, files)?;
            if files.len() == before {
                return Err(Failure::Io(format!(
                    "{}: no *.parquet file in this directory or below; give a glob if the names end otherwise",
                    name.display()
                )));
            }
            Ok(())
        }
        Ok(_) => {
            files.push(Input::Path(name.to_owned()));
            Ok(())
        }
        Err(error) => match name.to_str() {
            Some(pattern) if pattern.contains(['*', '?', '[']) => expand_glob(pattern, files),
            _ => Err(Failure::reaching(name, &error)),
        },
    }
}

fn expand_glob(pattern: &str, files: &mut Vec<Input>) -> Result<()> {
    let options = glob::MatchOptions { require_literal_leading_dot: true, ..glob::MatchOptions::new() };
    let paths = glob::glob_with(pattern, options).map_err(|error| {
        Failure::Usage(format!("{pattern}: not a glob: {error}; write for example 'data/**/*.parquet'"))
    })?;
    let before = files.len();
    for path in paths {
        let path = path.map_err(|error| Failure::reaching(error.path(), error.error()))?;
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => walk(&path, files)?,
            Ok(_) => files.push(Input::Path(path)),
            Err(error) => return Err(Failure::reaching(&path, &error)),
        }
    }
    if files.len() == before {
        return Err(Failure::Io(format!("{pattern}: no file has such a name")));
    }
    Ok(())
}

/// Adds the Parquet files below `directory`, in the order of their names.
fn walk(directory: &Path, files: &mut Vec<Input>) -> Result<()> {
    let mut entries = fs::read_dir(directory)
        .and_then(Iterator::collect::<io::Result<Vec<_>>>)
        .map_err(|error| Failure::reaching(directory, &error))?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let file_name = entry.file_name();
        if matches!(file_name.as_encoded_bytes().first(), Some(b'.' | b'_')) {
            continue;
        }
        let path = entry.path();
        // A symbolic link to a file is followed; one to a directory is not, so that no loop can arise.
        let kind = entry.file_type().map_err(|error| Failure::reaching(&path, &error))?;
        if kind.is_dir() {
            walk(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("parquet")) && path.is_file()
        {
            files.push(Input::Path(path));
        }
    }
    Ok(())
}

pub(crate) fn decryption(args: &InputArgs) -> Result<Option<DecryptionKeys>> {
    let Some(footer_key) = &args.footer_key else {
        if args.column_key.is_empty() && args.aad_prefix.is_none() {
            return Ok(None);
        }
        return Err(Failure::Usage("--column-key and --aad-prefix need --footer-key as well".to_owned()));
    };
    let mut keys = DecryptionKeys::new(parse_key("--footer-key", footer_key)?);
    for key in &args.column_key {
        let (path, hex) = key.split_once('=').ok_or_else(|| {
            Failure::Usage(format!("--column-key {key}: write the column's path, =, and the key in hexadecimal"))
        })?;
        keys = keys.column_key(path, parse_key("--column-key", hex)?);
    }
    if let Some(prefix) = &args.aad_prefix {
        keys = keys.aad_prefix(prefix.clone());
    }
    Ok(Some(keys))
}

fn parse_key(option: &str, hex: &str) -> Result<Vec<u8>> {
    match parse_hex(hex) {
        Some(key) if matches!(key.len(), 16 | 24 | 32) => Ok(key),
        _ => Err(Failure::Usage(format!("{option}: an AES key has 32, 48 or 64 hexadecimal digits"))),
    }
}

/// The bytes that pairs of hexadecimal digits stand for.
pub(crate) fn parse_hex(hex: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = hex.chars().map(|c| c.to_digit(16).map(|digit| digit as u8)).collect::<Option<_>>()?;
    let pairs = digits.chunks_exact(2);
    pairs.remainder().is_empty().then(|| pairs.map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_digits_become_bytes() {
        assert_eq!(parse_hex("00fFa5"), Some(vec![0, 255, 0xa5]));
        assert_eq!(parse_hex(""), Some(Vec::new()));
        assert_eq!(parse_hex("abc"), None);
        assert_eq!(parse_hex("0g"), None);
    }
}
