//! A data page of BYTE_ARRAY values.

use std::ops::Range;

use arrow_buffer::Buffer;
use lath_kernels::{byte_array, delta, gather};

use super::buffers::ViewedBuffers;
use crate::decode::batch::set_bits;
use crate::decode::chunk_values::OpenPage;
use crate::decode::page_values::{DictionaryIndices, EncodedValues, INDEX_CHUNK, values_missing};
use crate::decode::prefix_stream::{PrefixStream, decode_lengths};
use crate::decode::strings::{self, check_utf8_values, check_utf8_whole};
use crate::error::{Error, Result};
use crate::page::Encoding;

#[derive(Debug)]
pub(super) enum Page {
    Plain { src: Buffer, position: usize, buffer_index: Option<u32> },
    DeltaLength(DeltaLength),
    DeltaByteArray(PrefixStream),
    Dictionary(DictionaryIndices),
}

/// A page of DELTA_LENGTH_BYTE_ARRAY values: all lengths, decoded, and the bytes of all values one after another.
#[derive(Debug)]
pub(super) struct DeltaLength {
    lengths: Vec<i32>,
    next: usize,
    bytes: Buffer,
    position: usize,
    buffer_index: Option<u32>,
}

impl OpenPage for Page {
    fn indices(&mut self) -> Option<&mut DictionaryIndices> {
        match self {
            Self::Dictionary(indices) => Some(indices),
            _ => None,
        }
    }

    fn is_dictionary(&self) -> bool {
        matches!(self, Self::Dictionary(_))
    }
}

impl Page {
    pub(super) fn open(values: EncodedValues) -> Result<Self> {
        let EncodedValues { encoding, bytes: src } = values;
        Ok(match encoding {
            Encoding::Plain => Self::Plain { src, position: 0, buffer_index: None },
            Encoding::PlainDictionary | Encoding::RleDictionary => Self::Dictionary(DictionaryIndices::new(&src)?),
            Encoding::DeltaLengthByteArray => Self::DeltaLength(DeltaLength::open(&src)?),
            Encoding::DeltaByteArray => Self::DeltaByteArray(PrefixStream::new(src)?),
            encoding => return Err(Error::unsupported(format!("encoding {encoding} of BYTE_ARRAY values"))),
        })
    }

    /// Builds the views of the next values. `dictionary` has the views of the chunk's dictionary.
    pub(super) fn decode(
        &mut self,
        dictionary: &[u128],
        buffers: &mut ViewedBuffers,
        utf8: bool,
        out: &mut [u128],
    ) -> Result<()> {
        match self {
            Self::Dictionary(indices) => {
                let mut chunk = [0u32; INDEX_CHUNK];
                for out in out.chunks_mut(INDEX_CHUNK) {
                    let chunk = &mut chunk[..out.len()];
                    indices.decode(chunk)?;
                    gather::gather_u128(dictionary, chunk, out)?;
                }
            }
            Self::Plain { src, position, buffer_index } => {
                let buffer_index = buffers.register(buffer_index, src)?;
                let start = *position;
                let scan = byte_array::plain_views(src, start, buffer_index, out)?;
                *position = scan.position;
                if utf8 {
                    check_utf8_plain(src, start..scan.position, scan.max_len, out)?;
                }
            }
            Self::DeltaLength(page) => page.decode(buffers, utf8, out)?,
            Self::DeltaByteArray(stream) => {
                let mut done = 0;
                while done < out.len() {
                    let (bytes, lengths) = stream.next(out.len() - done)?;
                    if utf8 {
                        check_utf8_whole(&bytes, 0..bytes.len(), lengths)?;
                    }
                    let buffer_index = buffers.register(&mut None, &bytes)?;
                    byte_array::length_views(&bytes, 0, lengths, buffer_index, &mut out[done..done + lengths.len()])?;
                    done += lengths.len();
                }
            }
        }
        Ok(())
    }

    /// Skips the next values, checking only that they exist.
    pub(super) fn skip(&mut self, value_count: usize) -> Result<()> {
        match self {
            Self::Dictionary(indices) => indices.skip(value_count),
            Self::Plain { src, position, .. } => {
                for _ in 0..value_count {
                    let rest = src.get(*position..).unwrap_or_default();
                    let len = rest.first_chunk::<4>().ok_or_else(values_missing)?;
                    let len = (u32::from_le_bytes(*len) as usize).saturating_add(4);
                    if len > rest.len() {
                        return Err(values_missing());
                    }
                    *position += len;
                }
                Ok(())
            }
            Self::DeltaLength(page) => page.take(value_count).map(|_| ()),
            Self::DeltaByteArray(stream) => stream.skip(value_count),
        }
    }

    /// Drops the page's index among the buffers of a returned batch.
    pub(super) fn forget_buffer(&mut self) {
        match self {
            Self::Plain { buffer_index, .. } | Self::DeltaLength(DeltaLength { buffer_index, .. }) => {
                *buffer_index = None;
            }
            Self::DeltaByteArray(_) | Self::Dictionary(_) => {}
        }
    }
}

impl DeltaLength {
    fn open(src: &Buffer) -> Result<Self> {
        let (lengths, end) = decode_lengths(src)?;
        Ok(Self { lengths, next: 0, bytes: src.slice(end), position: 0, buffer_index: None })
    }

    /// Takes the lengths and the bytes of the next values.
    pub(super) fn take(&mut self, value_count: usize) -> Result<(&[i32], &[u8])> {
        let lengths = self.lengths.get(self.next..).and_then(|rest| rest.get(..value_count));
        let lengths = lengths.ok_or_else(values_missing)?;
        let end = self.position.saturating_add(sum(lengths)?);
        let bytes = self.bytes.get(self.position..end).ok_or_else(values_missing)?;
        self.position = end;
        self.next += value_count;
        Ok((lengths, bytes))
    }

    fn decode(&mut self, buffers: &mut ViewedBuffers, utf8: bool, out: &mut [u128]) -> Result<()> {
        let lengths = self.lengths.get(self.next..).and_then(|rest| rest.get(..out.len()));
        let lengths = lengths.ok_or_else(values_missing)?;
        let buffer_index = buffers.register(&mut self.buffer_index, &self.bytes)?;
        let start = self.position;
        self.position = byte_array::length_views(&self.bytes, start, lengths, buffer_index, out)?;
        self.next += out.len();
        if utf8 {
            check_utf8_whole(&self.bytes, start..self.position, lengths)?;
        }
        Ok(())
    }

    /// Builds views of the values among the next `value_count` whose bits are set in `selection`, one by one. `ends` is scratch
    /// memory.
    pub(super) fn decode_few(
        &mut self,
        value_count: usize,
        selection: &[u8],
        buffers: &mut ViewedBuffers,
        utf8: bool,
        ends: &mut Vec<i32>,
        out: &mut [u128],
    ) -> Result<()> {
        let lengths = self.lengths.get(self.next..).and_then(|rest| rest.get(..value_count));
        let lengths = lengths.ok_or_else(values_missing)?;
        let start = i32::try_from(self.position).map_err(|_| values_missing())?;
        ends.resize(value_count, 0);
        let end = delta::lengths_to_offsets_i32(lengths, start, ends)? as usize;
        if end > self.bytes.len() {
            return Err(values_missing());
        }
        if utf8 {
            check_utf8_whole(&self.bytes, self.position..end, lengths)?;
        }
        let buffer_index = buffers.register(&mut self.buffer_index, &self.bytes)?;
        for (index, out) in set_bits(selection).zip(out) {
            let len = lengths[index];
            *out = strings::view(&self.bytes, (ends[index] - len) as usize, len as u32, buffer_index);
        }
        self.position = end;
        self.next += value_count;
        Ok(())
    }
}

/// The sum of `lengths`, which must not be negative.
fn sum(lengths: &[i32]) -> Result<usize> {
    let (signs, sum) = lengths.iter().fold((0, 0u64), |(signs, sum), &len| (signs | len, sum + u64::from(len as u32)));
    if signs < 0 {
        return Err(Error::corrupt("a string of negative length"));
    }
    usize::try_from(sum).map_err(|_| Error::limit("string bytes of a page", usize::MAX as u64, sum))
}

/// Checks PLAIN values, which have their lengths between them. If every length is under 128, its four bytes are ASCII, so that
/// the whole range is UTF-8 exactly if every value is, and one pass over it suffices.
pub(super) fn check_utf8_plain(page: &[u8], range: Range<usize>, max_len: u32, views: &[u128]) -> Result<()> {
    if max_len < 128 {
        return match simdutf8::basic::from_utf8(&page[range]) {
            Ok(_) => Ok(()),
            Err(_) => Err(strings::not_utf8()),
        };
    }
    let mut position = range.start;
    check_utf8_values(views.iter().map(|&view| {
        let len = view as u32 as usize;
        let value = &page[position + 4..position + 4 + len];
        position += 4 + len;
        value
    }))
}
