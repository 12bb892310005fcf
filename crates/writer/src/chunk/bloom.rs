//! Bloom filters of column chunks, sized by the actual number of distinct values.
//!
//! <https://github.com/apache/parquet-format/blob/master/BloomFilter.md>

use bytes::Bytes;
use lath_kernels::{bloom, xxhash};

use crate::options::BloomFilter;
use crate::physical::Values;
use lath_format::thrift::ThriftWriter;
use lath_parquet::Result;

/// The smallest filter: one block.
const MIN_BYTES: usize = 32;

/// Hashes of the values of a chunk, collected until their number is known.
#[derive(Debug)]
pub(crate) struct BloomBuilder {
    size: BloomFilter,
    hashes: Vec<u64>,
    /// Length at which repeated hashes are removed.
    sort_at: usize,
}

/// Number of hashes before repeated ones are removed for the first time.
const FIRST_SORT: usize = 1 << 16;

impl BloomBuilder {
    pub(crate) fn new(size: BloomFilter) -> Self {
        Self { size, hashes: Vec::new(), sort_at: FIRST_SORT }
    }

    /// Bytes of memory.
    pub(crate) fn capacity(&self) -> usize {
        size_of::<u64>() * self.hashes.capacity()
    }

    /// Adds the hashes of values: hashes of their PLAIN bytes, of byte arrays without the length.
    pub(crate) fn add(&mut self, values: &Values) -> Result<()> {
        let start = self.hashes.len();
        self.hashes.resize(start + values.len(), 0);
        let hashes = &mut self.hashes[start..];
        match values {
            Values::Words32(words) => xxhash::hash_u32s(words, hashes)?,
            Values::Words64(words) => xxhash::hash_u64s(words, hashes)?,
            Values::Fixed { width: 0, .. } => hashes.fill(xxhash::xxh64(&[])),
            Values::Fixed { width, bytes, .. } => {
                xxhash::hash_strings(lath_kernels::ByteStrings::Fixed { data: bytes, width: *width }, 0, hashes)?;
            }
            Values::Strings(strings) => strings.with(|strings| xxhash::hash_strings(strings, 0, hashes))?,
            // BOOLEAN columns have no filter, and codes are expanded before.
            Values::Booleans(_) | Values::Codes { .. } | Values::Nothing => self.hashes.truncate(start),
        }
        if self.hashes.len() >= self.sort_at {
            self.keep_distinct();
            self.sort_at = FIRST_SORT.max(2 * self.hashes.len());
        }
        Ok(())
    }

    /// Header and bitset of the values added since the last call.
    pub(crate) fn finish(&mut self) -> Result<Bytes> {
        self.keep_distinct();
        let len = match self.size {
            BloomFilter::Bytes(bytes) => bytes,
            BloomFilter::FalsePositiveRate(rate) => bytes_for(self.hashes.len(), rate),
        };
        let len = len.clamp(MIN_BYTES, BloomFilter::MAX_BYTES).next_power_of_two();
        let mut filter = Vec::with_capacity(len + 32);
        let mut header = ThriftWriter::new(&mut filter);
        header.i32(1, len as i32);
        // Three unions with a single variant each so far: split blocks, XXH64, no compression.
        for field in [2, 3, 4] {
            header.structure(field, |kind| kind.structure(1, |_| {}));
        }
        header.end();
        let header_len = filter.len();
        filter.resize(header_len + len, 0);
        bloom::insert_many(&mut filter[header_len..], &self.hashes)?;
        self.hashes.clear();
        self.sort_at = FIRST_SORT;
        Ok(filter.into())
    }

    fn keep_distinct(&mut self) {
        self.hashes.sort_unstable();
        self.hashes.dedup();
    }
}

/// Size of a filter with a false positive rate of `rate` for `distinct` values, with eight bits set for each value.
fn bytes_for(distinct: usize, rate: f64) -> usize {
    let bits = -8.0 * distinct as f64 / (1.0 - rate.powf(1.0 / 8.0)).ln();
    bits as usize / 8
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, Int32Type, Int64Type};
    use arrow_array::{ArrayRef, Float64Array, Int32Array, Int64Array, StringArray};
    use lath_testkit::Seeded;
    use parquet::bloom_filter::Sbbf;
    use std::sync::Arc;

    use super::*;
    use crate::WriteOptions;
    use crate::chunk::EncodedChunk;
    use crate::options::ColumnOptions;

    /// The filter that the `parquet` crate computes for the same values.
    fn filter_of_crate(array: &ArrayRef, size: BloomFilter, distinct: usize) -> Vec<u8> {
        let mut filter = match size {
            BloomFilter::Bytes(bytes) => Sbbf::new_with_num_of_bytes(bytes),
            BloomFilter::FalsePositiveRate(rate) => Sbbf::new_with_ndv_fpp(distinct as u64, rate).expect("a rate"),
        };
        match array.data_type() {
            arrow_schema::DataType::Int32 => {
                array.as_primitive::<Int32Type>().values().iter().for_each(|v| filter.insert(v));
            }
            arrow_schema::DataType::Int64 => {
                array.as_primitive::<Int64Type>().values().iter().for_each(|v| filter.insert(v));
            }
            arrow_schema::DataType::Float64 => {
                array.as_primitive::<Float64Type>().values().iter().for_each(|v| filter.insert(v));
            }
            _ => array.as_string::<i32>().iter().flatten().for_each(|v| filter.insert(v)),
        }
        let mut bytes = Vec::new();
        filter.write(&mut bytes).expect("memory");
        bytes
    }

    fn chunk(array: &ArrayRef, options: &WriteOptions) -> EncodedChunk {
        crate::chunk::tests::write_column(array, options)
    }

    #[test]
    fn filters_are_those_of_the_crate_for_the_same_values_and_size() {
        let mut random = Seeded::new("filters_are_those_of_the_crate_for_the_same_values_and_size");
        for (rows, source) in [(0, 10), (1, 10), (1000, 10), (3000, u64::MAX), (100_000, 70_000)] {
            let numbers: Vec<u64> = (0..rows).map(|_| random.u64(..source)).collect();
            let distinct = numbers.iter().collect::<std::collections::HashSet<_>>().len();
            let arrays: [ArrayRef; 4] = [
                Arc::new(numbers.iter().map(|n| Some(*n as i64)).collect::<Int64Array>()),
                Arc::new(numbers.iter().map(|n| Some(n.wrapping_mul(0x9E37_79B9) as i32)).collect::<Int32Array>()),
                Arc::new(numbers.iter().map(|n| Some(*n as f64)).collect::<Float64Array>()),
                Arc::new(numbers.iter().map(|n| Some(format!("value {n}"))).collect::<StringArray>()),
            ];
            for (index, array) in arrays.iter().enumerate() {
                let rate = BloomFilter::FalsePositiveRate(0.02);
                // Numbers cut to 32 bits may have fewer distinct values.
                for size in [BloomFilter::Bytes(1 << 12), rate].into_iter().take(if index == 1 { 1 } else { 2 }) {
                    for dictionary in [false, true] {
                        let column = ColumnOptions::new().bloom_filter(size).dictionary(dictionary);
                        let written = chunk(array, &WriteOptions::default().all_columns(column)).bloom_filter;
                        let expected = filter_of_crate(array, size, distinct);
                        assert!(
                            written.is_some_and(|written| written == expected),
                            "{rows} rows, {size:?}, {dictionary}"
                        );
                    }
                }
            }
        }
    }
}
