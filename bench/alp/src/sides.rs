//! The implementations that encode and decode. Each keeps its buffers.

use bytes::Bytes;
use fastalp::AlpFloat;
use lath_interop_alp::columns::Value;
use lath_interop_alp::peer;
use lath_kernels::alp::{self, Candidates};

pub struct Lath<T: alp::Float> {
    candidates: Candidates<T>,
    page: Vec<u8>,
    len: usize,
}

impl<T: Value> Lath<T> {
    pub fn new(values: &[T]) -> Self {
        let page = vec![0; alp::max_encoded_len::<T>(values.len())];
        let mut lath = Self { candidates: Candidates::find(values), page, len: 0 };
        lath.encode_again(values);
        lath
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn decode(&self, out: &mut [T]) {
        alp::decode(&self.page[..self.len], 0, out).expect("a page of ours");
    }

    pub fn encode(&mut self, values: &[T]) {
        self.candidates = Candidates::find(values);
        self.encode_again(values);
    }

    pub fn encode_again(&mut self, values: &[T]) {
        self.len = alp::encode(values, &self.candidates, &mut self.page).expect("there is room");
    }
}

/// Chunks of 1,024 values, the unit of its format.
pub struct FastAlp<T: AlpFloat> {
    encoder: fastalp::Encoder<T>,
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl<T: AlpFloat> FastAlp<T> {
    pub fn new(values: &[T]) -> Self {
        let mut fast = Self { encoder: fastalp::Encoder::with_capacity(1_024), bytes: Vec::new(), ends: Vec::new() };
        fast.encode(values);
        fast
    }

    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    pub fn decode(&self, out: &mut [T]) {
        let mut start = 0;
        for (out, &end) in out.chunks_mut(1_024).zip(&self.ends) {
            let count = fastalp::decompress_into_slice(&self.bytes[start..end], out);
            assert_eq!(count.ok(), Some(out.len()));
            start = end;
        }
    }

    /// Encodes with a fresh encoder.
    pub fn encode(&mut self, values: &[T]) {
        self.encoder.reset();
        self.encode_again(values);
    }

    pub fn encode_again(&mut self, values: &[T]) {
        self.bytes.clear();
        self.ends.clear();
        for chunk in values.chunks(1_024) {
            self.encoder.compress_into(chunk, &mut self.bytes);
            self.ends.push(self.bytes.len());
        }
    }
}

pub struct Parquet {
    page: Bytes,
    count: usize,
}

impl Parquet {
    pub fn new<T: Value>(values: &[T]) -> Self {
        Self { page: peer::encode(values).expect("values can be encoded"), count: values.len() }
    }

    pub fn len(&self) -> usize {
        self.page.len()
    }

    pub fn decode<T: Value>(&self) -> Vec<T> {
        peer::decode(self.page.clone(), self.count).expect("a page of its own")
    }

    pub fn encode<T: Value>(&mut self, values: &[T]) {
        self.page = peer::encode(values).expect("values can be encoded");
    }
}
