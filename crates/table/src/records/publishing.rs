//! The setting that makes each flush publish a table for other programs.

use std::time::Duration;

use lath_store::{RecordReader, RecordWriter, Tree};

use crate::error::{Error, Result};

/// The key of the setting in [`TreeName::Meta`](super::TreeName::Meta).
pub(crate) const PUBLISHING_KEY: &[u8] = b"publishing";

/// The numbers of the formats, whose sum is in the record.
const ICEBERG: u32 = 1;
const DELTA: u32 = 2;

/// A table that is published in other formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Publishing {
    pub(crate) iceberg: bool,
    pub(crate) delta: bool,
    /// For how long readers of a snapshot that is no longer the newest find its files.
    pub(crate) keep: Duration,
    /// Maximum age of what is published while there are newer commits; `None` if flushes alone decide.
    pub(crate) max_age: Option<Duration>,
    /// Whether columns of types that Iceberg lacks are published in wider ones.
    pub(crate) map_types: bool,
}

impl Publishing {
    /// The setting of a commit; `None` if the table is not published.
    pub(crate) fn read(meta: Option<Tree<'_>>) -> Result<Option<Self>> {
        let Some(meta) = meta else { return Ok(None) };
        meta.get(PUBLISHING_KEY)?.map(Self::from_bytes).transpose()
    }

    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let mut record = RecordWriter::default();
        let formats = u32::from(self.iceberg) * ICEBERG + u32::from(self.delta) * DELTA;
        record.u32(formats).u64(millis(self.keep)).u64(self.max_age.map_or(0, millis));
        if self.map_types {
            record.u32(1);
        }
        record.finish()
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut record = RecordReader::new("the setting of publishing", bytes)?;
        let format = record.u32()?;
        if !(1..=ICEBERG + DELTA).contains(&format) {
            return Err(Error::publish(format!(
                "the table is published in format {format}, which this version does not write"
            )));
        }
        let (keep, max_age) = (record.u64()?, record.u64()?);
        let max_age = (max_age > 0).then_some(Duration::from_millis(max_age));
        let map_types = !record.is_at_end() && record.u32()? == 1;
        let (iceberg, delta) = (format & ICEBERG > 0, format & DELTA > 0);
        Ok(Self { iceberg, delta, keep: Duration::from_millis(keep), max_age, map_types })
    }
}
