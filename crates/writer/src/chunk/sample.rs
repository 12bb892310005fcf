//! Chooses an encoding by encoding the first values of a chunk.

use std::fmt::Write;

use lath_format::Encoding;
use lath_parquet::Result;

use super::compress::Compressor;
use crate::encode::ValueEncoder;
use crate::encode::dictionary::{Dictionary, Worth};
use crate::options::Codec;
use crate::physical::Values;

/// Size of the sample: enough to show the differences between encodings.
const SAMPLE_VALUES: usize = 16_384;

/// A simpler encoding is kept unless another is smaller than this part of it.
const WORTHWHILE: f64 = 0.97;

/// Tries encodings; keeps its buffers.
#[derive(Debug)]
pub(crate) struct Sampler {
    compressor: Compressor,
    encoded: Vec<u8>,
    compressed: Vec<u8>,
}

/// The choice.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    pub(crate) with_dictionary: bool,
    /// For values without a dictionary.
    pub(crate) encoding: Encoding,
    pub(crate) reason: String,
}

/// A dictionary as a candidate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DictionaryTrial<'a> {
    pub(crate) dictionary: &'a Dictionary,
    /// Projected values of the chunk.
    pub(crate) chunk_values: usize,
    /// Maximum bytes of the dictionary.
    pub(crate) max_bytes: usize,
}

impl DictionaryTrial<'_> {
    /// Whether the dictionary is likely to save space, by the number of distinct values alone.
    pub(crate) fn pays(self) -> bool {
        self.dictionary.worth().pays(self.chunk_values, self.max_bytes, self.dictionary.page_len())
    }
}

impl Sampler {
    pub(crate) fn new(codec: Codec) -> Result<Self> {
        Ok(Self { compressor: Compressor::new(codec)?, encoded: Vec::new(), compressed: Vec::new() })
    }

    /// Tries `candidates` and the dictionary on the first of `pieces`, which are the values of the first page.
    pub(crate) fn choose(
        &mut self,
        pieces: &[Values],
        candidates: &[Encoding],
        encoder: &mut ValueEncoder,
        dictionary: Option<DictionaryTrial<'_>>,
    ) -> Result<Choice> {
        let mut sample = Vec::new();
        let mut left = SAMPLE_VALUES;
        for piece in pieces {
            let count = piece.len().min(left);
            if count > 0 {
                sample.push(piece.slice(0, count).expanded()?);
            }
            left -= count;
        }
        let count = SAMPLE_VALUES - left;
        let mut costs = Vec::with_capacity(candidates.len());
        for &candidate in candidates {
            let max_len = encoder.max_len(candidate, &sample);
            let len = self.compressed_len(max_len, |out| encoder.encode(candidate, &sample, out))?;
            costs.push((candidate, len as f64 / count as f64));
        }
        let Some(&first) = costs.first() else { return Ok(Choice::plain()) };
        let best =
            costs.iter().skip(1).fold(first, |best, &other| if other.1 < WORTHWHILE * best.1 { other } else { best });
        let with_codes = match dictionary {
            Some(trial) => self.dictionary_cost(trial, count)?,
            None => None,
        };
        let with_dictionary = with_codes.is_some_and(|cost| cost < best.1 || WORTHWHILE * cost <= best.1);
        let mut reason = String::new();
        let mut all: Vec<(Encoding, f64)> =
            costs.iter().copied().chain(with_codes.map(|cost| (Encoding::RleDictionary, cost))).collect();
        all.sort_by(|a, b| a.1.total_cmp(&b.1));
        let _ = write!(reason, "of {count} values, bytes each:");
        for (index, (encoding, cost)) in all.iter().enumerate() {
            let separator = if index == 0 { ' ' } else { ',' };
            let _ = write!(reason, "{separator}{}{encoding} {cost:.3}", if index == 0 { "" } else { " " });
        }
        Ok(Choice { with_dictionary, encoding: best.0, reason })
    }

    /// Bytes a value of codes and entries; `None` for a dictionary that would be closed before the chunk ends.
    fn dictionary_cost(&mut self, trial: DictionaryTrial<'_>, sample_count: usize) -> Result<Option<f64>> {
        let dictionary = trial.dictionary;
        let distinct = dictionary.len();
        let worth: &Worth = dictionary.worth();
        if distinct == 0 || sample_count == 0 {
            return Ok(None);
        }
        let of_chunk = worth.project(trial.chunk_values, trial.max_bytes, dictionary.page_len()).distinct;
        if of_chunk * dictionary.page_len() as f64 / distinct as f64 > trial.max_bytes as f64 {
            return Ok(None);
        }
        let codes =
            self.compressed_len(dictionary.max_codes_len(), |out| dictionary.encode_first_codes(sample_count, out))?;
        let entries = self.compressed_len(dictionary.page_len(), |out| Ok(dictionary.encode_entries(out)))?;
        let width = |count: f64| count.max(2.0).log2().ceil();
        let codes_each = codes as f64 / sample_count as f64 * width(of_chunk) / width(distinct as f64);
        let entries_each = entries as f64 / distinct as f64 * of_chunk / trial.chunk_values.max(1) as f64;
        Ok(Some(codes_each + entries_each))
    }

    fn compressed_len(&mut self, max_len: usize, encode: impl FnOnce(&mut [u8]) -> Result<usize>) -> Result<usize> {
        if self.encoded.len() < max_len {
            self.encoded = vec![0; max_len];
        }
        let len = encode(&mut self.encoded)?;
        if self.compressor.copies_nothing() {
            return Ok(len);
        }
        let room = self.compressor.max_len(len);
        if self.compressed.len() < room {
            self.compressed = vec![0; room];
        }
        self.compressor.compress(&self.encoded[..len], &mut self.compressed)
    }
}

impl Choice {
    fn plain() -> Self {
        Self { with_dictionary: false, encoding: Encoding::Plain, reason: "no other encoding".to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Float64Array, Int64Array, StringArray};
    use lath_format::Encoding;
    use lath_testkit::Seeded;

    use crate::chunk::EncodingChoice;
    use crate::chunk::tests::write_column;
    use crate::{Profile, WriteOptions};

    fn chosen(array: ArrayRef) -> EncodingChoice {
        write_column(&array, &WriteOptions::profile(Profile::Compact)).choice
    }

    #[test]
    fn data_get_the_encoding_that_suits_them() {
        let mut random = Seeded::new("data_get_the_encoding_that_suits_them");
        let mut time = 1_700_000_000_000_i64;
        let times = std::iter::repeat_with(|| {
            time += random.i64(900..1100);
            Some(time)
        });
        let times: Int64Array = times.take(50_000).collect();
        assert_eq!(chosen(Arc::new(times)).encoding, Encoding::DeltaBinaryPacked);

        let modes = ["AIR", "RAIL", "SHIP", "TRUCK", "MAIL"];
        let few: StringArray = (0..50_000).map(|_| Some(modes[random.usize(..5)])).collect();
        assert_eq!(chosen(Arc::new(few)).encoding, Encoding::RleDictionary);

        let walk: Float64Array =
            (0..50_000).map(|i| Some((f64::from(i) / 1000.0).sin() + random.f64() / 1e6)).collect();
        assert_eq!(chosen(Arc::new(walk)).encoding, Encoding::ByteStreamSplit);

        let paths: StringArray =
            (0..50_000).map(|i| Some(format!("/srv/data/archive/{:07}/part-{i}", i / 10))).collect();
        assert_eq!(chosen(Arc::new(paths)).encoding, Encoding::DeltaByteArray);
    }

    #[test]
    fn the_reason_names_what_was_compared() {
        let numbers: Int64Array = (0..1000).map(|i| Some(i % 7)).collect();
        let reason = chosen(Arc::new(numbers)).reason;
        for word in ["1000 values", "PLAIN", "DELTA_BINARY_PACKED", "RLE_DICTIONARY", "BYTE_STREAM_SPLIT"] {
            assert!(reason.contains(word), "{word} in: {reason}");
        }
    }
}
