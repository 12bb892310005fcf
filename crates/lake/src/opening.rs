//! Opens a folder as the table that it is.

use lath_parquet::{DatasetOptions, Error, FolderFormat, Result};

use crate::delta;
use crate::iceberg;
use crate::lake::{Lake, LakeOptions, LakeVersion, LogFile};
use crate::rest;
use crate::storage::{Folder, FoundFormat, may_be_folder};

/// Opens the table in a local folder or below a URL, the table of Iceberg that a metadata file describes, or a table of a REST catalog of
/// Iceberg: `rest://HOST/NAMESPACE/TABLE`.
///
/// # Errors
/// [`Error::Invalid`] if there is no table of Delta Lake or Iceberg, or no such version; [`Error::Unsupported`] if the table
/// needs a feature that Lath does not read; [`Error::Corrupt`] if its metadata is damaged or incomplete; [`Error::Io`] if the
/// storage fails.
pub fn open(location: &str, options: &LakeOptions) -> Result<Lake> {
    open_version(location, options)?.open(options.filter.as_ref())
}

/// As [`open`], without reading which files the version has. The filter of the options has no meaning.
///
/// # Errors
/// As [`open`]; damage of the metadata that files are listed from is an error of [`LakeVersion::open`].
pub fn open_version(location: &str, options: &LakeOptions) -> Result<LakeVersion> {
    find_version(location, options)?
        .ok_or_else(|| Error::invalid(format!("{location} is not a table of Delta Lake or Iceberg")))
}

/// As [`open`], with `None` if the folder is not a table of Delta Lake or Iceberg.
///
/// # Errors
/// As [`open`].
pub fn find(location: &str, options: &LakeOptions) -> Result<Option<Lake>> {
    find_version(location, options)?.map(|version| version.open(options.filter.as_ref())).transpose()
}

/// As [`open_version`], with `None` if the folder is not a table of Delta Lake or Iceberg.
///
/// # Errors
/// As [`open_version`].
pub fn find_version(location: &str, options: &LakeOptions) -> Result<Option<LakeVersion>> {
    if rest::is_rest(location) {
        return rest::open(location, options).map(Some);
    }
    if iceberg::is_metadata_file(location) {
        return iceberg::open_file(location, options).map(Some);
    }
    if !may_be_folder(location) {
        return Ok(None);
    }
    let folder = Folder::open(location, &options.dataset)?;
    match folder.format()? {
        Some(FoundFormat { format: FolderFormat::DeltaLake, listed }) => {
            delta::open(&folder, listed, options).map(Some)
        }
        Some(FoundFormat { format: FolderFormat::Iceberg, listed }) => {
            iceberg::open(&folder, listed, options).map(Some)
        }
        _ => Ok(None),
    }
}

/// The format of the table in a local folder or below a URL; `None` for plain files.
///
/// Takes a few system calls, or two requests.
///
/// # Errors
/// [`Error::Invalid`] for a malformed URL, [`Error::Io`] if the storage fails.
pub fn format_at(location: &str, options: &DatasetOptions) -> Result<Option<FolderFormat>> {
    if rest::is_rest(location) || iceberg::is_metadata_file(location) {
        return Ok(Some(FolderFormat::Iceberg));
    }
    if !may_be_folder(location) {
        return Ok(None);
    }
    Ok(Folder::open(location, options)?.format()?.map(|found| found.format))
}

/// Whether a file of a table's log ([`Lake::log_file`]) still is the newest one, so that the table's latest version is what it was.
///
/// For a table of Delta Lake this takes two system calls or requests; for one of Iceberg a listing of its metadata folder.
///
/// # Errors
/// [`Error::Io`] if the storage fails; else as [`open`].
pub fn is_latest(location: &str, log: &LogFile, options: &DatasetOptions) -> Result<bool> {
    // Its catalog alone knows.
    if rest::is_rest(location) {
        return Ok(false);
    }
    if iceberg::is_metadata_file(location) {
        let folder = iceberg::folder_of_file(location, options)?.0;
        return Ok(folder.version(&log.name)?.as_ref() == Some(&log.version));
    }
    let folder = Folder::open(location, options)?;
    let is_newest = match delta::following(&log.name) {
        Some(following) => folder.version(&following)?.is_none(),
        None => iceberg::newest(&folder, None).is_ok_and(|newest| newest == log.name),
    };
    Ok(is_newest && folder.version(&log.name)?.as_ref() == Some(&log.version))
}
