//! Reads and writes objects in S3, Google Cloud Storage, Azure and behind HTTP, with the `object_store` crate.
//!
//! Calls block. Requests run on a separate small runtime, so callers may be on any thread, even on a thread of another runtime.

mod bucket;
mod client;
mod connections;
mod failure;
mod late;
mod runtime;
mod store;
mod unfinished;
mod upload;
mod web;

use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{GetRange, ObjectMeta};

use self::client::Client;
use super::{ByteRanges, STORE_TAIL_BYTES as TAIL_BYTES, Version, check_range};

pub use connections::Connections;
pub use store::{ListedObject, Store};
pub use unfinished::UnfinishedUpload;
pub use upload::{Upload, UploadAbort};
pub use web::WebClient;

/// One request reads ranges that are at most this far apart, however short they are. The requests of one read are in flight together, so
/// a saved request saves its own cost but no waiting time.
const GAP_BYTES: u64 = 24 << 10;

/// The bytes that a store transfers in the time of one round trip: the cost of a request that a reader waits for. Ranges are joined over a
/// gap of at most this many bytes, if the request has at least as many wanted bytes.
const REQUEST_COST_BYTES: u64 = 128 << 10;

/// An object of a store. Reads fail if the object was replaced after it was opened.
pub struct ObjectFile {
    client: Arc<Client>,
    path: Path,
    len: u64,
    tag: Arc<str>,
    /// The object's last bytes, which were read when it was opened.
    tail: Bytes,
}

impl ObjectFile {
    /// Reads the end of the object at `path`. This takes one request, or two if `known` is `None` and the store does not support suffix ranges.
    fn open(client: &Arc<Client>, path: &Path, known: Option<&Version>) -> io::Result<Self> {
        let (tail, meta) = match known {
            Some(Version::Store { len, .. }) => {
                let range = len.saturating_sub(TAIL_BYTES)..*len;
                if range.is_empty() {
                    return Ok(Self::of(client, path, known.cloned(), 0, Bytes::new()));
                }
                client.get(path, GetRange::Bounded(range))?
            }
            _ => match client.get(path, GetRange::Suffix(TAIL_BYTES)) {
                Ok(answer) => answer,
                Err(error) if client.may_know_length(&error) => {
                    let meta = client.head(path)?;
                    let range = meta.size.saturating_sub(TAIL_BYTES)..meta.size;
                    if range.is_empty() {
                        return Ok(Self::of(client, path, Some(version(&meta)), 0, Bytes::new()));
                    }
                    client.get(path, GetRange::Bounded(range))?
                }
                Err(error) => return Err(error),
            },
        };
        let file = Self::of(client, path, Some(version(&meta)), meta.size, tail);
        match known {
            Some(known) if *known != file.version() => Err(failure::changed()),
            _ => Ok(file),
        }
    }

    /// The object in the state `known`, before anything of it is read.
    fn unread(client: &Arc<Client>, path: &Path, known: &Version) -> io::Result<Self> {
        match known {
            Version::Store { len, .. } => Ok(Self::of(client, path, Some(known.clone()), *len, Bytes::new())),
            Version::Local { .. } => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "expected the version of an object, found one of a local file",
            )),
        }
    }

    fn of(client: &Arc<Client>, path: &Path, version: Option<Version>, len: u64, tail: Bytes) -> Self {
        let tag = match version {
            Some(Version::Store { tag, .. }) => tag,
            _ => "".into(),
        };
        Self { client: Arc::clone(client), path: path.clone(), len, tag, tail }
    }

    /// The state of the object when it was opened.
    fn version(&self) -> Version {
        Version::Store { len: self.len, tag: Arc::clone(&self.tag) }
    }

    fn tail_start(&self) -> u64 {
        self.len - self.tail.len() as u64
    }

    /// The bytes of `range`, if they came with the end of the object.
    fn within_tail(&self, range: &Range<u64>) -> Option<Bytes> {
        let start = range.start.checked_sub(self.tail_start())?;
        // Fits: both ends are within what is in memory.
        Some(self.tail.slice(start as usize..(range.end - self.tail_start()) as usize))
    }
}

impl ByteRanges for ObjectFile {
    fn len(&self) -> u64 {
        self.len
    }

    fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        check_range(&range, self.len)?;
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        if let Some(bytes) = self.within_tail(&range) {
            return Ok(bytes);
        }
        let (bytes, meta) = self.client.get(&self.path, GetRange::Bounded(range))?;
        if version(&meta) == self.version() { Ok(bytes) } else { Err(failure::changed()) }
    }

    fn read_many(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
        for range in ranges {
            check_range(range, self.len)?;
        }
        let requests = self.requests(ranges);
        let answers = self.client.get_all(&self.path, &requests)?;
        if answers.iter().any(|(_, meta)| version(meta) != self.version()) {
            return Err(failure::changed());
        }
        let part = |range: &Range<u64>| {
            if range.is_empty() {
                return Ok(Bytes::new());
            }
            if let Some(bytes) = self.within_tail(range) {
                return Ok(bytes);
            }
            let at = requests.partition_point(|request| request.end < range.end);
            let covering = requests.get(at).filter(|request| request.start <= range.start).zip(answers.get(at));
            let (request, (bytes, _)) = covering.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
            // Fits: the request's bytes are in memory.
            Ok(bytes.slice((range.start - request.start) as usize..(range.end - request.start) as usize))
        };
        ranges.iter().map(part).collect()
    }

    fn requests(&self, ranges: &[Range<u64>]) -> Vec<Range<u64>> {
        let mut wanted: Vec<Range<u64>> =
            ranges.iter().filter(|range| !range.is_empty() && range.start < self.tail_start()).cloned().collect();
        wanted.sort_unstable_by_key(|range| range.start);
        let mut requests: Vec<Range<u64>> = Vec::with_capacity(wanted.len());
        // In the last request.
        let mut wanted_bytes = 0;
        for range in wanted {
            let len = range.end - range.start;
            let gap = (wanted_bytes + len).clamp(GAP_BYTES, REQUEST_COST_BYTES);
            match requests.last_mut() {
                Some(last) if range.start <= last.end.saturating_add(gap) => {
                    wanted_bytes += range.end.saturating_sub(last.end.max(range.start));
                    last.end = last.end.max(range.end);
                }
                _ => {
                    wanted_bytes = len;
                    requests.push(range);
                }
            }
        }
        requests
    }

    fn request_cost_bytes(&self) -> u64 {
        REQUEST_COST_BYTES
    }

    fn memory_bytes(&self) -> usize {
        self.tail.len()
    }
}

impl fmt::Debug for ObjectFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectFile").field("url", &self.client.url(&self.path)).field("len", &self.len).finish()
    }
}

/// The version of an object by its metadata: the ETag, or the time of the last change.
fn version(meta: &ObjectMeta) -> Version {
    let tag = match &meta.e_tag {
        Some(tag) => quoted(tag),
        None => meta.last_modified.timestamp_micros().to_string().into(),
    };
    Version::Store { len: meta.size, tag }
}

/// An ETag as answers have it in their heads: listings of Azure have it without quotation marks.
fn quoted(tag: &str) -> Arc<str> {
    if tag.ends_with('"') { tag.into() } else { format!("\"{tag}\"").into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_equal_with_and_without_quotation_marks() {
        let meta = |tag: &str| ObjectMeta {
            location: Path::from("a"),
            last_modified: chrono::DateTime::UNIX_EPOCH,
            size: 7,
            e_tag: Some(tag.to_owned()),
            version: None,
        };
        assert_eq!(version(&meta("0x8DF")), version(&meta("\"0x8DF\"")));
        assert_ne!(version(&meta("0x8DF")), version(&meta("0x8E0")));
        assert_ne!(version(&meta("W/\"1\"")), version(&meta("\"1\"")));
    }
}
