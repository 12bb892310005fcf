//! The objects of a followed table in a bucket. `docs/formats/follower.md` describes them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use lath_source::{ByteRanges, Replaces};
use lath_writer::AtomicFile;
use serde_json::{Value, json};
use xxhash_rust::xxh3::Xxh3;

use super::super::data_files::{FileKey, FileSource};
use super::super::increment::FileChecksum;
use super::super::side_files::SmallFiles;
use crate::database::relative_folder;
use crate::error::{Error, Result};
use crate::file::FileFolder;
use crate::records::TableOptions;

/// The object that names the newest image.
const POINTER: &str = "_lath_follow";
/// The folder with the data files.
pub(super) const FILES: &str = "files";
const FORMAT: u64 = 1;

/// Bytes that are read at once from a file, and from an object.
const BUFFER_BYTES: usize = 1 << 20;
const RANGE_BYTES: u64 = 8 << 20;

/// The contents of the object that names the newest image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pointer {
    pub(super) stream: u64,
    /// The identity of the source's store.
    pub(super) identity: u64,
    /// The path of the source on the machine that ships it.
    pub(super) source: String,
    /// The process that ships: a random number.
    pub(super) shipper: u64,
    /// The commit of the newest image.
    pub(super) image: u64,
}

/// A whole copy: the store as an object, and the other files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Image {
    pub(super) commit: u64,
    /// When the source had this commit, in microseconds since 1970.
    pub(super) time: u64,
    pub(super) store_name: String,
    pub(super) store: FileChecksum,
    pub(super) consumers: SmallFiles,
    pub(super) sequences: SmallFiles,
    pub(super) files: BTreeMap<String, FileChecksum>,
}

/// A place in a bucket.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) url: String,
    folder: FileFolder,
    options: TableOptions,
}

impl Place {
    pub(super) fn new(url: &str, options: &TableOptions) -> Result<Self> {
        let runtime = options.runtime_or_default();
        let dataset = lath_parquet::DatasetOptions::new().revalidate(false).runtime(&runtime);
        let folder = FileFolder::in_bucket(url, &dataset)?;
        let url = folder.location().to_string_lossy().into_owned();
        Ok(Self { url, folder, options: options.clone() })
    }

    /// The pointer; `None` if nothing was shipped here.
    pub(super) fn pointer(&self) -> Result<Option<Pointer>> {
        let text = match self.folder.read(POINTER) {
            Ok(text) => text,
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let value = serde_json::from_slice(&text).ok();
        let damaged = || Error::corrupt(format!("{}/{POINTER} is damaged, or of a newer version of Lath", self.url));
        value.as_ref().and_then(parse_pointer).map(Some).ok_or_else(damaged)
    }

    pub(super) fn write_pointer(&self, pointer: &Pointer) -> Result<()> {
        let Pointer { stream, identity, source, shipper, image } = pointer;
        let value = json!({
            "lath_follow": FORMAT, "stream": hex(*stream), "identity": hex(*identity), "source": source,
            "shipper": hex(*shipper), "image": image,
        });
        self.folder.put(POINTER, format!("{value:#}\n").as_bytes(), Replaces::Any)
    }

    pub(super) fn read_image(&self, stream: u64, commit: u64) -> Result<Image> {
        let name = image_name(stream, commit);
        let value = serde_json::from_slice(&self.folder.read(&name)?).ok();
        let damaged = || Error::corrupt(format!("{}/{name} is damaged", self.url));
        value.as_ref().and_then(parse_image).ok_or_else(damaged)
    }

    pub(super) fn write_image(&self, stream: u64, image: &Image) -> Result<()> {
        let files: Vec<Value> = image.files.iter().map(|(name, file)| checked_value(name, *file)).collect();
        let value = json!({
            "lath_image": FORMAT, "commit": image.commit, "time_micros": image.time,
            "store": checked_value(&image.store_name, image.store),
            "consumers": small_value(&image.consumers), "sequences": small_value(&image.sequences), "files": files,
        });
        self.folder.put(&image_name(stream, image.commit), format!("{value}\n").as_bytes(), Replaces::Any)
    }

    /// Sends a file; returns its length and checksum.
    pub(super) fn send(&self, from: &Path, name: &str) -> Result<FileChecksum> {
        let mut source = File::open(from).map_err(Error::io("open", from))?;
        let mut object = AtomicFile::create_with(self.folder.path(name), &self.options.uncommitted)?;
        let failed = |error| Error::io("write", &self.folder.path(name))(error);
        let (mut hasher, mut bytes, mut buffer) = (Xxh3::new(), 0, vec![0; BUFFER_BYTES]);
        loop {
            let count = source.read(&mut buffer).map_err(Error::io("read", from))?;
            let part = buffer.get(..count).unwrap_or_default();
            if part.is_empty() {
                break;
            }
            hasher.update(part);
            bytes += part.len() as u64;
            object.write_all(part).map_err(failed)?;
        }
        object.commit()?;
        Ok(FileChecksum { bytes, checksum: hasher.digest() })
    }

    /// Writes an object that must not exist; `false` if it does.
    pub(super) fn write_new(
        &self,
        name: &str,
        write: impl FnOnce(&mut AtomicFile) -> Result<u64>,
    ) -> Result<Option<u64>> {
        let exists = |error: &lath_parquet::Error| match error {
            lath_parquet::Error::Io { source, .. } => source.kind() == io::ErrorKind::AlreadyExists,
            _ => false,
        };
        let mut object = match AtomicFile::create_new_with(self.folder.path(name), &self.options.uncommitted) {
            Err(error) if exists(&error) => return Ok(None),
            created => created?,
        };
        let bytes = write(&mut object)?;
        match object.commit() {
            Err(error) if exists(&error) => Ok(None),
            committed => committed.map(|()| Some(bytes)).map_err(Error::from),
        }
    }

    /// Copies an object to a new local file, durably; returns its length and checksum, or `None` if there is no object.
    pub(super) fn fetch(&self, name: &str, to: &Path) -> Result<Option<FileChecksum>> {
        let failed = |error: io::Error| Error::io("read", &self.folder.path(name))(error);
        let object = match self.folder.object(name).and_then(|object| object.open(None)) {
            Ok((object, _)) => object,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let mut target = File::create(to).map_err(Error::io("create", to))?;
        let (mut hasher, bytes, mut at) = (Xxh3::new(), ByteRanges::len(&object), 0);
        while at < bytes {
            let end = bytes.min(at + RANGE_BYTES);
            let part = ByteRanges::read(&object, at..end).map_err(failed)?;
            hasher.update(&part);
            target.write_all(&part).map_err(Error::io("write", to))?;
            at = end;
        }
        target.sync_all().map_err(Error::io("sync", to))?;
        Ok(Some(FileChecksum { bytes, checksum: hasher.digest() }))
    }

    /// Copies an object that has to be as it was sent.
    pub(super) fn fetch_checked(&self, name: &str, expected: FileChecksum, to: &Path) -> Result<()> {
        let path = self.folder.path(name);
        match self.fetch(name, to)? {
            Some(found) if found == expected => Ok(()),
            Some(_) => Err(Error::corrupt(format!("{} is not as it was sent: its checksum differs", path.display()))),
            None => Err(Error::io("read", &path)(io::Error::from(io::ErrorKind::NotFound))),
        }
    }

    /// The names of all objects.
    pub(super) fn names(&self) -> Result<Vec<String>> {
        self.folder.object_names()
    }

    /// The names of the objects in a folder, with the folder.
    pub(super) fn names_below(&self, folder: &str) -> Result<Vec<String>> {
        let names = self.folder.below(folder).object_names()?;
        Ok(names.into_iter().map(|name| format!("{folder}/{name}")).collect())
    }

    pub(super) fn remove(&self, name: &str) -> Result<()> {
        self.folder.remove(name)
    }
}

/// The data files of a place, of which these are known with their checksums.
pub(super) struct BucketFiles<'p> {
    pub(super) place: &'p Place,
    pub(super) known: &'p BTreeMap<String, FileChecksum>,
}

impl FileSource for BucketFiles<'_> {
    fn fetch(&self, file: &FileKey, _: Option<u64>, to: &Path) -> Result<bool> {
        let name = file_name(file);
        let object = format!("{FILES}/{name}");
        let Some(expected) = self.known.get(&name) else {
            let missing = io::Error::from(io::ErrorKind::NotFound);
            return Err(Error::io("read", &self.place.folder.path(&object))(missing));
        };
        self.place.fetch_checked(&object, *expected, to)?;
        Ok(false)
    }
}

/// The path of a data file below the folder of the table or database, with slashes.
pub(super) fn file_name((table, name): &FileKey) -> String {
    match relative_folder(*table).to_str() {
        Some(folder) if !folder.is_empty() => format!("{folder}/{name}"),
        _ => name.clone(),
    }
}

pub(super) fn stream_folder(stream: u64) -> String {
    format!("stream-{}", hex(stream))
}

pub(super) fn increment_name(stream: u64, from: u64) -> String {
    format!("{}/increment-{from:020}", stream_folder(stream))
}

pub(super) fn image_name(stream: u64, commit: u64) -> String {
    format!("{}/image-{commit:020}.json", stream_folder(stream))
}

pub(super) fn store_name(stream: u64, commit: u64) -> String {
    format!("{}/image-{commit:020}.store", stream_folder(stream))
}

/// The number in the name of an increment or an image.
pub(super) fn number_in(name: &str) -> Option<u64> {
    let (_, number) = name.rsplit('/').next()?.split_once('-')?;
    number.split('.').next()?.parse().ok()
}

fn hex(number: u64) -> String {
    format!("{number:016x}")
}

fn parse_hex(value: &Value) -> Option<u64> {
    u64::from_str_radix(value.as_str()?, 16).ok()
}

fn parse_pointer(value: &Value) -> Option<Pointer> {
    if value.get("lath_follow")?.as_u64()? != FORMAT {
        return None;
    }
    Some(Pointer {
        stream: parse_hex(value.get("stream")?)?,
        identity: parse_hex(value.get("identity")?)?,
        source: value.get("source")?.as_str()?.to_owned(),
        shipper: parse_hex(value.get("shipper")?)?,
        image: value.get("image")?.as_u64()?,
    })
}

fn parse_image(value: &Value) -> Option<Image> {
    if value.get("lath_image")?.as_u64()? != FORMAT {
        return None;
    }
    let (store_name, store) = parse_checked(value.get("store")?)?;
    // It becomes the name of a file.
    if store_name.contains(['/', '\\']) || !store_name.ends_with(".lath") {
        return None;
    }
    Some(Image {
        commit: value.get("commit")?.as_u64()?,
        time: value.get("time_micros")?.as_u64()?,
        store_name,
        store,
        consumers: parse_small(value.get("consumers")?)?,
        sequences: parse_small(value.get("sequences")?)?,
        files: value.get("files")?.as_array()?.iter().map(parse_checked).collect::<Option<_>>()?,
    })
}

fn checked_value(name: &str, file: FileChecksum) -> Value {
    json!({ "name": name, "bytes": file.bytes, "xxh3": hex(file.checksum) })
}

fn parse_checked(value: &Value) -> Option<(String, FileChecksum)> {
    let (bytes, checksum) = (value.get("bytes")?.as_u64()?, parse_hex(value.get("xxh3")?)?);
    Some((value.get("name")?.as_str()?.to_owned(), FileChecksum { bytes, checksum }))
}

/// Small files are JSON texts.
fn small_value(files: &SmallFiles) -> Value {
    files.iter().map(|(path, bytes)| (path.clone(), Value::from(String::from_utf8_lossy(bytes)))).collect()
}

fn parse_small(value: &Value) -> Option<SmallFiles> {
    value.as_object()?.iter().map(|(path, text)| Some((path.clone(), text.as_str()?.as_bytes().to_vec()))).collect()
}
