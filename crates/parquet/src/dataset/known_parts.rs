use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use lath_source::ByteRanges;

/// A file with some parts in memory. The others are read.
#[derive(Debug)]
pub(super) struct KnownParts {
    source: Arc<dyn ByteRanges>,
    /// Offsets and bytes, in the order of the offsets.
    parts: Vec<(u64, Bytes)>,
}

impl KnownParts {
    /// `source` with `parts`; `source` itself if there are none.
    pub(super) fn over(source: Arc<dyn ByteRanges>, mut parts: Vec<(u64, Bytes)>) -> Arc<dyn ByteRanges> {
        parts.sort_unstable_by_key(|(start, _)| *start);
        if parts.is_empty() { source } else { Arc::new(Self { source, parts }) }
    }

    /// The bytes of `range`, if they are within one part.
    fn known(&self, range: &Range<u64>) -> Option<Bytes> {
        let at = self.parts.partition_point(|(start, _)| *start <= range.start).checked_sub(1)?;
        let (start, bytes) = self.parts.get(at)?;
        let from = usize::try_from(range.start - start).ok()?;
        let len = usize::try_from(range.end.checked_sub(range.start)?).ok()?;
        let to = from.checked_add(len).filter(|to| *to <= bytes.len())?;
        Some(bytes.slice(from..to))
    }

    fn unknown(&self, ranges: &[Range<u64>]) -> Vec<Range<u64>> {
        ranges.iter().filter(|range| self.known(range).is_none()).cloned().collect()
    }
}

impl ByteRanges for KnownParts {
    fn len(&self) -> u64 {
        self.source.len()
    }

    fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        self.known(&range).map_or_else(|| self.source.read(range), Ok)
    }

    fn read_reusing(&self, range: Range<u64>, buffer: Vec<u8>) -> io::Result<Bytes> {
        match self.known(&range) {
            Some(bytes) => Ok(bytes),
            None => self.source.read_reusing(range, buffer),
        }
    }

    fn read_many(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
        let unknown = self.unknown(ranges);
        let mut read = if unknown.is_empty() { Vec::new() } else { self.source.read_many(&unknown)? }.into_iter();
        let bytes = |range| self.known(range).or_else(|| read.next());
        ranges.iter().map(bytes).collect::<Option<_>>().ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    fn requests(&self, ranges: &[Range<u64>]) -> Vec<Range<u64>> {
        self.source.requests(&self.unknown(ranges))
    }

    fn request_cost_bytes(&self) -> u64 {
        self.source.request_cost_bytes()
    }

    fn memory_bytes(&self) -> usize {
        self.source.memory_bytes() + self.parts.iter().map(|(_, bytes)| bytes.len()).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_parts_are_not_read_and_others_are() {
        let bytes: Bytes = (0..100u8).collect::<Vec<_>>().into();
        // The parts in memory differ from the source, so that the test sees which was used.
        let parts = vec![(80, Bytes::from(vec![255; 20])), (10, Bytes::from(vec![254; 10]))];
        let file = KnownParts::over(Arc::new(bytes), parts);
        assert_eq!(file.read(80..82).unwrap(), [255; 2][..]);
        assert_eq!(file.read(10..20).unwrap(), [254; 10][..]);
        assert_eq!(file.read(19..21).unwrap(), [19, 20][..]);
        let read = file.read_many(&[98..100, 0..2, 12..13, 20..21]).unwrap();
        assert_eq!(read, [&[255, 255][..], &[0, 1], &[254], &[20]]);
        assert_eq!(file.requests(&[98..100, 0..2, 12..13, 20..30]), [0..2, 20..30]);
        assert!(file.read(90..101).is_err());
    }
}
