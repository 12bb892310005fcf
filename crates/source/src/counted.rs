use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use super::ByteRanges;

/// Counters of requests and bytes, to which any number of sources and threads add.
#[derive(Debug, Default)]
pub struct Traffic {
    requests: AtomicU64,
    bytes: AtomicU64,
}

impl Traffic {
    /// Number of requests: reads of a local file, requests to a store. A request that is retried counts once.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Number of bytes requested, including the gaps between ranges that one request covers.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    fn add(&self, requests: u64, bytes: u64) {
        self.requests.fetch_add(requests, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// A source that counts the requests to another source.
#[derive(Debug, Clone)]
pub struct CountingSource {
    source: Arc<dyn ByteRanges>,
    traffic: Arc<Traffic>,
}

impl CountingSource {
    /// Reads from `source` and adds to `traffic`.
    pub fn new(source: Arc<dyn ByteRanges>, traffic: Arc<Traffic>) -> Self {
        Self { source, traffic }
    }

    /// The counters.
    pub fn traffic(&self) -> &Arc<Traffic> {
        &self.traffic
    }
}

impl ByteRanges for CountingSource {
    fn len(&self) -> u64 {
        self.source.len()
    }

    fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        self.traffic.add(1, byte_count(&range));
        self.source.read(range)
    }

    fn read_reusing(&self, range: Range<u64>, buffer: Vec<u8>) -> io::Result<Bytes> {
        self.traffic.add(1, byte_count(&range));
        self.source.read_reusing(range, buffer)
    }

    fn read_many(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
        let requests = self.source.requests(ranges);
        self.traffic.add(requests.len() as u64, requests.iter().map(byte_count).sum());
        self.source.read_many(ranges)
    }

    fn requests(&self, ranges: &[Range<u64>]) -> Vec<Range<u64>> {
        self.source.requests(ranges)
    }

    fn request_cost_bytes(&self) -> u64 {
        self.source.request_cost_bytes()
    }

    fn memory_bytes(&self) -> usize {
        self.source.memory_bytes()
    }
}

fn byte_count(range: &Range<u64>) -> u64 {
    range.end.saturating_sub(range.start)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Joins all ranges into one request.
    #[derive(Debug)]
    struct Joining(Bytes);

    impl ByteRanges for Joining {
        fn len(&self) -> u64 {
            self.0.len() as u64
        }

        fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
            self.0.read(range)
        }

        fn requests(&self, ranges: &[Range<u64>]) -> Vec<Range<u64>> {
            let start = ranges.iter().map(|range| range.start).min();
            let end = ranges.iter().map(|range| range.end).max();
            start.zip(end).map(|(start, end)| start..end).into_iter().collect()
        }
    }

    #[test]
    fn every_way_to_read_is_counted_and_gives_the_bytes_of_the_source() {
        let bytes = Bytes::from((0..100u8).collect::<Vec<_>>());
        let counted = CountingSource::new(Arc::new(bytes.clone()), Arc::default());
        assert_eq!(counted.len(), 100);
        assert_eq!(counted.read(3..10).expect("a range within the file"), bytes[3..10]);
        assert_eq!(counted.read_reusing(0..2, Vec::new()).expect("a range within the file")[..2], bytes[..2]);
        let many = counted.read_many(&[50..60, 0..1, 55..70]).expect("ranges within the file");
        assert_eq!(many, [bytes.slice(50..60), bytes.slice(0..1), bytes.slice(55..70)]);
        assert_eq!((counted.traffic().requests(), counted.traffic().bytes()), (5, 7 + 2 + 10 + 1 + 15));
        assert!(counted.read_many(&[0..1, 99..101]).is_err());
    }

    #[test]
    fn joined_ranges_count_as_the_requests_that_are_made() {
        let counted = CountingSource::new(Arc::new(Joining(Bytes::from(vec![7; 100]))), Arc::default());
        assert_eq!(counted.read_many(&[10..20, 40..41]).expect("ranges within the file").len(), 2);
        assert_eq!((counted.traffic().requests(), counted.traffic().bytes()), (1, 31));
    }
}
