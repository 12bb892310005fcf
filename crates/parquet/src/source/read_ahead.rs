//! Reading ahead where requests take long.

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use super::{ByteRanges, check_range};

/// A source that, where it is read from front to back, asks another for more than is wanted now: twice as much each time. Any
/// number of places may be read from at once, as the columns of a file are.
#[derive(Debug)]
pub(crate) struct ReadAhead {
    source: Arc<dyn ByteRanges>,
    windows: Mutex<Windows>,
}

#[derive(Debug, Default)]
struct Windows {
    /// What has been read, that used last at the end.
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
    /// Most bytes of one request made ahead.
    const MOST_BYTES: u64 = 4 << 20;

    /// Most bytes that are kept.
    const MOST_KEPT_BYTES: u64 = 64 << 20;

    /// Reads from `source`, ahead if requests of it take long.
    pub(crate) fn of(source: Arc<dyn ByteRanges>) -> Arc<dyn ByteRanges> {
        if source.request_cost_bytes() == 0 { source } else { Arc::new(Self { source, windows: Mutex::default() }) }
    }

    /// The bytes of `range` if they have been read, else what to read for them, and what comes before it.
    fn look_up(&self, range: &Range<u64>) -> Result<Bytes, (Range<u64>, Option<Window>)> {
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        let at = windows.kept.iter().position(|window| window.start <= range.start && range.start <= window.end());
        let Some(at) = at else { return Err((range.clone(), None)) };
        let window = windows.kept.remove(at);
        let offset = (range.start - window.start) as usize;
        if range.end <= window.end() {
            let bytes = window.bytes.slice(offset..offset + (range.end - range.start) as usize);
            windows.kept.push(window);
            return Ok(bytes);
        }
        // The end of the window is used up, and what follows it is read.
        windows.bytes -= window.bytes.len() as u64;
        let ahead = (window.bytes.len() as u64 * 2).clamp(self.source.request_cost_bytes(), Self::MOST_BYTES);
        let end = range.end.max(window.end().saturating_add(ahead)).min(self.source.len());
        let rest = Window { start: range.start, bytes: window.bytes.slice(offset..) };
        Err((rest.end()..end, Some(rest)))
    }

    fn keep(&self, window: Window) {
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        windows.bytes += window.bytes.len() as u64;
        windows.kept.push(window);
        while windows.bytes > Self::MOST_KEPT_BYTES && windows.kept.len() > 1 {
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

    /// Memory that remembers what was read of it, and is as slow as a store.
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
        let ahead = ReadAhead::of(Arc::clone(&source) as _);
        (source, ahead)
    }

    #[test]
    fn sources_that_answer_at_once_are_not_read_ahead() {
        let bytes: Arc<dyn ByteRanges> = Arc::new(Bytes::from_static(b"abc"));
        assert!(Arc::ptr_eq(&ReadAhead::of(Arc::clone(&bytes)), &bytes));
    }

    #[test]
    fn what_is_read_from_front_to_back_takes_few_requests() {
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
    fn scattered_reads_are_made_as_they_are() {
        let (source, ahead) = slow(1 << 20);
        let ranges: Vec<Range<u64>> = [900_000..900_100, 10..20, 500_000..500_032, 0..0].to_vec();
        for range in &ranges {
            ahead.read(range.clone()).expect("a range within");
        }
        assert_eq!(source.1.lock().expect("no panic")[..], ranges[..3]);
        assert!(ahead.read((1 << 20)..(1 << 20) + 1).is_err());
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let (source, ahead) = slow(200 << 20);
        let ahead_of = Arc::new(ReadAhead { source, windows: Mutex::default() });
        drop(ahead);
        let mut start = 0;
        while start < 190 << 20 {
            ahead_of.read(start..start + (1 << 20)).expect("a range within");
            start += 1 << 20;
            // A place left behind now and then.
            start += (1 << 20) * u64::from(start % (7 << 20) == 0);
        }
        let windows = ahead_of.windows.lock().expect("no panic");
        let kept: u64 = windows.kept.iter().map(|window| window.bytes.len() as u64).sum();
        assert!(kept == windows.bytes && kept <= ReadAhead::MOST_KEPT_BYTES, "{kept}");
    }
}
