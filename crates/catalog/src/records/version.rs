//! Encodes versions of files.

use lath_parquet::FileVersion;
use lath_store::{RecordReader, RecordWriter};

use crate::error::{Error, Result};

const LOCAL: u32 = 1;
const OBJECT: u32 = 2;

/// Adds a version to a record.
pub(crate) fn write(version: &FileVersion, record: &mut RecordWriter) {
    match version {
        FileVersion::Local { len, modified, identity, changed } => {
            record.u32(LOCAL).u64(*len).u64(identity.0).u64(identity.1);
            for time in [modified.0, modified.1, changed.0, changed.1] {
                record.u64(time as u64);
            }
        }
        #[cfg(feature = "object-store")]
        FileVersion::Store { len, tag } => {
            record.u32(OBJECT).u64(*len).bytes(tag.as_bytes());
        }
        // Another crate may turn on the feature that adds a variant.
        #[allow(
            unreachable_patterns,
            reason = "reached where another crate turns object stores on and this one is without"
        )]
        _ => {
            record.u32(0);
        }
    }
}

/// Reads a version from a record.
pub(crate) fn read(record: &mut RecordReader<'_>) -> Result<FileVersion> {
    match record.u32()? {
        LOCAL => {
            let (len, identity) = (record.u64()?, (record.u64()?, record.u64()?));
            let mut time = || Ok::<_, Error>((record.u64()? as i64, record.u64()? as i64));
            Ok(FileVersion::Local { len, identity, modified: time()?, changed: time()? })
        }
        #[cfg(feature = "object-store")]
        OBJECT => Ok(FileVersion::Store { len: record.u64()?, tag: record.text()?.into() }),
        #[cfg(not(feature = "object-store"))]
        OBJECT => Err(Error::invalid(
            "the catalog has files in object stores, which this build cannot read; build it with the feature object-store",
        )),
        other => Err(Error::corrupt(format!("the version of a file: expected kind 1 or 2, found {other}"))),
    }
}

/// Length of the file in bytes.
pub(crate) fn len_bytes(version: &FileVersion) -> u64 {
    match version {
        FileVersion::Local { len, .. } => *len,
        #[cfg(feature = "object-store")]
        FileVersion::Store { len, .. } => *len,
        #[allow(
            unreachable_patterns,
            reason = "reached where another crate turns object stores on and this one is without"
        )]
        _ => 0,
    }
}
