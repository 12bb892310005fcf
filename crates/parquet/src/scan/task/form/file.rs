//! The file of a task, and its expected version.

use arrow_array::ArrayRef;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use lath_source::{BlockChecksums, Version};
use serde::{Deserialize, Serialize};

use super::decode_base64;
use super::partition::{compact, encode_row};
use crate::error::{Error, Result};
use crate::scan::planner::Planner;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileForm {
    pub(super) location: String,
    /// Set if it differs from the whole path of a local file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) path: Option<String>,
    pub(super) version: VersionForm,
    /// A batch of one row with a column for each partition column for which the file has a value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) partition: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) deleted: Option<String>,
    /// The length of the file and the checksum of each block, 32 bits each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) checksums: Option<(u64, String)>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum VersionForm {
    Local { len: u64, modified: (i64, i64), inode: u64, changed: (i64, i64) },
    Store { len: u64, tag: String },
}

impl FileForm {
    pub(super) fn new(planner: &Planner, file: usize, version: Option<&Version>) -> Result<Self> {
        let entry = &planner.dataset.files()[file];
        let location = entry.location();
        let no_location = || {
            Error::invalid(format!(
                "{location:?}: a task can only be written for a file that was found by its path or URL, not for one that was \
                 given open"
            ))
        };
        let version = version.filter(|_| !entry.is_given_open()).ok_or_else(no_location)?;
        let path = match entry.path() {
            None => None,
            Some(path) => {
                let whole = std::path::absolute(path).map_err(|error| Error::io("find", error))?;
                let whole = whole.to_str().ok_or_else(|| {
                    Error::invalid(format!("{location}: a path that is not Unicode cannot be written into a task"))
                })?;
                (whole != location).then(|| whole.to_owned())
            }
        };
        let values = planner.dataset.constants(entry.partition());
        let values: Vec<(_, ArrayRef)> =
            values.map(|(column, row)| (column.field(), compact(&column.values().slice(row, 1)))).collect();
        Ok(Self {
            location: location.to_owned(),
            path,
            version: VersionForm::new(version),
            partition: (!values.is_empty()).then(|| encode_row(values)).transpose()?,
            deleted: planner.deleted(file)?.map(|mask| BASE64_STANDARD.encode(mask.to_bytes())),
            checksums: entry.checksums().map(|checksums| {
                let bytes: Vec<u8> = checksums.checksums().iter().flat_map(|checksum| checksum.to_le_bytes()).collect();
                (checksums.file_len(), BASE64_STANDARD.encode(bytes))
            }),
        })
    }

    pub(super) fn block_checksums(&self) -> Result<Option<BlockChecksums>> {
        let Some((len, text)) = &self.checksums else { return Ok(None) };
        let bytes = decode_base64(text)?;
        let (checksums, rest) = bytes.as_chunks();
        let checksums: Vec<u32> = checksums.iter().map(|&bytes| u32::from_le_bytes(bytes)).collect();
        let checksums = BlockChecksums::new(*len, checksums).filter(|_| rest.is_empty());
        checksums
            .map(Some)
            .ok_or_else(|| Error::invalid("the checksums of a file: expected one for each of its blocks"))
    }
}

impl VersionForm {
    fn new(version: &Version) -> Self {
        match version {
            Version::Local { len, modified, identity, changed } => {
                Self::Local { len: *len, modified: *modified, inode: identity.1, changed: *changed }
            }
            #[cfg(feature = "object-store")]
            Version::Store { len, tag } => Self::Store { len: *len, tag: tag.to_string() },
        }
    }

    pub(super) fn version(&self) -> Result<Version> {
        match self {
            Self::Local { len, modified, inode, changed } => {
                Ok(Version::Local { len: *len, modified: *modified, identity: (0, *inode), changed: *changed })
            }
            #[cfg(feature = "object-store")]
            Self::Store { len, tag } => Ok(Version::Store { len: *len, tag: tag.as_str().into() }),
            #[cfg(not(feature = "object-store"))]
            Self::Store { .. } => Err(Error::unsupported("files in object stores (feature object-store)")),
        }
    }
}
