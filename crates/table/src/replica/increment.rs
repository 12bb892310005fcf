//! Changes from one commit to a later one, as a file. `docs/formats/follower.md` describes the bytes.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

use xxhash_rust::xxh3::Xxh3;

use super::change_sink::{ChangeSink, Step};
use super::side_files::SmallFiles;
use crate::error::{Error, Result};

const MAGIC: &[u8; 8] = b"LATHINC\n";
const VERSION: u32 = 1;

/// The kinds of records.
const BEGIN: u8 = 1;
const TREE: u8 = 2;
const CREATE: u8 = 3;
const DROP: u8 = 4;
const PUT: u8 = 5;
const REMOVE: u8 = 6;
const END: u8 = 7;
const LAST: u8 = 0;

/// No name, key or small file is longer, and no value.
const LEN_MAX: u64 = 1 << 32;

/// A data file in a bucket: its length, and the XXH3 of its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileChecksum {
    pub(crate) bytes: u64,
    pub(crate) checksum: u64,
}

/// All of an increment but its changes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Header {
    /// The identity of the source's store.
    pub(crate) identity: u64,
    /// The stream to which it belongs.
    pub(crate) stream: u64,
    /// The commit that it changes, and the one to which it leads.
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// When the source had the latter, in microseconds since 1970.
    pub(crate) time: u64,
    pub(crate) consumers: SmallFiles,
    pub(crate) sequences: SmallFiles,
    /// The data files that it brings, by their paths below the folder of the table or database.
    pub(crate) files: Vec<(String, FileChecksum)>,
}

/// Writes changes to a file.
pub(crate) struct EncodeChanges {
    file: BufWriter<File>,
    tree: String,
    /// Called with the entries of data files.
    pub(crate) files: Vec<(super::data_files::FileKey, u64)>,
}

impl EncodeChanges {
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let file = File::create(path).map_err(Error::io("create", path))?;
        Ok(Self { file: BufWriter::with_capacity(1 << 20, file), tree: String::new(), files: Vec::new() })
    }

    /// Ends the file; returns the data files that it names.
    pub(crate) fn finish(mut self) -> Result<Vec<(super::data_files::FileKey, u64)>> {
        self.write(&[LAST])?;
        self.file.flush().map_err(failed)?;
        Ok(self.files)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(failed)
    }

    fn write_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.write(&(bytes.len() as u64).to_le_bytes())?;
        self.write(bytes)
    }

    fn write_names(&mut self, names: &[String]) -> Result<()> {
        self.write(&(names.len() as u64).to_le_bytes())?;
        names.iter().try_for_each(|name| self.write_bytes(name.as_bytes()))
    }

    fn write_tree(&mut self, tree: &str) -> Result<()> {
        if self.tree != tree {
            tree.clone_into(&mut self.tree);
            self.write(&[TREE])?;
            self.write_bytes(tree.as_bytes())?;
        }
        Ok(())
    }
}

impl ChangeSink for EncodeChanges {
    fn begin(&mut self, step: &Step) -> Result<()> {
        self.write(&[BEGIN])?;
        self.write(&step.commit.to_le_bytes())?;
        self.write_names(&step.dropped)?;
        self.write_names(&step.kept)
    }

    fn create_tree(&mut self, tree: &str) -> Result<()> {
        self.write(&[CREATE])?;
        self.write_bytes(tree.as_bytes())
    }

    fn drop_tree(&mut self, tree: &str) -> Result<()> {
        self.write(&[DROP])?;
        self.write_bytes(tree.as_bytes())
    }

    fn put(&mut self, tree: &str, key: &[u8], value: &[u8]) -> Result<()> {
        if let Some(table) = super::data_files::table_with_files(tree) {
            self.files.push(super::data_files::file_in_tree(table, key, value)?);
        }
        self.write_tree(tree)?;
        self.write(&[PUT])?;
        self.write_bytes(key)?;
        self.write_bytes(value)
    }

    fn remove(&mut self, tree: &str, key: &[u8]) -> Result<()> {
        self.write_tree(tree)?;
        self.write(&[REMOVE])?;
        self.write_bytes(key)
    }

    fn end(&mut self) -> Result<()> {
        self.write(&[END])
    }
}

/// Writes an increment: the header, the changes in the file at `changes`, and the checksum of all that.
pub(crate) fn write(header: &Header, changes: &Path, out: &mut impl Write) -> Result<u64> {
    let mut text = MAGIC.to_vec();
    text.extend(VERSION.to_le_bytes());
    for number in [header.identity, header.stream, header.from, header.to, header.time] {
        text.extend(number.to_le_bytes());
    }
    let bytes = |text: &mut Vec<u8>, bytes: &[u8]| {
        text.extend((bytes.len() as u64).to_le_bytes());
        text.extend(bytes);
    };
    for files in [&header.consumers, &header.sequences] {
        text.extend((files.len() as u64).to_le_bytes());
        for (path, contents) in files {
            bytes(&mut text, path.as_bytes());
            bytes(&mut text, contents);
        }
    }
    text.extend((header.files.len() as u64).to_le_bytes());
    for (path, file) in &header.files {
        bytes(&mut text, path.as_bytes());
        text.extend(file.bytes.to_le_bytes());
        text.extend(file.checksum.to_le_bytes());
    }
    let (mut hasher, mut len) = (Xxh3::new(), 0);
    let mut changes = Read::chain(&text[..], File::open(changes).map_err(Error::io("open", changes))?);
    let mut buffer = vec![0; 1 << 20];
    loop {
        let count = changes.read(&mut buffer).map_err(failed)?;
        let part = buffer.get(..count).unwrap_or_default();
        if part.is_empty() {
            break;
        }
        hasher.update(part);
        len += part.len() as u64;
        out.write_all(part).map_err(failed)?;
    }
    out.write_all(&hasher.digest().to_le_bytes()).map_err(failed)?;
    Ok(len + 8)
}

/// An increment in a local file whose checksum is right.
#[derive(Debug)]
pub(crate) struct Increment {
    pub(crate) header: Header,
    file: BufReader<File>,
}

impl Increment {
    /// Opens an increment, and checks all of it before anything is applied. `name` is what errors call it.
    pub(crate) fn open(path: &Path, name: &str) -> Result<Self> {
        let damaged = |why: &str| Error::corrupt(format!("{name} {why}"));
        let mut file = File::open(path).map_err(Error::io("open", path))?;
        let len = file.metadata().map_err(Error::io("open", path))?.len();
        let body = len.checked_sub(8).ok_or_else(|| damaged("is too short for an increment"))?;
        let (mut hasher, mut left, mut buffer) = (Xxh3::new(), body, vec![0; 1 << 20]);
        while left > 0 {
            let part = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            let part = buffer.get_mut(..part).unwrap_or_default();
            file.read_exact(part).map_err(failed)?;
            hasher.update(part);
            left -= part.len() as u64;
        }
        let mut checksum = [0; 8];
        file.read_exact(&mut checksum).map_err(failed)?;
        if u64::from_le_bytes(checksum) != hasher.digest() {
            return Err(damaged("has another checksum than it was written with"));
        }
        let mut file = BufReader::with_capacity(1 << 20, File::open(path).map_err(Error::io("open", path))?);
        let mut magic = [0; 8];
        file.read_exact(&mut magic).map_err(failed)?;
        if magic != *MAGIC {
            return Err(damaged("is no increment"));
        }
        let version = u32::from_le_bytes(read_array(&mut file)?);
        if version != VERSION {
            let what = "which this version of Lath does not read; use a newer version";
            return Err(damaged(&format!("has format {version}, {what}")));
        }
        let mut number = || Ok::<_, Error>(u64::from_le_bytes(read_array(&mut file)?));
        let (identity, stream, from, to, time) = (number()?, number()?, number()?, number()?, number()?);
        let (consumers, sequences) = (read_small_files(&mut file)?, read_small_files(&mut file)?);
        let mut files = Vec::new();
        for _ in 0..read_number(&mut file)? {
            let path = read_text(&mut file)?;
            let (bytes, checksum) = (read_number(&mut file)?, read_number(&mut file)?);
            files.push((path, FileChecksum { bytes, checksum }));
        }
        let header = Header { identity, stream, from, to, time, consumers, sequences, files };
        Ok(Self { header, file })
    }

    /// Passes on the steps after the commit `position`.
    pub(crate) fn pass(mut self, position: u64, sink: &mut impl ChangeSink) -> Result<()> {
        pass_records(&mut self.file, position, sink)
    }
}

/// Passes on all changes in a file without a header.
pub(crate) fn pass_file(path: &Path, sink: &mut impl ChangeSink) -> Result<()> {
    let mut file = BufReader::with_capacity(1 << 20, File::open(path).map_err(Error::io("open", path))?);
    pass_records(&mut file, 0, sink)
}

fn pass_records(file: &mut impl Read, position: u64, sink: &mut impl ChangeSink) -> Result<()> {
    let (mut tree, mut is_wanted) = (String::new(), false);
    let (mut key, mut value) = (Vec::new(), Vec::new());
    loop {
        let [kind] = read_array(file)?;
        match kind {
            LAST => return Ok(()),
            BEGIN => {
                let commit = read_number(file)?;
                let (dropped, kept) = (read_names(file)?, read_names(file)?);
                is_wanted = commit > position;
                if is_wanted {
                    sink.begin(&Step { commit, dropped, kept })?;
                }
            }
            TREE => tree = read_text(file)?,
            CREATE | DROP => {
                let name = read_text(file)?;
                match kind {
                    _ if !is_wanted => {}
                    CREATE => sink.create_tree(&name)?,
                    _ => sink.drop_tree(&name)?,
                }
            }
            PUT => {
                read_bytes(file, &mut key)?;
                read_bytes(file, &mut value)?;
                if is_wanted {
                    sink.put(&tree, &key, &value)?;
                }
            }
            REMOVE => {
                read_bytes(file, &mut key)?;
                if is_wanted {
                    sink.remove(&tree, &key)?;
                }
            }
            END if is_wanted => sink.end()?,
            END => {}
            other => return Err(Error::corrupt(format!("an increment has a record of the unknown kind {other}"))),
        }
    }
}

fn failed(source: io::Error) -> Error {
    match source.kind() {
        io::ErrorKind::UnexpectedEof => Error::corrupt("an increment ends too early"),
        _ => Error::io("copy", Path::new("an increment"))(source),
    }
}

fn read_array<const N: usize>(file: &mut impl Read) -> Result<[u8; N]> {
    let mut bytes = [0; N];
    file.read_exact(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

fn read_number(file: &mut impl Read) -> Result<u64> {
    Ok(u64::from_le_bytes(read_array(file)?))
}

fn read_bytes(file: &mut impl Read, bytes: &mut Vec<u8>) -> Result<()> {
    let len = read_number(file)?;
    if len > LEN_MAX {
        return Err(Error::corrupt(format!("an increment has a field of {len} bytes")));
    }
    bytes.clear();
    let found = file.take(len).read_to_end(bytes).map_err(failed)?;
    if found as u64 == len { Ok(()) } else { Err(Error::corrupt("an increment ends too early")) }
}

fn read_text(file: &mut impl Read) -> Result<String> {
    let mut bytes = Vec::new();
    read_bytes(file, &mut bytes)?;
    String::from_utf8(bytes).map_err(|_| Error::corrupt("a name in an increment is not UTF-8"))
}

fn read_names(file: &mut impl Read) -> Result<Vec<String>> {
    (0..read_number(file)?).map(|_| read_text(file)).collect()
}

fn read_small_files(file: &mut impl Read) -> Result<SmallFiles> {
    let mut files = SmallFiles::new();
    for _ in 0..read_number(file)? {
        let path = read_text(file)?;
        let mut bytes = Vec::new();
        read_bytes(file, &mut bytes)?;
        files.insert(path, bytes);
    }
    Ok(files)
}
