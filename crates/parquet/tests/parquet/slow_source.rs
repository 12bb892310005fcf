//! Files in memory whose requests are slow.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use lath_parquet::ByteRanges;

/// A file in memory, every other one as if its requests took long: that changes what is read ahead, and how pages are found.
pub(crate) fn source(random: &mut fastrand::Rng, bytes: Bytes) -> Arc<dyn ByteRanges> {
    match random.bool() {
        true => Arc::new(Slow { bytes, cost: random.u64(1..2000) }),
        false => Arc::new(bytes),
    }
}

/// A file in memory of which a request costs as much as some bytes.
#[derive(Debug)]
struct Slow {
    bytes: Bytes,
    cost: u64,
}

impl ByteRanges for Slow {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        self.bytes.read(range)
    }

    fn request_cost_bytes(&self) -> u64 {
        self.cost
    }
}
