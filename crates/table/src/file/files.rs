//! The Parquet files of a table, in its folder or in a bucket. Code above does not know where they are.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use lath_parquet::{DatasetFile, DatasetOptions};
use lath_source::{ByteRanges, Version};
use lath_writer::{AtomicFile, UncommittedFiles};

use super::file_folder::FileFolder;
use super::file_name::{DATA_FOLDER, ENCRYPTED_NOTICE, NOTICE, is_file_name};
use super::folder::create_folder;
use super::link::link_or_copy;
use super::owner::Owner;
use crate::error::{Error, Result};
use crate::records::FileEntry;

/// Bytes that a copy of an object reads at once.
const COPIED_BYTES: u64 = 8 << 20;

/// The files of a table. Their names are relative to the folder of the table, or to the URL that takes its place.
#[derive(Debug)]
pub(crate) struct Files {
    folder: FileFolder,
    dataset: Arc<DatasetOptions>,
    uncommitted: UncommittedFiles,
    /// For objects: proves that they belong to this table.
    owner: Option<Owner>,
    /// Whether files can be written: a local folder is there and its name durable, objects belong to this opening of the table.
    is_prepared: Mutex<bool>,
}

impl Files {
    /// The files of a table in its folder.
    pub(crate) fn in_folder(folder: PathBuf, dataset: DatasetOptions, uncommitted: UncommittedFiles) -> Self {
        Self {
            folder: FileFolder::Local(folder),
            dataset: Arc::new(dataset),
            uncommitted,
            owner: None,
            is_prepared: Mutex::default(),
        }
    }

    /// The files of a table below a URL. `owner` tells that they belong to the table. No request is sent.
    pub(crate) fn in_bucket(
        url: &str,
        dataset: DatasetOptions,
        uncommitted: UncommittedFiles,
        owner: Owner,
    ) -> Result<Self> {
        let folder = FileFolder::in_bucket(url, &dataset)?;
        let dataset = Arc::new(dataset);
        Ok(Self { folder, dataset, uncommitted, owner: Some(owner), is_prepared: Mutex::default() })
    }

    pub(crate) fn dataset(&self) -> &Arc<DatasetOptions> {
        &self.dataset
    }

    /// The folder in which the files have their names.
    pub(crate) fn folder(&self) -> &FileFolder {
        &self.folder
    }

    /// The URL below which the files are, if they are in a bucket.
    pub(crate) fn url(&self) -> Option<&str> {
        self.folder.is_in_bucket().then(|| self.folder.location().to_str()).flatten()
    }

    /// The path or URL of a file.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path(name)
    }

    /// Called before files are written or removed: creates the local folder of the files, or makes sure that the objects belong to this table.
    pub(crate) fn prepare(&self) -> Result<()> {
        let mut is_prepared = self.is_prepared.lock().unwrap_or_else(PoisonError::into_inner);
        if *is_prepared {
            return Ok(());
        }
        let data = self.folder.below(DATA_FOLDER);
        match &self.owner {
            Some(owner) => owner.claim(&data)?,
            None => {
                // Also if it exists: its name may not be durable.
                create_folder(data.location())?;
                let notice = data.path(NOTICE.0);
                if !notice.exists() {
                    fs::write(&notice, if self.dataset.has_decryption_keys() { ENCRYPTED_NOTICE } else { NOTICE.1 })
                        .map_err(Error::io("write", &notice))?;
                }
            }
        }
        *is_prepared = true;
        Ok(())
    }

    /// Makes sure that objects belong to this table, before some are written or removed. Does nothing for local files.
    pub(crate) fn claim(&self) -> Result<()> {
        if self.owner.is_some() { self.prepare() } else { Ok(()) }
    }

    /// Begins a file, which appears whole and durable once it is committed.
    pub(crate) fn create(&self, name: &str) -> Result<AtomicFile> {
        self.prepare()?;
        Ok(AtomicFile::create_with(self.path(name), &self.uncommitted)?)
    }

    /// The file of an entry. An object is not looked at before it is read.
    pub(crate) fn find(&self, entry: &FileEntry) -> Result<DatasetFile> {
        let path = self.path(&entry.name);
        if let Some(location) = path.to_str().filter(|_| self.folder.is_in_bucket()) {
            let version = self.version(entry)?;
            let file = DatasetFile::at(location, Some(entry.bytes), Vec::new(), &self.dataset)?;
            return Ok(file.with_version(version));
        }
        let file = DatasetFile::find(&path, &self.dataset)?.into_iter().next();
        let file = file.ok_or_else(|| Error::corrupt(format!("{} is missing", path.display())))?;
        if file.size().is_some_and(|bytes| bytes != entry.bytes) {
            let bytes = file.size().unwrap_or_default();
            let what = format!("{} has {bytes} bytes, and its entry says {}", path.display(), entry.bytes);
            return Err(Error::corrupt(what));
        }
        Ok(file)
    }

    /// The version of the object of an entry.
    fn version(&self, entry: &FileEntry) -> Result<Version> {
        Version::object(entry.bytes, &entry.tag).map_err(Error::io("open", &self.path(&entry.name)))
    }

    /// Names that files of the table have, also files that are not complete.
    pub(crate) fn names(&self) -> Result<Vec<String>> {
        // Files of earlier formats are in the table's folder itself.
        let mut names = if self.folder.is_in_bucket() { Vec::new() } else { self.folder.names()? };
        let data = self.folder.below(DATA_FOLDER).names()?;
        names.extend(data.into_iter().map(|name| format!("{DATA_FOLDER}/{name}")));
        names.retain(|name| is_file_name(name));
        Ok(names)
    }

    /// Removes a file. It is no error if there is none.
    pub(crate) fn remove(&self, name: &str) -> Result<()> {
        self.claim()?;
        self.folder.remove(name)
    }

    /// Gives a local file a second name, or copies it. Returns whether it is a link.
    pub(crate) fn copy_to(&self, entry: &FileEntry, target: &Path) -> Result<bool> {
        let path = self.path(&entry.name);
        if !self.folder.is_in_bucket() {
            return link_or_copy(&path, target);
        }
        let version = self.version(entry)?;
        let copy = || {
            let object = self.folder.object(&entry.name)?.open_unread(&version)?;
            let mut file = fs::File::create_new(target)?;
            let mut start = 0;
            while start < entry.bytes {
                let end = entry.bytes.min(start + COPIED_BYTES);
                file.write_all(&ByteRanges::read(&object, start..end)?)?;
                start = end;
            }
            file.sync_all()
        };
        copy().map_err(Error::io("copy", &path))?;
        Ok(false)
    }

    /// Removes all objects of the table: its files and the mark that they belong to it. For a table that is gone.
    pub(crate) fn remove_all(&self) -> Result<usize> {
        if !self.folder.is_in_bucket() {
            return Ok(0);
        }
        self.claim()?;
        let names = self.names()?;
        for name in &names {
            self.folder.remove(name)?;
        }
        self.folder.below(DATA_FOLDER).remove(NOTICE.0)?;
        Ok(names.len())
    }
}
