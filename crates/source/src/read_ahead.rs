//! Reads ahead in storage whose requests take long.

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use super::{ByteRanges, check_range};

/// A source that reads ahead in another source, if that is read from front to back: twice as much each time, up to the end of the
/// extent. Several extents may be read at once, as the columns of a file are.
#[derive(Debug)]
pub struct ReadAhead {
    source: Arc<dyn ByteRanges>,
    extents: Vec<Extent>,
    windows: Mutex<Windows>,
}

/// A part of a file that is read from front to back, if at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extent {
    /// Byte offsets within the file.
    pub range: Range<u64>,
    /// The part of it that will be read.
    pub coverage: Coverage,
}

/// The part of an extent that will be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coverage {
    /// All of it.
    All,
    /// All of it, if any.
    AllOrNothing,
    /// Not known.
    Parts,
}

#[derive(Debug, Default)]
struct Windows {
    /// Bytes that were read; the most recently used are last.
    kept: Vec<Window>,
    bytes: u64,
}

#[derive(Debug, Clone)]
struct Window {
    start: u64,
    bytes: Bytes,
}

impl Window {
    fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

impl ReadAhead {
    /// Maximum bytes of a request that reads ahead.
    const MAX_BYTES: u64 = 4 << 20;

    /// Maximum bytes that are kept.
    const MAX_KEPT_BYTES: u64 = 64 << 20;

    /// Reads ahead in `source`, with the extents that will be read. Returns `source` itself if its requests cost nothing
    /// ([`ByteRanges::request_cost_bytes`]).
    pub fn within(source: Arc<dyn ByteRanges>, extents: impl FnOnce() -> Vec<Extent>) -> Arc<dyn ByteRanges> {
        let cost = source.request_cost_bytes();
        if cost == 0 {
            return source;
        }
        let mut extents = extents();
        extents.sort_by_key(|extent| extent.range.start);
        // One request reads neighbouring extents that will be read whole.
        extents.dedup_by(|next, extent| {
            let end = extent.range.end.max(next.range.end);
            let is_near = next.range.start <= extent.range.end.saturating_add(cost);
            let are_whole = [&*next, &*extent].iter().all(|extent| extent.coverage == Coverage::All);
            let is_one = is_near && are_whole && end - extent.range.start <= Self::MAX_BYTES;
            if is_one {
                extent.range.end = end;
            }
            is_one
        });
        Arc::new(Self { source, extents, windows: Mutex::default() })
    }

    /// The extent that has the byte at `offset`.
    fn extent_at(&self, offset: u64) -> Option<usize> {
        let at = self.extents.partition_point(|extent| extent.range.start <= offset).checked_sub(1)?;
        self.extents.get(at).filter(|extent| offset < extent.range.end).map(|_| at)
    }

    /// The end of a request from `start`, whose bytes before `wanted_end` are wanted now. `before` is the length of the window that the
    /// request continues, if any.
    fn end_of_request(&self, start: u64, wanted_end: u64, before: Option<u64>) -> u64 {
        let extent = self.extent_at(start).and_then(|at| self.extents.get(at));
        let ahead = match (extent, before) {
            (Some(Extent { coverage: Coverage::All | Coverage::AllOrNothing, .. }), _) => Self::MAX_BYTES,
            (_, Some(before)) => before.saturating_mul(2).clamp(self.source.request_cost_bytes(), Self::MAX_BYTES),
            (_, None) => 0,
        };
        let end = extent.map_or(self.source.len(), |extent| extent.range.end);
        wanted_end.max(start.saturating_add(ahead).min(end))
    }

    /// The bytes of `range` if they have been read; else the range to read, and the window that it continues.
    fn look_up(&self, range: &Range<u64>) -> Result<Bytes, (Range<u64>, Option<Window>)> {
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        let has = |window: &Window| window.start <= range.start && range.end <= window.end();
        if let Some(at) = windows.kept.iter().position(has) {
            let window = windows.kept.remove(at);
            let offset = (range.start - window.start) as usize;
            let bytes = window.bytes.slice(offset..offset + (range.end - range.start) as usize);
            windows.kept.push(window);
            return Ok(bytes);
        }
        // A read in another extent does not take over the window, which other threads continue to use.
        let extent = self.extent_at(range.start);
        let goes_on = |window: &Window| {
            window.start <= range.start && range.start <= window.end() && self.extent_at(window.start) == extent
        };
        let Some(at) = windows.kept.iter().position(goes_on) else {
            return Err((range.start..self.end_of_request(range.start, range.end, None), None));
        };
        let window = windows.kept.remove(at);
        let offset = (range.start - window.start) as usize;
        // The rest of the window is used, and the bytes after it are read.
        windows.bytes -= window.bytes.len() as u64;
        let end = self.end_of_request(window.end(), range.end, Some(window.bytes.len() as u64));
        let rest = Window { start: range.start, bytes: window.bytes.slice(offset..) };
        Err((rest.end()..end, Some(rest)))
    }

    fn keep(&self, window: Window) {
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        windows.bytes += window.bytes.len() as u64;
        windows.kept.push(window);
        while windows.bytes > Self::MAX_KEPT_BYTES && windows.kept.len() > 1 {
            windows.bytes -= windows.kept.remove(0).bytes.len() as u64;
        }
    }
}

impl ByteRanges for ReadAhead {
    fn len(&self) -> u64 {
        self.source.len()
    }

    fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        let len = check_range(&range, self.len())?;
        if len == 0 {
            return Ok(Bytes::new());
        }
        let (request, rest) = match self.look_up(&range) {
            Ok(bytes) => return Ok(bytes),
            Err(missing) => missing,
        };
        let mut bytes = self.source.read(request.clone())?;
        bytes.truncate((request.end - request.start) as usize);
        if let Some(rest) = rest.filter(|rest| !rest.bytes.is_empty()) {
            bytes = Bytes::from([&rest.bytes[..], &bytes[..]].concat());
        }
        let wanted = bytes.slice(..len);
        self.keep(Window { start: range.start, bytes });
        Ok(wanted)
    }

    fn read_many(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
        self.source.read_many(ranges)
    }

    fn requests(&self, ranges: &[Range<u64>]) -> Vec<Range<u64>> {
        self.source.requests(ranges)
    }

    fn request_cost_bytes(&self) -> u64 {
        self.source.request_cost_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory that records the ranges that are read, and whose requests cost as much as a store's.
    #[derive(Debug)]
    struct Slow(Bytes, Mutex<Vec<Range<u64>>>);

    impl ByteRanges for Slow {
        fn len(&self) -> u64 {
            self.0.len() as u64
        }

        fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
            self.1.lock().expect("no panic").push(range.clone());
            self.0.read(range)
        }

        fn request_cost_bytes(&self) -> u64 {
            1 << 16
        }
    }

    fn slow(len: usize) -> (Arc<Slow>, Arc<dyn ByteRanges>) {
        let bytes: Vec<u8> = (0..len).map(|at| ((at * 31) >> 3) as u8).collect();
        let source = Arc::new(Slow(Bytes::from(bytes), Mutex::default()));
        let ahead = ReadAhead::within(Arc::clone(&source) as _, Vec::new);
        (source, ahead)
    }

    #[test]
    fn sources_that_answer_at_once_are_not_read_ahead() {
        let bytes: Arc<dyn ByteRanges> = Arc::new(Bytes::from_static(b"abc"));
        assert!(Arc::ptr_eq(&ReadAhead::within(Arc::clone(&bytes), Vec::new), &bytes));
    }

    #[test]
    fn reading_from_front_to_back_takes_few_requests() {
        let (source, ahead) = slow(16 << 20);
        // Two columns, in windows that overlap a little, as pages across windows do.
        for window in 0..200u64 {
            for column in [0, 8 << 20] {
                let start = column + window * 32_000;
                assert_eq!(
                    ahead.read(start..start + 32_768).expect("a range within"),
                    source.0[start as usize..][..32_768]
                );
            }
        }
        let requests = source.1.lock().expect("no panic").len();
        assert!(requests <= 2 * 9, "{requests}");
    }

    #[test]
    fn whole_extents_take_one_request_and_reading_ahead_ends_with_an_extent() {
        let (source, _) = slow(16 << 20);
        let extents = [
            (8 << 20..13 << 20, Coverage::All),
            (1000..500_000, Coverage::Parts),
            (600_000..700_000, Coverage::All),
            (765_000..800_000, Coverage::All),
            (799_900..900_000, Coverage::AllOrNothing),
            (900_000..1_000_000, Coverage::Parts),
        ];
        let extents = extents.map(|(range, coverage)| Extent { range, coverage });
        let ahead = ReadAhead::within(Arc::clone(&source) as _, || extents.to_vec());
        let read = |range: Range<u64>| {
            let before = source.1.lock().expect("no panic").len();
            assert_eq!(ahead.read(range.clone()).expect("within"), source.0[range.start as usize..range.end as usize]);
            let requests = source.1.lock().expect("no panic")[before..].to_vec();
            assert!(requests.len() <= 1);
            requests.into_iter().next()
        };
        // Doubled, up to the extent's end.
        assert_eq!(read(1000..2000), Some(1000..2000));
        assert_eq!(read(2000..3000), Some(2000..2000 + (1 << 16)));
        assert_eq!(read(67_536..70_000), Some(67_536..198_608));
        assert_eq!(read(198_608..200_000), Some(198_608..460_752));
        assert_eq!(read(460_752..461_000), Some(460_752..500_000));
        // Two extents that are near each other, and the maximum of a long one.
        assert_eq!(read(600_000..600_100), Some(600_000..800_000));
        assert_eq!(read(790_000..800_000), None);
        // The next range is in another extent, so the window before it stays.
        assert_eq!(read(799_950..800_100), Some(799_950..900_000));
        assert_eq!(read(899_000..899_500), None);
        assert_eq!(read(900_000..900_500), Some(900_000..900_500));
        assert_eq!(read(600_100..600_200), None);
        assert_eq!(read(8 << 20..(8 << 20) + 10), Some(8 << 20..12 << 20));
        assert_eq!(read((12 << 20) - 5..(12 << 20) + 5), Some(12 << 20..13 << 20));
        // Outside extents, and with more bytes than an extent has.
        assert_eq!(read(550_000..550_100), Some(550_000..550_100));
        assert_eq!(read(14 << 20..15 << 20), Some(14 << 20..15 << 20));
    }

    #[test]
    fn scattered_reads_are_not_extended() {
        let (source, ahead) = slow(1 << 20);
        let ranges: Vec<Range<u64>> = [900_000..900_100, 10..20, 500_000..500_032, 0..0].to_vec();
        for range in &ranges {
            ahead.read(range.clone()).expect("a range within");
        }
        assert_eq!(source.1.lock().expect("no panic")[..], ranges[..3]);
        assert!(ahead.read((1 << 20)..(1 << 20) + 1).is_err());
    }

    #[test]
    fn the_kept_bytes_are_bounded() {
        let (source, _) = slow(200 << 20);
        let ahead = ReadAhead { source, extents: Vec::new(), windows: Mutex::default() };
        let mut start = 0;
        while start < 190 << 20 {
            ahead.read(start..start + (1 << 20)).expect("a range within");
            start += 1 << 20;
            // Skip some bytes now and then.
            start += (1 << 20) * u64::from(start % (7 << 20) == 0);
        }
        let windows = ahead.windows.lock().expect("no panic");
        let kept: u64 = windows.kept.iter().map(|window| window.bytes.len() as u64).sum();
        assert!(kept == windows.bytes && kept <= ReadAhead::MAX_KEPT_BYTES, "{kept}");
    }
}
